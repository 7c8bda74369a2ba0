"""Optimizers of ONNX's training domain: elementwise steps for each tensor that is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from elk.frontend.ops.composed import cast, ints, number
from elk.frontend.ops.kind import Kind
from elk.frontend.views.node import Node, UnplannableError

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Value

_STATES = {"Adagrad": 1, "Momentum": 1, "Adam": 2}


def _groups(node: Node) -> list[list[Value]]:
    """For each tensor: itself, its gradient and its states.

    Raises:
        UnplannableError: One of them is missing or has another shape.
    """
    parts = 2 + _STATES[node.type.rpartition(".")[2]]
    rest = [node.input(i) for i in range(2, len(node.inputs))]
    count = len(rest) // parts
    if len(rest) != count * parts or len(node.outputs) > count * (parts - 1):
        raise UnplannableError(f"its {len(rest)} tensors are no groups of {parts}")
    groups = [rest[i::count] for i in range(count)]
    for group in groups:
        shapes = [list(value.shape) for value in group]
        if any(shape != shapes[0] for shape in shapes):
            raise UnplannableError(f"a tensor, its gradient and states differ in shape: {shapes}")
    return groups


def _numbers(node: Node, make: Maker) -> tuple[Value, Value]:
    """The learning rate and the count of updates, each a number."""
    return make("Reshape", node.input(0), ints()), make("Reshape", node.input(1), ints())


def _gradient(node: Node, make: Maker, x: Value, gradient: Value) -> Value:
    """The gradient with that of the norm."""
    factor = float(node.attrs.get("norm_coefficient", 0.0))
    if factor == 0.0:
        return gradient
    return make("Add", make("Mul", x, number(factor, x)), gradient)


def _mixed(make: Maker, old: Value, new: Value, keep: float) -> Value:
    kept = make("Mul", old, number(keep, old))
    return make("Add", kept, make("Mul", new, number(1.0 - keep, new)))


def _ordered(results: list[list[Value]]) -> list[Value]:
    return [value for column in zip(*results, strict=True) for value in column]


def adagrad(node: Node, make: Maker) -> list[Value]:
    """Adagrad."""
    rate, turn = _numbers(node, make)
    decay = number(float(node.attrs.get("decay_factor", 0.0)), rate)
    slower = make("Add", make("Mul", cast(make, turn, rate.dtype), decay), number(1.0, rate))
    step = make("Div", rate, slower)
    results = []
    for x, gradient, squares in _groups(node):
        g = _gradient(node, make, x, gradient)
        total = make("Add", squares, make("Mul", g, g))
        root = make("Add", make("Sqrt", total), number(float(node.attrs.get("epsilon", 1e-6)), x))
        moved = make("Div", make("Mul", g, step), root)
        results.append([make("Sub", x, moved), total])
    return _ordered(results)


def adam(node: Node, make: Maker) -> list[Value]:
    """Adam."""
    rate, turn = _numbers(node, make)
    alpha, beta = (float(node.attrs.get(n, d)) for n, d in (("alpha", 0.9), ("beta", 0.999)))
    power = cast(make, turn, rate.dtype)
    one = number(1.0, rate)
    second = make("Sqrt", make("Sub", one, make("Pow", number(beta, rate), power)))
    first = make("Sub", one, make("Pow", number(alpha, rate), power))
    scaled = make("Div", make("Mul", rate, second), first)
    step = make("Where", make("Greater", turn, np.asarray(0, dtype=np.int64)), scaled, rate)
    after = float(node.attrs.get("norm_coefficient_post", 0.0))
    results = []
    for x, gradient, mean, squares in _groups(node):
        g = _gradient(node, make, x, gradient)
        mean_new = _mixed(make, mean, g, alpha)
        squares_new = _mixed(make, squares, make("Mul", g, g), beta)
        epsilon = number(float(node.attrs.get("epsilon", 1e-6)), x)
        root = make("Add", make("Sqrt", squares_new), epsilon)
        moved = make("Sub", x, make("Div", make("Mul", mean_new, step), root))
        if after:
            moved = make("Mul", moved, number(1.0 - after, moved))
        results.append([moved, mean_new, squares_new])
    return _ordered(results)


def momentum(node: Node, make: Maker) -> list[Value]:
    """Momentum, standard or Nesterov's."""
    rate, turn = _numbers(node, make)
    alpha, beta = (float(node.attrs.get(name, 1.0)) for name in ("alpha", "beta"))
    begun = make("Greater", turn, np.asarray(0, dtype=np.int64))
    share = make("Where", begun, number(beta, rate), number(1.0, rate))
    results = []
    for x, gradient, speed in _groups(node):
        g = _gradient(node, make, x, gradient)
        new = make("Add", make("Mul", speed, number(alpha, x)), make("Mul", g, share))
        way = new
        if node.attrs.get("mode") == "nesterov":
            way = make("Add", g, make("Mul", new, number(alpha, x)))
        results.append([make("Sub", x, make("Mul", way, rate)), new])
    return _ordered(results)


KINDS: Final = {
    "ai.onnx.preview.training.Adagrad": Kind(compose=adagrad),
    "ai.onnx.preview.training.Adam": Kind(compose=adam),
    "ai.onnx.preview.training.Momentum": Kind(compose=momentum),
}
