"""Pareto fronts of a sweep: the points that no other point beats in everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.errors import InvalidInputError
from elk.points.labels import Log, Measure, measure, said, title
from elk.points.table import TableCard
from elk.report.plots import new_grid
from elk.sweeps.analysis.drawing import Colours, Panel, draw_scatter, explain, finish
from elk.sweeps.analysis.selection import Row, Swept, Where, numeric, selected, varying

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


_MOST_SHOWN: Final = 20  # points on a card
_BLOCK: Final = 1024  # points that are held against a front at once


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pareto(TableCard):
    """The points of a sweep that no other beats in one objective and equals in all others.

    Attributes:
        objectives: The columns; those with a minus in front are to be large.
        points: The rows of the front, by the first objective, then the next.
        beaten: The rows that others beat.
        left_out: How many points are done and lack an objective.
        axes: The axes of the sweep.
    """

    objectives: tuple[str, ...]
    points: tuple[Row, ...]
    beaten: tuple[Row, ...]
    left_out: int
    axes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.points)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the front, as of `Sweep.rows`, by the first objective."""
        return [dict(row) for row in self.points]

    def card(self) -> tuple[str, list[list[str]], list[str]]:
        """The title, the front's objectives and varying axes, and what is left out."""
        columns = [_column(name) for name in self.objectives]
        free = varying(self.axes, [*self.points, *self.beaten])
        shown = [*columns, *(name for name in free if name not in columns)]
        cells = [["point", *(title(name) for name in shown)]]
        cells += [
            [str(row["point"]), *(said(name, row[name]) for name in shown)]
            for row in self.points[:_MOST_SHOWN]
        ]
        notes = []
        if len(self.points) > _MOST_SHOWN:
            notes.append(f"and {len(self.points) - _MOST_SHOWN:,} more: .rows(), .plot()")
        if self.left_out:
            notes.append(f"{self.left_out:,} points that are done lack an objective")
        wanted = ", ".join(_told(name) for name in self.objectives)
        total = len(self.points) + len(self.beaten)
        return f"Pareto front of {wanted}: {len(self):,} of {total:,} points", cells, notes

    def plot(self, *, hue: str | None = None, log: Log = None, ax: Axes | None = None) -> Axes:
        """All points by the first two objectives, and the front among them as a line.

        Args:
            hue: The column told by colour; None: the third objective, where there is one.
            log: As in `Sweep.plot`.
            ax: Where to draw; a new figure without it.

        Raises:
            InvalidInputError: there is no such column.
            MissingPackageError: matplotlib is not installed.
        """
        rows = [*self.beaten, *self.points]
        first, second, *others = map(_column, self.objectives)
        log = tuple(log) if log is not None and not isinstance(log, bool) else log
        x, y = (measure(name, (row[name] for row in rows), log) for name in (first, second))
        hue = hue or next(iter(others), None)
        shade = measure(hue, (row[hue] for row in rows), log) if hue else None
        colours = Colours.of(shade, [row[hue] for row in rows] if hue else [])
        grid = new_grid(1, 1, (8.0, 4.2)) if ax is None else np.array([[ax]], dtype=object)
        draw_scatter(Panel(grid[0, 0], rows, x, y, colours), ())
        self._draw_front(grid[0, 0], x, y)
        finish(grid, x=x, y=y, rows=rows, feet=0)
        explain(grid, colours, rows, kind="scatter", own=ax is None)
        drawn: Axes = grid[0, 0]
        drawn.set_title(self.card()[0], fontsize="medium")
        return drawn

    def _draw_front(self, ax: Axes, x: Measure, y: Measure) -> None:
        front = [(x.place(row[x.name]), y.place(row[y.name])) for row in self.points]
        ax.plot(
            *zip(*sorted(front), strict=True),
            color="black",
            marker="o",
            markersize=6,
            markerfacecolor="none",
            linewidth=1.0 if len(self.objectives) == 2 else 0.0,  # noqa: PLR2004 - a line is flat
            zorder=1,
        )


