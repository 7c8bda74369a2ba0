"""Every test model of the onnx package is planned, or refused with a reason."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from each_case import each
from onnx_coverage import KINDS, Row, rows

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("coverage")  # One process makes the table.
PAGE = ROOT / "docs" / "operators.md"


@cache
def table(kind: str) -> tuple[Row, ...]:
    return tuple(rows(kind))


@pytest.mark.slow
@pytest.mark.timeout(600)
@each("kind", KINDS)
def test_every_case_is_planned_or_refused_with_a_reason(kind: str) -> None:
    for row in table(kind):
        assert row.found["refused"] == sum(row.reasons.values()), row.name
        assert "" not in row.reasons, row.name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_most_cases_of_numbers_are_planned_or_folded() -> None:
    found: Counter[str] = sum((row.numeric for row in table("node")), Counter())
    assert sum(found.values()) == 1829
    assert (found.total() - found["refused"]) / found.total() >= 0.94
    assert found["opaque"] / found.total() <= 0.06


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_is_what_its_command_makes_of_these_tables() -> None:
    """All of it but the cells of emulation, which `test_emulate_coverage.py` compares."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "tables" / "operators_table.py"))
    made = "\n".join(script["page"]({kind: table(kind) for kind in KINDS}, None))
    before, heading, types = PAGE.read_text("utf-8").partition("\n## Node tests by operator type\n")
    emulation = re.compile(r"(?<= \|)(?:[^|\n]*\|){4}$", re.MULTILINE)  # the last four cells
    assert (before + heading + emulation.sub("", types)).splitlines() == made.splitlines()
