"""Gathers whose index is known: where it is affine in the result's dimensions, they are views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.values import Pick, Piece, Value
from elk.frontend.views.views import Atom, Shape, View, expand, only_dim, reshape

if TYPE_CHECKING:
    from elk.frontend.views.values import Array

_MATRICES = 3  # Dimensions of a table of matrices.


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
    """Gather by a known index, or of matrices of one product.

    Where there is one position to pick, every index picks it.
    """
    table, index = node.input(0), node.input(1)
    axis = node.axis(0)
    known = index.known
    if known is None and table.shape[axis] == 1 and index.size <= node.folded_elements:
        known = np.zeros(index.shape, dtype=np.int64)
    if known is None:
        return _chosen(node, index) if axis == 0 else None
    found = affine(_bounded(known, table.shape[axis]))
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
    """GatherND by a known index, or of matrices of one product."""
    table, index = node.input(0), node.input(1)
    if node.attrs.get("batch_dims", 0):
        return None
    if index.known is None:
        return _chosen(node, without_last(index)) if index.shape[-1] == 1 else None
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


def without_last(value: Value) -> Value:
    """`value` without its last dimension, which has size one."""
    shape = value.shape[:-1]
    pieces = tuple(p.seen(lambda v: reshape(v, shape)) for p in value.pieces)
    return Value(value.name, value.dtype, shape, tuple(p for p in pieces if p is not None))


def _chosen(node: Node, index: Value) -> list[Value] | None:
    """Weight matrices that an index picks for one product: an operand that is read indirectly.

    Mixtures of experts are written so. The matrices are never copied; the product reads those that
    are picked, on average as many as uniform routing hits.
    """
    table = node.input(0)
    experts, count = table.shape[0], index.size
    (piece, *more), (picks, *others) = table.pieces, index.pieces
    weight = piece.tensor.home == "weight" and piece.is_plain and picks.is_plain
    if not weight or more or others or node.readers != ("MatMul",) or len(table.shape) < _MATRICES:
        return None
    dim = only_dim(piece.view, piece.tensor.shape, 0)
    if dim is None:
        return None
    shape = (*index.shape, *table.shape[1:])
    front = tuple((Atom(n, (0,) * len(piece.view.offsets)),) if n != 1 else () for n in index.shape)
    view = View((*front, *piece.view.dims[1:]), piece.view.offsets)
    rest = picks.view.dims + ((),) * (len(table.shape) - 1)
    seen = expand(View(rest, picks.view.offsets), shape)
    distinct = min(picks.tensor.distinct, experts)
    missed = (1.0 - distinct / experts) ** (count / distinct)
    pick = Pick(dim, picks.tensor, seen, experts * (1.0 - missed))
    return [Value(node.outputs[0], table.dtype, shape, (Piece(piece.tensor, view, pick),))]


def _picked(
    node: Node, shape: Shape, steps: list[dict[int, int]], starts: dict[int, int]
) -> list[Value] | None:
    """Input 0 seen so that dimension i of the result moves `steps[i][d]` along its dimension d."""
    pieces = []
    for piece in node.input(0).pieces:
        seen = piece.seen(lambda view: _stepped(view, shape, steps, starts))
        if seen is None:
            return None
        pieces.append(seen)
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
