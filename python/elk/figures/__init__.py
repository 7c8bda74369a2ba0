"""The figures of ELK's paper, each a sweep or a compile of ELK's own: `elk paper`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from elk.base.choices import one_of

if TYPE_CHECKING:
    from elk.figures.figure import PaperFigure

# Modules that have a tuple `FIGURES`, in the order of the paper.
_MODULES: Final = (
    "tradeoffs",
    "accuracy",
    "searching",
    "decoding",
    "hbm",
    "links",
    "cores",
    "training",
)


def figures() -> dict[str, PaperFigure]:
    """All figures by name, in the order of the paper.

    Example:
        >>> list(elk.figures.figures())[-1]
        'elk-24'
    """
    modules = (importlib.import_module(f"elk.figures.{name}") for name in _MODULES)
    return {figure.name: figure for module in modules for figure in module.FIGURES}


def get(name: str) -> PaperFigure:
    """The figure of this name.

    Raises:
        InvalidInputError: there is none; the message lists those there are.
    """
    known = figures()
    return known[one_of("figure", name, tuple(known))]
