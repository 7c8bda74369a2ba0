"""Has every source its test by name, or a line in `covered_by.toml` saying which test covers it?

The test of `cpp/elk/<module>/[<room>/]<name>` is `tests/cpp/<module>/test_<name>.cpp`; that of
`python/elk/[<room>/]<name>.py` is `test_<name>.py` or `test_<room>_<name>.py` below `tests`. Such a
test must have to do with its source: a C++ test includes the header, itself or by a header of the
tests; a Python test imports the module or its room, or takes from `elk` what the module defines.

A line of the table is for a source without such a test:

    "chip/topologies" = "cpp/chip/test_network via chip/network"

It says how the test has to do with the source. Nothing after the test: it includes the header, or
imports the module, itself or by a file of the tests that it includes or imports. `via` names
another source that includes or imports this one, and that the test has to do with instead; a C++
source without a header of its own is used by those beside it whose headers it includes. `by` names
a word that stands in both. Records of tuned numbers hold nothing to test; `test_ids.py` reads them.
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
LINE = re.compile(r"(?P<test>\S+)(?P<users>(?: via \S+)*)(?: by (?P<word>\S+))?")
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
        files: The files of each source, by its name.
        sources: Those that have code of their own.
        own: The names that a source's own test may have.
        used: The sources that a file refers to.
    """

    suffix: str
    files: dict[str, list[Path]]
    sources: list[str]
    own: Callable[[str], list[str]]
    used: Callable[[Path], frozenset[str]]

    def test_of(self, source: str) -> str | None:
        """The test that has the name of a source, and that refers to it."""
        room = source.split("/", maxsplit=1)[0]
        for name in self.own(source):
            if name in NAMED_TESTS and NAMED_TESTS[name].suffix == self.suffix:
                rooms = {used.split("/")[0] for used in self.used(NAMED_TESTS[name])}
                if room in rooms or f"_{room}_" in name:
                    return name
        return None

    def refers(self, test: str, source: str) -> bool:
        """Whether a test refers to a source by itself."""
        if NAMED_TESTS[test].suffix != self.suffix:
            return False
        return source in self.used(NAMED_TESTS[test])

    def uses(self, user: str, source: str) -> bool:
        """Whether a source includes or imports another, or has a part of it elsewhere."""
        if any(source in self.used(path) for path in self.files[user]):
            return True
        headless = [path.suffix for path in self.files[source]] == [".cpp"]
        beside = user.rpartition("/")[0] == source.rpartition("/")[0]
        return headless and beside and user in self.used(self.files[source][0])

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
            elif (fault := self.fault_of(source, line)) is not None:
                yield f"{source}: {fault}"

    def fault_of(self, source: str, line: str) -> str | None:
        """What is wrong with a line, if anything."""
        parts = LINE.fullmatch(line)
        if parts is None or parts["test"] not in NAMED_TESTS:
            return f"no test is called {line!r}"
        test, word, last = parts["test"], parts["word"], source
        for user in parts["users"].split(" via ")[1:]:
            if user not in self.files or not self.uses(user, last):
                return f"{user} does not use {last}"
            last = user
        if word is not None:
            return None if self.says(last, test, word) else f"{word!r} does not stand in both"
        has_to_do = self.refers(test, last) or (last != source and self.test_of(last) == test)
        return None if has_to_do else f"{test} has nothing to do with {last}"

    def says(self, source: str, test: str, word: str) -> bool:
        """Whether a word stands in a source and in a test."""
        known = re.compile(rf"\b{re.escape(word)}\b")
        stands = any(known.search(code(path)) for path in self.files[source])
        return stands and known.search(code(NAMED_TESTS[test])) is not None


def core_files() -> dict[str, list[Path]]:
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


def package_files() -> dict[str, list[Path]]:
    """The Python modules by their path below the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        found[name.removesuffix("/__init__")] = [path]
    return found


def has_code(path: Path) -> bool:
    """Whether a Python module defines something, beside names that it passes on."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(part, ast.FunctionDef | ast.ClassDef | ast.AnnAssign) for part in body)


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
    used = {
        name.removeprefix("elk.").replace(".", "/") for name in found if name.startswith("elk.")
    }
    for name in found:
        support = TESTS / "support" / f"{name}.py"
        used |= imported(support) if support.exists() and support != path else set()
    return frozenset(used)


def own_package_tests(source: str) -> list[str]:
    *rooms, name = source.split("/")
    names = [f"test_{'_'.join([*rooms[:1], name])}", f"test_{name}"]
    return [test for test in NAMED_TESTS if test.rpartition("/")[2] in names]


CORE_FILES, PACKAGE_FILES = core_files(), package_files()
LANGUAGES = {
    "cpp": Language(
        ".cpp",
        CORE_FILES,
        [name for name in CORE_FILES if not name.endswith("_tuning")],
        own_core_tests,
        included,
    ),
    "python": Language(
        ".py",
        PACKAGE_FILES,
        [name for name, (path,) in PACKAGE_FILES.items() if has_code(path)],
        own_package_tests,
        imported,
    ),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_source_has_its_test_or_a_line_that_names_one(name: str) -> None:
    assert list(LANGUAGES[name].faults(TABLE[name])) == []


@pytest.mark.parametrize(
    ("name", "source", "line", "why"),
    [
        ("cpp", "cost/gone", "cpp/cost/test_front", "there is no such source"),
        ("cpp", "cost/front/front", "cpp/cost/test_front", "needs no line"),
        ("cpp", "chip/topologies", "cpp/chip/test_gone", "no test is called"),
        ("cpp", "chip/topologies", "cpp/chip/test_network because it is so", "no test is called"),
        ("cpp", "chip/topologies", "cpp/chip/test_network", "has nothing to do with"),
        ("cpp", "chip/topologies", "cpp/cost/test_store via chip/network", "has nothing to do"),
        ("cpp", "chip/topologies", "cpp/chip/test_network via chip/ways", "does not use"),
        ("cpp", "chip/topologies", "cpp/chip/test_network by laid_nowhere", "does not stand"),
        ("cpp", "base/watch", "cpp/base/test_parallel", None),
        ("cpp", "cost/front/survey", "cpp/cost/test_front via base/rounding", "does not use"),
        ("python", "tile/profile", "python/test_options", "has nothing to do with"),
        ("python", "cli/trace", "python/test_timeline", "has nothing to do with"),
        ("python", "tile/profile", "python/test_fit", None),
        ("python", "tile/recipes", "python/test_fit via tile/fit", None),
        ("python", "cli/trace", "python/test_timeline by trace", None),
    ],
)
def test_the_rules_see_what_they_refuse(name: str, source: str, line: str, why: str | None) -> None:
    language = LANGUAGES[name]
    found = [fault for fault in language.faults({source: line}) if fault.startswith(f"{source}: ")]
    assert len(found) == (why is not None)
    assert why is None or why in found[0]


def test_a_source_without_a_test_is_seen() -> None:
    table = {source: line for source, line in TABLE["cpp"].items() if source != "base/watch"}
    assert list(LANGUAGES["cpp"].faults(table)) == [
        "base/watch: no test has its name, and no line of covered_by.toml names one"
    ]
