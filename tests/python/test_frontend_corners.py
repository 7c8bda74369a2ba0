"""Corners of operators that ONNX's own cases leave out."""

from __future__ import annotations

import numpy as np
from onnx_graphs import Array, assert_computes, model_of, node


def test_a_backward_slice_ends_behind_the_position_that_it_names() -> None:
    for end in (-4, -5):  # Of four positions, all but the first, and all.
        constants = {"s": [-1], "e": [end], "a": [1], "t": [-1]}
        arrays: dict[str, Array] = {name: np.asarray(x) for name, x in constants.items()}
        assert_computes(model_of([node("Slice", "x s e a t", "y")], {"x": [2, 4]}, ["y"], arrays))


def test_each_gate_of_an_lstm_has_its_own_peephole() -> None:
    rng = np.random.default_rng(10)
    shapes = {"w": (1, 16, 5), "r": (1, 16, 4), "b": (1, 32), "p": (1, 12)}
    constants = {x: rng.standard_normal(shape).astype(np.float32) for x, shape in shapes.items()}
    lstm = node("LSTM", "x w r b - - - p", "y h c", hidden_size=4)
    assert_computes(model_of([lstm], {"x": [3, 2, 5]}, ["y", "h", "c"], constants))


def test_a_part_of_one_tensor_and_all_of_another_are_put_together() -> None:
    nodes = [
        node("Slice", "x s e a", "part"),
        node("Unsqueeze", "z one", "all"),
        node("Concat", "part all", "y", axis=2),
    ]
    constants = {"s": [3], "e": [6], "a": [2], "one": [1]}
    arrays: dict[str, Array] = {name: np.asarray(x) for name, x in constants.items()}
    assert_computes(model_of(nodes, {"x": [2, 1, 6], "z": [2, 3]}, ["y"], arrays))
