"""Nodes whose sizes are out of all proportion are refused at once, before anything is made."""

from __future__ import annotations

import onnx
import pytest
from each_case import each
from elk.errors import UnsupportedModelError
from elk.model.model import load_model
from onnx_graphs import I64, floats, ints, model_of, node, one

HUGE = 2**37  # f32, it stays within elk.Limits: the node itself has to refuse


BOMBS = {
    "resize": one("Resize", "x - s", [1, 1, 4, 4], {"s": floats(1, 1, 1, 1e12)}, mode="linear"),
    "resize of nothing": one("Resize", "x - s", [4], {"s": floats(float("nan"))}),
    "antialias": one(
        "Resize", "x - - n", [HUGE], {"n": ints(1)}, mode="cubic", antialias=1
    ),
    "one hot": one("OneHot", "i n v", [4], {"i": ints(1), "n": ints(HUGE), "v": floats(0, 1)}),
    "pad": one("Pad", "x p", [4], {"p": ints(HUGE, HUGE)}, mode="reflect"),
    "mask of a pad": one("Pad", "x p f", [4], {"p": ints(HUGE, 0)}),
    "spectrum": one("DFT", "x n", [1, HUGE, 1], {"n": ints(HUGE)}),
    "backwards": one("Slice", "x a b c d", [HUGE], {
        "a": ints(-1), "b": ints(-(2**62)), "c": ints(0), "d": ints(-1)}),
    "triangle": one("Trilu", "x", [HUGE, 2], {}),
    "hardmax": one("Hardmax", "x", [HUGE], {}),
    "steps": one("RNN", "x w r", [HUGE, 1, 1], {
        "w": floats(1).reshape(1, 1, 1), "r": floats(1).reshape(1, 1, 1)}, hidden_size=1),
}  # fmt: skip


@pytest.mark.timeout(60)
@each("name", BOMBS)
def test_what_is_too_large_is_refused_at_once(name: str) -> None:
    proto = BOMBS[name]
    if name == "mask of a pad":
        proto.graph.input.append(onnx.helper.make_tensor_value_info("f", 1, []))
    with pytest.raises(UnsupportedModelError) as caught:
        load_model(proto)
    assert proto.graph.node[0].op_type in caught.value.message


def test_a_sequence_of_too_many_parts_is_refused_at_once() -> None:
    nodes = [node("SplitToSequence", "x", "s"), node("SequenceLength", "s", "y")]
    proto = model_of(nodes, {"x": [10**9, 2]}, ["y"])
    with pytest.raises(UnsupportedModelError, match="1000000000 positions in parts of 1"):
        load_model(proto)


def test_a_result_without_elements_is_known() -> None:
    nodes = [
        node("Slice", "x zero zero", "none"),
        node("Concat", "none x", "all", axis=0),
        node("ReduceSum", "none axes", "sum", keepdims=0),
        node("Add", "all sum", "y"),
    ]
    constants = {"zero": ints(0), "axes": ints(0)}
    model = load_model(model_of(nodes, {"x": (I64, [3, 2])}, ["y"], constants))
    assert [op.function for op in model.graph.ops] == ["add/scalar"]
