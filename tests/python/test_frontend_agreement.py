"""Nodes whose inputs do not agree in shape are refused wherever ONNX Runtime refuses them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from each_case import each
from elk.errors import ElkError, UnsupportedModelError
from elk.model.model import load_model
from onnx import numpy_helper
from onnx_cases import DECIDING, are_tensors, array_of, cases, data_of, proto_of
from onnx_graphs import Array, model_of, node

pytestmark = pytest.mark.xdist_group("onnx_cases")  # One process makes and loads the cases.
# What ONNX Runtime refuses for other reasons: values that are no place of the data, and shapes
# that ONNX defines but it does not compute.
OTHER_REASONS = {
    "GatherElements": "values", "NegativeLogLikelihoodLoss": "values", "TensorScatter": "values",
    "SoftmaxCrossEntropyLoss": "values", "Resize": "fewer dimensions", "Scan": "declared shapes",
    "ConvTranspose": "other sizes from output_shape", "QLinearMatMul": "no scales of rows",
    "Attention": "no masks that broadcast",
}  # fmt: skip
VALUES = ("out of data bounds", "out of bounds", "out of range", "invalid ind", "must be in range")


def changed(array: Array) -> Iterator[Array]:
    """`array` with one dimension longer or shorter by one."""
    for axis, size in enumerate(array.shape):
        if array.size:
            yield np.concatenate([array, np.take(array, [0], axis=axis)], axis=axis)
        if size > 1:
            yield np.ascontiguousarray(np.take(array, range(size - 1), axis=axis))


def given(proto: onnx.ModelProto, arrays: list[Array]) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """`proto` for inputs like `arrays`, of which those that decide shapes are constants."""
    made, feeds = onnx.ModelProto(), {}
    made.CopyFrom(proto)
    (only,) = made.graph.node
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    for value, array in zip(list(made.graph.input), arrays, strict=True):
        slot = list(only.input).index(value.name) if value.name in only.input else -1
        if slot in DECIDING.get(only.op_type, ()):
            made.graph.initializer.append(numpy_helper.from_array(array, value.name))
            made.graph.input.remove(value)
            continue
        value.type.tensor_type.ClearField("shape")
        value.type.tensor_type.shape.SetInParent()
        for size in array.shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
        feeds[value.name] = array
    return made, feeds


def takes(proto: onnx.ModelProto) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load_model(proto)
    except ElkError:
        return False
    return True


def objection(proto: onnx.ModelProto, feeds: dict[str, Array]) -> str:
    """Why ONNX Runtime does not compute a model; empty where it does."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
        session.run(None, feeds)
    except Exception as error:
        return str(error) or "no reason"
    return ""


def kinds_of_cases(*, few: bool) -> Iterator[tuple[str, onnx.ModelProto, list[Array]]]:
    """One case of one node for each type and ranks; where not `few`, for their attributes, too."""
    seen = set()
    for case in cases("node").values():
        proto = proto_of(case)
        if proto is None or len(proto.graph.node) != 1:
            continue
        only = proto.graph.node[0]
        ranks = tuple(len(x.type.tensor_type.shape.dim) for x in proto.graph.input)
        attributes = () if few else tuple(a.SerializeToString() for a in only.attribute)
        key = (only.op_type, ranks, attributes)
        tensors, _ = data_of(case, proto)
        if key in seen or not tensors or not are_tensors(tensors):
            continue
        seen.add(key)
        arrays = [array_of(x) for x in tensors]
        if all(a.dtype.kind in "fiub" for a in arrays):
            yield only.op_type, proto, arrays


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_shapes_that_onnx_runtime_refuses_are_refused() -> None:
    agree(few=True, mutants=1_500)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_shapes_that_onnx_runtime_refuses_are_refused_whatever_the_attributes() -> None:
    agree(few=False, mutants=3_000)


