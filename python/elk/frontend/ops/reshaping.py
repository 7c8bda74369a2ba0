"""Nodes that compute nothing and move nothing: their results are views of what they read.

Each function gives the values of the node's outputs, or None where no view can say it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from elk.frontend.ops.elementwise import broadcast, scalar
from elk.frontend.views import views
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.space import MisalignedError
from elk.frontend.views.values import DTYPES, Piece, Value, constant, numpy_dtype, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from elk.frontend.views.values import Array
    from elk.frontend.views.views import Shape, View

    ViewOf: TypeAlias = Callable[[View], View | None]
    ArrayOf: TypeAlias = Callable[[Array], Array]


class _Result(NamedTuple):
    """What a node gives: a name, and how many elements of it may be known."""

    name: str
    folded_elements: int


def _result(node: Node, slot: int = 0) -> _Result:
    return _Result(node.outputs[slot], node.folded_elements)


def _viewed(
    result: _Result, value: Value, shape: Shape, view: ViewOf, array: ArrayOf
) -> Value | None:
    """`value` seen through `view`, under a new name; known elements stay known."""
    name, known = result.name, None
    if value.known is not None and math.prod(shape) <= result.folded_elements:
        known = array(value.known)
    pieces = []
    for piece in value.pieces:
        seen = piece.seen(view)
        if seen is None:
            return None if known is None else constant(name, np.ascontiguousarray(known))
        if views.reaches(seen.view, piece.tensor.shape):
            pieces.append(seen)
    return Value(name, value.dtype, shape, tuple(pieces), known)


def _one(value: Value | None) -> list[Value] | None:
    return None if value is None else [value]


def same(node: Node) -> list[Value] | None:
    """Identity, and what is one in inference."""
    return [node.input(0).renamed(node.outputs[0])]


def dropout(node: Node) -> list[Value] | None:
    """Dropout as inference runs it."""
    training = node.get(2) is not None and bool(node.known(2, "training mode").item())
    return None if training or any(node.outputs[1:]) else same(node)


def cast(node: Node) -> list[Value] | None:
    """A cast to the type that the value has already; which eight bits a float has is not kept."""
    target = DTYPES.get(int(node.attrs["to"]))
    if target is None:
        raise UnplannableError(f"a cast to {type_name(int(node.attrs['to']))}")
    return same(node) if target == node.input(0).dtype and target != "f8" else None


def reshape(node: Node) -> list[Value] | None:
    """Reshape, with zeros that copy a size unless `allowzero`."""
    value = node.input(0)
    target = [int(n) for n in node.known(1, "shape").ravel()]
    if not node.attrs.get("allowzero", 0):
        target = [value.shape[i] if n == 0 else n for i, n in enumerate(target)]
    if -1 in target:
        rest = math.prod(n for n in target if n != -1)
        target[target.index(-1)] = value.size // rest if rest else 0
    return _reshaped(node, tuple(target))


def _reshaped(node: Node, shape: Shape) -> list[Value] | None:
    value = node.input(0)
    if math.prod(shape) != value.size:
        raise UnplannableError(f"{value.size} elements do not fill {list(shape)}")
    view, array = lambda v: views.reshape(v, shape), lambda a: a.reshape(shape)
    return _one(_viewed(_result(node), value, shape, view, array))


def in_box(value: Value, shape: Shape) -> Value:
    """`value`, one whole tensor, as a box of `shape` that a view can say."""
    (piece,) = value.pieces
    view = views.reshape(piece.view, shape)
    assert view is not None, "the caller knows that it can"
    return Value(value.name, value.dtype, shape, (Piece(piece.tensor, view),))


def flatten(node: Node) -> list[Value] | None:
    """Flatten into a matrix."""
    shape = node.input(0).shape
    axis = int(node.attrs.get("axis", 1))
    axis += len(shape) if axis < 0 else 0
    return _reshaped(node, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze(node: Node) -> list[Value] | None:
    """Squeeze."""
    shape = node.input(0).shape
    axes = node.ints(1, "axes")
    if axes is None:
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
    gone = {wrapped(a, len(shape)) for a in axes}
    return _reshaped(node, tuple(n for i, n in enumerate(shape) if i not in gone))


def unsqueeze(node: Node) -> list[Value] | None:
    """Unsqueeze."""
    shape = node.input(0).shape
    axes = node.ints(1, "axes") or ()
    rank = len(shape) + len(axes)
    new = {wrapped(a, rank) for a in axes}
    if len(new) != len(axes):
        raise UnplannableError("an axis is given twice")
    sizes = iter(shape)
    return _reshaped(node, tuple(1 if i in new else next(sizes) for i in range(rank)))


def transpose(node: Node) -> list[Value] | None:
    """Transpose."""
    value = node.input(0)
    rank = len(value.shape)
    perm = tuple(node.attrs.get("perm", range(rank - 1, -1, -1)))
    shape = tuple(value.shape[i] for i in perm)
    view, array = lambda v: views.transpose(v, perm), lambda a: a.transpose(perm)
    return _one(_viewed(_result(node), value, shape, view, array))


def transposing_einsum(node: Node) -> list[Value] | None:
    """An Einsum of one operand that only reorders its dimensions."""
    left, _, right = str(node.attrs["equation"]).replace(" ", "").partition("->")
    if len(set(left)) != len(left) or sorted(left) != sorted(right) or "." in left:
        return None
    perm = tuple(left.index(label) for label in right)
    node.attrs = {**node.attrs, "perm": perm}
    return transpose(node)


def expand(node: Node) -> list[Value] | None:
    """Expand."""
    target = tuple(int(n) for n in node.known(1, "shape").ravel())
    return _expanded(node, node.input(0), broadcast([node.input(0).shape, target]))


def _expanded(node: Node, value: Value, shape: Shape) -> list[Value] | None:
    view = lambda v: views.expand(v, shape)  # noqa: E731 - the pair reads best side by side
    array = lambda a: np.broadcast_to(a, shape)  # noqa: E731
    return _one(_viewed(_result(node), value, shape, view, array))


def constant_of_shape(node: Node) -> list[Value] | None:
    """A constant too large to fold: one element, seen everywhere."""
    shape = tuple(int(n) for n in node.known(0, "shape").ravel())
    if min(shape, default=0) < 0:
        raise UnplannableError(f"a shape of negative sizes: {list(shape)}")
    element = np.asarray(node.attrs.get("value", np.zeros(1, "f4"))).reshape(-1)[:1]
    one = constant(node.outputs[0], element.reshape(()))
    return _expanded(node, one, shape)


def tile(node: Node) -> list[Value] | None:
    """Tile: each dimension becomes repeats of itself."""
    value = node.input(0)
    repeats = tuple(int(n) for n in node.known(1, "repeats").ravel())
    shape = tuple(n * r for n, r in zip(value.shape, repeats, strict=True))
    apart = tuple(x for n in value.shape for x in (1, n))
    spread = tuple(x for n, r in zip(value.shape, repeats, strict=True) for x in (r, n))

    def view(v: View) -> View | None:
        split = views.reshape(v, apart)
        return None if split is None else views.reshape(views.expand(split, spread), shape)

    return _one(_viewed(_result(node), value, shape, view, lambda a: np.tile(a, repeats)))


def slice_(node: Node) -> list[Value] | None:
    """Slice with forward steps; one with backward steps is no view."""
    value = node.input(0)
    rank = len(value.shape)
    starts, ends = node.ints(1, "starts") or (), node.ints(2, "ends") or ()
    axes = node.ints(3, "axes") or tuple(range(len(starts)))
    steps = node.ints(4, "steps") or (1,) * len(starts)
    whole = [slice(None)] * rank
    ranges = [range(n) for n in value.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        dim = wrapped(axis, rank)
        low = -value.shape[dim]
        whole[dim] = slice(start, None if step < 0 and end < low else end, step)
        ranges[dim] = range(value.shape[dim])[whole[dim]]
    shape = tuple(len(r) for r in ranges)
    if 0 in shape:
        return [constant(node.outputs[0], np.empty(shape, dtype=numpy_dtype(value.dtype)))]

    def view(v: View) -> View | None:
        seen: View | None = v
        for dim, r in enumerate(ranges):
            if seen is not None and len(r) != value.shape[dim]:
                seen = views.take(seen, dim, r.start, len(r), r.step) if r.step > 0 else None
            elif seen is not None and r.step < 0 and len(r) > 1:
                seen = None
        return seen

    return _one(_viewed(_result(node), value, shape, view, lambda a: a[tuple(whole)]))


def split(node: Node) -> list[Value] | None:
    """Split into parts along one axis."""
    value = node.input(0)
    axis = node.axis(0)
    size, count = value.shape[axis], len(node.outputs)
    parts = node.ints(1, "split")
    if parts is None:
        chunk = -(-size // int(node.attrs.get("num_outputs", count)))
        parts = tuple(min(chunk, size - chunk * i) for i in range(count))
    if len(parts) != count or sum(parts) != size or min(parts) < 0:
        raise UnplannableError(f"{size} positions do not split into {list(parts)}")
    out: list[Value] = []
    start = 0
    for slot, part in enumerate(parts):
        part_value = _part(_result(node, slot), value, axis, start, part)
        if part_value is None:
            return None
        out.append(part_value)
        start += part
    return out


def _part(result: _Result, value: Value, axis: int, start: int, count: int) -> Value | None:
    shape = tuple(count if i == axis else n for i, n in enumerate(value.shape))
    return _viewed(
        result,
        value,
        shape,
        lambda v: views.take(v, axis, start, count),
        lambda a: np.take(a, range(start, start + count), axis=axis),
    )


def _folded(node: Node, apart: Shape, perm: tuple[int, ...], shape: Shape) -> list[Value] | None:
    """Input 0 split into `apart`, reordered by `perm` and merged into `shape`."""

    def view(v: View) -> View | None:
        pieces = views.reshape(v, apart)
        return None if pieces is None else views.reshape(views.transpose(pieces, perm), shape)

    def array(a: Array) -> Array:
        return a.reshape(apart).transpose(perm).reshape(shape)

    return _one(_viewed(_result(node), node.input(0), shape, view, array))


def depth_to_space(node: Node) -> list[Value] | None:
    """DepthToSpace: channels become blocks of positions."""
    b, c, h, w = node.input(0).shape
    n = int(node.attrs["blocksize"])
    if node.attrs.get("mode", "DCR") == "DCR":
        apart, perm = (b, n, n, c // (n * n), h, w), (0, 3, 4, 1, 5, 2)
    else:
        apart, perm = (b, c // (n * n), n, n, h, w), (0, 1, 4, 2, 5, 3)
    return _folded(node, apart, perm, (b, c // (n * n), h * n, w * n))


def space_to_depth(node: Node) -> list[Value] | None:
    """SpaceToDepth: blocks of positions become channels."""
    b, c, h, w = node.input(0).shape
    n = int(node.attrs["blocksize"])
    apart = (b, c, h // n, n, w // n, n)
    first = node.attrs.get("mode", "DCR") == "DCR"
    perm = (0, 3, 5, 1, 2, 4) if first else (0, 1, 3, 5, 2, 4)
    return _folded(node, apart, perm, (b, c * n * n, h // n, w // n))


def append(node: Node) -> list[Value] | None:
    """A state with rows appended: no op, its readers have an operand for each part."""
    values = [v for v in node.inputs if v is not None and v.size]
    node.inputs = list(values)
    if not values:
        raise UnplannableError("its inputs have no elements")
    if len(values) == 1:
        return same(node)
    axis = node.axis(0)
    rest = {(*value.shape[:axis], -1, *value.shape[axis + 1 :]) for value in values}
    if len(rest) != 1:
        raise UnplannableError("its inputs differ in more than one dimension")
    if sum(value.is_state for value in values) != 1:
        return None
    total = sum(value.shape[axis] for value in values)
    pieces: list[Piece] = []
    start = 0
    for slot, value in enumerate(values):
        for piece in value.pieces:
            fresh = value.is_state or (
                piece.tensor.home == "activation"
                and len(value.pieces) == 1
                and views.is_whole(piece.view, piece.tensor.shape)
            )
            seen = views.placed(piece.view, piece.tensor.shape, axis, start, total)
            if seen is None or not fresh:
                raise MisalignedError(slot)
            pieces.append(Piece(piece.tensor, seen))
        start += value.shape[axis]
    shape = tuple(total if i == axis else n for i, n in enumerate(values[0].shape))
    return [Value(node.outputs[0], values[0].dtype, shape, tuple(pieces))]


def neutral(unit: float) -> Callable[[Node], list[Value] | None]:
    """A logical op that leaves one input as it is, because the other is `unit` everywhere."""

    def view(node: Node) -> list[Value] | None:
        a, b = node.input(0), node.input(1)
        for value, other in ((a, b), (b, a)):
            if scalar(other) == unit:
                return _expanded(node, value, broadcast([a.shape, b.shape]))
        return None

    return view


def chosen(node: Node) -> list[Value] | None:
    """A Where whose condition is the same everywhere."""
    condition = scalar(node.input(0))
    if condition is None or math.isnan(condition):
        return None
    shape = broadcast([node.input(i).shape for i in range(3)])
    return _expanded(node, node.input(1 if condition else 2), shape)
