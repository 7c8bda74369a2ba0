"""Do the rooms of python/elk stay small, and do all imports in it follow one table, in no circle?

A room is a folder of `python/elk`, or a module beside those folders. Layers, from the lowest:

    errors  limits  _core        what failed, how large a model may be, the core
    base                         quantities, words, files, waiting
    tile  chip                   tile models; chips, and the presets
    frontend  model  models      ONNX files read, as ELK plans them, and written
    emulation                    plans run with real numbers
    document                     the document of a plan, and what is listed from it
    report                       cards, explanations, plots, timelines, traces
    foreign                      traces of other tools
    analyze                      traces: what stalled, and what helps
    run                          simulated runs
    points                       axes, spaces and results of a sweep, by name
    plan                         plans: compiled, compared, changed
    training                     models trained on clusters and tiles, in pipelines
    sweeps  figures  cli         many plans; the paper's figures; the command

A module beside the rooms, such as `elk.timeline`, is a door: it gives what a room has the name that
pages use, and no room goes through it. An import counts wherever it stands: at the top, in a
function, for types alone, or as a call of `import_module`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import filter as matching
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "elk"
MOST_FILES = 30
MOST_ROOMS_OF_A_STEM = 2

_LOW = {"_core", "errors", "limits", "base"}
_READ = _LOW | {"tile", "chip", "frontend", "model"}
_PLANNED = _READ | {"emulation", "document", "report", "analyze", "run", "points"}
_SWEPT = _PLANNED | {"models", "plan", "training"}
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
    "emulation": _LOW | {"frontend", "model"},
    "document": _READ | {"emulation"},
    "report": _LOW | {"chip", "document"},
    "foreign": _LOW | {"document", "report"},
    "analyze": _LOW | {"document", "report", "foreign"},
    "run": _LOW | {"document", "report", "analyze"},
    "points": _LOW | {"chip", "document", "report", "run"},
    "plan": _PLANNED,
    "training": _LOW | {"tile", "chip", "frontend", "model", "report"},
    "sweeps": _SWEPT,
    "figures": _SWEPT | {"sweeps"},
    "cli": _SWEPT | {"sweeps", "figures"},
    "__main__": {"cli"},
    "chips": {"chip"},
    "clusters": {"training"},
    "listing": {"document"},
    "onnx_backend": {"errors", "plan"},
    "program_file": {"document"},
    "tilemodel": {"tile"},
    "timeline": {"report"},
}
"""The rooms that each room may import; the package itself, `elk`, may import all."""


def modules(package: Path) -> dict[str, Path]:
    """The file of every module, by its dotted name."""
    files = sorted(p for p in package.rglob("*.py") if "__pycache__" not in p.parts)
    dotted = {".".join(("elk", *p.relative_to(package).with_suffix("").parts)): p for p in files}
    return {name.removesuffix(".__init__"): path for name, path in dotted.items()}


def needs(package: Path) -> dict[str, set[str]]:
    """The modules of ELK that every module imports; the package itself, a door to all, is none."""
    found = modules(package)
    known = {*found, "elk._core"}
    needed = {}
    for name, path in found.items():
        inner = name if path.stem == "__init__" else name.rpartition(".")[0]
        asked = _imported(ast.parse(path.read_text(encoding="utf-8")), name, inner)
        ours = [x for x in asked if x.split(".")[0] == "elk"]
        starred = [x for pattern in ours if "*" in pattern for x in matching(known, pattern)]
        plain = [_module(x, known) for x in ours if "*" not in x]
        needed[name] = {*starred, *plain} - {name}
    del needed["elk"]
    return needed


def _imported(tree: ast.AST, name: str, package: str) -> Iterator[str]:
    """What a file imports, as names of modules, of what they have, or as patterns of names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            parts = getattr(node.args[0], "values", [node.args[0]])  # of an f-string
            known = {"__name__": name, "__package__": package}
            yield "".join(
                str(part.value)
                if isinstance(part, ast.Constant)
                else known.get(ast.unparse(part).strip("{}'f"), "*")
                for part in parts
            )


def _module(name: str, known: set[str]) -> str:
    """The module that `name` is, or that has it as an attribute."""
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def room(module: str) -> str:
    """The folder below the package that a module is in, or its own name beside those folders."""
    return (*module.split("."), "elk")[1]


