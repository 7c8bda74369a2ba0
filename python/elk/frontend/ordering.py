"""Which ops a graph needs, in which order, and what it writes back to its states."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from elk.frontend.views.values import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.frontend.ops.assembled import Op
    from elk.frontend.views.values import Stored, Value


def alive(ops: Sequence[Op], needed: set[int]) -> list[Op]:
    """The ops that tensors in `needed` (by id) come from, in order."""
    out: deque[Op] = deque()
    for op in reversed(ops):
        if not needed.isdisjoint(map(id, op.writes)):
            needed.update(map(id, op.reads))
            needed.update([id(index) for index in op.indices if index is not None])
            out.appendleft(op)
    return list(out)


def inputs_first(ops: Sequence[Op]) -> list[Op]:
    """`ops` with those in front that depend on nothing but the graph's inputs and constants.

    Masks and position tables are then made before the first layer, not in the middle of it. What
    reads nothing, random numbers, stays where it is read: each layer has its own.
    """
    made: set[int] = set()
    early, late = [], []
    for op in ops:
        tensors = (*op.reads, *(index for index in op.indices if index is not None))
        from_inputs = (t.home == "input" or t.data is not None or id(t) in made for t in tensors)
        if tensors and all(from_inputs):
            made.update(id(t) for t in op.writes)
            early.append(op)
        else:
            late.append(op)
    return early + late


def is_append(value: Value) -> bool:
    """Whether `value` is a whole state with whole tensors appended, or written over rows of it."""
    states = [p for p in value.pieces if p.tensor.home == "state"]
    parts = {id(p.tensor): p.tensor for p in value.pieces if p.mask is None}
    whole_parts = sum(math.prod(t.shape) for t in parts.values()) == value.size
    return len(states) == 1 and len(value.pieces) > 1 and whole_parts


def run_bytes(value: Value, tensor: Stored) -> int:
    """Contiguous bytes in HBM where `tensor`, rows of a state, is written back."""
    (state,) = [p for p in value.pieces if p.tensor.home == "state"]
    over = next((p for p in value.pieces if p.tensor is tensor), None)
    if over is None or over.mask is None:
        sizes = zip(value.shape, state.tensor.shape, strict=True)
        axis = next(i for i, (n, m) in enumerate(sizes) if n != m)
        return max(tensor.nbytes // math.prod(value.shape[:axis]), 1)
    mask = over.mask
    moved = [
        d
        for atoms, masked in zip(state.view.dims, mask.view.dims, strict=True)
        for d in range(len(state.tensor.shape))
        if any(atom.coefs[d] for atom in atoms) and any(any(atom.coefs) for atom in masked)
    ]
    line = 1 if mask.tensor.data is None else int(mask.tensor.data.sum())
    behind = math.prod(state.tensor.shape[max(moved, default=-1) + 1 :])
    return max(line * behind * BITS[tensor.dtype] // 8, 1)
