"""Import paths that pages and notebooks name, and classes that public functions return."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path

import elk
from each_case import each

ROOT = Path(__file__).parents[2]

# What may be imported from each documented module.
DOORS = {
    "elk.chips": ["find", "get", "load_chip", "names"],
    "elk.errors": ["BoundWarning", "ElkError", "InfeasibleError", "InvalidInputError"],
    "elk.limits": ["DEFAULT", "Limits"],
    "elk.listing": ["CoreInstruction", "Listing"],
    "elk.models": ["Experts", "TransformerConfig", "config", "get", "names", "transformer"],
    "elk.onnx_backend": [
        "ElkBackend",
        "ElkRep",
        "is_compatible",
        "prepare",
        "run_model",
        "run_node",
        "supports_device",
    ],
    "elk.program_file": ["ProgramFile", "load_program", "write_program"],
    "elk.tilemodel": ["FittedModel", "TileModelFileError", "load_tile_model", "names"],
    "elk.timeline": ["Counter", "Flow", "Slice", "Timeline", "Track"],
}
# What public functions return that has no name in `elk`: of the core, of other packages, or plain.
UNNAMED = {
    *("Any", "Axes", "Constraints", "DataFrame", "Dataset", "Delivery", "Iterator", "Mapping"),
    *("NDArray", "None", "Path", "RawPoint", "Self", "SimulatedRow"),
}


@each("name", DOORS)
def test_a_documented_module_has_its_names(name: str) -> None:
    module = importlib.import_module(name)
    assert [x for x in DOORS[name] if not hasattr(module, x)] == []


@each("name", DOORS)
def test_a_documented_module_is_an_attribute_of_elk_that_nothing_has_imported(name: str) -> None:
    code = f"import elk; assert {name}.__name__ == {name!r}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_elk_alone_loads_nothing_large() -> None:
    code = (
        "import sys, elk\n"
        "ours = {name for name in sys.modules if name.split('.')[0] == 'elk'}\n"
        "assert ours == {'elk', 'elk.errors'}, ours\n"
        "assert not {'numpy', 'onnx', 'pydantic', 'yaml'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there() -> None:
    assert [name for name in elk.__all__ if not hasattr(elk, name)] == []
    assert elk.__all__ == sorted(elk.__all__)


def named_paths() -> list[str]:
    """Every `elk.name` of pages for users that is none of a schema, as `elk.plan/1` is."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    pages.remove(ROOT / "docs" / "extending.md")  # for those who change modules; its blocks run
    found = {
        path
        for page in pages
        for path in re.findall(
            r"(?<![\w/.-])elk(?:\.[A-Za-z_]\w*)+(?![\w/])", page.read_text(encoding="utf-8")
        )
    }
    return sorted(found)


def test_pages_name_some_paths() -> None:
    assert {"elk.compile", "elk.timeline.Track", "elk.program_file.load_program"} <= set(
        named_paths()
    )


@each("path", named_paths())
def test_a_path_that_a_page_names_is_there(path: str) -> None:
    assert reduce(getattr, path.split(".")[1:], elk) is not None


def returned(value: object) -> str:
    """The annotation of what a function or a property gives; "" for none."""
    function = value.fget if isinstance(value, property) else getattr(value, "func", value)
    return str(getattr(function, "__annotations__", {}).get("return", ""))


def test_what_public_functions_return_is_exported() -> None:
    public = {name: getattr(elk, name) for name in elk.__all__}
    annotations = [returned(value) for value in public.values()]
    for value in public.values():
        if inspect.isclass(value) and value.__module__.startswith("elk."):
            members = {k: v for k, v in vars(value).items() if not k.startswith("_")}
            annotations += [returned(member) for member in members.values()]
    classes = {name for text in annotations for name in re.findall(r"\b[A-Z]\w+", text)}
    assert {"Plan", "Run", "Timeline", "WhatIf"} <= classes
    assert classes - UNNAMED - set(elk.__all__) == set()
