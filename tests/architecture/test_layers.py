"""Do includes and imports follow the layer table?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cpp" / "elk"
BINDINGS = ROOT / "bindings"
PYTHON = ROOT / "python" / "elk"

MAY_INCLUDE: dict[str, set[str]] = {
    "base": set(),
    "ir": {"base"},
    "chip": {"base"},
    "partition": {"base", "ir", "chip"},
    "cost": {"base", "ir", "chip", "partition"},
    "program": {"base", "ir", "chip", "partition"},
    "schedule": {"base", "ir", "chip", "partition", "cost", "program"},
    "train": {"base", "ir", "chip", "cost"},
    "sim": {"base", "ir", "chip", "partition", "program"},
    "emulate": {"base", "ir", "chip", "partition", "program"},
    "analyze": {"base", "program", "sim"},
    "compile": {
        "base", "ir", "chip", "partition", "cost", "program", "schedule", "train", "sim",
    },
}  # fmt: skip

# Who alone may include a library, as the start of a path below the root of the repository.
LIBRARY_HOMES = {
    "oneTBB": (re.compile(r"(oneapi/)?tbb[/.]"), ("cpp/elk/base/parallel",)),
    "Eigen": (re.compile(r"(unsupported/)?Eigen/"), ("cpp/elk/emulate/", "cpp/elk/cost/fit")),
    "pybind11": (re.compile(r"pybind11/|Python\.h"), ("bindings/",)),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(*folders: Path) -> list[Path]:
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in {".hpp", ".cpp", ".h"})


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def layer_faults(module: str, included: list[str]) -> Iterator[str]:
    """What of `included` the table refuses to a file of `module`."""
    for name in included:
        parts = name.split("/")
        ours = parts[0] == "elk" and len(parts) > 1
        if ours and parts[1] != module and parts[1] not in MAY_INCLUDE[module]:
            yield name
        if name.startswith(".") or (CORE / module / name).exists():
            yield f"{name} (write the whole path, elk/...)"


def library_faults(path: str, included: list[str]) -> Iterator[str]:
    """What of `included` belongs to a library that the file at `path` may not use."""
    for name in included:
        for library, (pattern, homes) in LIBRARY_HOMES.items():
            if pattern.match(name) and not path.startswith(homes):
                yield f"{name} ({library} is for {', '.join(homes)})"


@pytest.mark.parametrize("path", sources(CORE), ids=lambda p: str(p.relative_to(CORE)))
def test_a_core_file_includes_only_lower_layers(path: Path) -> None:
    assert list(layer_faults(path.relative_to(CORE).parts[0], includes(path))) == []


@pytest.mark.parametrize(
    "path", sources(CORE, BINDINGS, ROOT / "tests" / "cpp"), ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_library_is_included_only_where_it_is_at_home(path: Path) -> None:
    assert list(library_faults(path.relative_to(ROOT).as_posix(), includes(path))) == []


def test_every_folder_of_the_core_is_in_the_table() -> None:
    assert {p.name for p in CORE.iterdir() if p.is_dir()} <= set(MAY_INCLUDE)


def test_the_table_has_no_cycle() -> None:
    seen: set[str] = set()
    while ready := {m for m in MAY_INCLUDE if m not in seen and MAY_INCLUDE[m] <= seen}:
        seen |= ready
    assert seen == set(MAY_INCLUDE)


def test_cmake_holds_the_same_table() -> None:
    text = (ROOT / "cmake" / "ElkModule.cmake").read_text(encoding="utf-8")
    rows = re.findall(r"^set\(ELK_MAY_INCLUDE_(\w+)([^)]*)\)", text, re.MULTILINE)
    assert {module: set(names.split()) for module, names in rows} == MAY_INCLUDE


def test_no_file_is_named_for_nothing() -> None:
    banned = {"utils", "util", "common", "helpers", "helper", "misc"}
    files = [*sources(CORE, BINDINGS), *PYTHON.rglob("*.py")]
    assert [f for f in files if banned & {f.stem, f.parent.name}] == []


def test_no_source_file_is_longer_than_400_lines() -> None:
    files = [*sources(CORE, BINDINGS), *PYTHON.rglob("*.py")]
    lines = {str(f.relative_to(ROOT)): f.read_text(encoding="utf-8").count("\n") for f in files}
    assert {f: n for f, n in lines.items() if n > 400} == {}


def test_the_rules_see_what_they_refuse() -> None:
    text = '#include <vector>\n#  include "elk/schedule/beam.hpp"\n#include <tbb/parallel_for.h>\n'
    names = INCLUDE.findall(text)
    assert names == ["vector", "elk/schedule/beam.hpp", "tbb/parallel_for.h"]
    assert list(layer_faults("sim", names)) == ["elk/schedule/beam.hpp"]
    assert list(layer_faults("compile", names)) == []
    assert len(list(library_faults("cpp/elk/cost/tile.cpp", names))) == 1
    assert list(library_faults("cpp/elk/base/parallel_tbb.cpp", names)) == []
    assert len(list(library_faults("cpp/elk/cost/tile.cpp", ["Eigen/Dense"]))) == 1
    assert list(library_faults("cpp/elk/cost/fit/linear.cpp", ["Eigen/Dense"])) == []