def agree(*, few: bool, mutants: int) -> None:
    """Holds at least so many mutants against ONNX Runtime."""
    wrong: list[str] = []
    checked: Counter[str] = Counter()
    for kind, proto, arrays in kinds_of_cases(few=few):
        made, feeds = given(proto, arrays)
        if kind in OTHER_REASONS or not takes(made) or objection(made, feeds):
            continue
        for slot, array in enumerate(arrays):
            for other in changed(array):
                mutant, feeds = given(proto, [*arrays[:slot], other, *arrays[slot + 1 :]])
                checked[kind] += 1
                if takes(mutant):
                    reason = objection(mutant, feeds)
                    if reason and not any(text in reason for text in VALUES):
                        wrong.append(f"{kind} {array.shape} -> {other.shape} in {slot}: {reason}")
    assert not wrong, "\n".join(wrong)
    assert len(checked) > 120, checked
    assert checked.total() > mutants, checked


REFUSALS: dict[str, tuple[Any, str]] = {
    "channels": (model_of([node("Conv", "x w", "y")], {"x": [1, 4, 8, 8]}, ["y"],
                          {"w": np.ones((6, 3, 3, 3), np.float32)}),
                 "its input has 4 channels, 1 groups of its weight read 3 each"),
    "a batch norm": (model_of([node("BatchNormalization", "x s s s s", "y")], {"x": [1, 4, 8]},
                              ["y"], {"s": np.ones(3, np.float32)}), "4"),
    "a layer norm": (model_of([node("LayerNormalization", "x s", "y")], {"x": [2, 4]}, ["y"],
                              {"s": np.ones(5, np.float32)}), "does not broadcast to [2, 4]"),
    "columns": (model_of([node("Gemm", "x w", "y")], {"x": [2, 4]}, ["y"],
                         {"w": np.ones((5, 3), np.float32)}), "between 5 and 4"),
    "parts": (model_of([node("Concat", "x w", "y", axis=0)], {"x": [2, 4]}, ["y"],
                       {"w": np.ones((2, 3), np.float32)}), "Inferred=3 Declared=4"),
    "a choice": (model_of([node("Cast", "x", "c", to=9), node("Where", "c x w", "y")],
                          {"x": [2, 4]}, ["y"], {"w": np.ones((2, 3), np.float32)}),
                 "ncompatible"),
}  # fmt: skip


@each("name", REFUSALS)
def test_a_refusal_names_node_shapes_and_rule(name: str) -> None:
    proto, rule = REFUSALS[name]
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    with pytest.raises(UnsupportedModelError) as caught:
        load_model(proto)
    kind = proto.graph.node[-1].op_type
    assert caught.value.place == f"node '{kind}_y'"
    assert rule in str(caught.value)
    assert "f32[" in str(caught.value)


@each(("axis", "loads"), [(None, True), (1, True), (0, False)])
def test_before_opset_7_only_last_dimensions_broadcast(axis: int | None, loads: bool) -> None:
    """A vector along the first of two equal dimensions was once taken along the last."""
    attrs = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    added = node("Add", "x w", "y", **attrs)
    proto = model_of([added], {"x": [3, 3], "w": [3]}, ["y"], opset=6)
    assert takes(proto) == loads
    assert not takes(model_of([added], {"x": [3], "w": [3, 3]}, ["y"], opset=6))


def test_a_table_has_a_value_for_each_key() -> None:
    def encoder(**attrs: Any) -> onnx.ModelProto:
        proto = model_of([node("Identity", "x", "y")], {"x": (onnx.TensorProto.INT64, [4])}, ["y"])
        del proto.graph.node[:]
        made = node("LabelEncoder", "x", "y", domain="ai.onnx.ml", **attrs)
        proto.graph.node.append(made)
        proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        proto.opset_import.add(domain="ai.onnx.ml", version=4)
        return proto

    assert takes(encoder(keys_int64s=[1, 2], values_floats=[0.5, 1.5]))
    for attrs in ({"values_floats": [1.0]}, {"keys_int64s": [1, 2], "values_floats": [1.0]}):
        with pytest.raises(UnsupportedModelError, match="one of as many values"):
            load_model(encoder(**attrs))
