"""The steadiest way through a corridor: figure 6's least rates of HBM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def taut(
    times: NDArray[np.float64], least: NDArray[np.float64], most: NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    """The shortest curve from the first point to the last between two bounds at the same times."""
    ends: list[float] = []
    slopes: list[float] = []
    at, value = 0, float(least[0])
    while at < len(times) - 1:
        spans = times[at + 1 :] - times[at]
        rising = np.maximum.accumulate((least[at + 1 :] - value) / spans)
        falling = np.minimum.accumulate((most[at + 1 :] - value) / spans)
        crossed = np.flatnonzero(rising > falling)
        if len(crossed):
            end = int(crossed[0])
            is_low = end == 0 or rising[end] == rising[end - 1]  # The upper bound came down.
            bound, slope = (least, rising[end]) if is_low else (most, falling[end])
            steps = (bound[at + 1 : at + 2 + end] - value) / spans[: end + 1]
            turn = int(np.flatnonzero(steps == slope)[-1])
        else:
            turn, bound = len(spans) - 1, least
        reached = float(bound[at + 1 + turn])
        slopes.append((reached - value) / float(spans[turn]))
        at, value = at + 1 + turn, reached
        ends.append(float(times[at]))
    return ends, slopes
