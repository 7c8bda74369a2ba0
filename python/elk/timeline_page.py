"""A timeline as one small page of HTML: a drawing without scripts, for notebooks."""

from __future__ import annotations

import html
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from elk.readable import amount, duration, rate
from elk.timeline import Counter, Slice, Timeline

_LEFT: Final = 150  # pixels of the names of rows
_WIDTH: Final = 850  # pixels of time
_ROW, _GAP, _AREA = 24, 6, 70  # pixels
_LETTER: Final = 6.2  # pixels
_MOST_ROWS: Final = 24
_MOST_SHAPES: Final = 900
_COLUMNS: Final = 425  # of a counter
_EDGED: Final = 3.0  # pixels: wider slices have an edge
_NAME: Final = 80
_PS: Final = 1e12

_COLOURS: Final = {
    "preload": "#4c78a8",
    "store": "#b279a2",
    "wait": "#d9d9d9",
    "compute": "#ffbf79",
    "distribute": "#8cd17d",
    "gather": "#59a14f",
    "shift": "#86bcb6",
    "reduce": "#b6992d",
    "matmul": "#f58518",
    "conv": "#f58518",
    "softmax": "#e45756",
    "norm": "#e45756",
    "elementwise": "#72b7b2",
}
_OTHER_COLOUR: Final = "#54a24b"
_AREAS: Final = {
    "SRAM: resident": "#9d755d",
    "SRAM: activation": "#72b7b2",
    "SRAM: execute": "#f58518",
    "SRAM: preload": "#4c78a8",
    "SRAM: store": "#b279a2",
}
_OTHER_AREA: Final = "#9ecae9"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A slice, or neighbours too short to be told apart, in pixels."""

    left: float
    right: float
    slices: tuple[Slice, ...]


def page(timeline: Timeline) -> str:
    """The timeline drawn to scale: what a mouse rests on says its name and times.

    Slices too short to see are drawn as one. The page stays below 200 KB.
    """
    rows = min(len(timeline.tracks), _MOST_ROWS)
    areas = [list(found) for _, found in groupby(timeline.counters, key=lambda c: c.group)]
    top = 2 * _ROW
    parts = [_axis(timeline)]
    budget = max(20, _MOST_SHAPES // max(1, rows))
    for track in range(rows):
        parts.append(_label(timeline.tracks[track].name, top + _ROW * 0.7))
        slices = [timeline.slices[i] for i in timeline.order(track)]
        parts.extend(_rect(shape, top) for shape in _shapes(slices, timeline.end_ps, budget))
        top += _ROW + _GAP
    if len(timeline.tracks) > rows:
        parts.append(_label(f"and {len(timeline.tracks) - rows:,} more rows", top + _ROW * 0.7))
        top += _ROW
    for counters in areas[:4]:
        parts.append(_area(counters, timeline.end_ps, top))
        top += _AREA + 3 * _GAP
    parts.append(_legend(timeline, top + _ROW * 0.7))
    top += _ROW
    return (
        f"<div><b>{html.escape(timeline.name[:_NAME])}</b>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 10} {top + _GAP}" '
        'width="100%" font-family="sans-serif" font-size="11">'
        f"{''.join(parts)}</svg></div>"
    )


def _shapes(slices: list[Slice], end_ps: int, budget: int) -> list[_Shape]:
    """At most `budget` shapes, as fine as that allows."""
    apart = 0.5
    while True:
        shapes = _merged(slices, end_ps, apart)
        if len(shapes) <= budget:
            return shapes
        apart *= 2


def _merged(slices: list[Slice], end_ps: int, apart: float) -> list[_Shape]:
    """Shapes at least `apart` pixels wide: shorter slices go with those before them."""
    scale = _WIDTH / max(1, end_ps)
    shapes: list[_Shape] = []
    for one in slices:
        left, right = one.begin_ps * scale, one.end_ps * scale
        last = shapes[-1] if shapes else None
        short = right - left < apart
        if last and short and left - last.right < apart and _small(last, apart):
            shapes[-1] = _Shape(left=last.left, right=right, slices=(*last.slices, one))
        else:
            shapes.append(_Shape(left=left, right=right, slices=(one,)))
    return shapes


def _small(shape: _Shape, apart: float) -> bool:
    """Whether a shape is made of short slices and may take in more."""
    return len(shape.slices) > 1 or shape.right - shape.left < apart


def _rect(shape: _Shape, top: float) -> str:
    first = shape.slices[0]
    width = max(0.4, shape.right - shape.left)
    colour = _COLOURS.get(_longest(shape).category, _OTHER_COLOUR)
    text = ""
    letters = int((width - 4) / _LETTER)
    if letters > 3 and len(shape.slices) == 1:  # noqa: PLR2004 - less says nothing
        name = first.name if len(first.name) <= letters else f"{first.name[: letters - 1]}…"
        text = (
            f'<text x="{_LEFT + shape.left + 3:.1f}" y="{top + _ROW * 0.68:.1f}">'
            f"{html.escape(name)}</text>"
        )
    edge = ' stroke="#fff" stroke-width="0.6"' if width > _EDGED else ""
    return (
        f'<g><title>{html.escape(_said(shape))}</title><rect x="{_LEFT + shape.left:.1f}" '
        f'y="{top}" width="{width:.1f}" height="{_ROW}" fill="{colour}"{edge}/>{text}</g>'
    )


def _longest(shape: _Shape) -> Slice:
    return max(shape.slices, key=lambda one: (one.end_ps - one.begin_ps, -one.begin_ps))


def _said(shape: _Shape) -> str:
    begin_s = shape.slices[0].begin_ps / _PS
    end_s = max(one.end_ps for one in shape.slices) / _PS
    when = f"{duration(begin_s)} + {duration(end_s - begin_s)}"
    if len(shape.slices) > 1:
        longest = _longest(shape).name[:_NAME]
        return f"{len(shape.slices):,} short ones, the longest {longest}: {when}"
    one = shape.slices[0]
    return f"{one.name[:_NAME]} ({one.category}): {when}"


def _axis(timeline: Timeline) -> str:
    """Five marks of time from top to bottom."""
    marks = []
    for i in range(6):
        x = _LEFT + _WIDTH * i / 5
        text = duration(timeline.end_ps / _PS * i / 5)
        anchor = "start" if i == 0 else "end"
        marks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ROW}" y2="100%" stroke="#ccc"/>'
            f'<text x="{x:.1f}" y="{_ROW * 0.7}" text-anchor="{anchor}">{text}</text>'
        )
    return "".join(marks)


def _legend(timeline: Timeline, y: float) -> str:
    """The kinds of slices, then of areas, that have a colour of their own."""
    kinds = dict.fromkeys(one.category for one in timeline.slices)
    named = {kind: _COLOURS[kind] for kind in kinds if kind in _COLOURS}
    if any(kind not in _COLOURS for kind in kinds):
        named["other"] = _OTHER_COLOUR
    counters = dict.fromkeys(one.name for one in timeline.counters)
    named |= {name: _AREAS[name] for name in counters if name in _AREAS}
    x, parts = float(_LEFT), []
    for name, colour in named.items():
        parts.append(
            f'<rect x="{x:.0f}" y="{y - 9:.1f}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{x + 13:.0f}" y="{y:.1f}">{html.escape(name)}</text>'
        )
        x += 24 + _LETTER * len(name)
    return "".join(parts)


def _label(text: str, y: float) -> str:
    letters = int((_LEFT - 6) / _LETTER)
    shown = text if len(text) <= letters else f"{text[: letters - 1]}…"
    return f'<text x="0" y="{y:.1f}"><title>{html.escape(text)}</title>{html.escape(shown)}</text>'


def _area(counters: list[Counter], end_ps: int, top: float) -> str:
    """Counters of a group on top of each other, the largest value of each column."""
    columns = [_sampled(counter, end_ps) for counter in counters]
    most = max((sum(column) for column in zip(*columns, strict=True)), default=0.0) or 1.0
    floor = [0.0] * _COLUMNS
    shapes = []
    for counter, column in zip(counters, columns, strict=True):
        roof = [low + value for low, value in zip(floor, column, strict=True)]
        points = [*enumerate(roof), *reversed([*enumerate(floor)])]
        path = " ".join(
            f"{_LEFT + _WIDTH * (x + 0.5) / _COLUMNS:.0f},{top + _AREA * (1 - y / most):.1f}"
            for x, y in points
        )
        said = html.escape(f"{counter.name}, at most {_quantity(max(column), counter.unit)}")
        shapes.append(
            f'<polygon points="{path}" fill="{_AREAS.get(counter.name, _OTHER_AREA)}">'
            f"<title>{said}</title></polygon>"
        )
        floor = roof
    highest = _quantity(most, counters[0].unit)
    names = counters[0].group if len(counters) > 1 else counters[0].name
    return (
        _label(names, top + _ROW * 0.7)
        + _label(f"up to {highest}", top + _ROW * 1.4)
        + "".join(shapes)
    )


def _sampled(counter: Counter, end_ps: int) -> list[float]:
    """The largest value in each column."""
    result = [0.0] * _COLUMNS
    ends = [time for time, _ in counter.points[1:]] + [end_ps]
    for (begin, value), end in zip(counter.points, ends, strict=True):
        first = min(_COLUMNS - 1, begin * _COLUMNS // max(1, end_ps))
        last = min(_COLUMNS - 1, max(begin, end - 1) * _COLUMNS // max(1, end_ps))
        for column in range(first, last + 1):
            result[column] = max(result[column], value)
    return result


def _quantity(value: float, unit: str) -> str:
    if unit == "B":
        return amount(value)
    return rate(value) if unit == "B/s" else f"{value:,.3g} {unit}"
