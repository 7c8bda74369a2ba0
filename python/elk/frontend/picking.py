"""Gathers whose index is known: where it is affine in the result's dimensions, they are views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elk.frontend.node import UnplannableError
from elk.frontend.values import Piece, Value
from elk.frontend.views import Atom, View

if TYPE_CHECKING:
    from elk.frontend.node import Node
    from elk.frontend.values import Array
    from elk.frontend.views import Shape


def affine(index: Array) -> tuple[int, tuple[int, ...]] | None:
    """The offset and a step for each dimension of `index`, if it is such a sum."""
    if index.size == 0:
        return None
    first = int(index.reshape(-1)[0])
    steps = []
    expected = np.full((1,) * index.ndim, first, dtype=np.int64)
    for d, size in enumerate(index.shape):
        unit = tuple(1 if i == d else 0 for i in range(index.ndim))
        steps.append(int(index[unit]) - first if size > 1 else 0)
        line = np.arange(size, dtype=np.int64) * steps[-1]
        expected = expected + line.reshape([-1 if i == d else 1 for i in range(index.ndim)])
    if min(steps, default=0) < 0 or not np.array_equal(expected, index):
        return None
    return first, tuple(steps)


def _bounded(index: Array, size: int) -> Array:
    """`index` counted from the front; it has to lie within `size`."""
    low, high = (int(index.min()), int(index.max())) if index.size else (0, 0)
    if low < -size or high >= size:
        raise UnplannableError(f"index {low if low < -size else high} is outside {size}")
    return np.where(index < 0, index + size, index) if low < 0 else index


def gather(node: Node) -> list[Value] | None:
    """Gather by a known index."""
    table, index = node.input(0), node.input(1)
    if index.known is None:
        return None
    axis = node.axis(0)
    found = affine(_bounded(index.known, table.shape[axis]))
    if found is None:
        return None
    shape = (*table.shape[:axis], *index.shape, *table.shape[axis + 1 :])
    front, back = table.shape[:axis], table.shape[axis + 1 :]
    steps: list[dict[int, int]] = [
        *({d: 1} for d in range(len(front))),
        *({axis: step} for step in found[1]),
        *({axis + 1 + d: 1} for d in range(len(back))),
    ]
    return _picked(node, shape, steps, {axis: found[0]})


def gather_nd(node: Node) -> list[Value] | None:
    """GatherND by a known index."""
    table, index = node.input(0), node.input(1)
    if index.known is None or node.attrs.get("batch_dims", 0):
        return None
    depth = index.shape[-1]
    front = index.shape[:-1]
    shape = (*front, *table.shape[depth:])
    steps: list[dict[int, int]] = [{} for _ in front]
    steps += [{depth + d: 1} for d in range(len(table.shape) - depth)]
    starts: dict[int, int] = {}
    for d in range(depth):
        found = affine(_bounded(index.known[..., d], table.shape[d]))
        if found is None:
            return None
        starts[d] = found[0]
        for i, step in enumerate(found[1]):
            steps[i][d] = step
    return _picked(node, shape, steps, starts)


def _picked(
    node: Node, shape: Shape, steps: list[dict[int, int]], starts: dict[int, int]
) -> list[Value] | None:
    """Input 0 seen so that dimension i of the result moves `steps[i][d]` along its dimension d."""
    pieces = []
    for piece in node.input(0).pieces:
        view = _stepped(piece.view, shape, steps, starts)
        if view is None:
            return None
        pieces.append(Piece(piece.tensor, view))
    return [Value(node.outputs[0], node.input(0).dtype, shape, tuple(pieces))]


def _stepped(
    view: View, shape: Shape, steps: list[dict[int, int]], starts: dict[int, int]
) -> View | None:
    rank = len(view.offsets)
    coefs = []
    picked = set(starts)
    for d, atoms in enumerate(view.dims):
        if len(atoms) > 1 and d in picked:
            return None
        coefs.append(atoms[0].coefs if atoms else (0,) * rank)
    offsets = tuple(
        o + sum(start * coefs[d][r] for d, start in starts.items())
        for r, o in enumerate(view.offsets)
    )
    dims: list[tuple[Atom, ...]] = []
    for size, moves in zip(shape, steps, strict=True):
        kept = [d for d in moves if d not in picked]
        if kept:
            dims.append(view.dims[kept[0]])
        elif size == 1:
            dims.append(())
        else:
            along = tuple(sum(n * coefs[d][r] for d, n in moves.items()) for r in range(rank))
            dims.append((Atom(size, along),))
    return View(tuple(dims), offsets)
