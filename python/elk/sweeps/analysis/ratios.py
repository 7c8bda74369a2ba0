"""Points of a sweep held against the same points at one value of an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elk.errors import InvalidInputError
from elk.points.labels import said, unit_of
from elk.points.table import TableCard
from elk.sweeps.analysis.selection import Row, Swept, Where, numeric, selected, varying


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Ratios(TableCard):
    """Each point's value of a column over that of the point that differs in one axis alone.

    Attributes:
        column: The column.
        axis: The axis.
        to: The value of the axis that all others are held against.
        pairs: A row a pair: the other axes, the axis, `value`, `reference`, `ratio` (value over
            reference) and, of times, `speedup` (reference over value).
        missing: How many points, by value of the axis, have no answer, or none to be held against.
    """

    column: str
    axis: str
    to: Any
    pairs: tuple[Row, ...]
    missing: dict[Any, int]

    def rows(self) -> list[dict[str, Any]]:
        """A row a pair, in SI units."""
        return [dict(row) for row in self.pairs]

    def by_value(self) -> list[dict[str, Any]]:
        """A row a value of the axis: pairs, and the geometric mean, least and largest ratio."""
        found = []
        for value in self.missing:
            ratios = [row["ratio"] for row in self.pairs if row[self.axis] == value]
            if ratios:
                logs = [math.log(ratio) for ratio in ratios] if min(ratios) > 0 else [math.nan]
                mean = math.exp(math.fsum(logs) / len(logs))
                found.append(
                    {
                        self.axis: value,
                        "pairs": len(ratios),
                        "mean": mean,
                        "least": min(ratios),
                        "largest": max(ratios),
                    }
                )
        return found

    def card(self) -> tuple[str, list[list[str]], list[str]]:
        """The title, a row a value of the axis, and how many points have no pair."""
        is_time = unit_of(self.column) == "s"
        head = [self.axis, "points", "geometric mean", "least", "largest"]
        cells = [[*head, "mean speed-up"] if is_time else head]
        for row in self.by_value():
            numbers = [f"{row[name]:.4f}" for name in ("mean", "least", "largest")]
            speed = [f"{1 / row['mean']:.3f} x"] if is_time else []
            cells.append([said(self.axis, row[self.axis]), f"{row['pairs']:,}", *numbers, *speed])
        notes = [
            f"{count:,} points of {said(self.axis, value)} have no answer or none to compare with"
            for value, count in self.missing.items()
            if count
        ]
        to = said(self.axis, self.to)
        return f"{self.column} over that of {self.axis} = {to}, all else equal", cells, notes


def compare(sweep: Swept, to: Any, *, axis: str | None, column: str, where: Where) -> Ratios:
    """Points held against others; see `Sweep.compare`."""
    rows = selected(sweep, where)
    name = _axis_of(sweep, to, axis)
    numeric("column", column, rows)
    to = selected(sweep, {name: to})[0][name]
    others = [other for other in sweep.axes if other != name]
    references = {
        tuple(row[other] for other in others): row[column] for row in rows if row[name] == to
    }
    pairs: list[Row] = []
    missing: dict[Any, int] = {row[name]: 0 for row in rows if row[name] != to}
    for row in rows:
        if row[name] == to:
            continue
        reference = references.get(tuple(row[other] for other in others))
        if row[column] is None or not reference:
            missing[row[name]] += 1
            continue
        pairs.append(_pair(row, [*others, name], column, reference))
    if not pairs:
        free = ", ".join(varying(others, rows))
        raise InvalidInputError(
            f"no point differs from one of {name} = {said(name, to)} in {name} alone",
            code="no_pairs",
            place="axis",
            remedy=f"sweep a product of {name} and the other axes ({free})",
        )
    return Ratios(column=column, axis=name, to=to, pairs=tuple(pairs), missing=missing)


def _pair(row: Row, axes: Sequence[str], column: str, reference: float) -> Row:
    value = row[column]
    found = {"point": row["point"], **{name: row[name] for name in axes}}
    found |= {"value": value, "reference": reference, "ratio": value / reference}
    if unit_of(column) == "s":
        found["speedup"] = reference / value if value else math.inf
    return found


def _axis_of(sweep: Swept, to: Any, axis: str | None) -> str:
    """The axis that is compared: the one given, `policy`, or the only one that has the value."""
    if axis is not None and axis not in sweep.axes:
        raise InvalidInputError(
            f"{axis} is no axis of this sweep; those are {', '.join(sweep.axes)}",
            code="unknown_name",
            place="axis",
        )
    if axis is not None or "policy" in sweep.axes:
        return axis or "policy"
    having = [name for name in sweep.axes if any(row[name] == to for row in sweep.rows())]
    if len(having) == 1:
        return having[0]
    raise InvalidInputError(
        f"say which axis has {to!r}: one of {', '.join(having or sweep.axes)}",
        place="axis",
        remedy='give axis="..."',
    )
