"""Optimizers of ONNX's training domain, emulated: the formulas of its operators."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import pytest
from each_case import each
from onnx import ModelProto, TensorProto, helper

SIZE = 6
RATE, TURN = np.array([0.1], np.float32), np.array([3], np.int64)
X, G, S, Q = (
    np.random.default_rng(seed).uniform(0.1, 1, SIZE).astype(np.float32) for seed in range(4)
)


def model(kind: str, states: list[str], **attributes: Any) -> ModelProto:
    """One update of one tensor, of its gradient and of its states."""
    ends = [
        helper.make_tensor_value_info("rate", TensorProto.FLOAT, [1]),
        helper.make_tensor_value_info("turn", TensorProto.INT64, [1]),
        *(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE])
            for name in ("x", "g", *states)
        ),
    ]
    results = [f"{name}_new" for name in ("x", *states)]
    domain = "ai.onnx.preview.training"
    inputs = [end.name for end in ends]
    node = helper.make_node(kind, inputs, results, name="step", domain=domain, **attributes)
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [SIZE]) for x in results]
    graph = helper.make_graph([node], kind.lower(), ends, outputs)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def adagrad() -> list[np.ndarray[Any, Any]]:
    gradient = 0.5 * X + G
    total = S + gradient**2
    return [X - RATE / (1 + TURN * 0.1) * gradient / (np.sqrt(total) + 0.01), total]


def adam() -> list[np.ndarray[Any, Any]]:
    mean, squares = 0.9 * S + 0.1 * G, 0.95 * Q + 0.05 * G**2
    rate = RATE * np.sqrt(1 - 0.95**TURN) / (1 - 0.9**TURN)
    return [X - rate * mean / (np.sqrt(squares) + 0.01), mean, squares]


def momentum() -> list[np.ndarray[Any, Any]]:
    new = 0.9 * S + 0.5 * G
    return [X - RATE * (G + 0.9 * new), new]


@each(
    ("kind", "attributes", "wanted"),
    [
        (
            "Adagrad",
            {"norm_coefficient": 0.5, "decay_factor": 0.1, "epsilon": 0.01},
            adagrad(),
        ),
        ("Adam", {"alpha": 0.9, "beta": 0.95, "epsilon": 0.01}, adam()),
        (
            "Momentum",
            {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.0, "mode": "nesterov"},
            momentum(),
        ),
    ],
)
def test_an_update_follows_the_formula(
    kind: str, attributes: dict[str, Any], wanted: list[np.ndarray[Any, Any]]
) -> None:
    states = {"s": S, "q": Q} if kind == "Adam" else {"s": S}
    plan = elk.compile(model(kind, list(states), **attributes), "tiny", policy="basic")
    found = plan.emulate({"rate": RATE, "turn": TURN, "x": X, "g": G, **states})
    for name, right in zip(("x", *states), wanted, strict=True):
        assert np.allclose(found[f"{name}_new"], right, rtol=1e-5)


def test_a_group_without_a_state_is_refused() -> None:
    wrong = model("Adam", ["s"])
    with pytest.raises(elk.UnsupportedModelError, match="a multiple of 4"):
        elk.load_model(wrong)
