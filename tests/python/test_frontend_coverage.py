"""Every test model of the onnx package is planned, or refused with a reason."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from onnx_coverage import KINDS, Row, rows

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("coverage")  # One process makes the table.
PAGE = ROOT / "docs" / "operators.md"


@cache
def table(kind: str) -> tuple[Row, ...]:
    return tuple(rows(kind))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
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
def test_the_page_without_emulation_is_what_the_command_prints() -> None:
    script = ROOT / "benchmarks" / "tables" / "operators_table.py"
    command = [sys.executable, str(script), "--planned"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, heading, types = PAGE.read_text("utf-8").partition("\n## Node tests by operator type\n")
    emulation = re.compile(r"(?<= \|)(?:[^|\n]*\|){4}$", re.MULTILINE)  # the last four cells
    assert (before + heading + emulation.sub("", types)).splitlines() == printed.splitlines()
