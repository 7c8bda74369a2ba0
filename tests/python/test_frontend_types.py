"""Every element type of ONNX is read with its bits, or refused by its name."""

from __future__ import annotations

import elk
import pytest
from each_case import each
from onnx import ModelProto, TensorProto, helper
from onnx_graphs import F32

BITS = {
    "FLOAT": 32, "UINT8": 8, "INT8": 8, "UINT16": 16, "INT16": 16, "INT32": 32, "INT64": 64,
    "BOOL": 8, "FLOAT16": 16, "DOUBLE": 64, "UINT32": 32, "UINT64": 64, "BFLOAT16": 16,
    "FLOAT8E4M3FN": 8, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8, "FLOAT8E5M2FNUZ": 8, "UINT4": 4,
    "INT4": 4, "FLOAT8E8M0": 8,
}  # fmt: skip
REFUSED = {
    "FLOAT6E2M3",
    "FLOAT6E3M2",
    "STRING",
    "COMPLEX64",
    "COMPLEX128",
    "FLOAT4E2M1",
    "UINT2",
    "INT2",
}
NAMES = [name for name in TensorProto.DataType.keys() if name != "UNDEFINED"]  # noqa: SIM118 no dictionary


def casting(kind: int, to: int = F32) -> ModelProto:
    """A model that casts a weight of this element type, which lies outside the file."""
    weight = TensorProto(name="w", data_type=kind, dims=[3, 5])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="absent.bin")
    nodes = [
        helper.make_node("Cast", ["w"], ["c"], to=to),
        helper.make_node("Cast", ["c"], ["d"], to=F32),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, F32, [3, 5]) for name in "xy"]
    graph = helper.make_graph(nodes, "types", ends[:1], ends[1:], initializer=[weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


@each("name", NAMES)
def test_an_element_type_has_its_bits_or_is_refused_by_name(name: str) -> None:
    proto = casting(getattr(TensorProto, name))
    if name in REFUSED:
        with pytest.raises(elk.UnsupportedModelError, match=f"got {name}") as caught:
            elk.load_model(proto)
        assert caught.value.code == "element_type"
        assert "cast it to one of" in str(caught.value.remedy)
        return
    assert elk.load_model(proto).facts.weight_bytes == -(-15 * BITS[name] // 8)


def test_a_cast_between_floats_of_eight_bits_is_an_op() -> None:
    graph = elk.load_model(casting(TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2)).graph
    assert [op.onnx_type for op in graph.ops] == ["Cast", "Cast", "Add"]
