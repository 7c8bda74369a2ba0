"""Every test model of the onnx package is planned, or refused with a reason."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from onnx_coverage import KINDS, rows

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_is_what_its_command_makes_of_the_cases() -> None:
    """All of it but the cells of emulation, which `test_emulate_coverage.py` compares."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "tables" / "operators_table.py"))
    made = "\n".join(script["page"]({kind: rows(kind) for kind in KINDS}, None))
    text = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    before, heading, types = text.partition("\n## Node tests by operator type\n")
    emulation = re.compile(r"(?<= \|)(?:[^|\n]*\|){4}$", re.MULTILINE)  # the last four cells
    assert (before + heading + emulation.sub("", types)).splitlines() == made.splitlines()
    found: Counter[str] = sum((row.numeric for row in rows("node")), Counter())
    assert sum(found.values()) == 1829
    assert (found.total() - found["refused"]) / found.total() >= 0.94
    assert found["opaque"] / found.total() <= 0.06
