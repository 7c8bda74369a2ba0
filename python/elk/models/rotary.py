"""Rotary positions: frequencies, cos and sin of the positions, and the rotation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from elk.models.graph import FLOAT, GraphBuilder, reshape, transpose, unsqueeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elk.models.decoder_config import Rope


def frequencies(rope: Rope, size: int) -> NDArray[Any]:
    """How far each pair of `size` elements turns from one position to the next, in radians.

    llama3 divides low frequencies by the factor and blends those between two wavelengths; yarn
    (Peng et al. 2023, arXiv:2309.00071) blends between two dimensions.
    """
    plain = rope.theta ** -(np.arange(0, size, 2) / size)
    if rope.scaling == "none":
        return np.asarray(plain)
    if rope.scaling == "linear":
        return np.asarray(plain / rope.factor)
    if rope.scaling == "llama3":
        turns = rope.original * plain / (2 * math.pi)
        kept = np.clip((turns - rope.low) / (rope.high - rope.low), 0.0, 1.0)
    else:
        first, last = (_dimension(rope, size, turns) for turns in (rope.high, rope.low))
        if rope.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, size - 1)
        ramp = (np.arange(size // 2) - first) / max(last - first, 1e-3)
        kept = 1.0 - np.clip(ramp, 0.0, 1.0)
    return np.asarray(plain * kept + plain / rope.factor * (1.0 - kept))


def _dimension(rope: Rope, size: int, turns: float) -> float:
    """The pair that makes `turns` turns over the original positions."""
    return size * math.log(rope.original / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))


def angles(
    g: GraphBuilder, turns: NDArray[Any], positions: str, factor: float = 1.0
) -> tuple[str, str]:
    """Cos and sin [seq, size] of `positions` [seq], for halves that rotate by `turns`."""
    column = g.node("Cast", unsqueeze(g, positions, 1), to=FLOAT)
    half = g.node("Mul", column, g.singles(turns[None, :]))
    whole = g.node("Concat", half, half, axis=-1)
    parts = []
    for kind in ("Cos", "Sin"):
        turned = g.node(kind, whole)
        if factor != 1.0:
            turned = g.node("Mul", turned, g.singles(factor))
        parts.append(g.node("Cast", turned, to=g.dtype))
    return parts[0], parts[1]


def rotated(g: GraphBuilder, x: str, size: int, angle: tuple[str, str]) -> str:
    """`x` [..., seq, size] with its halves rotated by `angle`."""
    half = size // 2
    low = g.node("Slice", x, g.ints(0), g.ints(half), g.ints(-1))
    high = g.node("Slice", x, g.ints(half), g.ints(size), g.ints(-1))
    turned = g.node("Concat", g.node("Neg", high), low, axis=-1)
    return g.node("Add", g.node("Mul", x, angle[0]), g.node("Mul", turned, angle[1]))


def halves(g: GraphBuilder, x: str, rank: int, size: int) -> str:
    """`x`, whose dimension `rank` has `size` elements, with the even ones in front of the odd ones.

    Rotating neighbours is rotating halves of what this gives.
    """
    front = [0] * rank
    pairs = reshape(g, x, *front, size // 2, 2)
    return reshape(g, transpose(g, pairs, *range(rank), rank + 1, rank), *front, size)
