"""One colour for one thing, in every picture: kinds of operators, parts of executes, buffers."""

from __future__ import annotations

from typing import Final

COLLECTIVE: Final = "between chips"
_COLLECTIVES: Final = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")

# What a slice of a timeline is, and its colour; kinds that are not here are `other`.
SLICES: Final = {
    "preload": "#4c78a8",
    "store": "#b279a2",
    "wait": "#d9d9d9",
    "matmul": "#f58518",
    "conv": "#c7521a",
    "elementwise": "#72b7b2",
    "softmax": "#e45756",
    "norm": "#ff9da6",
    COLLECTIVE: "#9467bd",
    "compute": "#ffd8a8",
    "distribute": "#b7e3a8",
    "gather": "#59a14f",
    "shift": "#1b6e3c",
    "reduce": "#b6992d",
    "forward": "#3182bd",
    "backward": "#e6550d",
    "update": "#756bb1",
    "send activations": "#9ecae1",
    "send gradients": "#fdae6b",
}
OTHER: Final = "#a0a0a0"

# Kinds of buffers, from the bottom of a picture to its top.
ROLES: Final = {
    "resident": "#9d755d",
    "activation": "#72b7b2",
    "execute": "#f58518",
    "preload": "#4c78a8",
    "store": "#b279a2",
}

# How the time of a run divides.
SPLIT: Final = {
    "preload": "#4c78a8",
    "execute": "#f58518",
    "overlapped": "#8cd17d",
    "interconnect": "#e45756",
}

# Series of a picture that are no parts of a whole, in the order in which they are drawn.
SERIES: Final = (
    *("#4c78a8", "#f58518", "#59a14f", "#e45756", "#6a51a3", "#9d755d", "#1b9e9e", "#d37295"),
    *("#808080", "#b6992d"),
)


def kind_of_slice(category: str) -> str:
    """The kind under which a legend names a slice of this category.

    Example:
        >>> kind_of_slice("all_reduce"), kind_of_slice("matmul"), kind_of_slice("pool")
        ('between chips', 'matmul', 'other')
    """
    if category in _COLLECTIVES:
        return COLLECTIVE
    return category if category in SLICES else "other"
