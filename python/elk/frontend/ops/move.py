"""Ops that move elements and compute nothing: gathers, concatenations, padding, plain copies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from elk.frontend.ops.picking import without_last
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.space import (
    Affine,
    Dim,
    Indirect,
    LoopSpace,
    MisalignedError,
    Nest,
    Pattern,
    Term,
    with_indirect,
)
from elk.frontend.views.values import BITS, DTYPES, Piece, Value
from elk.frontend.views.views import Shape, View, only_dim, placed, placed_block

if TYPE_CHECKING:
    from collections.abc import Callable


def copy(value: Value, *, flat: bool = False) -> Pattern:
    """`value` made a tensor of its own, of its shape or of one dimension."""
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(value.shape)]
    space.read(0, value, loops)
    if flat:
        steps = [Term(loop, math.prod(value.shape[i + 1 :])) for i, loop in enumerate(loops)]
        space.write(value.dtype, (value.size,), [Affine(tuple(steps), 0)])
    else:
        space.write(value.dtype, value.shape, loops)
    return _moved(space.nest(), "Copy", "slice_copy", value.dtype)


def _moved(
    nest: Nest, kind: str, function: str, dtype: str, params: tuple[int, ...] = ()
) -> Pattern:
    tiles = _run_tiles(nest)
    return Pattern(
        kind=kind,
        function=function,
        compute=dtype,
        accumulate=dtype,
        axes=nest.tagged(tiles.__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=0,
        params=params,
    )


def _run_tiles(nest: Nest) -> list[str]:
    """SliceElements on the inner axes that are contiguous in the result, Slices on the others."""
    strides = _strides(nest.writes[0].dims, nest.writes[0].shape)
    in_order = sorted(strides, key=strides.__getitem__)
    tiles = ["Slices"] * len(nest.axes)
    for axis in in_order:
        last = [read for read in nest.reads if axis in read.axes]
        if not last or any(_last_step(read.dims, axis) != strides[axis] for read in last):
            break
        tiles[axis] = "SliceElements"
    return tiles


def _strides(dims: tuple[Dim, ...], shape: Shape) -> dict[int, int]:
    out: dict[int, int] = {}
    step = 1
    for dim, size in zip(reversed(dims), reversed(shape), strict=True):
        for axis, coef in zip(dim.axes, dim.coef, strict=True):
            out[axis] = out.get(axis, 0) + coef * step
        step *= size
    return out


def _last_step(dims: tuple[Dim, ...], axis: int) -> int | None:
    """The step of `axis` along the last dimension; None if it steps along another one."""
    moving = [dim for dim in dims if axis in dim.axes]
    if len(moving) != 1 or moving[0] is not dims[-1]:
        return None
    return dims[-1].coef[dims[-1].axes.index(axis)]


def concat(node: Node) -> Pattern:
    """Inputs one after another: each operand is read where its part of the result lies."""
    values = [value for value in node.inputs if value is not None]
    axis = node.axis(0)
    sizes = [value.shape[axis] for value in values]
    total = sum(sizes)
    shape = tuple(total if i == axis else n for i, n in enumerate(values[0].shape))
    places = _places(values, axis, sizes)
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(shape)]
    apart = [
        slot
        for slot, (value, place) in enumerate(zip(values, places, strict=True))
        if any(not p.is_plain or place(p.view, p.tensor.shape) is None for p in value.pieces)
    ]
    if apart:
        raise MisalignedError(*apart)
    for slot, (value, place) in enumerate(zip(values, places, strict=True)):
        space.read(slot, _replaced(value, slot, place), loops, clipped=True)
    space.write(values[0].dtype, shape, loops)
    return _moved(space.nest(), "Copy", "slice_copy", values[0].dtype)


def _places(values: list[Value], axis: int, sizes: list[int]) -> list[Callable[..., View | None]]:
    """For each input the function that puts its views at their place in the result."""
    total = sum(sizes)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    plain: list[Callable[..., View | None]] = [
        lambda view, stored, start=start: placed(view, stored, axis, start, total)
        for start in starts
    ]
    exact = all(
        place(p.view, p.tensor.shape) is not None
        for value, place in zip(values, plain, strict=True)
        for p in value.pieces
    )
    if exact or len(set(sizes)) != 1:
        return plain
    return [
        lambda view, stored, block=block: placed_block(view, stored, axis, block, len(sizes))
        for block in range(len(sizes))
    ]


def _replaced(value: Value, slot: int, place: Callable[..., View | None]) -> Value:
    pieces = []
    for piece in value.pieces:
        view = place(piece.view, piece.tensor.shape)
        if view is None or not piece.is_plain:
            raise MisalignedError(slot)
        pieces.append(Piece(piece.tensor, view))
    return Value(value.name, value.dtype, value.shape, tuple(pieces))


def pads_of(node: Node) -> tuple[list[int], list[int]]:
    """What Pad adds in front of and behind each dimension."""
    rank = len(node.input(0).shape)
    pads = node.ints(1, "pads") or ()
    axes = node.ints(3, "axes") or tuple(range(rank))
    low, high = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        low[wrapped(axis, rank)] = pads[i]
        high[wrapped(axis, rank)] = pads[i + len(axes)]
    return low, high


def pad(node: Node) -> Pattern:
    """A box inside a larger one; `scalars[0]` is what surrounds it."""
    value = node.input(0)
    low, high = pads_of(node)
    fill = node.get(2)
    number = float(node.attrs.get("value", 0.0))
    if fill is not None:
        number = float(node.known(2, "value").item())
    shape = tuple(n + a + b for n, a, b in zip(value.shape, low, high, strict=True))
    for axis in range(len(shape)):
        if shape[axis] != value.shape[axis]:
            start, total = low[axis], shape[axis]
            value = _replaced(
                value,
                0,
                lambda view, stored, axis=axis, start=start, total=total: placed(
                    view, stored, axis, start, total
                ),
            )
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(shape)]
    space.read(0, value, loops, clipped=True)
    space.write(value.dtype, shape, loops)
    pattern = _moved(space.nest(), "Copy", "slice_copy", value.dtype)
    return _with_scalars(pattern, (number,))


def _with_scalars(pattern: Pattern, scalars: tuple[float, ...]) -> Pattern:
    return replace(pattern, scalars=scalars)


def gather(node: Node) -> Pattern:
    """Slices of a table picked by an index tensor that is known only when the model runs."""
    table, index = node.input(0), node.input(1)
    axis = node.axis(0)
    shape = (*table.shape[:axis], *index.shape, *table.shape[axis + 1 :])
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(shape)]
    picks = loops[axis : axis + len(index.shape)]
    space.read(0, table, [*loops[:axis], None, *loops[axis + len(index.shape) :]])
    space.read(
        1, index, [loop if n != 1 else None for loop, n in zip(picks, index.shape, strict=True)]
    )
    space.write(table.dtype, shape, loops)
    return _gathered(space.nest(), table, axis, picks)


def gather_nd(node: Node) -> Pattern:
    """GatherND whose index picks along the first dimension."""
    index = node.input(1)
    if index.shape[-1] != 1 or node.attrs.get("batch_dims", 0):
        raise UnplannableError("it picks along several dimensions by an index that is not known")
    node.inputs[1] = without_last(index)
    return gather(node)


def gather_elements(node: Node) -> Pattern:
    """One element for each of the index tensor, from the same place in all other dimensions."""
    table, index = node.input(0), node.input(1)
    axis = node.axis(0)
    same = all(
        n == m for i, (n, m) in enumerate(zip(table.shape, index.shape, strict=True)) if i != axis
    )
    if not same:
        raise UnplannableError("its index is smaller than its data")
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(index.shape)]
    space.read(0, table, [None if i == axis else loop for i, loop in enumerate(loops)])
    space.read(1, index, loops)
    space.write(table.dtype, index.shape, loops)
    return _gathered(space.nest(), table, axis, loops)


def _gathered(nest: Nest, table: Value, axis: int, picks: list[int]) -> Pattern:
    """The pattern of a gather from dimension `axis` of `table`, one pick for each of `picks`."""
    piece = table.pieces[0]
    dim = only_dim(piece.view, piece.tensor.shape, axis) if len(table.pieces) == 1 else None
    if dim is None:  # The index counts positions of the table, not of what it is stored in.
        raise MisalignedError(0)
    axes = tuple(i for i, loop in enumerate(nest.loop_of) if loop in picks)
    rows = table.shape[axis]
    count = math.prod(nest.axes[i].size for i in axes)
    indirect = Indirect(1, dim, axes, float(min(count, rows)))
    return _moved(with_indirect(nest, 0, indirect), "Gather", "gather", table.dtype, (rows,))


def bit_cast(node: Node) -> Pattern:
    """BitCast: the same bytes as another element type of the same width."""
    value, target = node.input(0), DTYPES[int(node.attrs["to"])]
    if BITS[target] != BITS[value.dtype]:
        raise UnplannableError(f"{value.dtype} and {target} differ in width")
    pattern = copy(value)
    (write,) = pattern.writes
    return replace(pattern, writes=(write._replace(dtype=target),))
