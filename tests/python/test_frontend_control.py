"""Functions, branches and loops: taken node by node where they are known, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from elk.errors import UnsupportedModelError
from elk.model import load_model
from onnx import TensorProto, helper
from onnx_graphs import F32, I64, Array, assert_computes, model_of, node

BOOL = TensorProto.BOOL


def ints(*values: int) -> Array:
    return np.asarray(values, dtype=np.int64)


def value(name: str, kind: int, shape: list[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [] if shape is None else shape)


def counting_body(nodes: list[onnx.NodeProto], *, scans: bool = False) -> onnx.GraphProto:
    """The body of a Loop that turns `total` into `next`, and perhaps shows it each turn."""
    outputs = [value("go_on", BOOL), value("next", F32, [3])]
    if scans:
        outputs.append(value("shown", F32, [3]))
    inputs = [value("turn", I64), value("condition", BOOL), value("total", F32, [3])]
    return helper.make_graph(nodes, "body", inputs, outputs)


def declared(proto: onnx.ModelProto, shapes: dict[str, list[int]]) -> onnx.ModelProto:
    """`proto` with the shapes of outputs that ONNX does not infer."""
    for output in proto.graph.output:
        output.CopyFrom(value(output.name, F32, shapes[output.name]))
    return proto


def loop(turns: int, body: onnx.GraphProto, outputs: str = "y") -> onnx.ModelProto:
    names = outputs.split()
    nodes = [helper.make_node("Loop", ["turns", "", "x"], names, name="again", body=body)]
    constants = {"turns": np.asarray(turns, dtype=np.int64)}
    shapes = {"y": [3], "z": [turns, 3]}
    return declared(model_of(nodes, {"x": [3]}, names, constants), shapes)


PLAIN = [node("Identity", "condition", "go_on"), node("Exp", "total", "next")]


def refusal(proto: onnx.ModelProto) -> str:
    with pytest.raises(UnsupportedModelError) as caught:
        load_model(proto)
    return str(caught.value)


def test_a_loop_of_a_known_length_is_unrolled() -> None:
    nodes = [
        node("Identity", "condition", "go_on"),
        node("Cast", "turn", "number", to=F32),
        node("Add", "total number", "next"),
        node("Neg", "next", "shown"),
    ]
    model = assert_computes(loop(4, counting_body(nodes, scans=True), "y z"))
    kinds = [op.function for op in model.graph.ops if op.kind.name == "Elementwise"]
    assert kinds == ["add/scalar", "neg"] * 4


def test_a_loop_without_a_turn_gives_what_it_was_given() -> None:
    model = load_model(loop(0, counting_body(PLAIN)))
    assert [op.kind.name for op in model.graph.ops] == ["Copy"]


def test_a_loop_ends_where_its_condition_is_known_to_end_it() -> None:
    nodes = [
        node("Constant", "", "two", value=helper.make_tensor("two", I64, [], [2])),
        node("Less", "turn two", "go_on"),
        node("Exp", "total", "next"),
    ]
    model = assert_computes(loop(1_000, counting_body(nodes)))
    assert [op.function for op in model.graph.ops] == ["exp"] * 3


@pytest.mark.parametrize("turns", [4_097, 10**9, 2**62])
def test_a_loop_of_too_many_turns_is_refused_by_name(turns: int) -> None:
    message = refusal(loop(turns, counting_body(PLAIN)))
    assert "Loop 'again'" in message
    assert f"it has {turns} turns, more than 4096 are not unrolled" in message


def test_an_endless_loop_is_refused_by_name() -> None:
    nodes = [
        helper.make_node("Loop", ["", "", "x"], ["y"], name="again", body=counting_body(PLAIN))
    ]
    message = refusal(declared(model_of(nodes, {"x": [3]}, ["y"]), {"y": [3]}))
    assert "Loop 'again'" in message
    assert "more than 4096 are not unrolled" in message


def test_a_loop_whose_length_is_computed_is_refused_by_name() -> None:
    nodes = [
        helper.make_node("Loop", ["n", "", "x"], ["y"], name="again", body=counting_body(PLAIN))
    ]
    proto = model_of(nodes, {"n": (I64, []), "x": [3]}, ["y"])
    message = refusal(declared(proto, {"y": [3]}))
    assert "Loop 'again' (i64[], f32[3])" in message
    assert "its number of turns is computed while the model runs" in message


def test_a_scan_takes_the_positions_of_its_inputs_in_turn() -> None:
    body = helper.make_graph(
        [node("Add", "total part", "next"), node("Mul", "next part", "shown")],
        "body",
        [value("total", F32, [2]), value("part", F32, [2])],
        [value("next", F32, [2]), value("shown", F32, [2])],
    )
    given: dict[str, Any] = {"body": body, "num_scan_inputs": 1, "scan_input_directions": [1]}
    nodes = [helper.make_node("Scan", ["x", "rows"], ["y", "z"], **given)]
    model = assert_computes(model_of(nodes, {"x": [2], "rows": [3, 2]}, ["y", "z"]))
    assert sum(op.function == "add" for op in model.graph.ops) == 3


def branches(condition: Array | None) -> onnx.ModelProto:
    bodies = {
        f"{name}_branch": helper.make_graph(
            [node(kind, "x", name)], name, [], [value(name, F32, [3])]
        )
        for name, kind in (("then", "Exp"), ("else", "Neg"))
    }
    nodes = [helper.make_node("If", ["c"], ["y"], name="choice", **bodies)]
    inputs: dict[str, Any] = {"x": [3]}
    if condition is None:
        return model_of(nodes, {"c": (BOOL, []), **inputs}, ["y"])
    return model_of(nodes, inputs, ["y"], {"c": condition})


@pytest.mark.parametrize(("condition", "function"), [(True, "exp"), (False, "neg")])
def test_a_known_branch_is_taken(condition: bool, function: str) -> None:
    model = assert_computes(branches(np.asarray(condition)))
    assert [op.function for op in model.graph.ops] == [function]


def test_a_branch_that_is_not_known_is_refused_by_name() -> None:
    message = refusal(branches(None))
    assert "If 'choice'" in message
    assert "its condition is computed while the model runs" in message


def test_a_local_function_is_inlined() -> None:
    body = [node("MatMul", "a b", "p"), node("Relu", "p", "r")]
    opsets = [helper.make_opsetid("", 20)]
    function = helper.make_function("mine", "Dense", ["a", "b"], ["r"], body, opsets)
    proto = model_of([node("Exp", "x", "e")], {"x": [4, 3], "w": [3, 5]}, ["e"])
    proto.graph.node.append(helper.make_node("Dense", ["e", "w"], ["y"], domain="mine"))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [4, 5]))
    proto.functions.append(function)
    proto.opset_import.append(helper.make_opsetid("mine", 1))
    assert [op.function for op in load_model(proto).graph.ops] == ["exp", "matmul", "relu"]


def test_a_function_of_onnx_is_taken_without_the_inputs_that_are_left_out() -> None:
    nodes = [node("Attention", "q k v - pk pv", "y nk nv", scale=0.5)]
    shape = [2, 3, 4, 8]
    sizes = {"q": shape, "k": shape, "v": shape, "pk": [2, 3, 5, 8], "pv": [2, 3, 5, 8]}
    model = load_model(model_of(nodes, sizes, ["y", "nk", "nv"], opset=23))
    assert sum(op.kind.name == "MatMul" for op in model.graph.ops) == 2
    assert all(op.name.startswith("Attention_y/") for op in model.graph.ops)


def test_a_sequence_that_is_put_together_again_computes_nothing() -> None:
    nodes = [
        node("SplitToSequence", "x", "s", axis=0),
        node("SequenceAt", "s two", "part"),
        node("SequenceErase", "s two", "t"),
        node("SequenceInsert", "t part", "u"),
        node("ConcatFromSequence", "u", "y", axis=0),
    ]
    constants = {"two": np.asarray(1, dtype=np.int64)}
    model = assert_computes(model_of(nodes, {"x": [3, 4]}, ["y"], constants))
    assert {op.kind.name for op in model.graph.ops} == {"Copy"}


def test_a_sequence_as_output_is_refused_by_name() -> None:
    proto = model_of([node("SplitToSequence", "x", "s", axis=0)], {"x": [3, 4]}, ["s"])
    assert "output 's' must be a tensor, got a sequence of tensors" in refusal(proto)
