"""Plans and runs are the same, bit for bit, on any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import elk
import pytest
from elk import models
from elk.base.policies import FORECASTS, POLICIES
from small_chips import tiny_pod

MODELS = Path(__file__).parents[2] / "models"
COUNTS = (1, 2, 4)
TINY = elk.chips.get("tiny")
POWERED = elk.Chip.from_dict({
    **TINY.to_dict(),
    "energy": {"pj_per_flop": 0.5, "pj_per_sram_byte": 2.0, "pj_per_link_byte_hop": 8.0,
               "pj_per_hbm_byte": 30.0, "pj_per_inter_chip_byte": 10.0, "static_w": 0.0},
})  # fmt: skip


def nerf() -> elk.Model:
    return elk.load_model(MODELS / "nerf.onnx", bindings={"rows": 256})


def decoder() -> elk.Model:
    config = models.TransformerConfig(
        layers=2, hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=512, vocab=512
    )
    graph = models.transformer(config, phase="decode")
    return elk.load_model(graph, bindings={"batch": 4, "past": 64})


def said(plan: elk.Plan) -> tuple[dict[str, Any], Any]:
    """All that a plan and its run say, but how long it took to find."""
    run = None if plan.policy in FORECASTS else plan.simulate().document()
    document = plan.to_json()
    del document["search"]["seconds"]
    return document, run


def differing(model: Any, chip: elk.Chip | str, **options: Any) -> list[int]:
    """Numbers of threads that do not give what one gives. Nothing is kept between compiles."""
    found = {n: said(elk.compile(model(), chip, threads=n, **options)) for n in COUNTS}
    return [n for n in COUNTS if found[n] != found[1]]


def test_a_plan_is_the_same_for_any_number_of_threads(subtests: pytest.Subtests) -> None:
    for policy in POLICIES:
        with subtests.test(policy=policy):
            chip = TINY.replace(hbm=None) if policy == "vgm" else TINY
            assert differing(nerf, chip, policy=policy) == []
    for name, model, chip, options in (
        ("mesh", nerf, TINY.replace(topology="mesh2d"), {}),
        ("without HBM", nerf, TINY.replace(hbm=None), {}),
        ("sharded", decoder, tiny_pod(), {}),
        ("pooled", decoder, tiny_pod(), {"pod": "pooled"}),
        ("delay times energy", nerf, POWERED, {"objective": "edp"}),
    ):
        with subtests.test(name):
            assert differing(model, chip, effort="fast", **options) == []


@pytest.mark.slow
@pytest.mark.nightly
def test_the_plan_of_a_large_model_is_the_same_for_any_number_of_threads() -> None:
    file, sizes = MODELS / "llama2-13b-decode.onnx", {"batch": 32, "past": 2048}
    assert differing(lambda: elk.load_model(file, bindings=sizes), "ipu-pod4-hbm") == []
