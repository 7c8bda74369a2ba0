"""The pictures of `Run.plot`: each kind is a module here, whose function `plot` draws it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from elk.base.choices import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.document.schema import PlanDocument
    from elk.run.run import Run

KINDS: Final = ("utilisation", "memory", "links")


def plot(kind: str, run: Run, document: PlanDocument, ax: Axes | None) -> Axes:
    """Draws `run`, whose plan is `document`, into `ax`, or into a new figure without it.

    Raises:
        InvalidInputError: there is no such kind; the message lists those there are.
        MissingPackageError: matplotlib is not installed.
    """
    module = importlib.import_module(f"{__name__}.{one_of('kind', kind, KINDS)}")
    drawn: Axes = module.plot(run, document, ax)
    return drawn
