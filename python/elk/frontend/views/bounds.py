"""Sizes and counts held against limits before anything is computed or made from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.views.node import UnplannableError
from elk.frontend.views.values import BITS, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from elk.frontend.views.space import Dim, Pattern
    from elk.limits import Limits

# The core refuses larger spaces; a sum of 2^7 such products still fits 64 bits.
_MOST_POINTS = 1 << 56
_MOST_DIMS = 8  # Of a stored tensor, as the core's pieces have them.


class Budget:
    """Counts what nodes take while they are assembled, and holds it against `limits`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._nodes = 0  # Nodes of unrolled graphs count as often as they run.
        self._folded_bytes = 0
        self._folded_total = 0
        self._checked: set[tuple[str, Sequence[int]]] = set()  # Types and shapes within limits.

    def take_node(self, place: str) -> None:
        """Counts a node, whatever becomes of it. Raises LimitError when there are too many."""
        self._nodes += 1
        if self._nodes > self.limits.nodes:
            self.limits.check("nodes", self._nodes, "the nodes of a model", place)

    def take_inputs(self, inputs: Iterable[Value | None], place: str) -> None:
        """Counts the known elements that a node is going to look at; may raise LimitError."""
        most = self.limits.folded_elements
        for value in inputs:
            if value is not None and value.known is not None:
                self._folded_total += min(value.known.size, most)
        if self._folded_total > self.limits.folded_total:
            what = "the elements that folding reads"
            self.limits.check("folded_total", self._folded_total, what, place)

    def take_results(self, results: Iterable[Value | None], place: str) -> None:
        """Holds the results of a node against the limits; may raise LimitError."""
        for value in results:
            if value is None:
                continue
            if (value.dtype, value.shape) not in self._checked:
                check_shape(self.limits, value.dtype, value.shape, place)
                self._checked.add((value.dtype, value.shape))
            if value.known is not None and value.known.base is None:
                self._folded_bytes += value.known.nbytes
        if self._folded_bytes > self.limits.memory_bytes:
            what = "the bytes of folded tensors"
            self.limits.check("memory_bytes", self._folded_bytes, what, place)


def check_shape(limits: Limits, dtype: str, shape: Sequence[int], place: str) -> None:
    """Refuses a tensor of a rank, dimension or size beyond `limits`, or of a negative one.

    Raises:
        LimitError: It has more than `limits`.
        UnplannableError: A size is negative.
    """
    if len(shape) > limits.rank:
        limits.check("rank", len(shape), "the rank of a tensor", place)
    if min(shape, default=0) < 0:
        raise UnplannableError(f"a size of {list(shape)} is negative")
    if max(shape, default=0) > limits.dimension:
        limits.check("dimension", max(shape), "a dimension", place)
    size_bytes = -(-math.prod(shape) * BITS[dtype] // 8)
    if size_bytes > limits.tensor_bytes:
        limits.check("tensor_bytes", size_bytes, "the bytes of a tensor", place)


def check_pattern(pattern: Pattern) -> None:
    """Refuses an op whose loops, steps or operations could overflow the core's 64-bit integers.

    Raises:
        UnplannableError: They could.
    """
    maps = [operand.dims for operand in pattern.reads]
    maps += [operand.dims for operand in pattern.writes]
    sizes = [axis.size for axis in pattern.axes]
    if any(len(dims) > _MOST_DIMS for dims in maps):
        raise UnplannableError(f"a tensor of it has more than {_MOST_DIMS} dimensions")
    if min(sizes, default=1) < 1:
        raise UnplannableError("a loop of it has no positions")
    if math.prod(sizes) > _MOST_POINTS:
        raise UnplannableError("its loops have more than 2^56 points")
    if pattern.flops > _MOST_POINTS:
        raise UnplannableError("it has more than 2^56 operations")
    if any(_reach(dim, sizes) > _MOST_POINTS for dims in maps for dim in dims):
        raise UnplannableError("it steps further than 2^56 positions")


def _reach(dim: Dim, sizes: Sequence[int]) -> int:
    """The furthest from zero that an index gets, or one step of it."""
    steps = sum((sizes[a] - 1) * abs(c) for a, c in zip(dim.axes, dim.coef, strict=True))
    return max(abs(dim.offset) + steps, *(abs(c) for c in dim.coef), 0)
