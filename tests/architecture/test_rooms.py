"""Do the rooms of python/elk stay small, and do imports between them follow one table?

A room is a folder of `python/elk`, or a module beside those folders. Layers, from the lowest:

    errors  limits  _core        what failed, how large a model may be, the core
    base                         quantities, words, files, waiting
    tile  chip                   tile models; chips, and the presets
    frontend  model  models      ONNX files read, as ELK plans them, and written
    emulation                    plans run with real numbers
    document                     the document of a plan, and what is listed from it
    report                       cards, explanations, plots, timelines, traces
    run                          simulated runs
    points                       axes, spaces and results of a sweep, by name
    plan                         plans: compiled, compared, changed
    sweeps  figures  cli         many plans; the paper's figures; the command

A module beside the rooms, such as `elk.timeline`, is a door: it gives what a room has the name that
pages use, and no room goes through it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "elk"
MOST_FILES = 30
MOST_ROOMS_OF_A_STEM = 2

_LOW = {"_core", "errors", "limits", "base"}
_PLANNED = _LOW | {"tile", "chip", "frontend", "model", "emulation", "document", "report", "run"}
_SWEPT = _PLANNED | {"models", "points", "plan"}
MAY_IMPORT: dict[str, set[str]] = {
    "_core": set(),
    "errors": set(),
    "limits": {"errors"},
    "base": {"_core", "errors"},
    "tile": _LOW,
    "chip": _LOW | {"tile"},
    "frontend": _LOW,
    "model": _LOW | {"frontend"},
    "models": _LOW | {"frontend"},
    "emulation": _LOW,
    "document": _LOW | {"tile", "chip", "emulation"},
    "report": _LOW | {"chip", "document"},
    "run": _LOW | {"document", "report"},
    "points": _LOW | {"chip", "document", "report"},
    "plan": _PLANNED | {"points"},
    "sweeps": _SWEPT,
    "figures": _SWEPT | {"sweeps"},
    "cli": _SWEPT | {"sweeps", "figures"},
    "__main__": {"cli"},
    "chips": {"chip"},
    "listing": {"document"},
    "onnx_backend": {"errors", "plan"},
    "program_file": {"document"},
    "tilemodel": {"tile"},
    "timeline": {"report"},
}
"""The rooms that each room may import; the package itself, `elk`, may import all."""


@dataclass(frozen=True)
class Import:
    """An import that runs: `lazy` where a function must be called first."""

    module: str
    lazy: bool


def files(package: Path) -> list[Path]:
    return sorted(p for p in package.rglob("*.py") if "__pycache__" not in p.parts)


def room_of(path: Path, package: Path) -> str:
    """The folder below the package that `path` is in, or its own name beside those folders."""
    first = path.relative_to(package).parts[0]
    return "elk" if first == "__init__.py" else first.removesuffix(".py")


def imports(path: Path) -> list[Import]:
    """What of ELK the file imports, but for what only a type checker sees."""
    return list(_imports(ast.parse(path.read_text(encoding="utf-8")), lazy=False))


def _imports(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
    for name in _named(node):
        if name.split(".")[0] == "elk":
            yield Import(name, lazy)
    inner = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children = iter(node.orelse)
    for child in children:
        yield from _imports(child, lazy=inner)


def _named(node: ast.AST) -> list[str]:
    """The modules, or names in them, that a statement or a call of `import_module` imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return re.findall(r"^f?['\"](elk(?:\.\w+)*)", ast.unparse(node.args[0]))
    return []


def table_faults(package: Path, table: dict[str, set[str]]) -> list[str]:
    """Imports between rooms that the table refuses, and rooms that are not in it."""
    found = []
    for path in files(package):
        room = room_of(path, package)
        if room == "elk":
            continue
        if room not in table:
            found.append(f"{path.relative_to(package)}: {room} is not in the table")
            continue
        for one in imports(path):
            asked = (*one.module.split("."), "")[1]
            if asked != room and asked not in table[room]:
                found.append(f"{path.relative_to(package)}: {room} imports {one.module}")
    return found


def folder_circles(package: Path) -> set[str]:
    """Folders, at any depth, that import one another in a circle when they are loaded.

    A module beside the rooms counts as a folder of its own, and the package itself is left out.
    """
    needs: defaultdict[str, set[str]] = defaultdict(set)
    for path in files(package):
        here = _folder(_dotted(path.with_suffix(""), package), package)
        for one in imports(path):
            if not one.lazy and here != _folder(one.module, package):
                needs[here].add(_folder(one.module, package))
    needs.pop("elk", None)
    return in_circles(needs)


def _dotted(path: Path, package: Path) -> str:
    return ".".join(("elk", *path.relative_to(package).parts)).removesuffix(".__init__")


def _folder(module: str, package: Path) -> str:
    """The folder that holds `module`, or the module that has it as an attribute."""
    path = package
    for depth, part in enumerate(module.split(".")[1:]):
        if depth and not (path / part).is_dir():
            break
        path = path / part
    return _dotted(path, package)


