"""What every transfer waited for, and for how long the program waited for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.analyze.columns import Columns, columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STATES: Final = ("queue_ps", "base_ps", "refresh_ps", "alone_ps", "contention_ps")
"""Into what a transfer's time from its issue to its end divides."""
STALLS: Final = ("stall_queue_ps", "stall_base_ps", "stall_transfer_ps")
"""Into what the time for which the program waits for a transfer divides."""


def transfer_states(times: Mapping[str, NDArray[Any]]) -> Columns:
    """States, stalls and slack of transfers, in picoseconds.

    Args:
        times: Columns in picoseconds: `issued_ps`; where the transfer stood in the queue and where
            it waited for its first byte, as `queue_begin_ps`, `queue_end_ps`, `base_begin_ps` and
            `base_end_ps`; `first_ps`, when it began to move, and `end_ps`; of that time
            `refresh_ps`, for which its memory stood still, and `alone_ps`, what it would have taken
            with nothing else about; `reached_ps`, when the program came to wait for it, or -1.
    """
    first, end, reached = times["first_ps"], times["end_ps"], times["reached_ps"]
    queue = times["queue_begin_ps"], times["queue_end_ps"]
    base = times["base_begin_ps"], times["base_end_ps"]
    moving = end - first
    awaited = reached >= 0
    since = np.where(awaited, reached, end)
    return columns(
        {
            "queue_ps": queue[1] - queue[0],
            "base_ps": base[1] - base[0],
            "refresh_ps": times["refresh_ps"],
            "alone_ps": times["alone_ps"],
            "contention_ps": moving - times["refresh_ps"] - times["alone_ps"],
            "stall_ps": np.maximum(0, end - since),
            "stall_queue_ps": _shared(since, end, *queue),
            "stall_base_ps": _shared(since, end, *base),
            "stall_transfer_ps": _shared(since, end, first, end),
            "slack_ps": np.where(awaited, np.maximum(0, reached - end), 0),
        }
    )


def program_times(transfers: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The times of `transfer_states` of a run's transfers: a queue, then the first byte."""
    return {
        **transfers,
        "queue_begin_ps": transfers["issued_ps"],
        "queue_end_ps": transfers["begin_ps"],
        "base_begin_ps": transfers["begin_ps"],
        "base_end_ps": transfers["first_ps"],
    }


def _shared(
    begin: NDArray[Any], end: NDArray[Any], other_begin: NDArray[Any], other_end: NDArray[Any]
) -> NDArray[Any]:
    """What two stretches of time share."""
    shared: NDArray[Any] = np.maximum(
        0, np.minimum(end, other_end) - np.maximum(begin, other_begin)
    )
    return shared
