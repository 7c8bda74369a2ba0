"""ONNX's node tests by emulation: they are right, and the page is what its command prints."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from emulated_cases import rows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operators.md"
pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.


@pytest.mark.slow
def test_every_twentieth_case_is_right_where_it_runs() -> None:
    found: Counter[str] = sum((row.found for row in rows(step=20)), Counter())
    assert found.total() == 95
    assert found["partitioned"] >= 30
    assert (found["mismatch"], found["crash"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.nightly
def test_every_case_that_runs_is_right_and_counted_on_the_page() -> None:
    """The command fails where a result is wrong."""
    command = [sys.executable, str(ROOT / "benchmarks" / "tables" / "operators_table.py")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert PAGE.read_text(encoding="utf-8").splitlines() == printed.splitlines()
