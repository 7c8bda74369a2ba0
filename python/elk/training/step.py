"""A training step as it ran: times, shares, memory, links, a timeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.readable import duration
from elk.report.links import link_table, plot_links
from elk.training.gantt import KINDS, timeline_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from elk import _core
    from elk.report.timeline import Timeline
    from elk.training.facts import TrainingFacts

# In the order of the core's `TimePart`.
PARTS: Final = (
    *("forward", "backward", "recompute", "update"),
    *("tp", "dp", "pp", "memory", "bubble"),
)
"""What a stage spends its time on."""
_SENDING: Final = ("tp", "dp", "pp")
_PS: Final = 1e12


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRun:
    """A training step, or a batch through a pipeline, as it ran. Made by `Training.simulate`.

    Example:
        >>> run = training.simulate()
        >>> all(sum(parts.values()) == run.total_ps for parts in run.split_ps)
        True
    """

    _run: _core.TrainingRun
    _training: TrainingFacts

    @property
    def fidelity(self) -> str:
        """What was told apart: `symmetric` or `flows`."""
        return str(self._run.fidelity.name.lower())

    @property
    def total_ps(self) -> int:
        """The step in picoseconds."""
        return self._run.total_ps

    @property
    def latency_s(self) -> float:
        """The step in seconds."""
        return self.total_ps / _PS

    @property
    def samples_per_s(self) -> float:
        """Samples of all replicas over the step."""
        return self._training.batch / self.latency_s

    @property
    def mfu(self) -> float:
        """Products that the model asks for, over what the devices could multiply in the step.

        The backward pass asks for twice as many as the forward pass.
        """
        return self._use(self._training.step_flops)

    @property
    def hfu(self) -> float:
        """The use of devices with products that are computed again, too, as nothing kept them."""
        return self._use(self._training.step_flops + self._training.repeated_flops)

    def _use(self, flops: float) -> float:
        training = self._training
        peak = training.machine.flops_per_s * training.strategy.devices
        return flops / (peak * self.latency_s)

    @cached_property
    def split_ps(self) -> list[dict[str, int]]:
        """What each stage spent the step on, in picoseconds; the parts sum to `total_ps`.

        `forward`, `backward`, `recompute` and `update` are computation, `memory` is what it waits
        for data beyond that; `tp`, `dp` and `pp` are collectives of operators and of replicas, and
        hand-overs, that nothing hides; `bubble` is the rest.
        """
        return [dict(zip(PARTS, times, strict=True)) for times in self._run.split_ps]

    @cached_property
    def sent_bytes(self) -> list[dict[str, int]]:
        """What each device of each stage sent in the step, for `tp`, `dp` and `pp`."""
        rows = [dict(zip(PARTS, amounts, strict=True)) for amounts in self._run.sent_bytes]
        return [{part: row[part] for part in _SENDING} for row in rows]

    @cached_property
    def columns(self) -> dict[str, NDArray[np.int64]]:
        """`rows` as columns; `kind` is a position in `elk.training.gantt.KINDS`."""
        return dict(self._run.rows)

    def rows(self) -> list[dict[str, Any]]:
        """Every pass, hand-over and update: stage, kind, micro-batch, chunk, begin and end.

        Updates are of all micro-batches and chunks, which are then -1.

        Example:
            >>> run.rows()[0]["kind"]
            'forward'
        """
        named = {name: values.tolist() for name, values in self.columns.items()}
        named["kind"] = [KINDS[kind] for kind in named["kind"]]
        return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]

    def memory(self) -> list[dict[str, NDArray[np.int64]]]:
        """What a device of each stage keeps over time: `time_ps`, `activations` and `total` bytes.

        Activations of a pass are there from its begin to the end of its backward pass; state and
        working memory all the time.

        Example:
            >>> memory = run.memory()[0]
            >>> int(memory["activations"].max()) == training.stages[0].memory["activations"]
            True
        """
        return [self._memory(number) for number in range(len(self._training.stages))]

    def _memory(self, number: int) -> dict[str, NDArray[np.int64]]:
        stage, columns = self._training.stages[number], self.columns
        fixed = stage.memory_bytes - stage.memory["activations"]
        saved = np.asarray(stage.saved_bytes, dtype=np.int64)
        times, changes = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
        if self._training.strategy.optimizer != "none":
            for kind, when, sign in (("forward", "begin_ps", 1), ("backward", "end_ps", -1)):
                of_kind = columns["kind"] == KINDS.index(kind)
                mine = (columns["stage"] == number) & of_kind
                times.append(columns[when][mine])
                changes.append(sign * saved[columns["chunk"][mine]])
        time_ps, change = np.concatenate(times), np.concatenate(changes)
        order = np.lexsort((change, time_ps))  # What is freed at a time is free for what begins.
        activations = np.cumsum(change[order])
        return {
            "time_ps": time_ps[order],
            "activations": activations,
            "total": activations + fixed,
        }

    def links(self) -> pd.DataFrame:
        """Every link and port of the network: bytes and `busy_s`, in a run of fidelity `flows`.

        `used` is bytes over what the step would have let through.

        Raises:
            InvalidInputError: the run is of another fidelity.
            MissingPackageError: pandas is not installed.
        """
        return link_table(self._run)

    def plot_links(self, ax: Axes | None = None) -> Axes:
        """Draws how much of its busiest link each device used, as a heat map.

        Raises:
            InvalidInputError: the run is of fidelity `symmetric`.
            MissingPackageError: matplotlib is not installed.
        """
        core = self._training.machine.chip.core
        shape = (*(core.grid or (1, core.cores)), 1)[:2]
        depth = core.cores // (shape[0] * shape[1])
        title = f"{self._training.model} on {self._training.machine.name}"
        return plot_links(title, self._run, (*shape, depth), ax)

    def timeline(self) -> Timeline:
        """When every pass, hand-over and update ran, a row a stage, with memory over time.

        Example:
            >>> run.timeline().end_ps == run.total_ps
            True
        """
        return timeline_of(self._training.model, self.rows(), self.memory())

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Writes `timeline()` as a trace; the same as `run.timeline().save(path)`.

        Args:
            path: `.pftrace` for ui.perfetto.dev, `.json` for Chrome's tracing page, `.html`.

        Raises:
            InvalidInputError: the file has another suffix.
        """
        self.timeline().save(path)

    def summary(self) -> str:
        """The card as text: the step, how much of the devices it uses, where time goes."""
        lines = [
            f"step        {duration(self.latency_s)}, {self.samples_per_s:,.4g} samples/s",
            f"products    {100 * self.mfu:.1f} % of peak, with repeats {100 * self.hfu:.1f} %",
            f"fidelity    {self.fidelity}",
        ]
        for number, parts in enumerate(self.split_ps):
            shares = (
                f"{part} {100 * ps / max(self.total_ps, 1):.1f} %"
                for part, ps in parts.items()
                if ps
            )
            lines.append(f"stage {number:<5} {', '.join(shares)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"TrainingRun({self._training.model!r} on {self._training.machine.name!r}: "
            f"{duration(self.latency_s)}, {self.samples_per_s:,.4g} samples/s, "
            f"{100 * self.mfu:.1f} % of peak)"
        )
