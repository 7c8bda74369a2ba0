"""Sizes and counts held against limits before anything is computed or made from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.node import UnplannableError
from elk.frontend.values import BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.frontend.space import Dim, Pattern
    from elk.limits import Limits

# The core refuses larger spaces; a sum of 2^7 such products still fits 64 bits.
_MOST_POINTS = 1 << 56
_MOST_DIMS = 8  # Of a stored tensor, as the core's pieces have them.


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
