"""A better chip or a smaller batch does not make a plan slower: a sample of the whole table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sampling import few_then

TABLE = Path(__file__).parents[2] / "benchmarks" / "tables" / "monotone_table.py"

# What failed by 3 to 129 % where each op wanted all cores for itself, or a sum over cores was dealt
# out in short runs.
FEW = (("nerf", "a100", "count", 2),)
CASES = (
    ("decoder", "sn40l", "batch", 2),
    ("decoder,experts", "trainium2", "batch,count", 8),
    ("experts", "blackhole-p150", "batch", 2),
)


@pytest.mark.slow
@few_then(FEW, CASES)
def test_more_is_never_slower(cases: list[tuple[str, str, str, int]]) -> None:
    for models, chip, fields, pairs in cases:
        words = ("--models", models, "--chips", chip, "--fields", fields)
        command = [sys.executable, str(TABLE), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"Of {pairs} pairs, over 1 % slower: 0 (bar: 0)" in done.stdout, done.stdout
