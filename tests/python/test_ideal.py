"""No policy beats the ideal, neither as it simulates nor as it is forecast (design 6.5)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import elk
import pytest
from sampling import few_then

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "benchmarks" / "tables" / "ideal_table.py"
NERF = ROOT / "models" / "nerf.onnx"

# Models and chips of the whole table that policies beat where the ideal took the plans that are
# fastest alone, and that take seconds.
FEW = (("nerf-t10", "tiny", "sharded"), ("nerf-t10", "ipu-pod4", "pooled"))
CASES = (
    ("nerf-t10", "mtia-v2", "sharded"),
    ("nerf-t10", "gc200", "sharded"),
    ("nerf-t10", "palm-wafer", "sharded"),
    ("gpt2", "maia100", "sharded"),
    ("gpt2", "ipu-pod4-hbm-mesh", "sharded"),
    ("opt-6.7b", "ipu-pod4-hbm", "sharded"),
    ("bert-large", "wormhole-n150", "sharded"),
)


def table() -> Any:
    """The benchmark that prints all cases."""
    spec = importlib.util.spec_from_file_location("ideal_table", TABLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@few_then(FEW, CASES)
def test_no_policy_beats_the_ideal(
    cases: list[tuple[str, str, str]], subtests: pytest.Subtests
) -> None:
    for name, chip, pod in cases:
        with subtests.test(name, chip=chip, pod=pod):
            benchmark = table()
            given, bindings = benchmark.MODELS[name]
            model = elk.load_model(elk.models.get(name, **given), bindings=bindings)
            cells, ideal_s = benchmark.against_ideal(model, elk.chips.get(chip), pod)
            assert ideal_s > 0.0
            for policy, cell in cells.items():
                assert cell.of_all >= 1.0, policy
                assert cell.of_own >= 1.0, policy


def test_a_comparison_holds_all_policies_against_one_ideal() -> None:
    found = elk.compare(NERF, "tiny", bindings={"rows": 64})
    assert {row.ideal_s for row in found.rows} == {found.ideal_s}
    assert found.ideal_s == min(row.plan.bounds.ideal_s for row in found.rows)
    assert all(found.ideal_s <= row.run.latency_s for row in found.rows)
    assert all(row.of_ideal <= 1.0 for row in found.rows)


def test_the_plan_of_the_ideal_takes_the_time_that_its_bounds_name() -> None:
    plan = elk.compile(NERF, "tiny", policy="ideal", bindings={"rows": 64})
    full = elk.compile(NERF, "tiny", policy="elk-full", bindings={"rows": 64})
    assert plan.latency_s == pytest.approx(plan.bounds.ideal_s, abs=1e-12)
    assert plan.bounds == full.bounds
    assert plan.to_json()["buffers"] == []
    assert plan.to_json()["simulated"] is None
