"""A number times an operand of a product: nothing passes over a cache or a weight for it."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx_graphs import F32, Inputs, model_of, node

F16 = TensorProto.FLOAT16
HEADS, KV_HEADS, PAST, WIDTH = 8, 2, 31, 16
RNG = np.random.default_rng(0)


def number(value: float, dtype: str = "f4") -> Any:
    return np.array(value, dtype=dtype)


def decode_step(spelling: str) -> onnx.ModelProto:
    """A token of every sequence attends to its cache: the keys are scaled, too, in some way."""
    cache: Inputs = {
        "past_key_values.key": [2, KV_HEADS, PAST, WIDTH],
        "past_key_values.value": [2, KV_HEADS, PAST, WIDTH],
    }
    if spelling == "Attention":
        nodes = [node("Attention", "q past_key_values.key past_key_values.value", "y")]
        made = model_of(nodes, {"q": [2, HEADS, 1, WIDTH], **cache}, ["y"], opset=23)
        made.ir_version = 11
        return made
    nodes = [
        node("Unsqueeze", "past_key_values.key two", "k1"), node("Expand", "k1 group", "k2"),
        node("Reshape", "k2 heads", "k3"), node("Transpose", "k3", "kt", perm=[0, 1, 3, 2]),
        node("Unsqueeze", "past_key_values.value two", "v1"), node("Expand", "v1 group", "v2"),
        node("Reshape", "v2 heads", "v3"),
        *{
            "queries": [node("Mul", "q s", "qs"), node("Identity", "kt", "ks")],
            "both": [node("Mul", "q root", "qs"), node("Mul", "kt root", "ks")],
            "keys": [node("Identity", "q", "qs"), node("Div", "kt divisor", "ks")],
            "an input": [node("Identity", "q", "qs"), node("Mul", "kt temperature", "ks")],
        }[spelling],
        node("MatMul", "qs ks", "scores"), node("Softmax", "scores", "weights", axis=-1),
        node("MatMul", "weights v3", "y"),
    ]  # fmt: skip
    constants = {
        "s": number(WIDTH**-0.5), "root": number(WIDTH**-0.25), "divisor": number(WIDTH**0.5),
        "two": np.array([2]), "group": np.array([2, KV_HEADS, HEADS // KV_HEADS, PAST, WIDTH]),
        "heads": np.array([2, HEADS, PAST, WIDTH]),
    }  # fmt: skip
    inputs = {"q": [2, HEADS, 1, WIDTH], **cache}
    if spelling == "an input":
        inputs["temperature"] = [1]
    return model_of(nodes, inputs, ["y"], constants)


def scaled_weight(side: int, kind: int) -> onnx.ModelProto:
    """x @ (w * s): x is smaller than the weight; with few columns the result is yet smaller."""
    nodes = [node("Mul", "w s", "ws"), node("MatMul", "x ws", "y")]
    inputs: Inputs = {"x": (kind, [4, 16]), "w": (kind, [16, side])}
    dtype = "f2" if kind == F16 else "f4"
    return model_of(nodes, inputs, ["y"], {"s": number(0.5, dtype)})


def kinds(made: onnx.ModelProto) -> list[str]:
    return [op.kind.name for op in elk.load_model(made, weights="w").graph.ops]


def emulated(made: onnx.ModelProto) -> bool:
    fed = {
        x.name: RNG.standard_normal([d.dim_value for d in x.type.tensor_type.shape.dim]).astype(
            "f2" if x.type.tensor_type.elem_type == F16 else "f4"
        )
        for x in made.graph.input
    }
    plan = elk.compile(elk.load_model(made, weights="w"), "tiny", effort="fast")
    return plan.emulate(fed, check=True).passed


def test_no_op_passes_over_a_cache_for_a_factor(subtests: pytest.Subtests) -> None:
    for spelling in ("queries", "both", "keys", "an input", "Attention"):
        with subtests.test(spelling):
            made = decode_step(spelling)
            graph = elk.load_model(made).graph
            for op in graph.ops:
                homes = {graph.tensors[x.tensor].home.name for x in op.operands}
                assert op.kind.name == "MatMul" or "State" not in homes
            assert [op.function for op in graph.ops].count("mul") <= 1
            assert emulated(made)


def test_a_factor_goes_where_fewest_elements_are(subtests: pytest.Subtests) -> None:
    for side, kind, order in (
        (8, F32, ["MatMul", "Elementwise"]),  # The result is smallest.
        (64, F32, ["Elementwise", "MatMul"]),  # x is.
        (8, F16, ["Elementwise", "MatMul"]),  # A product of halves may overflow without it.
    ):
        with subtests.test(side=side, kind=kind):
            made = scaled_weight(side, kind)
            assert kinds(made) == order
            graph = elk.load_model(made, weights="w").graph
            (scaling,) = (op for op in graph.ops if op.kind.name == "Elementwise")
            assert "Weight" not in {graph.tensors[x.tensor].home.name for x in scaling.operands}
            assert emulated(made)


def test_what_others_read_stays_scaled() -> None:
    nodes = [
        node("Mul", "past_key_values s", "scaled"), node("Transpose", "scaled", "t", perm=[1, 0]),
        node("MatMul", "x t", "y"), node("Tanh", "scaled", "z"),
    ]  # fmt: skip
    inputs: Inputs = {"x": [2, 8], "past_key_values": [16, 8]}
    made = model_of(nodes, inputs, ["y", "z"], {"s": number(0.5)})
    assert kinds(made).count("Elementwise") == 3
    assert emulated(made)
