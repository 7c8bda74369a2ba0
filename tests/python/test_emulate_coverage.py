"""ONNX's node tests by emulation: they are right, and the page is what its command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from emulated_cases import rows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "emulation_coverage.md"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_fifth_case_is_right_where_it_runs() -> None:
    found: Counter[str] = sum((row.found for row in rows(step=5)), Counter())
    assert found.total() == 377
    assert found["partitioned"] >= 140
    assert (found["mismatch"], found["crash"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_every_case_that_runs_is_right() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "tables" / "emulation_coverage.py")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert PAGE.read_text(encoding="utf-8").splitlines() == printed.splitlines()
    columns, total = re.findall(r"^\| (?:type|\*\*all\*\*) .*$", printed, re.MULTILINE)
    names = [x.strip() for x in columns.strip("|").split("|")]
    counts = [int(x.replace(",", "")) for x in total.strip("|").split("|")[1:]]
    found = dict(zip(names[1:], counts, strict=True))
    assert found["cases"] == 1884
    assert found["partitioned"] >= 700
    assert (found["mismatch"], found["crash"]) == (0, 0)
