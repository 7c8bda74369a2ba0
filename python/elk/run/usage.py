"""How much of a chip a run used over time: its memory, links and units, and the HBM's queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the simulated chips can do in a second.

    Attributes:
        hbm: Bytes from and to their HBM, at its peak.
        links: Bytes that their cores receive, each over one link.
        cores: Core seconds.
    """

    hbm: float
    links: float
    cores: float

    @classmethod
    def of_chips(cls, chip: dict[str, Any], chips: int) -> Capacity:
        """What so many of the chips that a plan's document describes can do."""
        core, hbm = chip["core"], chip.get("hbm")
        cores = chips * int(core.get("count") or int(np.prod(core["grid"])))
        return cls(
            hbm=float(hbm["bytes_per_s"]) * chips if hbm else 0.0,
            links=float(chip["interconnect"]["link_bytes_per_s"]) * cores,
            cores=cores,
        )


def queue_over_time(
    issued_ps: Sequence[int], ended_ps: Sequence[int]
) -> dict[str, NDArray[np.int64]]:
    """How many preloads and stores are issued and not over, at the times when that changes.

    Example:
        >>> queue = queue_over_time([0, 0, 5], [4, 9, 12])
        >>> queue["time_ps"].tolist(), queue["length"].tolist()
        ([0, 4, 5, 9, 12], [2, 1, 2, 1, 0])
    """
    issued, ended = np.sort(np.array(issued_ps, np.int64)), np.sort(np.array(ended_ps, np.int64))
    times = np.unique(np.concatenate([issued, ended]))
    length = np.searchsorted(issued, times, "right") - np.searchsorted(ended, times, "right")
    return {"time_ps": times, "length": length}
