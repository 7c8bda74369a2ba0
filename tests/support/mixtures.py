"""Mixtures of experts as dense products: every token meets every expert, and shares weigh them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from seeded_weights import SeededWeights


def dense_mixture(
    style: str, *, experts: int = 8, tokens: int = 4, hidden: int = 32, inner: int = 48
) -> onnx.ModelProto:
    """A router, `experts` networks of two layers, and the sum of what they say.

    In one of two styles of exporters: "matmul", a broadcast product over the experts, or "einsum".
    """
    weight = SeededWeights(7)
    up, down = weight("up", experts, hidden, inner), weight("down", experts, inner, hidden)
    node = helper.make_node
    if style == "einsum":
        products = [
            node("Einsum", ["x", up], ["h"], name="up", equation="th,ehf->etf"),
            node("Relu", ["h"], ["a"], name="relu"),
            node("Einsum", ["a", down], ["o"], name="down", equation="etf,efh->eth"),
        ]
    else:
        products = [
            node("MatMul", ["x", up], ["h"], name="up"),
            node("Relu", ["h"], ["a"], name="relu"),
            node("MatMul", ["a", down], ["o"], name="down"),
        ]
    nodes = [
        node("MatMul", ["x", weight("router", hidden, experts)], ["logits"], name="router"),
        node("Softmax", ["logits"], ["share"], name="softmax", axis=-1),
        *products,
        node("Transpose", ["share"], ["turned"], name="turn", perm=[1, 0]),
        node("Unsqueeze", ["turned", "last"], ["column"], name="column"),
        node("Mul", ["o", "column"], ["weighed"], name="weigh"),
        node("ReduceSum", ["weighed", "first"], ["y"], name="sum", keepdims=0),
    ]
    last = numpy_helper.from_array(np.array([2]), "last")
    first = numpy_helper.from_array(np.array([0]), "first")
    graph = helper.make_graph(
        nodes,
        f"dense mixture, {style}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [tokens, hidden])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [tokens, hidden])],
        [*weight.tensors, last, first],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