def pareto(sweep: Swept, objectives: Sequence[str], where: Where) -> Pareto:
    """The Pareto front of a sweep; see `Sweep.pareto`."""
    if len(objectives) < 2 or len(set(map(_column, objectives))) < len(objectives):  # noqa: PLR2004
        raise InvalidInputError(
            f"a front needs two different objectives or more, got {list(objectives)}",
            remedy="take sweep.best(column) for one",
        )
    real = [row for row in selected(sweep, where) if sweep.is_real(row)]
    if not real:
        raise InvalidInputError("no point is done", remedy="resume the sweep")
    columns = [numeric("objectives", _column(name), real) for name in objectives]
    rows = [row for row in real if all(row[name] is not None for name in columns)]
    signs = np.array([-1.0 if name.startswith("-") else 1.0 for name in objectives])
    values = signs * np.array([[row[name] for name in columns] for row in rows], dtype=float)
    on_front = front_of(values)
    points = sorted((tuple(values[i]), i) for i in np.flatnonzero(on_front))
    return Pareto(
        objectives=tuple(objectives),
        points=tuple(rows[i] for _, i in points),
        beaten=tuple(row for row, is_on in zip(rows, on_front, strict=True) if not is_on),
        left_out=len(real) - len(rows),
        axes=tuple(sweep.axes),
    )


def front_of(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows no other row beats: is nowhere larger than and somewhere smaller. Equals all stay.

    Args:
        values: A row a point, a column an objective, all to be small; shape (points, objectives).

    Returns:
        A truth value a row, shape (points,).
    """
    unique, inverse = np.unique(values, axis=0, return_inverse=True)
    # In this order only earlier rows can beat later ones.
    if values.shape[1] == 2:  # noqa: PLR2004 - a row of two is beaten by the least second before
        least = np.minimum.accumulate(unique[:, 1])
        on_front = np.append(True, unique[1:, 1] < least[:-1])
        return on_front[inverse.reshape(-1)]
    kept = np.zeros(len(unique), dtype=bool)
    front = unique[:0]
    for start in range(0, len(unique), _BLOCK):
        block = unique[start : start + _BLOCK]
        alive = ~_beaten(block, front)
        for i in np.flatnonzero(alive):
            if alive[i]:
                later = np.arange(len(block)) > i
                alive &= ~(later & np.all(block >= block[i], axis=1))
        kept[start : start + _BLOCK] = alive
        front = np.concatenate([front, block[alive]])
    return kept[inverse.reshape(-1)]


def _beaten(block: NDArray[np.float64], front: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of a block a row of the front is nowhere larger than."""
    beaten = np.zeros(len(block), dtype=bool)
    for start in range(0, len(front), _BLOCK):
        part = front[start : start + _BLOCK]
        beaten |= np.any(np.all(part[:, None, :] <= block[None, :, :], axis=2), axis=0)
    return beaten


def hypervolume(values: NDArray[np.float64], reference: Sequence[float]) -> float:
    """The volume that points cover of what lies below a reference, all objectives to be small.

    Args:
        values: A row a point, a column an objective; shape (points, objectives).
        reference: A corner above all that counts; points beyond it count nothing.

    Returns:
        The volume, in the product of the objectives' units.

    Example:
        >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), [3.0, 3.0])
        3.0
    """
    corner = np.asarray(reference, dtype=float)
    inside = values[np.all(values < corner, axis=1)]
    if len(inside) == 0:
        return 0.0
    return _volume(np.unique(inside[front_of(inside)], axis=0), corner)


def _volume(front: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Slices along the first objective, each as high as the front of what came before."""
    if front.shape[1] == 1:
        return float(corner[0] - front[:, 0].min())
    ends = np.append(front[1:, 0], corner[0])
    total = 0.0
    for i, (start, end) in enumerate(zip(front[:, 0], ends, strict=True)):
        if end > start:
            below = front[: i + 1, 1:]
            rest = np.unique(below[front_of(below)], axis=0)
            total += float(end - start) * _volume(rest, corner[1:])
    return total


def _column(objective: str) -> str:
    return objective.removeprefix("-")


def _told(objective: str) -> str:
    return f"largest {objective[1:]}" if objective.startswith("-") else f"least {objective}"
