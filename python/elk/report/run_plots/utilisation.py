"""How much of HBM, links, matrix and vector units a run uses, in a hundred parts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.report.plots import plot_used_over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.document.schema import PlanDocument
    from elk.run.run import Run

_PARTS: Final = 100


def plot(run: Run, document: PlanDocument, ax: Axes | None) -> Axes:
    """A step a unit."""
    title = f"{document['model']['name']}, {document['policy']}, simulated"
    return plot_used_over_time(title, run.utilisation_over_time(_PARTS), ax)
