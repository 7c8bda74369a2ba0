"""Which ops a graph needs, in which order, and what it writes back to its states."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

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

    Masks and position tables are then made before the first layer, not in the middle of it.
    """
    made: set[int] = set()
    early, late = [], []
    for op in ops:
        tensors = (*op.reads, *(index for index in op.indices if index is not None))
        if all(t.home == "input" or t.data is not None or id(t) in made for t in tensors):
            made.update(id(t) for t in op.writes)
            early.append(op)
        else:
            late.append(op)
    return early + late


def is_append(value: Value) -> bool:
    """Whether `value` is a whole state with whole tensors appended: nothing of them is cut off."""
    states = [p for p in value.pieces if p.tensor.home == "state"]
    whole_parts = sum(math.prod(p.tensor.shape) for p in value.pieces) == value.size
    return len(states) == 1 and len(value.pieces) > 1 and whole_parts


def run_bytes(value: Value, tensor: Stored) -> int:
    """Contiguous bytes in HBM where `tensor`, rows appended to a state, is written back."""
    state = next(p.tensor for p in value.pieces if p.tensor.home == "state")
    axis = next(i for i, n in enumerate(value.shape) if n != state.shape[i])
    outside = math.prod(value.shape[:axis])
    return max(tensor.nbytes // outside, 1)
