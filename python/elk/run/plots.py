"""The pictures of `Run.plot`, by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from elk.base.choices import one_of
from elk.document.schema import PlanDocument
from elk.report.links import plot_links, shape_of
from elk.report.plots import plot_memory, plot_used_over_time
from elk.run.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS: Final = 100  # of a run: steps of `utilisation`


def plot(kind: str, run: Measured, document: PlanDocument, ax: Axes | None) -> Axes:
    """Draws `run`, whose plan is `document`, into `ax`, or into a new figure without it.

    Raises:
        InvalidInputError: there is no such kind; the message lists those there are.
        MissingPackageError: matplotlib is not installed.
    """
    return KINDS[one_of("kind", kind, tuple(KINDS))](run, document, ax)


def _utilisation(run: Measured, document: PlanDocument, ax: Axes | None) -> Axes:
    """How much of HBM, links, matrix and vector units is used: a step a unit."""
    return plot_used_over_time(_title(document), run.utilisation_over_time(_PARTS), ax)


def _memory(run: Measured, document: PlanDocument, ax: Axes | None) -> Axes:
    """The buffers of one core, each from and until the run reaches its instructions."""
    ends_s = run.columns["execute_end_ps"] / 1e12
    return plot_memory(document, ax, ends_s=ends_s.tolist())


def _links(run: Measured, document: PlanDocument, ax: Axes | None) -> Axes:
    """The busiest link of every core, in rows and columns of cores; of fidelity `flows` alone."""
    return plot_links(_title(document), run._run, shape_of(document["chip"]), ax)


def _title(document: PlanDocument) -> str:
    return f"{document['model']['name']}, {document['policy']}, simulated"


KINDS: Final[dict[str, Callable[[Measured, PlanDocument, Axes | None], Axes]]] = {
    "utilisation": _utilisation,
    "memory": _memory,
    "links": _links,
}
