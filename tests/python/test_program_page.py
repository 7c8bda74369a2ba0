"""docs/from_plan_to_program.md and its picture: they are what their command prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


def printed(*options: str) -> str:
    command = [sys.executable, str(_ROOT / "benchmarks" / "tables" / "program_page.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly
@pytest.mark.parametrize(("options", "ending"), [((), "md"), (("--svg",), "svg")])
def test_the_page_and_its_picture_are_what_the_command_prints(
    options: tuple[str, ...], ending: str
) -> None:
    page = _ROOT / "docs" / f"from_plan_to_program.{ending}"
    assert printed(*options) == page.read_text(encoding="utf-8")


def test_lists_simulator_and_emulator_count_the_same_bytes() -> None:
    text = printed()
    moved = text.rpartition("| all | ")[2].split()[0]
    assert f"it moves {moved} bytes" in text
    counted = text.partition("the busiest core receives ")[2].split()[0]
    assert f"counts {counted} for it" in text
    assert "equals numpy's, bit for bit" in text
