"""Has every source its test by name, or a line in `covered_by.toml` saying which test covers it?

The test of `cpp/elk/<module>/[<room>/]<name>` is `tests/cpp/<module>/test_<name>.cpp`; that of
`python/elk/[<room>/]<name>.py` is `test_<name>.py` or `test_<room>_<name>.py` below `tests`. Such a
test must have to do with its source: a C++ test includes the header, itself or by a header of the
tests; a Python test imports the module or its room, or takes from `elk` what the module defines.

A line of the table is for a source without such a test:

    "chip/topologies" = "cpp/chip/test_network via chip/network"

Nothing after the test: it includes the header, or imports the module, of the source. `via` names
another source that includes or imports this one, and that the test covers; a C++ source without a
header of its own is used by those whose headers it includes. `by` names a word that stands in both.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import elk
import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
CORE = ROOT / "cpp" / "elk"
PACKAGE = ROOT / "python" / "elk"
TABLE = tomllib.loads((Path(__file__).parent / "covered_by.toml").read_text(encoding="utf-8"))
LINE = re.compile(r"(?P<test>\S+)(?: (?P<how>via|by) (?P<what>\S+))?")
NAMED_TESTS = {
    path.relative_to(TESTS).with_suffix("").as_posix(): path
    for path in sorted(TESTS.rglob("test_*"))
    if path.suffix in {".py", ".cpp"}
}


@cache
def code(path: Path) -> str:
    """What a file says beside comments."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"//[^\n]*" if path.suffix in {".cpp", ".hpp"} else r"#[^\n]*", "", text)


@dataclass(frozen=True)
class Language:
    """Where sources of a language are, and how files refer to them.

    Attributes:
        suffix: The end of the names of its tests.
        sources: The files of each source, by its name.
        own: The names that a source's own test may have.
        used: The sources that a file refers to.
    """

    suffix: str
    sources: dict[str, list[Path]]
    own: Callable[[str], list[str]]
    used: Callable[[Path], frozenset[str]]

    def test_of(self, source: str) -> str | None:
        """The test that has the name of a source, and that refers to it."""
        room = source.split("/")[0]
        for name in self.own(source):
            if name in NAMED_TESTS and NAMED_TESTS[name].suffix == self.suffix:
                rooms = {used.split("/")[0] for used in self.used(NAMED_TESTS[name])}
                if self.refers(name, source) or room in rooms:
                    return name
        return None

    def refers(self, test: str, source: str) -> bool:
        """Whether a test refers to a source by itself."""
        if NAMED_TESTS[test].suffix != self.suffix:
            return False
        used = self.used(NAMED_TESTS[test])
        return source in used or source.rpartition("/")[0] in used

    def uses(self, user: str, source: str) -> bool:
        """Whether a source includes or imports another, or has a part of it elsewhere."""
        if any(source in self.used(path) for path in self.sources[user]):
            return True
        headless = [path.suffix for path in self.sources[source]] == [".cpp"]
        return headless and user in self.used(self.sources[source][0])

    def faults(self, table: dict[str, str]) -> Iterator[str]:
        """Sources without a test or line, and lines that say nothing, or what is not so."""
        for source in self.sources:
            if source not in table and self.test_of(source) is None:
                yield f"{source}: no test has its name, and no line of covered_by.toml names one"
        for source, line in table.items():
            if source not in self.sources:
                yield f"{source}: there is no such source"
            elif (own := self.test_of(source)) is not None:
                yield f"{source}: needs no line, its test is {own}"
            elif (fault := self.fault_of(source, line, table)) is not None:
                yield f"{source}: {fault}"

    def fault_of(self, source: str, line: str, table: dict[str, str]) -> str | None:
        """What is wrong with a line, if anything."""
        parts = LINE.fullmatch(line)
        if parts is None or parts["test"] not in NAMED_TESTS:
            return f"no test is called {line!r}"
        test, what = parts["test"], parts["what"]
        if what is None:
            return None if self.refers(test, source) else f"{test} does not refer to it"
        if parts["how"] == "by":
            word = re.compile(rf"\b{re.escape(what)}\b")
            files = [*self.sources[source], NAMED_TESTS[test]]
            both = any(word.search(code(file)) for file in files[:-1]) and word.search(code(files[-1]))
            return None if both else f"{what!r} does not stand in both"
        if what not in self.sources or not self.uses(what, source):
            return f"{what} does not use it"
        if self.refers(test, what) or table.get(what, "").split(" ")[0] == test:
            return None
        return f"{test} does not cover {what}"


def core_sources() -> dict[str, list[Path]]:
    """The C++ files by name, header and source together."""
    found: dict[str, list[Path]] = {}
    for path in sorted(CORE.rglob("*.?pp")):
        found.setdefault(path.relative_to(CORE).with_suffix("").as_posix(), []).append(path)
    return found


@cache
def included(path: Path) -> frozenset[str]:
    """The headers of the core that a C++ file includes, itself or by headers of the tests."""
    names = re.findall(r'^#include "([\w/]+)\.hpp"', code(path), re.MULTILINE)
    own = path.relative_to(CORE).with_suffix("").as_posix() if path.is_relative_to(CORE) else None
    found = {name.removeprefix("elk/") for name in names if name.startswith("elk/")} - {own}
    for name in names:
        header = TESTS / "cpp" / f"{name}.hpp"
        found |= included(header) if header.exists() else set()
    return frozenset(found)


def own_core_tests(source: str) -> list[str]:
    module, *_, name = source.split("/")
    return [f"cpp/{module}/test_{name}"]


def package_sources() -> dict[str, list[Path]]:
    """The Python modules with code of their own, by their path below the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if any(isinstance(part, ast.FunctionDef | ast.ClassDef | ast.AnnAssign) for part in body):
            name = path.relative_to(PACKAGE).with_suffix("").as_posix()
            found[name.removesuffix("/__init__") if name != "__init__" else name] = [path]
    return found


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of the package that a Python file imports, or whose public names it takes."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{alias.name}" for alias in names)}
            case ast.Attribute(value=ast.Name(id="elk"), attr=name):
                found |= {elk._LAZY.get(name, f"elk.{name}")}
            case ast.Constant(value=str(text)) if re.fullmatch(r"elk(\.\w+)+", text):
                found.add(text)
    return frozenset(
        name.removeprefix("elk.").replace(".", "/") for name in found if name.startswith("elk.")
    )


def own_package_tests(source: str) -> list[str]:
    *rooms, name = source.split("/")
    names = [f"test_{'_'.join([*rooms[:1], name])}", f"test_{name}"]
    return [test for test in NAMED_TESTS if test.rpartition("/")[2] in names]


LANGUAGES = {
    "cpp": Language(".cpp", core_sources(), own_core_tests, included),
    "python": Language(".py", package_sources(), own_package_tests, imported),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_source_has_its_test_or_a_line_that_names_one(name: str) -> None:
    assert list(LANGUAGES[name].faults(TABLE[name])) == []
