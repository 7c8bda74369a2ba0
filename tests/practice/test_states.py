"""An input that an output continues is state, whatever it is called."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk.frontend.read.states import APPENDED, NAMED, REPLACED, TOLD, WRITTEN
from onnx_graphs import I64, Inputs, model_of, node

PAST, WIDTH = 63, 16


def decode_step(names: tuple[str, str], results: tuple[str, str]) -> onnx.ModelProto:
    """One token attends to caches that grow by Concat; of the key, rows are columns."""
    nodes = [
        node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("Concat", f"{names[0]} kt", results[0], axis=2),
        node("MatMul", f"q {results[0]}", "scores"),
        node("Softmax", "scores", "weights", axis=-1),
        node("Concat", f"{names[1]} v", results[1], axis=1),
        node("MatMul", f"weights {results[1]}", "y"),
    ]
    row = (2, 1, WIDTH)
    inputs = {"q": row, "k": row, "v": row, names[0]: (2, WIDTH, PAST), names[1]: (2, PAST, WIDTH)}
    return model_of(nodes, inputs, ["y", *results])


def attention_step() -> onnx.ModelProto:
    """ONNX's own Attention keeps its caches."""
    made = model_of(
        [node("Attention", "q k v - key_in value_in", "y key_out value_out")],
        {
            **dict.fromkeys("qkv", (2, 4, 1, WIDTH)),
            **dict.fromkeys(("key_in", "value_in"), (2, 4, PAST, WIDTH)),
        },
        ["y", "key_out", "value_out"],
        opset=23,
    )
    made.ir_version = 11
    return made


def scan_step() -> onnx.ModelProto:
    """A state space: what a run makes of `ssm_in` has its shape, and is the next run's."""
    nodes = [node("Mul", "ssm_in decay", "kept"), node("Add", "kept x", "ssm_out")]
    return model_of(nodes, {"x": (4, WIDTH), "ssm_in": (4, WIDTH), "decay": (4, 1)}, ["ssm_out"])


def window_step() -> onnx.ModelProto:
    """The last rows of a convolution: they move on by one, so that a copy is stored whole."""
    nodes = [
        node("Concat", "conv_window x", "longer", axis=1),
        node("Slice", "longer one end axis", "updated_conv_window"),
    ]
    sizes = {"one": np.array([1]), "end": np.array([99]), "axis": np.array([1])}
    inputs = {"conv_window": (2, 3, WIDTH), "x": (2, 1, WIDTH)}
    return model_of(nodes, inputs, ["updated_conv_window"], sizes)


def slots_step() -> onnx.ModelProto:
    """Rows of a buffer of fixed size."""
    nodes = [
        node("ScatterND", "buffer slots rows", "buffer_after"),
        node("Tanh", "buffer_after", "y"),
    ]
    inputs: Inputs = {"buffer": [64, WIDTH], "slots": (I64, [2, 1]), "rows": [2, WIDTH]}
    return model_of(nodes, inputs, ["buffer_after", "y"])


def two_windows() -> onnx.ModelProto:
    """Of two states of one shape, each output replaces the one that is called like it."""
    nodes = [node("Add", "cache_a x", "new_cache_a"), node("Mul", "b_in x", "next_b")]
    return model_of(
        nodes, dict.fromkeys(("cache_a", "b_in", "x"), (4, 8)), ["new_cache_a", "next_b"]
    )


CASES = {
    "numbered caches": (decode_step(("in_kv_0", "in_kv_1"), ("out_kv_0", "out_kv_1")), APPENDED, 2),
    "other names": (decode_step(("a", "b"), ("c", "d")), APPENDED, 2),
    "Attention": (attention_step(), APPENDED, 2),
    "a recurrent state": (scan_step(), REPLACED, 1),
    "a window that moves on": (window_step(), REPLACED, 1),
    "rows in place": (slots_step(), WRITTEN, 1),
}


def test_what_an_output_continues_is_state(subtests: pytest.Subtests) -> None:
    for name, (made, why, count) in CASES.items():
        with subtests.test(name):
            model = elk.load_model(made)
            assert list(model.facts.states.values()) == [why] * count
            assert model.facts.state_bytes > 0
            assert 0 < model.facts.appended_bytes <= model.facts.state_bytes
            states = [t.name for t in model.graph.tensors if t.home.name == "State"]
            assert set(model.facts.states) <= set(states)
            assert why in dict(model.facts.rows())["taken for state"]


def test_of_states_of_one_shape_the_like_name_is_taken() -> None:
    assert elk.load_model(two_windows()).facts.states == {"cache_a": NAMED, "b_in": REPLACED}


def test_a_step_is_no_faster_than_its_caches_come() -> None:
    made = decode_step(("in_kv_0", "in_kv_1"), ("out_kv_0", "out_kv_1"))
    chip = elk.chips.get("tiny")
    assert chip.hbm is not None
    plan = elk.compile(made, chip, effort="fast")
    state = elk.load_model(made).facts.state_bytes
    assert plan.simulate().latency_s > state / chip.hbm.bytes_per_s
    rng = np.random.default_rng(0)
    fed = {
        x.name: rng.standard_normal([d.dim_value for d in x.type.tensor_type.shape.dim], np.float32)
        for x in made.graph.input
    }
    assert plan.emulate(fed, check=True).passed


def test_what_no_output_continues_is_an_input(subtests: pytest.Subtests) -> None:
    shape = {"x": (2, 8, WIDTH)}
    none: dict[str, tuple[list[onnx.NodeProto], dict[str, Any]]] = {
        "features of itself": ([node("Tanh", "x", "f"), node("Concat", "x f", "y", axis=1)], {}),
        "padding": ([node("Concat", "x pad", "y", axis=1)], {"pad": np.zeros((2, 1, WIDTH), "f4")}),
        "what a mask leaves": (
            [node("Greater", "x zero", "m"), node("Where", "m x zero", "y")],
            {"zero": np.zeros((), "f4")},
        ),
        "another name of its shape": ([node("Tanh", "x", "y")], {}),
        "names without words": ([node("Tanh", "x", "output_0")], {}),
    }
    for name, (nodes, constants) in none.items():
        with subtests.test(name):
            (result,) = nodes[-1].output
            assert elk.load_model(model_of(nodes, shape, [result], constants)).facts.states == {}


def test_the_caller_decides(subtests: pytest.Subtests) -> None:
    for name, (made, _, count) in CASES.items():
        with subtests.test(name):
            (first, *_) = elk.load_model(made).facts.states
            facts = elk.load_model(made, state=first).facts
            assert facts.states[first] == TOLD
            assert len(facts.states) == count
            assert first not in elk.load_model(made, state=f"!{first}").facts.states
    assert elk.load_model(slots_step(), weights="buffer").facts.states == {}
