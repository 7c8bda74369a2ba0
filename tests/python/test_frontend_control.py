"""Functions, branches and loops: taken node by node where they are known, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from each_case import each
from elk.errors import UnsupportedModelError
from elk.model.model import load_model
from onnx import TensorProto, helper
from onnx_graphs import F32, I64, Array, assert_computes, model_of, node

BOOL = TensorProto.BOOL


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


@each("turns", [4_097, 10**9, 2**62])
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


@each(("condition", "function"), [(True, "exp"), (False, "neg")])
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


def outside(name: str, *sizes: int) -> TensorProto:
    """A weight whose elements lie in a file that is not there."""
    tensor = TensorProto(name=name, data_type=F32, dims=sizes)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="absent.bin")
    return tensor


def weights_of(proto: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    graph = load_model(proto).graph
    return {t.name: tuple(t.shape) for t in graph.tensors if t.home.name == "Weight"}


def test_the_turns_of_a_loop_read_one_weight_outside_the_file() -> None:
    nodes = [node("Identity", "condition", "go_on"), node("MatMul", "total w", "next")]
    body = counting_body(nodes)
    body.initializer.append(outside("w", 3, 3))
    model = load_model(loop(4, body))
    assert [op.onnx_type for op in model.graph.ops] == ["MatMul"] * 4
    assert weights_of(loop(4, body)) == {"w": (3, 3)}
    assert model.facts.external_bytes == 36


def test_branches_may_call_their_weights_alike() -> None:
    nodes = []
    for number, (name, sizes) in enumerate({"then": (3, 4), "other": (3, 5)}.items()):
        branch = helper.make_graph([node("MatMul", "x w", name)], name, [], [value(name, F32)])
        branch.initializer.append(outside("w", *sizes))
        choice = helper.make_node(
            "If", ["yes" if number == 0 else "no"], [f"y{number}"],
            then_branch=branch, else_branch=branch,
        )  # fmt: skip
        nodes.append(choice)
    constants = {"yes": np.asarray(True), "no": np.asarray(False)}
    proto = declared(
        model_of(nodes, {"x": [2, 3]}, ["y0", "y1"], constants), {"y0": [2, 4], "y1": [2, 5]}
    )
    assert sorted(weights_of(proto).values()) == [(3, 4), (3, 5)]


def test_a_branch_may_give_a_weight_and_read_those_of_the_graphs_around_it() -> None:
    inner = helper.make_graph([node("Add", "w v", "sum")], "inner", [], [value("sum", F32)])
    inner.initializer.append(outside("v", 3))
    nested = helper.make_node("If", ["yes"], ["s"], then_branch=inner, else_branch=inner)
    outer = helper.make_graph([nested], "outer", [], [value("s", F32), value("w", F32)])
    outer.node.insert(0, onnx.NodeProto(op_type="Constant", output=["w"]))
    attribute = outer.node[0].attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
    attribute.t.CopyFrom(outside("", 3))
    nodes = [
        helper.make_node("If", ["yes"], ["a", "b"], then_branch=outer, else_branch=outer),
        node("Sum", "x a b", "y"),
    ]
    constants = {"yes": np.asarray(True)}
    proto = declared(model_of(nodes, {"x": [3]}, ["y"], constants), {"y": [3]})
    assert sorted(weights_of(proto).values()) == [(3,), (3,)]
