"""Experts of a mixture over the chips of a pod: each chip has its own, or a part of each."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from emulated_models import MODELS, feeds_of, machine
from mixtures import dense_mixture
from plan_oracle import broken_rules

MIXTRAL = Path(__file__).parents[2] / "models" / "mixtral-8x7b-2layers-decode.onnx"
DECODE = {"batch": 32, "past": 2048}
CHIPS = 4


def experts_of(plan: elk.Plan, *names: str) -> dict[str, tuple[Any, Any]]:
    """Shapes of weights by the ends of their names: of the whole, and of what a chip has."""
    operands = [x for row in plan.to_json()["ops"] for x in row["operands"]]
    return {
        x["tensor"]: (x["shape"], x.get("chip_shape"))
        for x in operands
        if x["home"] == "weight" and x["tensor"].endswith(names)
    }


def test_where_all_tokens_meet_all_experts_each_chip_has_its_own(subtests: pytest.Subtests) -> None:
    for style, experts in itertools.product(["matmul", "einsum"], [8, 12]):
        with subtests.test(style=style, experts=experts):
            model = dense_mixture(style, experts=experts)
            plan = elk.compile(model, machine("close pod"), policy="elk-dyn")
            assert plan.pod == "sharded"
            own = experts // CHIPS
            assert experts_of(plan, "up", "down") == {
                "up": ([experts, 32, 48], [own, 32, 48]),
                "down": ([experts, 48, 32], [own, 48, 32]),
            }
            # Between the two products nothing is exchanged.
            kinds = [row["kind"] for row in plan.to_json()["ops"]]
            products = [i for i, kind in enumerate(kinds) if kind == "matmul"][-2:]
            assert not [k for k in kinds[slice(*products)] if k.startswith(("all_", "reduce_sc"))]
            assert broken_rules(plan) == []


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_pod_of_experts_computes_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    for style, experts in itertools.product(["matmul", "einsum"], [8, 12]):
        with subtests.test(style=style, experts=experts):
            pytest.importorskip("onnxruntime")
            model = dense_mixture(style, experts=experts)
            plan = elk.compile(model, machine("close pod"), policy="elk-dyn")
            x = np.random.default_rng(1).standard_normal((4, 32)).astype(np.float32)
            result = plan.emulate({"x": x}, check=True)
            assert result.passed, result.checks


def test_where_tokens_pick_experts_each_chip_has_a_part_of_each() -> None:
    model = elk.load_model(MIXTRAL, bindings=DECODE)
    pod = elk.chips.get("ipu-pod4-hbm")
    plan = elk.compile(model, pod, policy="basic")
    shapes = experts_of(plan, "gate_up_proj", "down_proj")
    assert len(shapes) == 4  # Two layers.
    for whole, part in shapes.values():
        # No chip waits for another whose experts are picked more often.
        assert part in ([8, whole[1] // CHIPS, whole[2]], [8, whole[1], whole[2] // CHIPS])
    found = elk.shard(model, pod)
    expected = sum(
        x.indirect.expected_picks / 8 * np.prod(model.graph.tensors[x.tensor].shape) * 2
        for op in model.graph.ops
        for x in op.operands
        if x.indirect is not None and len(model.graph.tensors[x.tensor].shape) == 3
    )
    assert found.hbm_bytes * CHIPS == pytest.approx(expected + rest_bytes(model), rel=0.01)
    # The experts' sums are added up once a layer, as attention's are.
    count = Counter(x.kind for x in found.collectives)
    assert count["all-reduce"] + count["reduce-scatter"] == 2 * 2
    assert broken_rules(plan) == []


def rest_bytes(model: elk.Model) -> int:
    """Weights and states that are read whole."""
    tensors = model.graph.tensors
    read = {x.tensor for op in model.graph.ops for x in op.operands if x.indirect is None}
    kept = [tensors[i] for i in read if tensors[i].home.name in {"Weight", "State"}]
    return sum(2 * int(np.prod(tensor.shape)) for tensor in kept)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_pod_computes_what_picked_experts_do(subtests: pytest.Subtests) -> None:
    for name in ["mixtral", "mixtral decode"]:
        with subtests.test(name=name):
            pytest.importorskip("onnxruntime")
            proto: onnx.ModelProto = MODELS[name]
            feeds, bindings = feeds_of(proto, {"batch": 1, "seq": 8, "past": 7})
            plan = elk.compile(proto, machine("close pod"), bindings=bindings, policy="elk-dyn")
            for whole, part in experts_of(plan, "gate_up_proj.weight", "down_proj.weight").values():
                assert part == [whole[0], whole[1], whole[2] // CHIPS]
            result = plan.emulate(feeds, check=True)
            assert result.passed, result.checks
