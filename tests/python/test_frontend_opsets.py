"""Old and new operator sets: what moved from attributes to inputs is read from where it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from each_case import each
from onnx_graphs import Array, assert_computes, model_of, node

# Versions of ONNX's operator set from which on a value is an input.
CLIP, SPLIT, TOPK, REDUCE, DROPOUT, PAD, SLICE = 11, 13, 10, 18, 12, 11, 10


class Graph:
    """Nodes and constants of a model, written for one version."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def add(self, since: int, kind: str, read: str, write: str, **moved: Any) -> None:
        """A node whose values `moved` are inputs from version `since` on, attributes before.

        Attributes in all versions are `fixed`.
        """
        fixed: dict[str, Any] = moved.pop("fixed", {})
        if self.opset < since:
            self.nodes.append(node(kind, read, write, **moved, **fixed))
            return
        names = []
        for name, value in moved.items():
            names.append(f"{write.split(maxsplit=1)[0]}_{name}")
            dtype = np.float32 if isinstance(value, float) else np.int64
            self.constants[names[-1]] = np.asarray(value, dtype=dtype)
        self.nodes.append(node(kind, " ".join([read, *names]), write, **fixed))


def written_for(opset: int) -> onnx.ModelProto:
    graph = Graph(opset)
    graph.add(SLICE, "Slice", "x", "a", starts=[0, 1], ends=[2, 9], axes=[0, 2])
    graph.add(SPLIT, "Unsqueeze", "a", "b", axes=[1])
    graph.add(CLIP, "Clip", "b", "c", min=-0.5, max=0.5)
    graph.add(SPLIT, "Squeeze", "c", "d", axes=[1])
    graph.add(PAD, "Pad", "d", "e", pads=[0, 0, 1, 0, 0, 2], value=1.5)
    graph.add(SPLIT, "ReduceSum", "e", "f", axes=[1])
    graph.add(REDUCE, "ReduceMean", "e", "g", axes=[2])
    graph.add(SPLIT, "Split", "e", "h i", split=[2, 4], fixed={"axis": 1})
    graph.add(DROPOUT, "Dropout", "h", "j", ratio=0.5)
    graph.nodes.append(node("Softmax", "i", "k", axis=2))
    graph.nodes.append(node("LogSoftmax", "i", "l", axis=1))
    graph.nodes.append(node("Hardmax", "i", "m", axis=1))
    graph.add(TOPK, "TopK", "e", "n o", k=[3] if opset >= TOPK else 3)
    outputs = ["f", "g", "j", "k", "l", "m", "n", "o"]
    return model_of(graph.nodes, {"x": [2, 6, 5]}, outputs, graph.constants, opset=opset)


def test_a_graph_written_for_each_opset_computes_what_onnx_runtime_does() -> None:
    for opset in range(9, 24):
        proto = written_for(opset)
        model = assert_computes(proto)
        assert {op.kind.name for op in model.graph.ops} >= {"Softmax", "Reduce", "Opaque"}


@each("opset", [9, 10, 11, 13, 18, 19])
def test_images_grow_alike_in_each_opset(opset: int) -> None:
    scales = np.asarray([1, 1, 2, 3], dtype=np.float32)
    given: dict[str, Any] = {"mode": "nearest"}
    constants = {"s": scales}
    kind, read = "Resize", "x s"
    if opset == 9:
        kind = "Upsample"
    elif opset >= 11:
        read, constants["r"] = "x r s", np.zeros(0, dtype=np.float32)
        given |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    proto = model_of(
        [node(kind, read, "y", **given)], {"x": [1, 2, 3, 4]}, ["y"], constants, opset=opset
    )
    model = assert_computes(proto)
    assert [op.kind.name for op in model.graph.ops] == ["Copy"]
    assert not [t for t in model.graph.tensors if t.home.name == "Weight"]
