"""The rows of a sweep that a picture or a table is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from elk.base import quantity
from elk.chip.check import nearest
from elk.errors import InvalidInputError
from elk.points.labels import is_number, quantity_of, said

Row: TypeAlias = dict[str, Any]
Where: TypeAlias = Mapping[str, Any] | None

_SAME: Final = 1e-3  # numbers nearer than this part of them are the same to a person
_MOST_SHOWN: Final = 12


class Swept(Protocol):
    """What an analysis needs of a sweep."""

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""

    @property
    def fixed(self) -> dict[str, Any]:
        """What is the same in all points."""

    def rows(self) -> list[Row]:
        """The table."""

    def is_real(self, row: Row) -> bool:
        """Whether a row is of a plan that can run."""


def selected(sweep: Swept, where: Where) -> list[Row]:
    """The rows of a sweep that have these values.

    Args:
        sweep: The sweep.
        where: A value, or a list of them, by column; texts may have units, and numbers need be
            right to a thousandth. None: all rows.

    Raises:
        InvalidInputError: there is no such column, or no point has the value.
    """
    rows = sweep.rows()
    for name, wanted in (where or {}).items():
        checked("where", name, rows)
        is_list = isinstance(wanted, Iterable) and not isinstance(wanted, str)
        values = [_plain(name, value) for value in (wanted if is_list else [wanted])]
        kept = [row for row in rows if any(_is_same(row[name], value) for value in values)]
        if not kept:
            there = list(dict.fromkeys(said(name, row[name]) for row in rows))
            more = f" and {len(there) - _MOST_SHOWN} more" if len(there) > _MOST_SHOWN else ""
            raise InvalidInputError(
                f"no point has {name} = {wanted!r}",
                place="where",
                remedy=f"there are {', '.join(there[:_MOST_SHOWN])}{more}",
            )
        rows = kept
    return rows


def checked(place: str, name: object, rows: Sequence[Row]) -> str:
    """`name`, if rows have a column of that name.

    Raises:
        InvalidInputError: they have none.
    """
    if isinstance(name, str) and name in rows[0]:
        return name
    raise InvalidInputError(
        f"must be a column of the sweep, got {name!r}",
        code="unknown_name",
        place=place,
        remedy=nearest(str(name), rows[0]),
    )


def numeric(place: str, name: object, rows: Sequence[Row]) -> str:
    """`name`, if rows have numbers in that column, and nothing else.

    Raises:
        InvalidInputError: they have none.
    """
    column = checked(place, name, rows)
    values = [row[column] for row in rows if row[column] is not None]
    if not values:
        raise InvalidInputError(
            f"no point has {column}{_why_none(column)}", place=place, code="no_values"
        )
    if not all(map(is_number, values)):
        raise InvalidInputError(f"must be a column of numbers, got {column!r}", place=place)
    return column


def varying(names: Iterable[str], rows: Sequence[Row]) -> list[str]:
    """The columns that have several values."""
    return [name for name in names if len({row[name] for row in rows}) > 1]


def separating(named: Sequence[str], others: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The least of `others` that, with `named`, tell all points apart which they tell together.

    An axis that follows from those named, as the second of `elk.zip` does, is not among them.
    """
    kept = list(others)
    points = len({_values(row, [*named, *kept]) for row in rows})
    for name in reversed(others):
        rest = [other for other in kept if other != name]
        if len({_values(row, [*named, *rest]) for row in rows}) == points:
            kept = rest
    return kept


def _values(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _plain(name: str, value: Any) -> Any:
    kind = quantity_of(name)
    return quantity.parse(value, kind) if kind is not None and isinstance(value, str) else value


def _is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, float) and is_number(wanted):
        return math.isclose(value, wanted, rel_tol=_SAME)
    return bool(value == wanted)


def _why_none(column: str) -> str:
    if column in ("energy_j", "power_w"):
        return ": the chip has no [energy] table, or no point is done"
    return ": it is not kept, or no point is done"
