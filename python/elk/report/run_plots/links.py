"""The busiest link of every core over a run, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk.report.links import plot_links, shape_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.document.schema import PlanDocument
    from elk.run.run import Run


def plot(run: Run, document: PlanDocument, ax: Axes | None) -> Axes:
    """Rows and columns of cores; of fidelity `flows` alone."""
    title = f"{document['model']['name']}, {document['policy']}, simulated"
    return plot_links(title, run._run, shape_of(document["chip"]), ax)
