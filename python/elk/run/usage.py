"""How much of a chip a run used over time: its memory, links and units, and the HBM's queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from elk import _core

UNITS: Final = ("hbm", "links", "matrix", "vector")
_MATRIX: Final = ("matmul", "conv")
_MOST_BINS: Final = 1_000_000
_PS: Final = 1e12


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

    def of(self, unit: str) -> float:
        """The most of `hbm`, `links`, `matrix` or `vector` in a second."""
        return {"hbm": self.hbm, "links": self.links}.get(unit, self.cores)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountsMoved:
    """Amounts that moved evenly from begin to end, one after another, as columns."""

    begin_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    amount: NDArray[np.float64]

    def until(self, times_ps: NDArray[np.float64]) -> NDArray[np.float64]:
        """What had moved at each of these times."""
        if not len(self.amount):
            return np.zeros(len(times_ps))
        order = np.lexsort((self.end_ps, self.begin_ps))
        times = np.stack([self.begin_ps[order], self.end_ps[order]], axis=1).ravel()
        moved = np.repeat(np.concatenate([[0.0], np.cumsum(self.amount[order])]), 2)[1:-1]
        found: NDArray[np.float64] = np.interp(times_ps, times, moved)
        return found


def utilisation_over_time(
    run: _core.Run, kinds: Sequence[str], capacity: Capacity, bins: int
) -> dict[str, NDArray[np.float64]]:
    """Used over possible, by unit, in equal parts of a run; `time_ps` are their edges.

    Args:
        run: The run, in columns.
        kinds: The kind of each operator.
        capacity: What the chips that ran can do.
        bins: How many parts.

    Raises:
        InvalidInputError: there are no bins, or too many.
    """
    if not 1 <= bins <= _MOST_BINS:
        raise InvalidInputError(f"bins must be from 1 to {_MOST_BINS:,}, got {bins!r}")
    edges = np.linspace(0.0, float(run.total_ps), bins + 1)
    bin_s = run.total_ps / bins / _PS
    flows = _flows(run, np.isin(np.asarray(kinds), _MATRIX))
    found = {"time_ps": edges}
    for unit in UNITS:
        moved = np.sum([flow.until(edges) for flow in flows[unit]], axis=0)
        most = capacity.of(unit) * bin_s
        found[unit] = np.diff(moved) / most if most > 0 else np.zeros(bins)
    return found


def _flows(run: _core.Run, is_matrix: NDArray[np.bool_]) -> dict[str, list[AmountsMoved]]:
    """What each unit did: preloads and stores on one queue, phases one after another."""
    ops, stores, phases = run.ops, run.stores, run.phases
    queue = {
        "begin_ps": np.concatenate([ops["preload_begin_ps"], stores["begin_ps"]]),
        "end_ps": np.concatenate([ops["preload_end_ps"], stores["end_ps"]]),
    }
    hbm = np.concatenate([ops["hbm_bytes"], stores["hbm_bytes"]])
    loaded = np.concatenate([ops["loaded_bytes"], stores["moved_bytes"]])
    times = {"begin_ps": phases["begin_ps"], "end_ps": phases["end_ps"]}
    matrix = is_matrix[phases["op"]]
    return {
        "hbm": [_flow(queue, hbm)],
        "links": [_flow(queue, loaded), _flow(times, phases["received_bytes"])],
        "matrix": [_flow(times, np.where(matrix, phases["core_s"], 0.0))],
        "vector": [_flow(times, np.where(matrix, 0.0, phases["core_s"]))],
    }


def _flow(
    times: dict[str, NDArray[np.int64]], amount: NDArray[np.int64] | NDArray[np.float64]
) -> AmountsMoved:
    """Only what moved anything: an operator without preload has one of no length at 0."""
    some = amount > 0
    return AmountsMoved(
        begin_ps=times["begin_ps"][some],
        end_ps=times["end_ps"][some],
        amount=amount[some].astype(np.float64),
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
