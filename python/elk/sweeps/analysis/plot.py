"""Pictures of a sweep: which columns they show, and their grid of panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from elk.base.choices import one_of
from elk.errors import InvalidInputError
from elk.points.labels import Log, is_number, measure, said, title
from elk.report.plots import new_grid
from elk.sweeps.analysis import drawing
from elk.sweeps.analysis.drawing import Colours, Panel
from elk.sweeps.analysis.selection import (
    Row,
    Swept,
    Where,
    checked,
    numeric,
    selected,
    separating,
    varying,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


KINDS: Final = ("line", "scatter", "heatmap")
_MOST_PANELS: Final = 60
_MOST_ABREAST: Final = 4  # panels beside one another where nothing says how many


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a picture shows: columns, as in `Sweep.plot`."""

    kind: str | None = None
    x: str | None = None
    y: str | None = None
    hue: str | None = None
    col: str | None = None
    row: str | None = None

    @property
    def panels(self) -> list[str]:
        """The axes that have a panel for each of their values."""
        return [name for name in (self.row, self.col) if name is not None]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What is asked, with everything chosen; `apart` are axes whose values have a line each."""

    kind: str
    x: str
    y: str
    hue: str | None
    apart: tuple[str, ...] = ()


def plot(sweep: Swept, asked: Asked, *, where: Where, log: Log, ax: Axes | None) -> Any:
    """Draws a sweep; see `Sweep.plot`."""
    rows = selected(sweep, where)
    _check(asked, rows, sweep.axes)
    chosen = _chosen(asked, rows, sweep.axes)
    log = tuple(log) if log is not None and not isinstance(log, bool) else log
    x, y = (measure(name, (row[name] for row in rows), log) for name in (chosen.x, chosen.y))
    hue = chosen.hue and measure(chosen.hue, (row[chosen.hue] for row in rows), log)
    colours = Colours.of(hue or None, [row[chosen.hue] for row in rows] if chosen.hue else [])
    parts = _parts(asked, rows)
    grid = _grid(asked, parts, ax)
    feet = 0
    for name, (place, part) in zip(_titles(asked, parts), parts.items(), strict=True):
        panel = Panel(grid[place], part, x, y, colours)
        feet = max(feet, _DRAW[chosen.kind](panel, chosen.apart))
        panel.ax.set_title(name, parse_math=False, fontsize="medium")
    drawing.finish(grid, x=x, y=y, rows=rows, feet=feet)
    drawing.explain(grid, colours, rows, kind=chosen.kind, own=ax is None)
    _head(sweep, grid, _notes(where, chosen.apart))
    return grid if asked.panels else grid[0, 0]


_DRAW: Final = {
    "line": drawing.draw_lines,
    "scatter": drawing.draw_scatter,
    "heatmap": drawing.draw_cells,
}


def _check(asked: Asked, rows: Sequence[Row], axes: Sequence[str]) -> None:
    for place in ("x", "y", "hue", "col", "row"):
        name = getattr(asked, place)
        if name is not None:
            checked(place, name, rows)
    for name in asked.panels:
        if name not in axes:
            raise InvalidInputError(
                f"panels are of the values of an axis, which {name} is none of",
                remedy=f"the axes are {', '.join(axes)}",
            )
    if asked.row is not None and asked.row == asked.col:
        raise InvalidInputError(f"row and col are both {asked.row}", remedy="leave one out")
    if asked.kind is not None:
        one_of("kind", asked.kind, KINDS)


def _chosen(asked: Asked, rows: Sequence[Row], axes: Sequence[str]) -> Chosen:
    """What is drawn where the caller did not say."""
    free = [name for name in varying(axes, rows) if name not in asked.panels]
    is_map = asked.kind == "heatmap" or (
        asked.kind is None and asked.y in axes and asked.hue not in axes
    )
    numbers = [name for name in free if all(is_number(row[name]) for row in rows)]
    named = {asked.y, asked.hue}
    x = asked.x or next(name for name in [*numbers, *free, *axes] if name not in named)
    if is_map:
        rest = [name for name in [*numbers, *free] if name not in (x, asked.hue)]
        y = asked.y or next(iter(rest), None)
        return _map(x, y, asked, rows, free)
    y = numeric("y", asked.y or "latency_s", rows)
    others = [name for name in free if name not in (x, asked.hue)]
    rest = separating([x, *filter(None, [asked.hue]), *asked.panels], others, rows)
    is_cloud = x not in axes or (asked.hue is not None and asked.hue not in axes)
    is_cloud = is_cloud or _is_sampled(x, [name for name in others if name not in rest], rows)
    if asked.kind == "scatter" or (asked.kind is None and is_cloud):
        return Chosen(kind="scatter", x=x, y=y, hue=asked.hue or next(iter(rest), None))
    if asked.hue is not None and asked.hue not in axes:
        raise InvalidInputError(
            f"lines are of the values of an axis, which {asked.hue} is none of",
            place="hue",
            remedy='take kind="scatter", or an axis',
        )
    hue = asked.hue or (rest[0] if len(rest) == 1 else None)
    return Chosen(kind="line", x=x, y=y, hue=hue, apart=tuple(name for name in rest if name != hue))


def _map(x: str, y: str | None, asked: Asked, rows: Sequence[Row], free: Sequence[str]) -> Chosen:
    if y is None:
        raise InvalidInputError(
            "a heat map needs two axes that vary", place="y", remedy='take kind="line"'
        )
    for place, name in (("x", x), ("y", y)):
        if name not in free:
            raise InvalidInputError(
                f"a heat map is over axes that vary, which {name} is none of",
                place=place,
                remedy=f"those that do are {', '.join(free)}",
            )
    hue = checked("hue", asked.hue or "latency_s", rows)
    rest = separating([x, y, *asked.panels], [n for n in free if n not in (x, y)], rows)
    if rest:
        raise InvalidInputError(
            f"a cell of the map would hold several points: {', '.join(rest)} vary, too",
            code="several_points",
            remedy=f'fix them with where={{"{rest[0]}": ...}}, or give them to col or row',
        )
    return Chosen(kind="heatmap", x=x, y=y, hue=hue)


def _is_sampled(x: str, others: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether along `x` other axes jump about, as they do in samples."""
    along = sorted(rows, key=lambda row: (str(type(row[x])), row[x]))
    if len({row[x] for row in along}) < len(along):
        return False
    for name in others:
        values = [row[name] for row in along]
        if not all(map(is_number, values)) or sorted(values) not in (values, values[::-1]):
            return True
    return False


