"""Ops whose HBM data take a large share of SRAM go in waves: sound, and the same numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import elk
import pytest
from elk import models
from emulated_models import feeds_of, pod
from plan_oracle import broken_rules

CONFIG = models.TransformerConfig(
    layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, ffn=128, vocab=64
)
SIZES = {"batch": 32, "past": 256}
SRAM = 120 * 1024  # of each of 16 cores: one cache of `SIZES` takes more than half of it all


def waves(plan: elk.Plan) -> list[str]:
    """The ops that are one wave of several."""
    return [name for name in plan.op_names if "#" in name]


def decoder(sizes: dict[str, int] = SIZES) -> elk.Model:
    return elk.load_model(models.transformer(CONFIG, phase="decode", dtype="f32"), bindings=sizes)


def chip(sram_bytes: int, **changes: object) -> elk.Chip:
    """Sixteen cores, whose HBM takes about as long as they do."""
    little = {"core_count": 16, "sram_bytes": sram_bytes, "reserved_bytes": 256}
    return elk.chips.get("tiny").replace(**{**little, "hbm_bytes_per_s": 16e9, **changes})


def test_a_cache_that_leaves_no_room_for_the_next_goes_in_waves(subtests: pytest.Subtests) -> None:
    for policy in ["basic", "static", "elk-dyn", "elk-full"]:
        with subtests.test(policy=policy):
            plan = elk.compile(decoder(), chip(SRAM), policy=policy, effort="fast")
            assert len(waves(plan)) >= 2 * 2 * CONFIG.layers
            assert broken_rules(plan) == []
            assert plan.check() == []
            assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


def test_where_nothing_is_large_nothing_goes_in_waves() -> None:
    assert waves(elk.compile(decoder(), chip(4 * SRAM), policy="basic")) == []


def test_a_cache_larger_than_all_memory_is_planned_in_waves() -> None:
    model = decoder()
    cache = next(t.bytes for t in model.graph.tensors if t.name == "past_key_values.0.key")
    assert cache > 16 * SRAM // 3
    plan = elk.compile(model, chip(SRAM // 3), policy="basic")
    parts = Counter(name.partition("#")[0] for name in waves(plan))
    assert max(parts.values()) >= 3
    assert broken_rules(plan) == []


def assert_waves_compute_what_onnx_runtime_does(
    on: elk.Chip, policy: str, together: str = "sharded"
) -> None:
    pytest.importorskip("onnxruntime")
    proto = models.transformer(CONFIG, phase="decode", dtype="f32")
    feeds, bindings = feeds_of(proto, SIZES)
    plan = elk.compile(proto, on, bindings=bindings, policy=policy, pod=together)
    assert waves(plan)
    assert broken_rules(plan) == []
    result = plan.emulate(feeds, check=True)
    assert result.checks
    assert result.passed, result.checks


@pytest.mark.slow
def test_waves_compute_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    for policy in ["static", "elk-dyn"]:
        with subtests.test(policy=policy):
            assert_waves_compute_what_onnx_runtime_does(chip(SRAM), policy)


@pytest.mark.slow
def test_so_do_waves_on_several_chips(subtests: pytest.Subtests) -> None:
    for together in ["sharded", "pooled"]:
        with subtests.test(together=together):
            little = pod(1e12, 1e-10).replace(
                core_count=4, port_cores=4, sram_bytes=SRAM, reserved_bytes=256, hbm_bytes_per_s=4e9
            )
            assert_waves_compute_what_onnx_runtime_does(little, "elk-dyn", together)


def test_a_saved_plan_in_waves_is_read_back_and_runs(tmp_path: Path) -> None:
    plan = elk.compile(decoder(), chip(SRAM), policy="static")
    plan.save(tmp_path / "waves.elkplan")
    again = elk.load_plan(tmp_path / "waves.elkplan")
    assert again.check() == []
    assert again.simulate().latency_s == plan.simulate().latency_s
