"""What the front end takes, and how it says what it cannot take."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from each_case import each
from elk.errors import (
    InvalidInputError,
    ModelFileError,
    UnboundSymbolsError,
    UnsupportedModelError,
)
from elk.frontend.read.bind import evaluate, symbols
from elk.model.model import load_model
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_graphs import model_of, node

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"


def relu(*sizes: int | str | None) -> onnx.ModelProto:
    return model_of([node("Relu", "x", "y")], {"x": list(sizes)}, ["y"])


def test_a_path_a_text_bytes_and_a_proto_give_the_same_graph() -> None:
    data = NERF.read_bytes()
    proto = onnx.load(NERF, load_external_data=False)
    models = [load_model(x, bindings={"rows": 8}) for x in (NERF, str(NERF), data, proto)]
    assert {model.table() for model in models} == {models[0].table()}
    assert {model.onnx_sha256 for model in models[:3]} == {hashlib.sha256(data).hexdigest()}
    assert [model.name for model in models] == ["nerf", "nerf", "main_graph", "main_graph"]


def test_loading_leaves_the_proto_as_it_was() -> None:
    proto = onnx.load(NERF, load_external_data=False)
    before = proto.SerializeToString(deterministic=True)
    load_model(proto, bindings={"rows": 8})
    assert proto.SerializeToString(deterministic=True) == before


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelFileError, match=r"absent\.onnx: the model cannot be read"):
        load_model("absent.onnx")


def test_a_model_that_breaks_a_rule_of_onnx_is_refused() -> None:
    proto = relu(2, 3)
    proto.graph.node[0].input[0] = "unknown"
    with pytest.raises(ModelFileError, match="not valid ONNX"):
        load_model(proto)


def test_an_output_that_is_not_as_declared_is_refused() -> None:
    proto = relu(2, 3)
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    with pytest.raises(ModelFileError, match=r"declared as \[2, 4\], its nodes give \[2, 3\]"):
        load_model(proto)


def test_all_unbound_symbols_are_listed_once() -> None:
    nodes = [node("Add", "x a", "b"), node("Add", "b z", "y")]
    inputs: dict[str, list[int | str | None]] = {
        "x": ["batch", "seq"],
        "a": ["batch", "past + seq"],
        "z": ["batch", None],
    }
    with pytest.raises(UnboundSymbolsError) as caught:
        load_model(model_of(nodes, inputs, ["y"]), bindings={"seq": 4})
    assert caught.value.message == "dimensions without a number: batch, past, z[1]"
    assert caught.value.code == "unbound_symbols"


def test_dimensions_without_a_name_are_bound_by_their_place() -> None:
    model = load_model(relu("n", None), bindings={"n": 2, "x[1]": 5})
    assert model.graph.tensors[0].shape == [2, 5]


def test_expressions_follow_from_bound_symbols() -> None:
    proto = relu("past + 1", "2*batch")
    model = load_model(proto, bindings={"past": 7, "batch": 3})
    assert model.graph.tensors[0].shape == [8, 6]
    assert model.bindings == {"past": 7, "batch": 3}


def test_an_expression_binds_nothing() -> None:
    with pytest.raises(UnboundSymbolsError, match="past"):
        load_model(relu("past + 1"), bindings={})


def test_a_binding_that_nothing_asks_for_lists_the_symbols() -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_model(relu("rows", 3), bindings={"rows": 4, "row": 2})
    assert caught.value.message == "no dimension and no input of one element is called 'row'"
    assert caught.value.remedy == "did you mean 'rows'? its symbolic dimensions are: rows"


@each("size", [-1, 2.5, "4", True])
def test_a_binding_is_a_whole_number(size: object) -> None:
    with pytest.raises(InvalidInputError, match="must be a whole number, 0 or more"):
        load_model(relu("rows"), bindings={"rows": size})  # type: ignore[dict-item]  # On purpose.


def test_numpy_integers_bind() -> None:
    model = load_model(relu("rows"), bindings={"rows": np.int64(3)})  # type: ignore[dict-item]
    assert model.bindings == {"rows": 3}


def test_an_expression_that_is_negative_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'rows - 4' must not be negative, got -1"):
        load_model(relu("rows - 4"), bindings={"rows": 3})


@given(st.integers(1, 9), st.integers(1, 9))
def test_dimension_expressions_are_arithmetic(a: int, b: int) -> None:
    sizes = {"a": a, "b": b}
    assert evaluate("a + 2*b - 1", sizes) == a + 2 * b - 1
    assert evaluate("(a + b)//2", sizes) == (a + b) // 2
    assert evaluate("Max(a, b) % 5", sizes) == max(a, b) % 5
    assert evaluate("floor(a/b)", sizes) == a // b


@each("text", ["unk__37", "batch size", "a.b", "__import__('os')", "a**b", "?"])
def test_what_is_no_arithmetic_is_a_name(text: str) -> None:
    assert symbols(text) == (text,)
    assert evaluate(text, {text: 3}) == 3


def test_symbols_of_an_expression_are_in_order() -> None:
    assert symbols("past + max(seq, 1) + past") == ("past", "seq")


def test_all_nodes_that_cannot_be_planned_are_in_one_error() -> None:
    nodes = [
        node("NonZero", "x", "places"),
        node("Transpose", "places", "t"),
        node("Unique", "x", "d"),
        node("Reshape", "x shape", "r"),
    ]
    proto = model_of(nodes, {"x": [3, 3], "shape": (TensorProto.INT64, [2])}, ["t", "d"])
    proto.graph.output.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, [9, 1]))
    with pytest.raises(UnsupportedModelError) as caught:
        load_model(proto)
    lines = caught.value.message.splitlines()
    assert lines[0] == "3 nodes cannot be planned:"
    assert [line.split()[0] for line in lines[1:]] == ["NonZero", "Unique", "Reshape"]
    assert "its shape, is computed while the model runs" in lines[3]
    assert "f32[3, 3], i64[2]" in lines[3]


def test_what_reads_a_refused_result_is_named_if_its_type_is_not_known() -> None:
    nodes = [node("Unknown", "x", "d"), node("Exp", "d", "m"), node("Unknown", "m", "e")]
    proto = model_of(nodes, {"x": [3, 3]}, ["e"])
    for one in proto.graph.node:
        one.domain = "com.example" if one.op_type == "Unknown" else ""
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(UnsupportedModelError, match="2 nodes"):
        load_model(proto)


def test_types_of_other_domains_are_refused_by_their_full_name() -> None:
    proto = relu(2, 3)
    proto.graph.node[0].domain = "com.example"
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(UnsupportedModelError, match=r"com\.example\.Relu 'Relu_y'"):
        load_model(proto)


def test_fusion_is_a_word() -> None:
    with pytest.raises(InvalidInputError, match="fuse"):
        load_model(NERF, bindings={"rows": 8}, fuse="all")
    with pytest.raises(InvalidInputError, match="not there yet"):
        load_model(NERF, bindings={"rows": 8}, fuse="chains")
