"""Models whose activations are large for SRAM run in slices of their batch: sound, same numbers."""

from __future__ import annotations

import random

import elk
import pytest
from elk import models
from emulated_models import MODELS, feeds_of
from plan_oracle import broken_rules

SIZES = {"batch": 8, "seq": 16}


def chip(sram_bytes: int, **changes: object) -> elk.Chip:
    """Sixteen cores of the tiny chip."""
    little = {"core_count": 16, "sram_bytes": sram_bytes, "reserved_bytes": 256}
    return elk.chips.get("tiny").replace(**{**little, **changes})


def slices(plan: elk.Plan) -> int:
    """How many slices there are; 0 where nothing is in any."""
    return 1 + max([-1, *(int(name.rpartition("#")[2]) for name in plan.op_names if "#" in name)])


def planned(name: str, on: elk.Chip, policy: str = "elk-dyn") -> elk.Plan:
    bindings = feeds_of(MODELS[name], SIZES)[1]
    return elk.compile(MODELS[name], on, bindings=bindings, policy=policy, effort="fast")


def test_the_less_memory_the_more_slices() -> None:
    found = [planned("encoder", chip(kib << 10)) for kib in (3, 6, 32)]
    assert [slices(plan) for plan in found] == [4, 2, 0]
    for plan in found:
        assert broken_rules(plan) == []
        assert plan.check() == []
        assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


def test_without_hbm_nothing_goes_in_slices() -> None:
    with pytest.raises(elk.InfeasibleError):
        planned("encoder", chip(8 << 10, hbm=None))


@pytest.mark.slow
def test_slices_compute_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    pytest.importorskip("onnxruntime")
    cases = [("encoder", 6, "mesh2d"), ("vit", 6, "all_to_all"), ("resnet", 4, "ring")]
    for name, kib, topology in cases:
        with subtests.test(name):
            plan = planned(name, chip(kib << 10, topology=topology))
            assert slices(plan) > 1
            result = plan.emulate(feeds_of(MODELS[name], SIZES)[0], check=True)
            assert result.checks
            assert result.passed, result.checks


@pytest.mark.slow
def test_random_models_in_slices_are_sound_and_no_faster_than_their_bound() -> None:
    draw = random.Random(5)
    seen = 0
    for _ in range(16):
        config = models.EncoderConfig(
            layers=draw.choice((1, 2)),
            hidden=64,
            heads=4,
            ffn=64 * draw.choice((1, 2)),
            vocab=32,
            positions=16,
        )
        model = elk.load_model(
            models.encoder(config),
            bindings={"batch": draw.choice((3, 4, 8)), "seq": draw.choice((8, 12, 16))},
        )
        topology = draw.choice(("all_to_all", "mesh2d", "torus2d", "ring"))
        on = chip(draw.choice((3, 4, 5, 6)) << 10, topology=topology)
        try:
            plan = elk.compile(model, on, policy=draw.choice(("basic", "elk-full")), effort="fast")
        except elk.InfeasibleError:
            continue
        seen += slices(plan) > 1
        assert broken_rules(plan) == []
        assert plan.bounds.lower_bound_s <= plan.simulate().latency_s
    assert seen > 3
