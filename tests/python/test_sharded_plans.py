"""Plans of pods whose chips share a model: sound by a checker of their own, never worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import elk
import pytest
from elk import models
from plan_oracle import broken_rules

MODELS = Path(__file__).parents[2] / "models"
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")


def tiny_pod(chips: int = 4, **changes: Any) -> elk.Chip:
    """Chips of 64 cores, with slow HBM: it pays to read every weight once."""
    tiny = elk.chips.get("tiny")
    between = {
        "bytes_per_s": 20e9,
        "latency_s": 100e-9,
        "sync_latency_s": 100e-9,
        "port_cores": 64,
        "topology": "all_to_all",
    }
    pod = {**tiny.to_dict(), "chips": chips, "inter_chip": between}
    return elk.Chip.from_dict(pod).replace(name="tiny-pod", **changes)


def decoder(layers: int = 2) -> elk.Model:
    """Eight heads over four of keys and values, wide enough that weights decide."""
    config = models.TransformerConfig(
        layers=layers, hidden=512, heads=8, kv_heads=4, head_dim=64, ffn=1024, vocab=512
    )
    proto = models.transformer(config, phase="decode")
    return elk.load_model(proto, bindings={"batch": 4, "past": 64})


def rows(plan: elk.Plan) -> list[dict[str, Any]]:
    return list(plan.to_json()["ops"])


def collectives(plan: elk.Plan) -> list[dict[str, Any]]:
    return [row for row in rows(plan) if "collective" in row]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("topology", ["all_to_all", "mesh2d"])
def test_a_sharded_decoder_breaks_no_rule(policy: str, topology: str) -> None:
    plan = elk.compile(decoder(), tiny_pod(topology=topology), policy=policy)
    assert plan.pod == "sharded"
    assert broken_rules(plan) == []
    assert plan.check() == []
    assert len(collectives(plan)) >= 4
