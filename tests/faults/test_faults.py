"""Can every fault of the list still be planted, and are there the tests that should find it?"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.toml")
AREAS = ("planner", "program", "simulator", "front end")
FEWEST = 5  # of an area


def is_test(name: str) -> bool:
    """Whether there is a test of this name: `module: Suite.Name`, or the node id of pytest."""
    if ".py::" in name:
        file, _, function = name.partition("::")
        path = ROOT / file
        return path.is_file() and f"\ndef {function}(" in path.read_text(encoding="utf-8")
    module, _, cpp = name.partition(": ")
    defined = re.compile(rf"^TEST(?:_[FP])?\({cpp.replace('.', ', ')}\)", re.MULTILINE)
    sources = (ROOT / "tests" / "cpp" / module).glob("test_*.cpp")
    return any(defined.search(path.read_text(encoding="utf-8")) for path in sources)


def complaints(fault: dict[str, Any]) -> Iterator[str]:
    """What keeps a fault from being planted and found."""
    path = ROOT / fault["file"]
    count = path.read_text(encoding="utf-8").count(fault["old"]) if path.is_file() else 0
    if count != 1:
        yield f"{fault['name']}: its old text stands {count} times in {fault['file']}"
    if fault["area"] not in AREAS or fault["old"] == fault["new"] or not fault["caught_by"]:
        yield f"{fault['name']}: no area, no change or no test"
    for test in fault["caught_by"]:
        if not is_test(test) or (".py::" in test) != fault["file"].startswith("python/"):
            yield f"{fault['name']}: no test of its language is called {test}"


def test_every_fault_can_be_planted_and_its_tests_are_there() -> None:
    faults = tomllib.loads(LIST.read_text(encoding="utf-8"))["fault"]
    found = [complaint for fault in faults for complaint in complaints(fault)]
    assert not found, "\n".join(found)
    assert len({fault["name"] for fault in faults}) == len(faults)
    areas = Counter(fault["area"] for fault in faults)
    assert min(areas[area] for area in AREAS) >= FEWEST


def test_a_fault_that_cannot_be_planted_or_found_is_seen() -> None:
    sound = {
        "name": "a",
        "area": "planner",
        "file": "cpp/elk/cost/forecast.cpp",
        "old": "TimelineResult forecast(",
        "new": "x",
        "caught_by": ["cost: Forecast.RunsExecutesOneAfterAnother"],
    }
    assert list(complaints(sound)) == []
    changes: list[dict[str, Any]] = [
        {"old": "forecast"},
        {"old": "none of it"},
        {"file": "cpp/elk/cost/gone.cpp"},
        {"new": sound["old"]},
        {"area": "the rest"},
        {"caught_by": []},
        {"caught_by": ["cost: Forecast.Gone"]},
        {"caught_by": ["tests/python/test_windows.py::test_windows_may_lie_in_the_padding"]},
    ]
    for change in changes:
        assert len(list(complaints({**sound, **change}))) == 1, change
