"""What is inside a panel of a sweep's picture: colours, lines, points, cells, ticks, legends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.policies import FORECASTS, POLICIES
from elk.points.columns import COLUMNS, DONE, FAILED, INFEASIBLE
from elk.points.labels import Measure, short
from elk.report.colours import SERIES
from elk.sweeps.analysis.selection import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap, Normalize
    from numpy.typing import NDArray

_MARKS: Final = {INFEASIBLE: "x", FAILED: "+"}
_MISSING: Final = "#606060"
_MOST_SHADES: Final = 8  # numbers with a colour each in the legend; more have a bar
_MOST_MARKED: Final = 60  # points of a line with a dot each
_MOST_TICKS: Final = 8
_FOOT: Final = 0.035  # height of a row of marks at the foot, as a part of the panel's
_MOST_FEET: Final = 10
_LONG_WORDS: Final = 40  # letters of all words below an axis; longer ones are turned


@dataclass(frozen=True)
class Colours:
    """The colour of each value of a column; of all points the same where there is no column."""

    hue: Measure | None
    entries: tuple[tuple[Any, Any], ...]  # each value with its colour, where the legend has it
    map: Colormap | None = None
    norm: Normalize | None = None

    @staticmethod
    def of(hue: Measure | None, values: Sequence[Any]) -> Colours:
        """Colours for these values."""
        from matplotlib import colormaps  # noqa: PLC0415 - optional, and slow to import
        from matplotlib.colors import LogNorm, Normalize  # noqa: PLC0415 - optional, and slow to import

        if hue is None:
            return Colours(None, ())
        if hue.words is not None:
            return Colours(hue, tuple(zip(hue.words, _of_words(hue), strict=True)))
        viridis = colormaps["viridis"]
        numbers = sorted({value for value in values if value is not None})
        places = [hue.place(number) for number in numbers]
        norm = (LogNorm if hue.log else Normalize)(places[0], places[-1])
        if len(numbers) > _MOST_SHADES or hue.name in COLUMNS:
            return Colours(hue, (), viridis, norm)
        shades = viridis(np.linspace(0.0, 0.92, len(numbers)))
        return Colours(hue, tuple(zip(numbers, shades, strict=True)), viridis, norm)

    def at(self, value: Any) -> Any:
        """The colour of a value."""
        if self.hue is None:
            return SERIES[0]
        for known, colour in self.entries:
            if known == value:
                return colour
        if self.map is None or self.norm is None or value is None:
            return _MISSING
        return self.map(self.norm(self.hue.place(value)))

    def bar(self) -> ScalarMappable:
        """What a bar of colours is drawn from."""
        from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - optional, and slow to import

        return ScalarMappable(self.norm, self.map)


@dataclass(frozen=True)
class Panel:
    """One panel: its axes and rows, and what all panels share."""

    ax: Axes
    rows: Sequence[Row]
    x: Measure
    y: Measure
    colours: Colours

    def hue_of(self, row: Row) -> Any:
        """The value that is told by colour."""
        return None if self.colours.hue is None else row[self.colours.hue.name]


def _of_words(hue: Measure) -> list[Any]:
    """Colours of words; a policy has one colour in all pictures."""
    words = hue.words or ()
    if hue.name == "policy":
        known = [*POLICIES, *(word for word in words if word not in POLICIES)]
        return [SERIES[known.index(word) % len(SERIES)] for word in words]
    if len(words) <= len(SERIES):
        return list(SERIES[: len(words)])
    from matplotlib import colormaps  # noqa: PLC0415 - optional, and slow to import

    return list(colormaps["turbo"](np.linspace(0.05, 0.95, len(words))))


def draw_lines(panel: Panel, apart: Sequence[str]) -> int:
    """A line for each colour and each value of the axes `apart`, broken where no point is done.

    Returns:
        How many rows of marks there are at the foot, for points that are not done.
    """
    lines: dict[Any, dict[Any, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in panel.rows:
        group = tuple(row[name] for name in apart)
        y = panel.y.place(row[panel.y.name]) if row["status"] == DONE else np.nan
        lines[panel.hue_of(row)][group].append((panel.x.place(row[panel.x.name]), y))
    for value, groups in lines.items():
        joined: list[tuple[float, float]] = []
        for points in groups.values():
            joined += [*sorted(points), (np.nan, np.nan)]
        is_marked = max(map(len, groups.values())) <= _MOST_MARKED
        panel.ax.plot(
            *zip(*joined, strict=True),
            color=panel.colours.at(value),
            linewidth=0.8 if apart else 1.6,
            alpha=0.8 if apart else 1.0,
            marker="o" if is_marked else "",
            markersize=2.5 if apart else 3.5,
            linestyle="--" if value in FORECASTS else "-",
        )
    return _mark_missing(panel)


def draw_scatter(panel: Panel, apart: Sequence[str]) -> int:  # noqa: ARG001 - points need no lines
    """A dot for each point that is done; returns as `draw_lines`."""
    done = [row for row in panel.rows if row["status"] == DONE]
    if done:
        panel.ax.scatter(
            [panel.x.place(row[panel.x.name]) for row in done],
            [panel.y.place(row[panel.y.name]) for row in done],
            c=[panel.colours.at(panel.hue_of(row)) for row in done],
            s=18,
            linewidths=0,
            alpha=0.85,
        )
    return _mark_missing(panel)


def draw_cells(panel: Panel, apart: Sequence[str]) -> int:  # noqa: ARG001 - cells are no lines
    """A cell for each point, whose middle is where its values are."""
    xs, ys = (
        sorted({measured.place(row[measured.name]) for row in panel.rows})
        for measured in (panel.x, panel.y)
    )
    cells = np.ones((len(ys), len(xs), 4))
    for row in panel.rows:
        x, y = panel.x.place(row[panel.x.name]), panel.y.place(row[panel.y.name])
        if row["status"] == DONE and panel.hue_of(row) is not None:
            cells[ys.index(y), xs.index(x)] = _rgba(panel.colours.at(panel.hue_of(row)))
        else:
            mark = _MARKS.get(row["status"], "")
            panel.ax.plot(x, y, mark, color=_MISSING, markersize=6, zorder=3)
    panel.ax.pcolormesh(_edges(xs, log=panel.x.log), _edges(ys, log=panel.y.log), cells)
    return 0


def _rgba(colour: Any) -> Any:
    from matplotlib.colors import to_rgba  # noqa: PLC0415 - optional, and slow to import

    return to_rgba(colour)


def _edges(places: Sequence[float], *, log: bool) -> NDArray[np.float64]:
    """Where cells end whose middles are `places`."""
    at = np.log(places) if log else np.array(places, dtype=float)
    if len(at) == 1:
        edges = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        middles = (at[1:] + at[:-1]) / 2
        edges = np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])
    return np.exp(edges) if log else edges


def _mark_missing(panel: Panel) -> int:
    """A mark at the foot for each point that is not done, in the colour of its line.

    Returns:
        How many rows of marks there are.
    """
    feet = 0
    for status, mark in _MARKS.items():
        places: dict[Any, list[float]] = defaultdict(list)
        for row in panel.rows:
            if row["status"] == status and row[panel.x.name] is not None:
                places[panel.hue_of(row)].append(panel.x.place(row[panel.x.name]))
        for value, xs in places.items():
            panel.ax.plot(
                xs,
                [_FOOT * (0.8 + feet % _MOST_FEET)] * len(xs),
                mark,
                color=panel.colours.at(value),
                transform=panel.ax.get_xaxis_transform(),
                markersize=5,
            )
            feet += 1
    return min(feet, _MOST_FEET)


def _make_room(ax: Axes, feet: int) -> None:
    """Room below what is drawn for rows of marks."""
    least, most = ax.get_ylim()
    part = _FOOT * feet / (1 - _FOOT * feet)
    if ax.get_yscale() == "log":
        ax.set_ylim(bottom=least / (most / least) ** part)
    else:
        ax.set_ylim(bottom=least - (most - least) * part)


def finish(grid: NDArray[Any], *, x: Measure, y: Measure, rows: Sequence[Row], feet: int) -> None:
    """Scales, ticks and labels of all panels, and room for `feet` rows of marks at the foot."""
    for ax in (one for one in grid.flat if one is not None):
        if x.log:
            ax.set_xscale("log")
        if y.log:
            ax.set_yscale("log")
        ax.set(xlabel=x.label, ylabel=y.label)
        _set_ticks(ax.xaxis, x, rows)
        _set_ticks(ax.yaxis, y, rows)
        if x.words is not None and sum(len(str(word)) for word in x.words) > _LONG_WORDS:
            ax.tick_params(axis="x", labelrotation=30)
        spec = ax.get_subplotspec()
        if spec is not None and grid.size > 1:
            below = [
                one for one in grid[spec.rowspan.stop :, spec.colspan.start] if one is not None
            ]
            ax.tick_params(labelbottom=not below, labelleft=spec.is_first_col())
            ax.set(xlabel="" if below else x.label, ylabel=y.label if spec.is_first_col() else "")
    if feet:
        _make_room(grid[0, 0], feet)  # All panels have its scales.


def _set_ticks(axis: Axis, shown: Measure, rows: Sequence[Row]) -> None:
    """Ticks at words, at the few values of an axis in logarithms, or at round numbers."""
    from matplotlib import ticker  # noqa: PLC0415 - optional, and slow to import

    if shown.words is not None:
        axis.set_ticks(range(len(shown.words)), [shown.told(word) for word in shown.words])
        return
    if not shown.log:
        return
    values = sorted({row[shown.name] for row in rows if row[shown.name] is not None})
    places = [shown.place(value) for value in values]
    if len(places) <= _MOST_TICKS:
        axis.set_ticks(places, [short(place, 3) for place in places])
    else:
        ratio = places[-1] / places[0]
        few = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if ratio < 8 else (1.0, 2.0, 5.0)  # noqa: PLR2004
        axis.set_major_locator(ticker.LogLocator(subs=few if ratio < 2000 else (1.0,)))  # noqa: PLR2004
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value, 3)))
    axis.set_minor_locator(ticker.NullLocator())


def _keys(kind: str, value: Any) -> dict[str, Any]:
    """How the legend shows a colour."""
    if kind == "heatmap":
        return {"marker": "s", "markersize": 8, "linestyle": ""}
    if kind == "scatter":
        return {"marker": "o", "markersize": 5, "linestyle": ""}
    style = "--" if value in FORECASTS else "-"
    return {"marker": "o", "markersize": 4, "linewidth": 1.6, "linestyle": style}


def explain(
    grid: NDArray[Any], colours: Colours, rows: Sequence[Row], *, kind: str, own: bool
) -> None:
    """The legend: colours, and marks with how many points are not done; or a bar of colours.

    Args:
        grid: The axes of all panels.
        colours: The colours.
        rows: All rows.
        kind: What is drawn: `line`, `scatter` or `heatmap`.
        own: Whether the figure is ours, so that the legend may stand beside its panels.
    """
    from matplotlib.lines import Line2D  # noqa: PLC0415 - optional, and slow to import

    first = grid[0, 0]
    figure = first.figure
    handles = [
        Line2D(
            [], [], color=colour, **_keys(kind, value),
            label="none" if colours.hue is None else colours.hue.told(value),
        )
        for value, colour in colours.entries
    ]  # fmt: skip
    counts = {status: sum(row["status"] == status for row in rows) for status in (*_MARKS, "open")}
    handles += [
        Line2D([], [], color=_MISSING, linestyle="", marker=_MARKS.get(status, ""),
               label=f"{status} ({count:,})")
        for status, count in counts.items()
        if count
    ]  # fmt: skip
    has_bar = colours.map is not None and not colours.entries
    if has_bar and colours.hue is not None:
        axes = [ax for ax in grid.flat if ax is not None]
        figure.colorbar(colours.bar(), ax=axes, label=colours.hue.label)
    if not handles:
        return
    head = colours.hue.label if colours.hue is not None and colours.entries else None
    look = {"title": head, "fontsize": "small", "title_fontsize": "small"}
    if not own:
        first.legend(handles=handles, **look)
    elif has_bar:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), **look)
    else:
        columns = 1 + len(handles) // 25
        figure.legend(handles=handles, loc="outside right upper", ncols=columns, **look)
