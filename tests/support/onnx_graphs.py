"""Small ONNX models, written as lists of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from elk.model.model import Model, load_model
from graph_reference import evaluate
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
Sizes = Sequence[int | str | None]
Typed = tuple[int, Sizes]
Inputs = Mapping[str, Sizes | Typed]

F32 = TensorProto.FLOAT
I64 = TensorProto.INT64


def ints(*values: int) -> Array:
    return np.asarray(values, dtype=np.int64)


def floats(*values: float) -> Array:
    return np.asarray(values, dtype=np.float32)


def node(kind: str, inputs: str, outputs: str, **attrs: Any) -> onnx.NodeProto:
    """A node; inputs and outputs are names with blanks between them, `-` for one left out."""
    read, written = ([x if x != "-" else "" for x in text.split()] for text in (inputs, outputs))
    return helper.make_node(kind, read, written, name=f"{kind}_{written[0]}", **attrs)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sizes | Typed],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    *,
    opset: int = 20,
) -> onnx.ModelProto:
    """A model; an input is its sizes, or its element type and its sizes."""
    values = []
    for name, given in inputs.items():
        kind, sizes = _typed(given)
        values.append(helper.make_tensor_value_info(name, kind, list(sizes)))
    graph = helper.make_graph(
        list(nodes),
        "test",
        values,
        [helper.make_tensor_value_info(name, F32, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    for value in model.graph.output:  # Types and sizes are left to inference.
        value.ClearField("type")
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def _typed(given: Sizes | Typed) -> Typed:
    match given:
        case (int(kind), list(sizes)):
            return kind, sizes
    return F32, [n if isinstance(n, (int, str)) else None for n in given]


def random_feeds(model: Model, seed: int = 0) -> dict[str, Array]:
    """Numbers for everything that the model is given: inputs, states and absent weights."""
    rng = np.random.default_rng(seed)
    feeds: dict[str, Array] = {}
    for tensor in model.graph.tensors:
        if tensor.home.name in {"Input", "State", "Weight"} and tensor.name not in model.constants:
            if tensor.dtype.name == "f32":
                feeds[tensor.name] = rng.standard_normal(tensor.shape).astype(np.float32)
            elif tensor.dtype.name == "bool":
                feeds[tensor.name] = rng.random(tensor.shape) < 0.5
            else:
                feeds[tensor.name] = rng.integers(0, 2, tensor.shape).astype(np.int64)
    return feeds


def assert_computes(
    proto: onnx.ModelProto,
    feeds: Mapping[str, Array] | None = None,
    bindings: Mapping[str, int] | None = None,
) -> Model:
    """Loads the model and compares the numbers of its graph with ONNX Runtime's."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    model = load_model(proto, bindings=bindings)
    feeds = random_feeds(model) if feeds is None else feeds
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, {x.name: feeds[x.name] for x in session.get_inputs()})
    for value, got, right in zip(model.outputs, evaluate(model, feeds), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5, err_msg=value.name)
    return model


def one(kind: str, read: str, shape: list[int], given: dict[str, Array], **attrs: Any) -> Any:
    """A model of one node that reads `x` and the constants `given`."""
    proto = onnx.ModelProto()
    inputs: dict[str, Any] = {"x": shape}
    proto.CopyFrom(model_of([node("Identity", "x", "y")], inputs, ["y"], given))
    del proto.graph.node[:]
    proto.graph.node.append(node(kind, read, "y", **attrs))
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto
