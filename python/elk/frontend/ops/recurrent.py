"""Recurrent types: one product for all steps of the input, then a product and gates a step.

States have a dimension of size one in front, the step: the rows of all steps are then put together
as they lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from elk.frontend.ops.composed import filled, ints, number
from elk.frontend.ops.control import MAX_TURNS
from elk.frontend.ops.kind import Kind
from elk.frontend.views.node import Node, UnplannableError

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Value

Activation: TypeAlias = "Callable[[Value], Value]"
Step: TypeAlias = "Callable[[Value, list[Value]], list[Value]]"
_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
# The attributes of activations with their defaults.
_PARAMETERS: dict[str, tuple[tuple[str, float], ...]] = {
    "LeakyRelu": (("alpha", 0.01),),
    "ThresholdedRelu": (("alpha", 1.0),),
    "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
    "Elu": (("alpha", 1.0),),
    "Affine": (("alpha", 1.0), ("beta", 0.0)),
    "ScaledTanh": (("alpha", 1.0), ("beta", 1.0)),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One direction of a recurrent node.

    Attributes:
        product: What each step makes of the state: its product with the recurrent weights.
        bias: The bias of the recurrent product; None where there is none.
        activations: Its functions in their order.
        peepholes: The weights from the cell state to the gates of an LSTM.
        clip: Cuts what activations are given.
    """

    product: Value
    bias: Value | None
    activations: list[Activation]
    peepholes: list[Value]
    clip: Callable[[Value], Value]


def recurrent(node: Node, make: Maker) -> list[Value]:
    """RNN, GRU and LSTM, unrolled."""
    x = node.input(0)
    if node.attrs.get("layout", 0):
        x = make("Transpose", x, perm=(1, 0, 2))
    steps = x.shape[0]
    if steps > MAX_TURNS:
        raise UnplannableError(f"it has {steps} steps, more than {MAX_TURNS} are not unrolled")
    direction = str(node.attrs.get("direction", "forward"))
    backs = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    lengths = _lengths(node, steps)
    if lengths is not None and any(backs):
        raise UnplannableError("rows of different lengths that are read backwards")
    each = [_direction(node, make, x, (d, back), lengths) for d, back in enumerate(backs)]
    rows = _joined(make, [rows for rows, _ in each], 1)
    states = [_concat(make, list(s), 0) for s in zip(*(last for _, last in each), strict=True)]
    if node.attrs.get("layout", 0):
        rows = make("Transpose", rows, perm=(2, 0, 1, 3))
        states = [make("Transpose", s, perm=(1, 0, 2)) for s in states]
    return [rows, *states]


def _lengths(node: Node, steps: int) -> Value | None:
    """The lengths of rows; None where all are whole."""
    value = node.get(4)
    if value is None or (value.known is not None and bool((value.known >= steps).all())):
        return None
    return value


def _joined(make: Maker, values: list[Value], axis: int) -> Value:
    return _concat(make, [make("Unsqueeze", value, ints(axis)) for value in values], axis)


