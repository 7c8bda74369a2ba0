"""ONNX's node tests by emulation: the page in the docs is what its command prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "emulation_coverage.md"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_case_that_runs_is_right() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "emulation_coverage.py")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert PAGE.read_text(encoding="utf-8").splitlines() == printed.splitlines()
    columns, total = re.findall(r"^\| (?:type|\*\*all\*\*) .*$", printed, re.MULTILINE)
    names = [x.strip() for x in columns.strip("|").split("|")]
    counts = [int(x.replace(",", "")) for x in total.strip("|").split("|")[1:]]
    found = dict(zip(names[1:], counts, strict=True))
    assert found["cases"] == 1884
    assert found["partitioned"] >= 700
    assert (found["mismatch"], found["crash"]) == (0, 0)