def faults(package: Path, table: dict[str, set[str]]) -> list[str]:
    """What breaks a rule, each in words."""
    found, needed = modules(package), needs(package)
    folders = {x: x if p.stem == "__init__" else x.rpartition(".")[0] for x, p in found.items()}
    folders = {x: x if folder == "elk" else folder for x, folder in folders.items()}
    between: defaultdict[str, set[str]] = defaultdict(set)
    broken = [f"{x} is in no room of the table" for x in needed if room(x) not in table]
    for module, others in needed.items():
        for other in sorted(others):
            if room(other) not in {room(module), *table.get(room(module), ())}:
                broken.append(f"{module} imports {other}")
            if folders[module] != folders.get(other, other):
                between[folders[module]].add(folders.get(other, other))
    for what, graph in (("modules", needed), ("folders", between), ("rooms", table)):
        if circle := in_circles(graph):
            broken.append(f"a circle of {what}: {', '.join(sorted(circle))}")
    rooms: defaultdict[str, set[str]] = defaultdict(set)
    counts: defaultdict[Path, int] = defaultdict(int)
    for module, path in found.items():
        if path.stem != "__init__":
            counts[path.parent] += 1
            rooms[path.stem].add("elk" if path.parent == package else room(module))
    broken += [f"{x.name} has {n} files" for x, n in counts.items() if n > MOST_FILES]
    repeated = [(x, in_) for x, in_ in rooms.items() if len(in_) > MOST_ROOMS_OF_A_STEM]
    return broken + [f"{stem} is in {', '.join(sorted(in_))}" for stem, in_ in repeated]


def in_circles(graph: dict[str, set[str]]) -> set[str]:
    """What needs one another in a circle, and what is between two circles."""
    left = set(graph)
    while ends := {
        name
        for name in left
        if not graph[name] & left or not any(name in graph[other] for other in left)
    }:
        left -= ends
    return left


def test_the_package_breaks_no_rule() -> None:
    assert faults(PACKAGE, MAY_IMPORT) == []


def test_every_row_of_the_table_is_a_room() -> None:
    assert {room(module) for module in modules(PACKAGE)} | {"_core"} == {*MAY_IMPORT, "elk"}


def test_what_breaks_a_rule_is_seen(tmp_path: Path) -> None:
    """In a made-up package of two rooms, `high` above `low`."""
    table: dict[str, set[str]] = {"low": set(), "high": {"low"}}
    names = ("__init__", "low/__init__", "low/inner/__init__", "low/one", "high/__init__")
    sound = dict.fromkeys(names, "") | {
        "high/two": "from elk.low.one import x\nimport elkhound",
        "low/inner/three": "if TYPE_CHECKING:\n    from elk.low.one import x",
    }
    upwards = (
        *("from elk.high.two import y", "from elk.high import two", "import elk.high.two"),
        "def f():\n    from elk.high.two import y",
        "class A:\n    def f(self):\n        import elk.high.two",
        "if TYPE_CHECKING:\n    from elk.high.two import y",
        *("import_module(f'elk.high.{name}')", "importlib.import_module('elk.high.two')"),
    )
    above = ["elk.low.one imports elk.high.two", "a circle of modules: elk.high.two, elk.low.one",
             "a circle of folders: elk.high, elk.low"]  # fmt: skip
    inner = "a circle of modules: elk.low.inner.three, elk.low.one"
    folders = "a circle of folders: elk.low, elk.low.inner"
    cases: list[tuple[dict[str, str], list[str]]] = [
        ({}, []),
        ({"high/one": "", "low/inner/two": ""}, []),
        *(({"low/one": source}, above) for source in upwards),
        ({"low/one": "import elk"}, ["elk.low.one imports elk"]),
        ({"low/one": "from elk import Public"}, ["elk.low.one imports elk"]),
        ({"low/one": "def f():\n    import elk.low.inner.three"}, [inner, folders]),
        ({"low/one": "import_module(f'{__package__}.inner.{x}')"}, [inner, folders]),
        ({"low/one": "from elk.low.inner import four", "low/inner/four": ""}, [folders]),
        ({"attic/box": ""}, ["elk.attic.box is in no room of the table"]),
        ({f"low/{i}": "" for i in range(MOST_FILES - 1)}, []),
        ({f"low/{i}": "" for i in range(MOST_FILES)}, ["low has 31 files"]),
        ({"high/one": "", "one": ""}, ["elk.one is in no room of the table",
                                       "one is in elk, high, low"]),
    ]  # fmt: skip
    for number, (changes, wanted) in enumerate(cases):
        package = tmp_path / str(number)
        for name, source in (sound | changes).items():
            path = package / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
        assert faults(package, table) == wanted, changes
    assert in_circles({"low": {"high"}, "high": {"low"}, "base": set()}) == {"low", "high"}
