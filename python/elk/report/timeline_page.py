"""A timeline as one small page of HTML: a drawing without scripts, for notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from elk.base.readable import amount, duration, rate
from elk.report.colours import OTHER, ROLES, SLICES, kind_of_slice
from elk.report.events import Counter, Events, Fact, Slice

_LEFT: Final = 180  # pixels of the names of rows
_WIDTH: Final = 850  # pixels of time
_ROW, _GAP, _AREA = 20, 8, 70  # pixels
_LETTER: Final = 6.6  # pixels
_WIDE: Final = 7.4  # pixels of a letter that must not run out of a slice
_MOST_ROWS: Final = 24
_MOST_LANES: Final = 4  # of a row, where there are few rows
_MOST_BYTES: Final = 195_000
# How many shapes to draw, and whether they tell their facts: the first that stays small enough.
_FINENESS: Final = ((900, True), (900, False), (450, False), (225, False), (0, False))
_LEAST_SHAPES: Final = 8  # of a lane
_MOST_AREAS: Final = 4
_MOST_COUNTERS: Final = 8
_COLUMNS: Final = 425  # of a counter
_EDGED: Final = 3.0  # pixels: wider slices have an edge
_TOLD: Final = 8.0  # pixels: wider slices tell their facts
_MOST_FACTS: Final = 240  # letters
_MOST_MARKS: Final = 8  # of time
_NAME: Final = 60  # letters
_KIND: Final = 20
_PS: Final = 1e12
_SRAM: Final = "SRAM: "  # before the kind of buffer in the name of a counter
_OTHER_AREA: Final = "#9ecae9"
_LIGHT: Final = 140  # of 255: text on darker colours is white


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    """A slice, or neighbours too short to be told apart, in pixels."""

    left: float
    right: float
    slices: tuple[Slice, ...]


def page(timeline: Events) -> str:
    """The timeline drawn to scale: what a mouse rests on says its name, times and facts.

    Slices too short to see are drawn as one, in the colour of the longest; slices inside others are
    drawn below them. The page stays below 200 KB: the more there is to draw, the coarser.
    """
    drawn = ""
    for most_shapes, told in _FINENESS:
        drawn = _drawn(timeline, most_shapes, told=told)
        if len(drawn.encode()) <= _MOST_BYTES:
            break
    return drawn


def _drawn(timeline: Events, most_shapes: int, *, told: bool) -> str:
    """The page with about so many shapes, which tell their facts or do not."""
    rows = min(len(timeline.tracks), _MOST_ROWS)
    deep = min(_MOST_LANES, _MOST_ROWS // max(1, rows))
    lanes = [_lanes(timeline, track, deep) for track in range(rows)]
    budget = max(_LEAST_SHAPES, most_shapes // max(1, sum(map(len, lanes))))
    top = 2 * _ROW
    parts = []
    for track in range(rows):
        parts.append(_label(timeline.tracks[track].name, top + _ROW * 0.7))
        for lane in lanes[track]:
            shapes = _shapes(lane, timeline.end_ps, budget)
            parts.extend(_rect(shape, top, told=told) for shape in shapes)
            top += _ROW
        top += _GAP
    if len(timeline.tracks) > rows:
        parts.append(_label(f"and {len(timeline.tracks) - rows:,} more rows", top + _ROW * 0.7))
        top += _ROW
    drawn = timeline.counters[:_MOST_COUNTERS]
    areas = [list(found) for _, found in groupby(drawn, key=lambda c: c.group)]
    for counters in areas[:_MOST_AREAS]:
        parts.append(_area(counters, timeline.end_ps, top))
        top += _AREA + 2 * _GAP
    marks = _axis(timeline, top)
    for title, named in _legends(timeline):
        parts.append(_label(title, top + _ROW * 0.7))
        lines = _legend(named, top + _ROW * 0.7)
        parts.extend(lines)
        top += _ROW * len(lines)
    return (
        f"<div><b>{html.escape(timeline.name[: 2 * _NAME])}</b>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 10} {top + _GAP}" '
        'width="100%" font-family="sans-serif" font-size="11">'
        f"{marks}{''.join(parts)}</svg></div>"
    )


def document(timeline: Events) -> str:
    """The page as an HTML document of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(timeline.name[: 2 * _NAME])}</title></head>"
        f'<body style="margin:1em;font-family:sans-serif">{page(timeline)}</body></html>'
    )


def _lanes(timeline: Events, track: int, most: int) -> list[list[Slice]]:
    """The slices of a row by how many others they lie inside; one lane at least."""
    lanes: list[list[Slice]] = [[]]
    around: list[int] = []
    for one in (timeline.slices[i] for i in timeline.order(track)):
        while around and around[-1] <= one.begin_ps:
            around.pop()
        if len(around) == len(lanes) < most:
            lanes.append([])
        if len(around) < len(lanes):
            lanes[len(around)].append(one)
        around.append(one.end_ps)
    return lanes


