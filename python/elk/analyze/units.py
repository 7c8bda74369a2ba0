"""What the units of a machine did over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.analyze.amounts import AmountsMoved
from elk.analyze.resources import KINDS
from elk.base.waiting import interruptible
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from elk import _core

MOST_BINS: Final = 1_000_000
_MOST_PS: Final = 1 << 60
_HBM: Final = KINDS.index("hbm")
_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Equal parts of a time, in picoseconds."""

    begin_ps: float
    end_ps: float
    bins: int

    @property
    def width_s(self) -> float:
        """How long each part lasts, in seconds."""
        return (self.end_ps - self.begin_ps) / self.bins / _PS

    @property
    def edges(self) -> NDArray[np.float64]:
        """Where the parts begin, and where the last ends."""
        found: NDArray[np.float64] = np.linspace(self.begin_ps, self.end_ps, self.bins + 1)
        return found


def span_of(begin_ps: object, end_ps: object, width_ps: object) -> Span:
    """Parts of a width that cover a time; the last may reach beyond its end.

    Raises:
        InvalidInputError: the width is no positive number of picoseconds, or there are too many.
    """
    width = _whole("width_ps", width_ps, least=1)
    begin, end = _whole("begin_ps", begin_ps), _whole("end_ps", end_ps)
    if begin >= end:
        raise InvalidInputError(f"there is no time from {begin} to {end} ps")
    bins = -(-(end - begin) // width)
    if bins > MOST_BINS:
        raise InvalidInputError(
            f"{bins:,} parts of {width:,} ps are more than {MOST_BINS:,}",
            place="width_ps",
            remedy=f"take width_ps={-(-(end - begin) // MOST_BINS)} or more, or a shorter "
            "time with begin_ps and end_ps",
        )
    return Span(begin_ps=begin, end_ps=begin + bins * width, bins=bins)


def _whole(what: str, time_ps: Any, *, least: int = 0) -> int:
    """A time as a whole number of picoseconds.

    Raises:
        InvalidInputError: it is none, or below the least or too large.
    """
    whole = isinstance(time_ps, int) and not isinstance(time_ps, bool)
    if not whole or not least <= time_ps <= _MOST_PS:
        raise InvalidInputError(
            f"{what} must be a whole number of picoseconds from {least} on, got {time_ps!r}"[:200]
        )
    return int(time_ps)


def recorded_units(
    recording: _core.Recording, span: Span, resources: Recorded, copies: int
) -> dict[str, Any]:
    """Columns of what units did while a recording is played again."""
    found = interruptible(lambda: recording.units(span.begin_ps, span.end_ps, span.bins))
    out: dict[str, Any] = {name: copies * found[name] for name in AMOUNTS}
    for kind in resources.present:
        bins, name = found[kind], KINDS[kind].replace(" ", "_")
        if resources.each and kind != _HBM:
            carried = span.width_s * resources.bytes_per_s[kind]
            out[f"{name}_bytes"] = copies * bins["amount"]
            out[f"{name}_mean"] = bins["amount"] / carried
        out[f"{name}_busiest"] = bins["busiest"]
        names = [*resources.names, ""]
        out[f"{name}_busiest_is"] = np.array([names[i] for i in bins["busiest_is"].tolist()])
    return out


AMOUNTS: Final = ("hbm_bytes", "received_bytes", "matrix_core_s", "vector_core_s", "other_core_s")
"""What is counted over all simulated chips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The resources of a recording.

    Attributes:
        names: Of every resource.
        kinds: Of every resource, as a place in `KINDS`.
        each: Whether each has a row of its own, rather than the busiest of a kind.
        rates: Bytes a second of every resource; of a memory module a multiple of them.
    """

    names: list[str]
    kinds: list[int]
    each: bool
    rates: NDArray[np.int64]

    @property
    def present(self) -> list[int]:
        """The kinds that the machine has, in order."""
        return sorted({kind for kind, rate in zip(self.kinds, self.rates, strict=True) if rate > 0})

    @property
    def bytes_per_s(self) -> list[float]:
        """What all resources of each kind carry in a second."""
        sums = np.bincount(self.kinds, weights=self.rates, minlength=len(KINDS))
        return [float(rate) for rate in sums]


def even_units(
    run: _core.Run, matrix: Sequence[bool], span: Span, copies: int
) -> dict[str, NDArray[np.float64]]:
    """Columns of what units did, each preload, store and phase of an execute counted as even.

    Args:
        run: The run, in columns.
        matrix: Of every operator, whether it is a product or a convolution.
        span: The parts of time.
        copies: How many times the simulated chips are there.
    """
    transfers, phases = run.transfers, run.phases
    moving = transfers["first_ps"], transfers["end_ps"]
    times = phases["begin_ps"], phases["end_ps"]
    product = np.asarray(matrix, dtype=bool)[phases["op"]]
    flows = {
        "hbm_bytes": [AmountsMoved.of(*moving, transfers["hbm_bytes"])],
        "received_bytes": [
            AmountsMoved.of(*moving, transfers["moved_bytes"]),
            AmountsMoved.of(*times, phases["received_bytes"]),
        ],
        "matrix_core_s": [AmountsMoved.of(*times, np.where(product, phases["core_s"], 0.0))],
        "vector_core_s": [AmountsMoved.of(*times, np.where(product, 0.0, phases["core_s"]))],
    }
    return {
        name: copies * np.diff(np.sum([one.until(span.edges) for one in parts], axis=0))
        for name, parts in flows.items()
    }