def in_circles(needs: dict[str, set[str]]) -> set[str]:
    """The modules that need one another in a circle, and those between two circles."""
    left = set(needs)
    while ends := {
        name
        for name in left
        if not needs[name] & left or not any(name in needs[other] for other in left)
    }:
        left -= ends
    return left


def overfull(package: Path) -> list[str]:
    """Folders of too many files."""
    counts: defaultdict[str, int] = defaultdict(int)
    for path in files(package):
        counts[_dotted(path.parent, package)] += path.stem != "__init__"
    return sorted(name for name, count in counts.items() if count > MOST_FILES)


def repeated_stems(package: Path) -> dict[str, set[str]]:
    """Names of files that too many rooms use; the modules beside the rooms count as one room."""
    rooms: defaultdict[str, set[str]] = defaultdict(set)
    for path in files(package):
        inside = path.parent != package
        rooms[path.stem].add(room_of(path, package) if inside else "elk")
    rooms.pop("__init__", None)
    return {stem: names for stem, names in rooms.items() if len(names) > MOST_ROOMS_OF_A_STEM}


def test_imports_between_rooms_follow_the_table() -> None:
    assert table_faults(PACKAGE, MAY_IMPORT) == []


def test_the_table_has_no_circle() -> None:
    assert in_circles(MAY_IMPORT) == set()


def test_every_row_of_the_table_is_a_room() -> None:
    assert {room_of(path, PACKAGE) for path in files(PACKAGE)} | {"_core"} == {*MAY_IMPORT, "elk"}


def test_no_folders_import_one_another() -> None:
    assert folder_circles(PACKAGE) == set()


def test_no_folder_is_overfull() -> None:
    assert overfull(PACKAGE) == []


def test_no_stem_is_in_more_than_two_rooms() -> None:
    assert repeated_stems(PACKAGE) == {}


# A made-up package, and what the rules say of it.
TABLE: dict[str, set[str]] = {"low": set(), "high": {"low"}}


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A package of two rooms that break no rule."""
    for name in ("__init__", "low/__init__", "high/__init__", "low/one", "high/two"):
        write(tmp_path, name)
    write(tmp_path, "high/two", "from elk.low.one import x")
    return tmp_path


def write(package: Path, name: str, source: str = "") -> None:
    path = package / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


def test_a_sound_package_has_no_fault(made_up: Path) -> None:
    assert table_faults(made_up, TABLE) == []
    assert folder_circles(made_up) == set()
    assert overfull(made_up) == []
    assert repeated_stems(made_up) == {}


@pytest.mark.parametrize(
    "source",
    [
        "from elk.high.two import y",
        "from elk.high import two",
        "from elk import high",
        "import elk.high.two",
        "import elk",
        "from elk import Public",
        "def f():\n    from elk.high.two import y",
        "class A:\n    def f(self):\n        import elk.high",
        "import_module(f'elk.high.{name}')",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import elk.high",
    ],
)
def test_an_import_upwards_is_seen(made_up: Path, source: str) -> None:
    write(made_up, "low/one", source)
    assert len(table_faults(made_up, TABLE)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "if TYPE_CHECKING:\n    from elk.high.two import y",
        "if typing.TYPE_CHECKING:\n    import elk.high",
        "from elk.low import three",
        "import elkhound",
    ],
)
def test_types_and_imports_within_a_room_are_no_faults(made_up: Path, source: str) -> None:
    write(made_up, "low/one", source)
    assert table_faults(made_up, TABLE) == []


def test_a_room_that_is_not_in_the_table_is_seen(made_up: Path) -> None:
    write(made_up, "attic/box")
    assert table_faults(made_up, TABLE) == ["attic/box.py: attic is not in the table"]


def test_a_circle_of_the_table_is_seen() -> None:
    assert in_circles({"low": {"high"}, "high": {"low"}, "base": set()}) == {"low", "high"}


def test_a_circle_of_folders_is_seen(made_up: Path) -> None:
    write(made_up, "low/inner/three", "from elk.low.one import x")
    assert folder_circles(made_up) == set()
    write(made_up, "low/one", "def f():\n    from elk.low.inner.three import z")
    assert folder_circles(made_up) == set()
    write(made_up, "low/one", "from elk.low.inner.three import z")
    assert folder_circles(made_up) == {"elk.low", "elk.low.inner"}


def test_a_file_too_many_is_seen(made_up: Path) -> None:
    for number in range(MOST_FILES - 1):
        write(made_up, f"low/file_{number}")
    assert overfull(made_up) == []
    write(made_up, "low/the_31st")
    assert overfull(made_up) == ["elk.low"]


def test_a_repeated_stem_is_seen(made_up: Path) -> None:
    write(made_up, "high/inner/one")
    assert repeated_stems(made_up) == {}
    write(made_up, "high/one")
    assert repeated_stems(made_up) == {}
    write(made_up, "one")
    assert repeated_stems(made_up) == {"one": {"low", "high", "elk"}}
