"""The figures of papers, each a sweep or a compile of ELK's own: `elk paper`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from elk.base.choices import one_of

if TYPE_CHECKING:
    from elk.figures.figure import PaperFigure

# Modules that have a tuple `FIGURES`, in the order of ELK's paper, then of T10's and PALM's.
_MODULES: Final = (
    "tradeoffs",
    "accuracy",
    "searching",
    "decoding",
    "hbm",
    "links",
    "cores",
    "training",
    "t10_models",
    "t10_operators",
    "t10_memory",
    "t10_cores",
    "t10_llms",
    "palm",
    "palm_links",
)


def figures() -> dict[str, PaperFigure]:
    """All figures by name, in the order of their papers.

    Example:
        >>> list(elk.figures.figures())[0]
        'elk-5'
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


def of_page(page: str) -> list[PaperFigure]:
    """The figures on the page of a paper, in the order of the paper.

    Example:
        >>> elk.figures.of_page("t10")[0].name
        't10-12'
    """
    return [figure for figure in figures().values() if figure.page == page]
