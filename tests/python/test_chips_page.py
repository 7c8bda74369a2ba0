"""docs/chips.md: it is what its command prints, and no row of data/chips.csv is left out unsaid."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import chip_table
import elk
import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "chips.md").read_text(encoding="utf-8")


def test_the_page_is_what_its_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(_ROOT / "benchmarks/tables/chip_table.py"), run_name="__main__")
    assert capsys.readouterr().out == _PAGE


def test_every_preset_is_in_the_table() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \| \d+ x", _PAGE, re.MULTILINE)
    assert listed == elk.chips.names()


def test_a_row_has_a_preset_or_lacks_what_the_page_says() -> None:
    section = _PAGE.split("\n## ")[2]
    left_out = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    own = {row["id"] for row, _ in chip_table.presets()} | {"elk_a2a", "elk_mesh"}
    for key, row in chip_table.rows().items():
        assert (key in own) != (key in left_out), key
        # What a chip cannot be planned without, whoever says it: the core or the chip.
        said = [
            any(row[column] != "unknown" for column in columns)
            for columns in (
                ("cores",),
                ("sram_kib_per_core", "sram_mib_chip"),
                ("matrix_fp16_gflops_core", "matrix_fp16_tflops_chip"),
            )
        ]
        assert all(said) == (key in own), key
