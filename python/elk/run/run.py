"""Runs: what a plan does on the simulator, as numbers, cards, pictures and timelines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

from elk.base.readable import duration, share
from elk.document.schema import PlanDocument, SimulatedRow
from elk.report.events import Counter, Interval
from elk.report.explain import find_op
from elk.report.timeline_plan import CoreRow, core_rows, plan_timeline
from elk.run import plots
from elk.run.card import RunCard, run_card
from elk.run.intervals import intervals, simulated_row
from elk.run.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.analyze.program_trace import ProgramTrace
    from elk.report.timeline import Timeline


@dataclass(frozen=True, eq=False, repr=False)
class Run(Measured):
    """How a plan ran on the simulator. Made by `Plan.simulate`.

    Example:
        >>> run = plan.simulate()
        >>> sum(run.split_ps.values()) == run.total_ps
        True
    """

    def plot(self, kind: str = "utilisation", ax: Axes | None = None) -> Axes:
        """Draws the run over time with matplotlib.

        Args:
            kind: `utilisation` of HBM, links, matrix and vector units, in a hundred parts of the
                run; `memory`, one core's SRAM by kind of buffer; `links`, the busiest link of each
                core, as a heat map (of fidelity `flows`); or one of yours (`docs/extending.md`).
            ax: Where to draw; a new figure without it.

        Raises:
            InvalidInputError: there is no such kind.
            MissingPackageError: matplotlib is not installed.
        """
        return plots.plot(kind, self, self._plan, ax)

    def intervals(self) -> list[Interval]:
        """What HBM, cores and links did, by time: for timelines and traces."""
        return intervals(self._run.phases, self.document(), self._plan)

    def timeline(self, *, fold: bool = True) -> Timeline:
        """When every preload, execute and store ran, and the parts of every execute.

        Args:
            fold: Whether all cores share a row. Unfolded, those do that take part in the same
                executes, on a pod whose chips share the model those of all chips.

        Example:
            >>> run.timeline().end_ps == run.total_ps
            True
        """
        document: PlanDocument = {**self._plan, "simulated": self.document()}
        queue = self.queue()
        points = tuple(zip(queue["time_ps"].tolist(), queue["length"].tolist(), strict=True))
        waiting = Counter(name="HBM queue", group="queue", unit="requests", points=points)
        rows = [] if fold else self._core_rows()
        counters = [waiting] if points else []
        return plan_timeline(document, "simulated", self.intervals(), counters, rows)

    def _core_rows(self) -> list[CoreRow]:
        suffix = ", each chip" if self._copies > 1 else ""
        executions = self.columns["execution"].tolist()
        return core_rows(self._run.cores, executions, int(self._capacity.cores), suffix)

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Writes `timeline()` as a trace; the same as `run.timeline().save(path)`.

        Args:
            path: `.pftrace` for ui.perfetto.dev, `.json` for Chrome's tracing page.

        Raises:
            InvalidInputError: the file has another suffix.

        Example:
            >>> run.save_trace("run.pftrace")
        """
        self.timeline().save(path)

    def trace(self, *, first: str | int | None = None, count: int | None = None) -> ProgramTrace:
        """What the simulator played, to be asked, saved and played again.

        Args:
            first: The operator, by name or position, with whose execute a window begins; None for
                all instructions.
            count: How many instructions of the program the window has; None for all from there on.

        Raises:
            InvalidInputError: there is no such operator, no such window, or a window is asked for
                of a run of fidelity `flows`.

        Example:
            >>> trace = run.trace(first=0, count=3)
            >>> trace.replay().total_ps == trace.total_ps
            True
        """
        trace = self._traced
        if first is None and count is None:
            return trace
        op = find_op(self._plan, first)["id"] if first is not None else None
        program = self._plan["program"]
        begin = program.index(["execute", op]) if op is not None else 0
        return trace.window(begin, len(program) - begin if count is None else count)

    def document(self) -> SimulatedRow:
        """The run as `simulated` in the plan's document, schema `elk.plan/1`: all picoseconds."""
        return simulated_row(self._run, self._plan)

    @cached_property
    def _card(self) -> RunCard:
        return run_card(self, self._plan)

    def summary(self) -> str:
        """The card as text: latency, split, utilisation, top operators and why they stall."""
        return self._card.text

    def _repr_html_(self) -> str:
        return self._card.html

    def __repr__(self) -> str:
        ideal_s = self._plan["bounds"]["ideal_s"]
        return (
            f"Run({self._plan['model']['name']!r} on {self._plan['chip']['name']!r}, "
            f"{self._plan['policy']}: {duration(self.latency_s)}, "
            f"{share(ideal_s, self.latency_s)} of ideal)"
        )
