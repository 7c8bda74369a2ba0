"""The commands whose tables stand in docs/ run, and say what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.slow


def _lines(*words: str) -> list[str]:
    command = [sys.executable, str(BENCHMARKS / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.nightly
def test_the_table_of_machines_says_times_or_why_not() -> None:
    words = (
        "--models",
        "opt",
        "--chips",
        "tiny,palm-wafer",
        "--pods",
        "pooled",
        "--policy",
        "basic",
    )
    head, _, small, fits = _lines("tables/machine_table.py", *words)
    assert head.split(" | ")[-1] == "check_plan |"
    assert "the HBM of 1 chip(s) holds" in small
    assert fits.endswith("| accepts |")


@pytest.mark.nightly
def test_the_matrix_of_machines_holds_sharing_against_pooling() -> None:
    words = ("--models", "gemma", "--chips", "palm-wafer", "--policy", "basic", "--matrix")
    _, _, pooled, shared, _, count, last = _lines("tables/machine_table.py", *words)
    assert count == "2 plans, 0 refused by check_plan."
    assert last.startswith("Shared slower than pooled: none.")
    # One grid of all chips is faster there, so both rows say the same.
    assert shared.replace("*", "").split(" | ")[2:] == pooled.split(" | ")[2:]
    assert "*" in shared


def assert_no_policy_is_slower_than_one_below_it(chips: str, models: str, cases: int) -> None:
    last = _lines("tables/never_worse_table.py", "--chips", chips, "--models", models)[-1]
    assert last == f"Of {cases} cases, a policy is slower than one below it in 0."


def test_no_policy_is_slower_than_one_below_it() -> None:
    assert_no_policy_is_slower_than_one_below_it("tiny", "nerf-16", 1)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("chips", "models", "cases"),
    [
        ("palm-wafer,ipu-pod4-hbm-mesh,wormhole-n300", "nerf-16,nerf-1000,decoder", 18),
        ("mtia-v2,blackhole-p150,tiny,trainium2,ipu-mk2", "nerf-16,nerf-1000,decoder", 15),
        ("wse2-streaming", "nerf-1000", 1),
    ],
)
def test_nor_is_any_on_other_machines(chips: str, models: str, cases: int) -> None:
    assert_no_policy_is_slower_than_one_below_it(chips, models, cases)


@pytest.mark.nightly
def test_the_table_of_spaces_counts_the_plans_of_every_operator() -> None:
    lines = _lines("tables/space_table.py", "--model", "resnet50", "--chip", "dojo-d1")
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    assert len(rows) > 20
    for row in rows:
        complete, filtered, pareto, pairs = (
            float(cell.strip(" |").replace(",", "")) for cell in row[2:]
        )
        assert complete >= filtered >= pareto >= pairs >= 1


@pytest.mark.nightly
def test_the_table_of_waves_holds_them_against_whole_operators() -> None:
    words = ("--batches", "64", "--rates", "16", "--policy", "elk-dyn")
    row = _lines("tables/wave_table.py", *words)[-1].strip("| ").split(" | ")
    assert len(row) == 10
    assert int(row[6]) > 1  # waves
    assert float(row[7]) < float(row[3])


@pytest.mark.nightly
def test_the_table_of_compiles_says_what_each_takes() -> None:
    words = ("--full", "--models", "opt-30b", "--repeats", "1")
    row = _lines("python/bench_compile.py", *words)[-1].strip("| ").split(" | ")
    load, plan, both = (float(cell.split(" <= ")[0]) for cell in row[1:4])
    assert load + plan == pytest.approx(both, abs=0.011)
    assert row[5] == "yes"
    for cell, bar in zip([*row[2:5], row[6]], (1.0, 2.0, 0.5, 1024.0), strict=True):
        found, _, beside = cell.partition(" <= ")
        at_most = float(beside.removesuffix(" MISSED"))
        assert at_most == bar
        assert beside.endswith("MISSED") == (float(found) > bar) or float(found) == bar


def test_a_model_that_there_is_not_ends_with_those_there_are() -> None:
    command = [sys.executable, str(BENCHMARKS / "tables" / "grid_table.py"), "--models", "opt-3b"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no model begins with 'opt-3b'; there are llama2-13b-decode," in done.stderr


@pytest.mark.nightly
def test_the_table_of_bounds_puts_the_ideal_above_the_bound() -> None:
    lines = _lines("tables/bound_table.py", "--models", "dit", "--batches", "2", "--rates", "1,16")
    rows = [[float(cell) for cell in line.split(" | ")[3:8]] for line in lines[2:4]]
    for hbm, execution, links, bound, ideal in rows:
        assert max(hbm, execution, links) <= bound < ideal
    assert rows[0][0] > rows[1][0]
    assert lines[-1].startswith("ideal / bound: mean 1.")