def _concat(make: Maker, values: list[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else make("Concat", *values, axis=axis)


def _part(make: Maker, value: Value | None, index: int) -> Value | None:
    return None if value is None else make("Gather", value, np.asarray(index), axis=0)


def _direction(
    node: Node, make: Maker, x: Value, which: tuple[int, bool], lengths: Value | None
) -> tuple[Value, list[Value]]:
    """The states of all steps of one direction, `[steps, batch, hidden]`, and the last of them."""
    d, back = which
    steps, batch, _ = x.shape
    weights, recurrent_weights = _part(make, node.input(1), d), _part(make, node.input(2), d)
    assert weights is not None
    assert recurrent_weights is not None
    hidden = recurrent_weights.shape[1]
    bias = _part(make, node.get(3), d)
    w_bias, r_bias = (None, None) if bias is None else make.all("Split", bias, axis=0, outputs=2)
    given = make("MatMul", x, make("Transpose", weights))
    if w_bias is not None:
        given = make("Add", given, w_bias)
    cell = Cell(
        product=make("Transpose", recurrent_weights),
        bias=r_bias,
        activations=_activations(node, make, d),
        peepholes=_peepholes(node, make, d),
        clip=_clip(node, make),
    )
    states = _initial(node, make, d, (batch, hidden))
    step = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}[node.type](node, make, cell)
    rows: list[Value] = []
    for t in reversed(range(steps)) if back else range(steps):
        new = step(make("Gather", given, ints(t), axis=0), states)
        states, row = _masked(make, t, (states, new), lengths)
        rows.append(row)
    return _concat(make, rows[::-1] if back else rows, 0), states


def _masked(
    make: Maker, t: int, states: tuple[list[Value], list[Value]], lengths: Value | None
) -> tuple[list[Value], Value]:
    """The states after step `t`, and the row that it gives: rows that have ended stay."""
    old, new = states
    if lengths is None:
        return new, new[0]
    runs = make("Unsqueeze", make("Greater", lengths, np.asarray(t, dtype=np.int32)), ints(0, 2))
    kept = [make("Where", runs, b, a) for a, b in zip(old, new, strict=True)]
    return kept, make("Where", runs, new[0], number(0, new[0]))


def _initial(node: Node, make: Maker, d: int, shape: tuple[int, int]) -> list[Value]:
    states = []
    for slot in (5, 6) if node.type == "LSTM" else (5,):
        value = node.get(slot)
        if value is None:
            states.append(filled(make, f"{node.name}/zero", (1, *shape), 0, node.input(0).dtype))
        elif node.attrs.get("layout", 0):
            states.append(make("Unsqueeze", make("Gather", value, np.asarray(d), axis=1), ints(0)))
        else:
            states.append(make("Gather", value, ints(d), axis=0))
    return states


def _peepholes(node: Node, make: Maker, d: int) -> list[Value]:
    value = _part(make, node.get(7), d) if node.type == "LSTM" else None
    return [] if value is None else make.all("Split", value, axis=0, outputs=3)


def _clip(node: Node, make: Maker) -> Callable[[Value], Value]:
    limit = float(node.attrs.get("clip", 0.0))
    if limit <= 0.0:
        return lambda x: x
    return lambda x: make("Clip", x, number(-limit, x), number(limit, x))


def _activations(node: Node, make: Maker, d: int) -> list[Activation]:
    """The functions of direction `d`; their parameters are taken from two lists in order."""
    defaults = _DEFAULTS[node.type]
    count = len(defaults)
    names = tuple(node.attrs.get("activations", ())) or defaults * (d + 1)
    given = {
        "alpha": list(node.attrs.get("activation_alpha", ())),
        "beta": list(node.attrs.get("activation_beta", ())),
    }
    functions = []
    for name in names[: (d + 1) * count]:
        found = {}
        for parameter, default in _PARAMETERS.get(name, ()):
            queue = given[parameter]
            found[parameter] = float(queue.pop(0)) if queue else default
        functions.append(_activation(make, name, found))
    return functions[d * count : (d + 1) * count]


def _activation(make: Maker, name: str, given: dict[str, float]) -> Activation:
    if name == "Affine":
        return lambda x: make(
            "Add", make("Mul", x, number(given["alpha"], x)), number(given["beta"], x)
        )
    if name == "ScaledTanh":
        return lambda x: make(
            "Mul",
            make("Tanh", make("Mul", x, number(given["beta"], x))),
            number(given["alpha"], x),
        )
    return lambda x: make(name, x, **given)


def _added(make: Maker, *values: Value | None) -> Value:
    there = [value for value in values if value is not None]
    total = there[0]
    for value in there[1:]:
        total = make("Add", total, value)
    return total


def _rnn(_: Node, make: Maker, cell: Cell) -> Step:
    def step(given: Value, states: list[Value]) -> list[Value]:
        total = _added(make, given, make("MatMul", states[0], cell.product), cell.bias)
        return [cell.activations[0](cell.clip(total))]

    return step


def _lstm(node: Node, make: Maker, cell: Cell) -> Step:
    f, g, h = cell.activations
    coupled = bool(node.attrs.get("input_forget", 0))

    def peeped(gate: Value, number_: int, state: Value) -> Value:
        if not cell.peepholes:
            return gate
        return make("Add", gate, make("Mul", cell.peepholes[number_], state))

    def step(given: Value, states: list[Value]) -> list[Value]:
        old, memory = states
        total = _added(make, given, make("MatMul", old, cell.product), cell.bias)
        i, o, forget, c = make.all("Split", total, axis=2, outputs=4)
        take = f(cell.clip(peeped(i, 0, memory)))
        keep = _rest(make, take) if coupled else f(cell.clip(peeped(forget, 2, memory)))
        fresh = make("Mul", take, g(cell.clip(c)))
        memory = make("Add", make("Mul", keep, memory), fresh)
        show = f(cell.clip(peeped(o, 1, memory)))
        return [make("Mul", show, h(memory)), memory]

    return step


def _rest(make: Maker, value: Value) -> Value:
    return make("Sub", number(1, value), value)


def _gru(node: Node, make: Maker, cell: Cell) -> Step:
    f, g = cell.activations
    after = bool(node.attrs.get("linear_before_reset", 0))
    hidden = cell.product.shape[0]
    parts: dict[str, Any] = {"axis": 2, "outputs": 2, "split": (2 * hidden, hidden)}
    bias = None if cell.bias is None else make.all("Split", cell.bias, **{**parts, "axis": 0})
    product = make.all("Split", cell.product, **{**parts, "axis": 1})

    def step(given: Value, states: list[Value]) -> list[Value]:
        (old,) = states
        gates, new = make.all("Split", given, **parts)
        total = _added(
            make, gates, make("MatMul", old, product[0]), None if bias is None else bias[0]
        )
        update, reset = make.all("Split", f(cell.clip(total)), axis=2, outputs=2)
        if after:
            past = make("MatMul", old, product[1])
            past = make("Mul", reset, past if bias is None else make("Add", past, bias[1]))
            total = make("Add", new, past)
        else:
            past = make("MatMul", make("Mul", reset, old), product[1])
            total = _added(make, new, past, None if bias is None else bias[1])
        fresh = make("Mul", _rest(make, update), g(cell.clip(total)))
        return [make("Add", fresh, make("Mul", update, old))]

    return step


KINDS: Final = {
    "GRU": Kind(compose=recurrent),
    "LSTM": Kind(compose=recurrent),
    "RNN": Kind(compose=recurrent),
}