def _shapes(slices: list[Slice], end_ps: int, budget: int) -> list[_Bar]:
    """At most `budget` shapes, as fine as that allows."""
    apart = 0.5
    while True:
        shapes = _merged(slices, end_ps, apart)
        if len(shapes) <= budget:
            return shapes
        apart *= 2


def _merged(slices: list[Slice], end_ps: int, apart: float) -> list[_Bar]:
    """Slices shorter than `apart` pixels go with those before them, until that is their width."""
    scale = _WIDTH / max(1, end_ps)
    shapes: list[_Bar] = []
    for one in slices:
        left, right = one.begin_ps * scale, one.end_ps * scale
        last = shapes[-1] if shapes else None
        short = right - left < apart
        if last and short and left - last.right < apart and last.right - last.left < apart:
            shapes[-1] = _Bar(left=last.left, right=right, slices=(*last.slices, one))
        else:
            shapes.append(_Bar(left=left, right=right, slices=(one,)))
    return shapes


def _rect(shape: _Bar, top: float, *, told: bool) -> str:
    first = shape.slices[0]
    width = max(0.4, shape.right - shape.left)
    colour = _colour(_longest(shape).category)
    text = ""
    letters = int((width - 4) / _WIDE)
    if letters > 3 and len(shape.slices) == 1:  # noqa: PLR2004 - less says nothing
        name = first.name if len(first.name) <= letters else f"{first.name[: letters - 1]}…"
        text = (
            f'<text x="{_LEFT + shape.left + 3:.1f}" y="{top + _ROW * 0.7:.1f}" '
            f'fill="{_ink(colour)}">{html.escape(name)}</text>'
        )
    edged = width > _EDGED and len(shape.slices) == 1
    edge = ' stroke="#fff" stroke-width="0.6"' if edged else ""
    return (
        f"<g><title>{html.escape(_said(shape, told=told))}</title>"
        f'<rect x="{_LEFT + shape.left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW}" '
        f'fill="{colour}"{edge}/>{text}</g>'
    )


def _colour(category: str) -> str:
    return SLICES.get(kind_of_slice(category), OTHER)


