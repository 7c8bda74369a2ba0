"""Pictures of traces, after Figures 5, 7, 8 and 10 of the xPU-Shark paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from elk.analyze.accessed import STATES
from elk.base.choices import one_of
from elk.report.colours import SERIES
from elk.report.plots import new_axes

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from elk.analyze.columns import Columns

    class DrawnTrace(Protocol):
        """What is drawn of a trace."""

        begin_ps: int

        @property
        def name(self) -> str:
            """What stands above the picture."""

        @property
        def end_ps(self) -> int:
            """Where the picture ends."""

        def transfers(self) -> Columns:
            """Every transfer."""

        def dependences(self) -> Columns:
            """How early each might have been issued."""

        def memory(self) -> Columns:
            """Bytes of a memory by state."""

        def heat(self) -> NDArray[np.float64]:
            """Shares of its blocks in use."""

        def units(self, width_ps: int) -> Columns:
            """What units did over time."""


_MOST_LINES: Final = 400  # transfers of a picture, those that stall longest
_PARTS: Final = 200
_US: Final = 1e6  # picoseconds of a microsecond
_COLOURS: Final = {"queue": SERIES[8], "base": SERIES[2], "moves": SERIES[0], "stall": SERIES[3]}


def plot(kind: str, trace: DrawnTrace, ax: Axes | None) -> Axes:
    """Draws a picture of a trace.

    Raises:
        InvalidInputError: there is no such kind.
        MissingPackageError: matplotlib is not installed.
    """
    chosen = one_of("kind", kind, tuple(KINDS))
    axes = new_axes(ax)
    KINDS[chosen](trace, axes)
    axes.set_xlim(trace.begin_ps / _US, max(trace.end_ps, trace.begin_ps + 1) / _US)
    axes.set_xlabel("time (µs)")
    axes.set_title(trace.name, parse_math=False)
    return axes


def _transfers(trace: DrawnTrace, ax: Axes, tails: bool = False) -> None:
    """A line a transfer: how it waits, moves, and for how long the program waits for it."""
    found = trace.transfers()
    most = np.sort(np.argsort(-found["stall_ps"], kind="stable")[:_MOST_LINES])
    rows = found.where(most)
    line = np.arange(rows.count)
    issued, first, end = (rows[name] / _US for name in ("issued_ps", "first_ps", "end_ps"))
    moving = issued + (rows["queue_ps"] + rows["base_ps"]) / _US
    if tails:
        limits = trace.dependences()
        since = dict(zip(limits["instruction"].tolist(), limits["since_ps"].tolist(), strict=True))
        begins = [since.get(at, when) for at, when in zip(
            rows["instruction"].tolist(), rows["issued_ps"].tolist(), strict=True)]  # fmt: skip
        back = np.array(begins) / _US
        ax.barh(
            line,
            issued - back,
            left=back,
            height=0.25,
            color=SERIES[6],
            label="might have been issued",
        )
    ax.barh(line, first - issued, left=issued, color=_COLOURS["base"], label="queue, base latency")
    ax.barh(line, end - moving, left=moving, color=_COLOURS["moves"], label="moves")
    stall = rows["stall_ps"] / _US
    ax.barh(line, stall, left=end - stall, height=0.4, color=_COLOURS["stall"], label="stall")
    ax.set_ylabel("transfers" if rows.count == found.count else "transfers that stall longest")
    ax.invert_yaxis()
    ax.locator_params(axis="y", integer=True)
    ax.legend(loc="upper right", fontsize="small")


def _dependences(trace: DrawnTrace, ax: Axes) -> None:
    _transfers(trace, ax, tails=True)


def _units(trace: DrawnTrace, ax: Axes) -> None:
    """The share of every memory, kind of link and unit that is in use."""
    width = max(1, -(-(trace.end_ps - trace.begin_ps) // _PARTS))
    found = trace.units(width)
    named = [name for name in found if name.endswith(("_used", "_busiest"))]
    shares = [name for name in named if found[name].any()]
    for name, colour in zip(shares, SERIES, strict=False):
        ax.step(found["time_ps"] / _US, found[name], where="post", label=name, color=colour)
    ax.set_ylabel("share in use")
    ax.legend(loc="upper right", fontsize="small", ncols=3)


def _memory(trace: DrawnTrace, ax: Axes) -> None:
    """What a memory holds, stacked, and its largest free range."""
    found = trace.memory()
    times = np.append(found["time_ps"], trace.end_ps) / _US
    floor = np.zeros(found.count)
    for state, colour in zip(STATES[:-1], SERIES, strict=False):
        top = floor + found[f"{state}_bytes"] / 1024
        ax.fill_between(
            times, np.append(floor, floor[-1:]), np.append(top, top[-1:]), step="post",
            label=state, color=colour, linewidth=0,
        )  # fmt: skip
        floor = top
    hole = found["hole_bytes"] / 1024
    ax.step(times, np.append(hole, hole[-1:]), where="post", color="black", label="largest hole")
    ax.set_ylabel("KiB")
    ax.legend(loc="upper right", fontsize="small", ncols=4)


def _heat(trace: DrawnTrace, ax: Axes) -> None:
    """The share of every block of a memory that is in use."""
    shares = trace.heat()
    span = (trace.begin_ps / _US, trace.end_ps / _US)
    ax.imshow(shares, aspect="auto", origin="lower", extent=(*span, 0, len(shares)), vmin=0, vmax=1)
    ax.set_ylabel("block of the memory")


KINDS: Final[dict[str, Callable[[DrawnTrace, Axes], None]]] = {
    "transfers": _transfers,
    "dependences": _dependences,
    "units": _units,
    "memory": _memory,
    "heat": _heat,
}
