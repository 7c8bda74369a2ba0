"""The SRAM of one core over a run, by kind of buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk.report.plots import plot_memory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.document.schema import PlanDocument
    from elk.run.run import Run


def plot(run: Run, document: PlanDocument, ax: Axes | None) -> Axes:
    """The buffers of a plan, each from and until the run reaches its instructions."""
    ends_s = run.columns["execute_end_ps"] / 1e12
    return plot_memory(document, ax, ends_s=ends_s.tolist())
