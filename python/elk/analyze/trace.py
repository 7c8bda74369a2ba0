"""Traces: what a machine played, transfer by transfer and unit by unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from elk.analyze.accessed import heat, issue_limits, memory_states, unread_transfers
from elk.analyze.columns import Columns, columns
from elk.analyze.lanes import trace_timeline
from elk.analyze.transfers import STALLS, STATES, transfer_states
from elk.analyze.units import Span, span_of
from elk.base.readable import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from elk.analyze.accessed import Accessed
    from elk.report.timeline import Timeline

_PS = 1e12


class Trace(ABC):
    """What a machine played: of a plan, made by `Run.trace`.

    All times are integer picoseconds of the run's clock. Tables are columns of numpy arrays, with
    `rows()` and, where pandas is installed, `table()`.

    Example:
        >>> trace = run.trace()
        >>> trace.total_ps == run.total_ps
        True
    """

    begin_ps: int
    """When its first instruction is reached."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of what it is a trace."""

    @property
    @abstractmethod
    def end_ps(self) -> int:
        """When all that it waits for is over."""

    @property
    def total_ps(self) -> int:
        """How long it takes, in picoseconds."""
        return self.end_ps - self.begin_ps

    @abstractmethod
    def _transfer_times(self) -> Mapping[str, NDArray[Any]]:
        """Of every transfer what `transfer_states` takes, and before that what it is."""

    @cached_property
    def _transfers(self) -> Columns:
        times = self._transfer_times()
        what = {name: times[name] for name in ("instruction", "name", "kind", "bytes")}
        when = {name: times[name] for name in ("issued_ps", "first_ps", "end_ps", "reached_ps")}
        return columns({**what, **when, **transfer_states(times), "over": times["over"]})

    def transfers(self) -> Columns:
        """Every transfer: what it waited for, and for how long the program waited for it.

        `queue_ps`, `base_ps` (the wait for its first byte), `refresh_ps`, `alone_ps` (what it moves
        for with nothing else about) and `contention_ps` add up to the time from `issued_ps` to
        `end_ps`. The program comes to wait for it at `reached_ps` (-1: it never does), and then
        stalls for `stall_ps`, which divides into `stall_queue_ps`, `stall_base_ps` and
        `stall_transfer_ps`; where it is over by then, `slack_ps` lay between. One that was not
        over where the trace breaks off ends there, `over` false. `instruction` is the position of
        its issue in the trace; -1: it was issued before.

        Example:
            >>> found = trace.transfers()
            >>> bool((found["stall_ps"] * found["slack_ps"] == 0).all())
            True
        """
        return self._transfers

    @abstractmethod
    def units(
        self, width_ps: int, *, begin_ps: int | None = None, end_ps: int | None = None
    ) -> Columns:
        """What every unit did in equal parts of the trace."""

    def _span(self, width_ps: int, begin_ps: int | None, end_ps: int | None) -> Span:
        """Parts of a width; by default of all of the trace."""
        begin = self.begin_ps if begin_ps is None else begin_ps
        return span_of(begin, self.end_ps if end_ps is None else end_ps, width_ps)

    @abstractmethod
    def replay(self, *, slow: Mapping[str, float] | None = None) -> Trace:
        """Plays it again, perhaps on a slower machine."""

    @property
    @abstractmethod
    def instruction_times(self) -> Columns:
        """When every instruction began and was over."""

    @property
    @abstractmethod
    def _accessed(self) -> Accessed:
        """What instructions do with memories."""

    def _ready_ps(self) -> NDArray[Any]:
        """When what every instruction waits for or makes is there."""
        ready: NDArray[Any] = self.instruction_times["end_ps"]
        return ready

    @property
    def memories(self) -> tuple[str, ...]:
        """The names of the memories that instructions read and write."""
        return self._accessed.memories

    def memory(self, memory: str | None = None) -> Columns:
        """Bytes of a memory by what they are good for, when each instruction begins.

        `used_bytes` hold what is yet to be read, `arriving_bytes` what is on its way, `idle_bytes`
        what nobody will read; the rest is `free_bytes`, and `hole_bytes` the largest free range. Of
        a plan the memory is the SRAM of a core.

        Args:
            memory: One of `memories`; None for the one that transfers fill.

        Raises:
            InvalidInputError: there is no such memory.

        Example:
            >>> found = trace.memory()
            >>> bool((found["hole_bytes"] <= found["free_bytes"]).all())
            True
        """
        return memory_states(self._accessed, memory, self.instruction_times["begin_ps"])

    def unread(self, memory: str | None = None) -> Columns:
        """Transfers of whose bytes some are never read: all that they brought, and those.

        Raises:
            InvalidInputError: there is no such memory.
        """
        return unread_transfers(self._accessed, memory)

    def heat(
        self, memory: str | None = None, *, blocks: int = 128, times: int = 512
    ) -> NDArray[np.float64]:
        """The share of each block of a memory in use at evenly spaced times, as Figure 8 (b).

        Args:
            memory: One of `memories`; None for the one that transfers fill.
            blocks: Into how many equal parts the memory is divided: the rows.
            times: At how many times: the columns.

        Raises:
            InvalidInputError: there is no such memory, or there are no blocks or times, or too
                many.

        Example:
            >>> trace.heat(times=100).shape
            (128, 100)
        """
        begins = self.instruction_times["begin_ps"]
        return heat(self._accessed, memory, begins, (self.begin_ps, self.end_ps), blocks, times)

    def dependences(self) -> Columns:
        """How early every transfer might have been issued, as Figures 9 and 10.

        A limit is the position of the last instruction that has to be over before; -1: none.
        `conservative` is whatever last wrote what the issue reads; `relaxed` goes through `light`
        instructions back to the transfers that brought what they read; `placed` also waits for all
        that used the addresses to which the transfer writes. `back_tail_ps` lies between
        `since_ps`, when what the relaxed limit names was there, and the issue.

        Example:
            >>> found = trace.dependences()
            >>> bool((found["relaxed"] <= found["conservative"]).all())
            True
        """
        return columns(issue_limits(self._accessed, self.instruction_times, self._ready_ps()))

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """Writes an `.elktrace` file."""

    def timeline(self) -> Timeline:
        """Every transfer with its states in lanes, and when the program stalled.

        Example:
            >>> trace.timeline().save("trace.pftrace")  # open it in ui.perfetto.dev
        """
        return trace_timeline(self.name, self._transfers, self._work())

    def plot(self, kind: str = "transfers", ax: Axes | None = None) -> Axes:
        """Draws the trace with matplotlib.

        Args:
            kind: `transfers`, how they wait, move and stall; `dependences`, the same with how early
                each might have been issued; `units` over time; `memory`, what it holds; `heat`, its
                blocks.
            ax: Where to draw; a new figure without it.

        Raises:
            InvalidInputError: there is no such kind.
            MissingPackageError: matplotlib is not installed.
        """
        from elk.analyze.pictures import plot  # noqa: PLC0415 - few traces are drawn

        return plot(kind, self, ax)

    @abstractmethod
    def _work(self) -> list[tuple[str, str, int, int]]:
        """What instructions did: their row, name, begin and end in picoseconds."""

    def summary(self) -> str:
        """The trace as text: how long it took, and what it stalled for.

        Example:
            >>> "stalls" in trace.summary()
            True
        """
        found = self._transfers
        states = ", ".join(f"{name[:-3]} {_time(found[name].sum())}" for name in STATES)
        stalls = ", ".join(f"{name[6:-3]} {_time(found[name].sum())}" for name in STALLS)
        most = sorted(found.rows(), key=lambda row: (-row["stall_ps"], row["issued_ps"]))[:5]
        lines = [
            f"{self.name}: {_time(self.total_ps)}, {found.count:,} transfers",
            f"  transfers  {states}",
            f"  stalls     {stalls}",
            *(
                f"    {_time(row['stall_ps'])} for {row['kind']} {row['name']}"
                for row in most
                if row["stall_ps"] > 0
            ),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Trace({self.name!r}: {_time(self.total_ps)}, {self._transfers.count:,} transfers)"


def _time(time_ps: int) -> str:
    return duration(float(time_ps) / _PS)