def _ink(colour: str) -> str:
    """Black or white, whichever is legible on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT else "#fff"


def _longest(shape: _Bar) -> Slice:
    return max(shape.slices, key=lambda one: (one.end_ps - one.begin_ps, -one.begin_ps))


def _said(shape: _Bar, *, told: bool) -> str:
    begin_s = shape.slices[0].begin_ps / _PS
    end_s = max(one.end_ps for one in shape.slices) / _PS
    when = f"from {duration(begin_s)} for {duration(end_s - begin_s)}"
    if len(shape.slices) > 1:
        longest = _longest(shape)
        what = f"{longest.name[:_NAME]} ({longest.category[:_KIND]})"
        return f"{len(shape.slices):,} short ones, the longest {what}: {when}"
    one = shape.slices[0]
    about = f"{one.name[:_NAME]} ({one.category[:_KIND]}): {when}"
    if not told or shape.right - shape.left < _TOLD or not one.facts:
        return about
    facts = "\n".join(f"{name}: {_fact(value)}" for name, value in one.facts.items())
    return f"{about}\n{facts[:_MOST_FACTS]}"


def _fact(value: Fact) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _axis(timeline: Events, bottom: float) -> str:
    """Marks of time at round numbers, from top to bottom."""
    step_ps, unit_ps, unit = _step(timeline.end_ps)
    marks = []
    for i in range(timeline.end_ps // step_ps + 1):
        x = _LEFT + _WIDTH * i * step_ps / max(1, timeline.end_ps)
        text = f"{i * step_ps / unit_ps:,g} {unit}"
        anchor = "middle" if x + _LETTER * len(text) / 2 < _LEFT + _WIDTH else "end"
        marks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ROW}" y2="{bottom}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="{_ROW * 0.7}" text-anchor="{anchor}">{text}</text>'
        )
    total = f"{duration(timeline.end_ps / _PS)} in all"
    return f'<text x="0" y="{_ROW * 0.7}">{total}</text>' + "".join(marks)


def _step(end_ps: int) -> tuple[int, int, str]:
    """Picoseconds from mark to mark: 1, 2 or 5 of a decade; and the unit to write them in."""
    least = max(1, end_ps // _MOST_MARKS)
    decade = 10 ** (len(str(least)) - 1)
    step = next(n * decade for n in (1, 2, 5, 10) if n * decade >= least)
    units = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"))
    unit_ps, unit = next((u for u in units if step * _MOST_MARKS > u[0]), (1, "ps"))
    return step, unit_ps, unit


def _legends(timeline: Events) -> list[tuple[str, dict[str, str]]]:
    """The kinds of slices and of areas, with their colours, each under a title."""
    kinds = dict.fromkeys(kind_of_slice(one.category) for one in timeline.slices)
    slices = {kind: SLICES[kind] for kind in SLICES if kind in kinds}
    if "other" in kinds:
        slices["other"] = OTHER
    held = [counter for counter in timeline.counters if counter.name.startswith(_SRAM)]
    roles = {one.name.removeprefix(_SRAM): _area_colour(one) for one in held}
    return [(title, named) for title, named in (("rows", slices), ("SRAM", roles)) if named]


def _legend(named: dict[str, str], y: float) -> list[str]:
    """Lines of coloured squares and names, none wider than the drawing."""
    lines: list[list[str]] = [[]]
    x = float(_LEFT)
    for name, colour in named.items():
        width = 24 + _LETTER * len(name)
        if x + width > _LEFT + _WIDTH:
            lines.append([])
            x = float(_LEFT)
        at = y + _ROW * (len(lines) - 1)
        lines[-1].append(
            f'<rect x="{x:.0f}" y="{at - 9:.1f}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{x + 13:.0f}" y="{at:.1f}">{html.escape(name)}</text>'
        )
        x += width
    return ["".join(line) for line in lines]


def _label(text: str, y: float) -> str:
    letters = int((_LEFT - 6) / _LETTER)
    shown = text if len(text) <= letters else f"{text[: letters - 1]}…"
    whole = html.escape(text[:_NAME])
    return f'<text x="0" y="{y:.1f}"><title>{whole}</title>{html.escape(shown)}</text>'


def _area(counters: list[Counter], end_ps: int, top: float) -> str:
    """Counters of a group on top of each other, the largest sum of each column."""
    columns = _sampled(counters, end_ps)
    most = max((sum(column) for column in zip(*columns, strict=True)), default=0.0) or 1.0
    floor = [0.0] * _COLUMNS
    shapes = []
    for counter, column in zip(counters, columns, strict=True):
        roof = [low + value for low, value in zip(floor, column, strict=True)]
        points = [*_corners(roof), *reversed(_corners(floor))]
        path = " ".join(
            f"{_LEFT + _WIDTH * (x + 0.5) / _COLUMNS:.0f},{top + _AREA * (1 - y / most):.1f}"
            for x, y in points
        )
        said = html.escape(
            f"{counter.name[:_NAME]}, at most {_quantity(max(column), counter.unit)}"
        )
        shapes.append(
            f'<polygon points="{path}" fill="{_area_colour(counter)}">'
            f"<title>{said}</title></polygon>"
        )
        floor = roof
    highest = _quantity(most, counters[0].unit)
    names = counters[0].group if len(counters) > 1 else counters[0].name
    ends = f'x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{top + _AREA}" y2="{top + _AREA}"'
    return (
        _label(names, top + _ROW * 0.7)
        + _label(f"up to {highest}", top + _ROW * 1.4)
        + _label("from 0", top + _AREA)
        + "".join(shapes)
        + f'<line {ends} stroke="#999"/>'
    )


def _corners(heights: list[float]) -> list[tuple[int, float]]:
    """Columns and heights, without what lies between two of the same height."""
    inner = range(1, len(heights) - 1)
    level = {i for i in inner if heights[i - 1] == heights[i] == heights[i + 1]}
    return [(i, height) for i, height in enumerate(heights) if i not in level]


def _area_colour(counter: Counter) -> str:
    return ROLES.get(counter.name.removeprefix(_SRAM), _OTHER_AREA)


def _sampled(counters: list[Counter], end_ps: int) -> list[list[float]]:
    """Each counter's values in each column, at the moment when their sum is the largest."""
    values = [0.0] * len(counters)
    result = [[0.0] * len(counters) for _ in range(_COLUMNS)]
    changes = sorted(
        (time, position, value)
        for position, counter in enumerate(counters)
        for time, value in counter.points
    )
    ends = [*(time for time, _, _ in changes[1:]), end_ps][: len(changes)]
    for (begin, position, value), end in zip(changes, ends, strict=True):
        values[position] = value
        if begin == end:
            continue
        first = min(_COLUMNS - 1, begin * _COLUMNS // max(1, end_ps))
        last = min(_COLUMNS - 1, max(begin, end - 1) * _COLUMNS // max(1, end_ps))
        for column in range(first, last + 1):
            if sum(values) > sum(result[column]):
                result[column] = values.copy()
    return [[sample[i] for sample in result] for i in range(len(counters))]


def _quantity(value: float, unit: str) -> str:
    if unit == "B":
        return amount(value)
    return rate(value) if unit == "B/s" else f"{value:,.3g} {unit}"
