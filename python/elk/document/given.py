"""The types of plans of operators that were made elsewhere, in the words of plan files."""

from __future__ import annotations

from typing import NotRequired, TypeAlias

from typing_extensions import TypedDict

from elk.document.quantities import Position, Size


class GivenRow(TypedDict):
    """A plan of an op that was made elsewhere, in the words of `ExecuteRow`.

    Axes without a factor are whole; what else is left out follows by ELK's rules.
    """

    factors: dict[str, Size]
    temporal: NotRequired[dict[str, list[Size]]]
    pace: NotRequired[dict[str, Size]]
    order: NotRequired[list[str]]
    mesh_dims: NotRequired[dict[str, Position]]


GivenPlans: TypeAlias = dict[str | int, tuple[GivenRow, ...]]
"""Plans that were made elsewhere, by the name or the id of an op."""
