"""Rows written in place into a state: no op, as rows that are appended to it.

A cache of fixed size is written by TensorScatter, ScatterElements, ScatterND, or a Where on
positions. Who reads the result reads the state and, where a mask of positions is true, the new rows
in its place; what is stored are these rows. A few rows have a mask each, from an index that may be
known only when the model runs; any number of rows at known neighbouring positions have one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from elk.frontend.ops import opaque
from elk.frontend.ops.composed import ints
from elk.frontend.ops.elementwise import scalar
from elk.frontend.ops.kind import Kind
from elk.frontend.ops.picking import without_last
from elk.frontend.views import views
from elk.frontend.views.node import Node, require
from elk.frontend.views.space import MisalignedError
from elk.frontend.views.values import Mask, Piece, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Array

MASK: Final = "PositionMask"
_MOST_ROWS: Final = 8  # Written at positions that are not known: each is an operand of its own.


def is_written(value: Value) -> bool:
    """Whether `value` is a whole state, as it is or with rows written into it."""
    states = [p for p in value.pieces if p.mask is None]
    return (
        len(states) == 1
        and states[0].tensor.home == "state"
        and states[0].pick is None
        and views.is_whole(states[0].view, states[0].tensor.shape)
    )


def tensor_scatter(node: Node, make: Maker) -> list[Value] | None:
    """TensorScatter: new rows, at a place of its own for each row of the batch."""
    past, new = node.input(0), node.input(1)
    axis, at = node.axis(-2), node.get(2)
    if not is_written(past):
        return None
    ones, count, total = (1,) * (len(past.shape) - 1), new.shape[axis], past.shape[axis]
    first = make("Reshape", np.zeros(1, dtype=np.int64) if at is None else at, ints(-1, *ones))
    last = count - 1 if first.known is None else int(first.known.max()) + count - 1
    turns = node.attrs.get("mode", "linear") == "circular"
    require(turns or last < total, f"it writes row {last} of {total}")
    return _rows(make, past, new, axis, [(first, s) for s in range(count)])


def scatter_elements(node: Node, make: Maker) -> list[Value] | None:
    """ScatterElements whose index says the same for all elements of a row."""
    data, index, updates = (node.input(slot) for slot in range(3))
    axis = node.axis(0)
    pairs = enumerate(zip(data.shape, index.shape, strict=True))
    if not _is_set(node) or any(n != m for i, (n, m) in pairs if i != axis):
        return None
    return _by_index(make, data, updates, axis, index)


def scatter_nd(node: Node, make: Maker) -> list[Value] | None:
    """ScatterND of whole rows: its index counts through all other dimensions that it names."""
    data, index, updates = (node.input(slot) for slot in range(3))
    grid, tail = index.shape[:-1], (1,) * (len(data.shape) - index.shape[-1])
    if not _is_set(node) or len(grid) != index.shape[-1]:
        return None
    columns = _columns(index) or []
    axes = [d for d, column in enumerate(columns) if not _counts(column, d, data.shape[d])]
    if len(axes) != 1:
        return None
    (axis,) = axes
    narrow = _narrowed(columns[axis], axis)
    return _by_index(make, data, updates, axis, make("Reshape", narrow, ints(*narrow.shape, *tail)))


def _is_set(node: Node) -> bool:
    """Whether elements of a state are replaced: not added to, or compared with, what is there."""
    return is_written(node.input(0)) and node.attrs.get("reduction", "none") == "none"


def _by_index(make: Maker, data: Value, rows: Value, axis: int, index: Value) -> list[Value] | None:
    """`data` with `rows` where an index of its rank says, the same for all elements of a row."""
    narrow = _narrowed(index, axis)
    if narrow.size > narrow.shape[axis] * data.shape[0]:
        return None
    count = narrow.shape[axis]
    places = [make("Slice", narrow, ints(s), ints(s + 1), ints(axis)) for s in range(count)]
    return _rows(make, data, rows, axis, [(place, 0) for place in places])


def _narrowed(index: Value, axis: int) -> Value:
    """`index` with size one in the dimensions, but `axis`, along which it does not vary."""
    known, pieces = index.known, index.pieces
    for d in range(len(index.shape)):
        if d == axis:
            continue
        if known is not None:
            first = known.take([0], axis=d)
            known = first if bool((known == first).all()) else known
        elif all(not any(any(a.coefs) for a in p.view.dims[d]) for p in pieces):
            seen = [p.seen(partial(views.take, dim=d, start=0, count=1)) for p in pieces]
            pieces = tuple([p for p in seen if p is not None])
    shape = pieces[0].view.shape if known is None else known.shape
    return Value(index.name, index.dtype, shape, pieces, known)


def _columns(index: Value) -> list[Value] | None:
    """What an index of several columns says of each dimension, if that can be told apart."""
    if index.known is not None:
        parts = [index.known[..., d] for d in range(index.shape[-1])]
        return [Value(index.name, index.dtype, x.shape, index.pieces, x) for x in parts]
    if index.shape[-1] == 1:
        return [without_last(index)]
    if len(index.joined) != index.shape[-1]:
        return None
    shape = index.shape[:-1]
    found = []
    for value in index.joined:
        known = None if value.known is None else value.known.reshape(shape)
        seen = [p.seen(lambda v: views.reshape(v, shape)) for p in value.pieces]
        pieces = tuple([p for p in seen if p is not None])
        if known is None and len(pieces) != len(value.pieces):
            return None
        found.append(Value(value.name, value.dtype, shape, pieces, known))
    return found


def _counts(column: Value, dim: int, size: int) -> bool:
    """Whether a column names every position of dimension `dim`, in order, wherever it stands."""
    if column.known is None or column.shape[dim] != size:
        return False
    shape = [-1 if d == dim else 1 for d in range(len(column.shape))]
    return bool((column.known == np.arange(size).reshape(shape)).all())


def where(node: Node, make: Maker) -> list[Value] | None:
    """A Where that puts one row at one position of a state."""
    mask, rows, state = (node.input(slot) for slot in range(3))
    if mask.negated is not None:
        mask, rows, state = mask.negated, state, rows
    if not is_written(state) or not mask.selects:
        return None
    rank = len(state.shape)
    if len(mask.shape) > rank or len(rows.shape) > rank:
        return None
    spread = (1,) * (rank - len(mask.shape)) + mask.shape
    wanted = (1,) * (rank - len(rows.shape)) + rows.shape
    along = [d for d, n in enumerate(spread) if n == state.shape[d] != 1 and wanted[d] == 1]
    whole = all(n == state.shape[d] for d, n in enumerate(wanted) if d not in along)
    if len(along) != 1 or not whole:
        return None
    apart = make("Reshape", rows, ints(*wanted))
    return [make("Written", state, apart, make("Reshape", mask, ints(*spread)), axis=along[0])]


def _rows(
    make: Maker, state: Value, rows: Value, axis: int, places: list[tuple[Value, int]]
) -> list[Value] | None:
    """`state` with the rows along `axis` of `rows` written, each so far behind its place."""
    total = state.shape[axis]
    first = _start([None if x.known is None else (x.known + step) % total for x, step in places])
    if first is not None:
        line = np.arange(total).reshape([-1 if d == axis else 1 for d in range(len(state.shape))])
        inside = (line >= first) & (line < first + len(places))
        return [make("Written", state, rows, inside, axis=axis, first=first)]
    if len(places) > _MOST_ROWS:
        return None
    result = state
    for row, (place, step) in enumerate(places):
        mask = make(MASK, place, axis=axis, size=total, step=step)
        result = make("Written", result, rows, mask, axis=axis, row=row)
    return [result]


def _start(known: list[Array | None]) -> int | None:
    """The first of known neighbouring positions that are the same for the whole batch."""
    if any(x is None or not (x == x.flat[0]).all() for x in known):
        return None
    line = [int(x.flat[0]) for x in known if x is not None]
    return line[0] if line and line == list(range(line[0], line[0] + len(line))) else None


def position_mask(node: Node, make: Maker) -> list[Value]:
    """Where along `axis`, of `size` positions, that is which lies `step` behind each place.

    Places below zero count from the end, and those behind the end from the start.
    """
    place, axis, size = node.input(0), int(node.attrs["axis"]), int(node.attrs["size"])
    shape = [-1 if d == axis else 1 for d in range(len(place.shape))]
    at, step = make("Cast", place, to=7), int(node.attrs["step"])
    at = make("Mod", make("Add", at, ints(step)) if step else at, ints(size))
    return [make("Equal", at, np.arange(size, dtype=np.int64).reshape(shape))]


def written(node: Node) -> list[Value]:
    """Input 0 where input 2, a mask, is true seen as input 1: one row of it, or all in a line."""
    state, rows, mask = (node.input(slot) for slot in range(3))
    axis, shape = int(node.attrs["axis"]), state.shape
    piece = rows.pieces[0] if len(rows.pieces) == 1 else None
    fresh = piece is not None and piece.tensor.home == "activation" and piece.pick is None
    if piece is None or not fresh or not views.is_whole(piece.view, piece.tensor.shape):
        raise MisalignedError(1)
    if len(mask.pieces) != 1 or mask.pieces[0].pick is not None:
        raise MisalignedError(2)
    if "first" in node.attrs:
        view = views.placed(piece.view, piece.tensor.shape, axis, node.attrs["first"], shape[axis])
    else:
        view = views.take(piece.view, axis, int(node.attrs.get("row", 0)), 1)
    if view is None:
        raise MisalignedError(1)
    over = Piece(
        piece.tensor,
        views.expand(view, shape),
        mask=Mask(mask.pieces[0].tensor, views.expand(mask.pieces[0].view, shape)),
    )
    return [Value(node.outputs[0], state.dtype, shape, (*state.pieces, over))]


def joined(node: Node, inputs: Sequence[Value | None], result: Value) -> None:
    """Notes what a Concat joins to an index of several columns; `inputs` without copies."""
    values = tuple([x for x in inputs if x is not None])
    last = node.axis(0) == len(result.shape) - 1
    if last and result.dtype in {"i64", "i32"} and all(x.shape[-1] == 1 for x in values):
        result.joined = values


def compared(_: Node, inputs: Sequence[Value | None], result: Value) -> None:
    """Notes which results of Equal select one position."""
    values = [x for x in inputs if x is not None]
    for line, other in (values, values[::-1]):
        if line.known is not None and _is_line(line) and _varies_apart(line, other):
            result.selects = True


def chosen(_: Node, inputs: Sequence[Value | None], result: Value) -> None:
    """Notes that numbers that are zero but at one position select it, as their mask does."""
    mask, one, other = (x for x in inputs if x is not None)
    result.selects = mask.selects and bool(scalar(one)) and scalar(other) == 0.0


def negated(_: Node, inputs: Sequence[Value | None], result: Value) -> None:
    """Notes of which truth values a Not gives the opposite."""
    result.negated = inputs[0]


def _is_line(value: Value) -> bool:
    """Whether a constant has distinct elements, along one dimension."""
    known = value.known
    return known is not None and known.size in known.shape and len(np.unique(known)) == known.size


def _varies_apart(line: Value, other: Value) -> bool:
    """Whether `other` has size one wherever `line` varies."""
    pairs = zip(reversed(line.shape), reversed(other.shape), strict=False)
    return other.known is None and all(n == 1 or m == 1 for n, m in pairs)


KINDS: Final = {
    MASK: Kind(compose=position_mask),
    "Scatter": Kind(compose=scatter_elements, build=opaque.scatter_elements),
    "ScatterElements": Kind(compose=scatter_elements, build=opaque.scatter_elements),
    "ScatterND": Kind(compose=scatter_nd, build=opaque.scatter_nd),
    "TensorScatter": Kind(compose=tensor_scatter, build=opaque.tensor_scatter),
    "Written": Kind(view=written),
}
