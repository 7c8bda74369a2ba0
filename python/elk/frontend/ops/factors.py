"""Numbers that multiply an operand of a product go where they cost least.

Exporters write attention as `(q * sqrt(s)) @ (k * sqrt(s))^T`. In a decode step the second factor
is a pass over the whole cache. A factor of one element may as well multiply the other operand or
the result, and two that are known are one. What was planned to multiply an operand is dropped
where nothing else reads it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from elk.frontend.views import views
from elk.frontend.views.space import MisalignedError
from elk.frontend.views.values import HBM, REAL, Converted, Factored, Value, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.node import Node

# Types that only move elements of their first input, and so pass on what is known of each.
PASSING: Final = frozenset(("Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice",
                            "Squeeze", "Transpose", "Unsqueeze"))  # fmt: skip
_SMALL: Final = frozenset(
    ("f16", "f8")
)  # Types in which a product without its factor may overflow.
_RESULT: Final = 2  # The place behind those of the operands.


def divided(node: Node, _: Sequence[Value | None], result: Value) -> None:
    """Notes on the result of a Div that it is a value times a number."""
    a, b = node.input(0), node.input(1)
    if b.known is not None and b.size == 1 and b.known.dtype.kind == "f" and b.known.all():
        number = constant(f"{b.name}.reciprocal", np.asarray(1.0 / b.known, b.known.dtype))
        result.factored = Factored(a, number) if a.shape == result.shape else None


def multiplied(_: Node, inputs: Sequence[Value | None], result: Value) -> None:
    """Notes on the result of a Mul that it is a value times a number, or HBM data times a few.

    Products multiply what lies in HBM as they read it, so that no copy of it is made.
    """
    a, b = (x for x in inputs if x is not None)
    for base, factor in ((a, b), (b, a)):
        if base.shape != result.shape or base.size <= factor.size:
            continue
        if factor.size == 1:
            result.factored = Factored(base, factor)
        how = base.converted or Converted(base)
        in_hbm = any(p.tensor.home in HBM for p in how.base.pieces)
        if in_hbm and how.scale is None and result.dtype in REAL:
            scale = factor if factor.size == 1 else spread(factor, result.shape)
            result.converted = None if scale is None else Converted(how.base, scale, how.zero)


def spread(value: Value, shape: tuple[int, ...]) -> Value | None:
    """`value`, which broadcasts to `shape`, in that shape: without its elements, if it has any."""
    pieces = [piece.seen(lambda view: views.expand(view, shape)) for piece in value.pieces]
    found = tuple([piece for piece in pieces if piece is not None])
    return Value(value.name, value.dtype, shape, found) if len(found) == len(pieces) else None


def passed_on(node: Node, view: Callable[[Node], list[Value] | None], seen: Value) -> None:
    """Lets the result of a view be as factored and as converted as its input."""
    factored, converted = node.input(0).factored, node.input(0).converted
    if node.type not in PASSING:
        return
    before, after = ([n for n in x.shape if n != 1] for x in (node.input(0), seen))
    seen.selects = node.input(0).selects and (node.type == "Expand" or before == after)
    opposite = node.input(0).negated
    seen.negated = None if opposite is None else _seen(node, view, opposite)
    if factored is not None and (base := _seen(node, view, factored.base)) is not None:
        seen.factored = Factored(base, factored.number)
    if converted is not None:
        seen.converted = converted.seen(lambda value: _seen(node, view, value))


def _seen(node: Node, view: Callable[[Node], list[Value] | None], value: Value) -> Value | None:
    """`value` through the view of `node`, in place of its first input; None where it has none."""
    inputs, node.inputs = node.inputs, [value, *node.inputs[1:]]
    try:
        found = view(node)
        if found is None:
            return None
        passed_on(node, view, found[0])
    except MisalignedError:
        return None
    finally:
        node.inputs = inputs
    return found[0]


def placed(node: Node, make: Maker) -> Value | None:
    """Moves the factors of the operands of a MatMul where they cost least.

    Returns its result where a factor multiplies that; else the operands of `node` are changed.
    """
    operands = [node.input(0), node.input(1)]
    factored = [x.factored for x in operands]
    bases = [x if f is None else f.base for x, f in zip(operands, factored, strict=True)]
    numbers = [f.number for f in factored if f is not None]
    if not numbers:
        return None
    passes = [*(x.size for x in bases), _elements(*(x.shape for x in operands))]
    if operands[0].dtype in _SMALL:
        del passes[_RESULT]
    best = passes.index(min(passes))
    slots = [i for i, f in enumerate(factored) if f is not None]
    if len(slots) == 1 and passes[slots[0]] <= passes[best]:
        return None  # The factor is where it costs least.
    number = numbers[0] if len(numbers) == 1 else make("Mul", *numbers)
    if best == _RESULT:
        return make("Mul", make("MatMul", *bases), number)
    bases[best] = make("Mul", bases[best], number)
    node.inputs[:2] = bases
    return None


def _elements(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many elements the product of matrices of these shapes has."""
    rows = a[-2] if len(a) > 1 else 1
    columns = b[-1] if len(b) > 1 else 1
    return math.prod(np.broadcast_shapes(a[:-2], b[:-2])) * rows * columns
