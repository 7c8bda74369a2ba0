"""Elementwise ops: one loop a dimension of the result, operands broadcast against it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.space import Along, LoopSpace, Nest, Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.frontend.views.values import Value
    from elk.frontend.views.views import Shape

_BINARY = 2


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that `shapes` have in common, counted from the last dimension."""
    rank = max(len(shape) for shape in shapes)
    out = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if size != 1 and out[i] not in {1, size}:
                raise UnplannableError("its inputs do not broadcast")
            out[i] = size if size != 1 else out[i]
    return tuple(out)


def aligned(shape: Shape, loops: Sequence[int]) -> list[Along]:
    """What runs along the dimensions of an operand of `shape` that broadcasts to `loops`."""
    front = len(loops) - len(shape)
    return [loops[front + i] if size != 1 else None for i, size in enumerate(shape)]


def scalar(value: Value) -> float | None:
    """The one number that `value` holds everywhere, if that is known; NaN for an absent weight."""
    if value.known is None:
        hidden = value.size == 1 and value.pieces[0].tensor.home == "weight"
        return math.nan if hidden else None
    flat = value.known.reshape(-1)
    if flat.size and (flat.size == 1 or bool((flat == flat[0]).all())):
        return float(flat[0])
    return None


def elementwise(
    node: Node, function: str, *, flops: int = 1, result: str = "", scalars: tuple[float, ...] = ()
) -> Pattern:
    """The expression of an elementwise node.

    Args:
        node: The node.
        function: The tile kernel, without the shape of its broadcast.
        flops: Operations for each element of the result.
        result: The element type of the result; empty where it is that of the inputs.
        scalars: Numbers from attributes, in front of those from inputs.
    """
    inputs = [(slot, value) for slot, value in enumerate(node.inputs) if value is not None]
    shape = broadcast([value.shape for _, value in inputs])
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(shape)]
    numbers, places, tensors = list(scalars), [], []
    for slot, value in inputs:
        number = scalar(value)
        if number is None:
            space.read(slot, value, aligned(value.shape, loops))
            tensors.append(value)
        else:
            numbers.append(number)
            places.append(slot)
    if not tensors:  # Nothing folds this type: one constant is read as a tensor after all.
        slot, value = inputs[0]
        space.read(slot, value, aligned(value.shape, loops))
        tensors, places = [value], places[1:]
        del numbers[len(scalars)]
    space.write(result or inputs[-1][1].dtype, shape, loops)
    nest = space.nest()
    suffix, tiles = "", _plain(nest)
    if len(inputs) == _BINARY:
        suffix, tiles = ("/scalar", tiles) if places else _broadcast_tiles(nest)
    compute = tensors[0].dtype
    return Pattern(
        kind="Elementwise",
        function=function + suffix,
        compute=compute,
        accumulate=compute,
        axes=nest.tagged(tiles.__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=flops * math.prod(shape),
        scalars=tuple(numbers),
        constants=tuple(places),
    )


def _plain(nest: Nest) -> list[str]:
    return ["Elements"] * len(nest.axes)


def _broadcast_tiles(nest: Nest) -> tuple[str, list[str]]:
    """How the kernel of two operands is called: as a vector along rows, along columns, or plainly.

    [Rows, Cols] op v[Cols] where the smaller operand varies along the last axis, else
    [Rows, Cols] op s[Rows].
    """
    count = len(nest.axes)
    by_slot: dict[int, frozenset[int]] = {}
    for read in nest.reads:
        by_slot[read.slot] = by_slot.get(read.slot, frozenset()) | read.axes
    if len(by_slot) < _BINARY or all(len(axes) == count for axes in by_slot.values()):
        return "", _plain(nest)
    small = min(by_slot.values(), key=len)
    varies = count - 1 in small
    cols = count
    while cols > 0 and (cols - 1 in small) == varies:
        cols -= 1
    tiles = ["Rows" if i < cols else "Cols" for i in range(count)]
    return ("/col_vector" if varies else "/row_scalar"), tiles
