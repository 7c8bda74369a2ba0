"""`bindings` gives whatever numbers a model asks for: sizes, values of inputs, sizes of results."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_graphs import F32, I64, Inputs, model_of, node

BOOL = TensorProto.BOOL
X = np.arange(32, dtype=np.float32).reshape(4, 8) - 12


def graph(nodes: list[onnx.NodeProto], result: str, *inputs: tuple[str, int]) -> onnx.GraphProto:
    """The body of a branch or a loop; a value in it has the shape of X, or no dimensions."""

    def value(name: str, kind: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, [4, 8] if kind == F32 else [])

    results = [value(result, F32)]
    if inputs:  # A loop goes on as long as it says so.
        nodes = [*nodes, node("Identity", inputs[1][0], "goes_on")]
        results = [value("goes_on", BOOL), *results]
    return helper.make_graph(nodes, result, [value(*x) for x in inputs], results)


def branch() -> onnx.ModelProto:
    then, other = graph([node("Tanh", "x", "a")], "a"), graph([node("Relu", "x", "b")], "b")
    choice = node("If", "use_cache_branch", "y", then_branch=then, else_branch=other)
    return model_of([choice], {"x": [4, 8], "use_cache_branch": (BOOL, [1])}, ["y"])


def turns() -> onnx.ModelProto:
    doubled = node("Add", "kept kept", "twice")
    body = graph([doubled], "twice", ("i", I64), ("c", BOOL), ("kept", F32))
    return model_of(
        [node("Loop", "steps - x", "y", body=body)], {"x": [4, 8], "steps": (I64, [])}, ["y"]
    )


def routed(kind: str = "NonZero") -> onnx.ModelProto:
    """The tokens of one expert, as many as a router picks."""
    if kind == "NonZero":
        nodes = [node("NonZero", "hit", "at"), node("Squeeze", "at zero", "rows")]
        inputs: Inputs = {"x": [16, 8], "hit": (I64, [16])}
    else:
        nodes = [node("Cast", "hit", "truth", to=BOOL), node("Compress", "all truth", "rows")]
        inputs = {"x": [16, 8], "hit": (I64, [16]), "all": (I64, [16])}
    nodes += [node("Gather", "x rows", "xs"), node("MatMul", "xs w", "y")]
    made = model_of(nodes, inputs, ["y"], {"w": np.eye(8, dtype="f4"), "zero": np.array([0])})
    del made.graph.value_info[:]
    named: dict[str, list[int | str]] = {"at": [1, "u0"], "rows": ["u0"]}
    for name, sizes in named.items():
        made.graph.value_info.append(helper.make_tensor_value_info(name, I64, sizes))
    return made


def prompt() -> onnx.ModelProto:
    join = node("Concat", "past_key_values x", "k", axis=0)
    inputs: Inputs = {"past_key_values": ["past", 8], "x": [4, 8]}
    return model_of([join, node("MatMul", "k w", "y")], inputs, ["y"], {"w": np.eye(8, dtype="f4")})


def test_values_of_inputs_decide_what_is_planned(subtests: pytest.Subtests) -> None:
    cases: list[tuple[onnx.ModelProto, dict[str, int], Any]] = [
        (branch(), {"use_cache_branch": 1}, np.tanh(X)),
        (branch(), {"use_cache_branch": False}, np.maximum(X, 0)),
        (turns(), {"steps": 3}, 8 * X),
        (turns(), {"steps": 0}, X),
        (prompt(), {"past": 0}, X),
    ]
    for made, bindings, right in cases:
        with subtests.test(bindings=bindings):
            plan = elk.compile(made, "tiny", bindings=bindings)
            fed = {"x": X} | ({"past_key_values": X[:0]} if "past" in bindings else {})
            run = plan.emulate(fed, check=True)
            assert run.passed
            np.testing.assert_allclose(run["y"], right, rtol=1e-6)


def test_sizes_of_results_that_values_decide_are_bound(subtests: pytest.Subtests) -> None:
    for kind in ("NonZero", "Compress"):
        for count in (2, 5, 16):
            with subtests.test(kind, count=count):
                plan = elk.compile(routed(kind), "tiny", bindings={"u0": count})
                assert plan.simulate().latency_s > 0
                products = [op for op in plan.to_json()["ops"] if op["kind"] == "matmul"]
                assert [op["axes"][0]["size"] for op in products] == [count]


def test_an_input_that_is_bound_is_fed_as_bound() -> None:
    plan = elk.compile(turns(), "tiny", bindings={"steps": 3})
    assert plan.emulate({"x": X, "steps": np.array(3)}, check=True).passed
    with pytest.raises(elk.InvalidInputError, match="'steps' is bound to 3, and fed 2") as caught:
        plan.emulate({"x": X, "steps": np.array(2)})
    assert caught.value.code == "emulate_input"


def test_a_binding_of_an_input_of_several_elements_is_refused() -> None:
    with pytest.raises(elk.InvalidInputError, match="no input of one element is called 'x'"):
        elk.load_model(turns(), bindings={"steps": 2, "x": 2})


def test_what_is_missing_is_named(subtests: pytest.Subtests) -> None:
    for made, missing in ((branch(), "use_cache_branch"), (turns(), "steps"), (routed(), "u0")):
        with subtests.test(missing):
            with pytest.raises(elk.UnsupportedModelError) as caught:
                elk.load_model(made)
            assert f"bindings={{'{missing}': ...}}" in (caught.value.remedy or "")