def _parts(asked: Asked, rows: Sequence[Row]) -> dict[tuple[int, int], list[Row]]:
    """The rows of each panel, by its place in the grid."""
    down = list(dict.fromkeys(row[asked.row] for row in rows)) if asked.row else [None]
    across = list(dict.fromkeys(row[asked.col] for row in rows)) if asked.col else [None]
    if len(down) * len(across) > _MOST_PANELS:
        raise InvalidInputError(
            f"the picture would have {len(down) * len(across)} panels, at most {_MOST_PANELS}",
            remedy="choose some of their values with where={...}",
        )
    parts: dict[tuple[int, int], list[Row]] = {}
    wraps = asked.row is None and len(across) > _MOST_ABREAST
    for i, high in enumerate(down):
        for j, wide in enumerate(across):
            place = divmod(j, _MOST_ABREAST) if wraps else (i, j)
            parts[place] = [
                row
                for row in rows
                if (asked.row is None or row[asked.row] == high)
                and (asked.col is None or row[asked.col] == wide)
            ]
    return parts


def _titles(asked: Asked, parts: dict[tuple[int, int], list[Row]]) -> list[str]:
    """What each panel is of."""
    found = []
    for part in parts.values():
        told = [f"{title(name)} = {said(name, part[0][name])}" for name in asked.panels if part]
        found.append(", ".join(told))
    return found


def _grid(asked: Asked, parts: dict[tuple[int, int], list[Row]], ax: Axes | None) -> NDArray[Any]:
    import numpy as np  # noqa: PLC0415 - beside its only user

    down, across = (1 + max(place[side] for place in parts) for side in (0, 1))
    if ax is not None:
        if asked.panels:
            raise InvalidInputError("one ax holds no panels", remedy="leave out ax, or col and row")
        return np.array([[ax]], dtype=object)
    if down == across == 1:
        return new_grid(1, 1, (8.0, 4.2))
    grid = new_grid(down, across, (1.8 + 3.3 * across, 0.9 + 2.7 * down))
    for place in np.ndindex(down, across):
        if place not in parts:
            unused: Any = grid[place]
            unused.remove()
            grid[place] = None
    return grid


def _notes(where: Where, apart: Sequence[str]) -> list[str]:
    fixed = [
        f"{title(name)} = {value if isinstance(value, str) else said(name, value)}"
        for name, value in (where or {}).items()
        if isinstance(value, str | int | float)
    ]
    lines = f"a line for each {', '.join(map(title, apart))}" if apart else ""
    return [*fixed, *filter(None, [lines])]


def _head(sweep: Swept, grid: NDArray[Any], notes: Sequence[str]) -> None:
    fixed = sweep.fixed
    names = [fixed[part]["name"] for part in ("model", "chip") if part in fixed]
    text = "\n".join(filter(None, [" on ".join(names), "; ".join(notes)]))
    if grid.size == 1:
        grid[0, 0].set_title(text, parse_math=False, fontsize="medium")
    else:
        grid[0, 0].figure.suptitle(text, parse_math=False, fontsize="medium")
