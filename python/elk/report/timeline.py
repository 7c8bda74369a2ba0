"""What happened when: rows of slices, counters beside them, arrows between slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Final, TypeAlias

from elk.errors import InvalidInputError

Fact: TypeAlias = str | int | float

_SUFFIXES: Final = {
    ".pftrace": "perfetto",
    ".perfetto-trace": "perfetto",
    ".json": "chrome",
    ".html": "page",
}
_MOST_RANGES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One row: a resource, or several that do the same.

    Attributes:
        name: What the row stands for, such as `cores 0-1471`.
        group: Rows of one group stand together under this name.
    """

    name: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Something that took time on one row.

    Attributes:
        track: The row, as a position in `Timeline.tracks`.
        name: What it was.
        category: Its kind, such as `preload` or `execute`; kinds have colours.
        begin_ps: When it began, in picoseconds.
        end_ps: When it ended; slices of a row lie inside each other, or apart.
        facts: What else is known, each under a name that ends in its unit.
    """

    track: int
    name: str
    category: str
    begin_ps: int
    end_ps: int
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A quantity over time.

    Attributes:
        name: What is counted.
        group: Counters of one group stand together, and are drawn on top of each other.
        unit: `B`, `B/s`, or another word.
        points: Pairs of picoseconds and the value from then on, in the order of time.
    """

    name: str
    group: str
    unit: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """An arrow: what `target` waited for. Both are positions in `Timeline.slices`."""

    source: int
    target: int


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """What happened when, in picoseconds. Show it in a notebook, or save it for Perfetto.

    Attributes:
        name: Of what.
        tracks: The rows, from top to bottom.
        slices: What the rows show.
        counters: Quantities over time.
        flows: Arrows from slice to slice.

    Raises:
        InvalidInputError: a slice is on no row, ends before it begins or overlaps another one of
            its row in part; a counter goes back in time; an arrow points to what began earlier.

    Example:
        >>> row = Track(name="HBM", group="memory")
        >>> read = Slice(track=0, name="w", category="preload", begin_ps=0, end_ps=10)
        >>> Timeline(name="one", tracks=(row,), slices=(read,)).end_ps
        10
    """

    name: str
    tracks: tuple[Track, ...]
    slices: tuple[Slice, ...]
    counters: tuple[Counter, ...] = ()
    flows: tuple[Flow, ...] = ()

    def __post_init__(self) -> None:
        for one in self.slices:
            _check_slice(one, len(self.tracks))
        for track in range(len(self.tracks)):
            _check_nesting([self.slices[i] for i in self.order(track)], self.tracks[track].name)
        for counter in self.counters:
            if any(after[0] < before[0] for before, after in pairwise(counter.points)):
                raise _wrong(f"counter {counter.name!r} goes back in time")
        for flow in self.flows:
            self._check_flow(flow)

    def _check_flow(self, flow: Flow) -> None:
        if not all(0 <= end < len(self.slices) for end in (flow.source, flow.target)):
            raise _wrong(
                f"an arrow joins slices {flow.source} and {flow.target} of {len(self.slices)}"
            )
        source, target = self.slices[flow.source], self.slices[flow.target]
        if target.begin_ps < source.begin_ps:
            raise _wrong(f"an arrow leads back from {source.name!r} to {target.name!r}")

    @property
    def end_ps(self) -> int:
        """When the last slice ends."""
        return max((one.end_ps for one in self.slices), default=0)

    def order(self, track: int) -> list[int]:
        """The slices of a row as positions, by begin, those around others first."""
        return self._orders[track]

    @cached_property
    def _orders(self) -> list[list[int]]:
        orders: list[list[int]] = [[] for _ in self.tracks]
        for i, one in enumerate(self.slices):
            orders[one.track].append(i)
        for order in orders:
            order.sort(key=lambda i: (self.slices[i].begin_ps, -self.slices[i].end_ps, i))
        return orders

    def window(self, begin_ps: int, end_ps: int) -> Timeline:
        """What happens between two times, counted from the first; slices are cut at both.

        Raises:
            InvalidInputError: the window ends before it begins.

        Example:
            >>> first_half = timeline.window(0, timeline.end_ps // 2)
        """
        if not 0 <= begin_ps < end_ps:
            raise _wrong(f"a window lasts from {begin_ps} to {end_ps} ps")
        kept = [
            i
            for i, one in enumerate(self.slices)
            if one.begin_ps < end_ps and one.end_ps > begin_ps
        ]
        place = {old: new for new, old in enumerate(kept)}
        return Timeline(
            name=self.name,
            tracks=self.tracks,
            slices=tuple(_cut(self.slices[i], begin_ps, end_ps) for i in kept),
            counters=tuple(_cut_counter(one, begin_ps, end_ps) for one in self.counters),
            flows=tuple(
                Flow(source=place[flow.source], target=place[flow.target])
                for flow in self.flows
                if flow.source in place and flow.target in place
            ),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a trace that ui.perfetto.dev and Chrome's tracing page open, or a page.

        Args:
            path: `.pftrace` for Perfetto's own format, whose times are whole nanoseconds, rounded
                down; `.json` for Chrome's, which keeps picoseconds; `.html` for the drawing of
                notebooks, for any browser.

        Raises:
            InvalidInputError: the file has another suffix.
            OutputFileError: the file cannot be written.
        """
        from elk.base import atomic_file  # noqa: PLC0415 - saving alone needs it
        from elk.report.perfetto import chrome_json, perfetto_bytes  # noqa: PLC0415 - saving alone needs it
        from elk.report.timeline_page import document  # noqa: PLC0415

        target = Path(fspath(path))
        kind = _SUFFIXES.get(target.suffix)
        if kind is None:
            raise InvalidInputError(
                f"a trace is no {target.suffix or 'file without a suffix'}: {target}",
                code="trace_format",
                remedy=f"end it in one of {', '.join(_SUFFIXES)}",
            )
        write = {
            "perfetto": lambda: perfetto_bytes(self),
            "chrome": lambda: chrome_json(self).encode(),
            "page": lambda: document(self).encode(),
        }
        atomic_file.write_bytes(target, write[kind](), "the trace")

    def __repr__(self) -> str:
        return (
            f"Timeline({self.name!r}: {len(self.tracks):,} rows, {len(self.slices):,} slices, "
            f"{self.end_ps / 1e9:,.3f} ms)"
        )

    def _repr_html_(self) -> str:
        from elk.report.timeline_page import page  # noqa: PLC0415 - notebooks alone need it

        return page(self)


def folded_cores(
    rows: Mapping[int, Sequence[Slice]],
    *,
    group: str = "cores",
    first_track: int = 0,
    fold: bool = True,
) -> tuple[tuple[Track, ...], tuple[Slice, ...]]:
    """Rows of cores, those that do the same at the same times as one.

    Args:
        rows: The slices of each core by its id; their `track` is ignored.
        group: The group of the rows.
        first_track: The position of the first of these rows in the timeline.
        fold: False for a row a core.

    Example:
        >>> work = Slice(track=0, name="op", category="execute", begin_ps=0, end_ps=5)
        >>> tracks, slices = folded_cores({0: [work], 1: [work], 2: []})
        >>> [track.name for track in tracks], len(slices)
        (['cores 0-1', 'core 2'], 1)
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for core in sorted(rows):
        key: tuple[object, ...] = (core,)
        if fold:
            key = tuple(
                (one.name, one.category, one.begin_ps, one.end_ps, tuple(one.facts.items()))
                for one in rows[core]
            )
        alike.setdefault(key, []).append(core)
    tracks: list[Track] = []
    slices: list[Slice] = []
    for position, cores in enumerate(alike.values(), start=first_track):
        tracks.append(Track(name=core_names(cores), group=group))
        slices.extend(replace(one, track=position) for one in rows[cores[0]])
    return tuple(tracks), tuple(slices)


def core_names(cores: Sequence[int]) -> str:
    """Ascending core ids in ranges.

    Example:
        >>> core_names([0, 1, 2, 5])
        'cores 0-2, 5'
    """
    ranges: list[list[int]] = []
    for core in cores:
        if ranges and core == ranges[-1][1] + 1:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in ranges[:_MOST_RANGES]]
    more = f" ... {cores[-1]} ({len(cores):,})" if len(ranges) > _MOST_RANGES else ""
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(words)}{more}"


def _cut(one: Slice, begin_ps: int, end_ps: int) -> Slice:
    return replace(
        one,
        begin_ps=max(one.begin_ps, begin_ps) - begin_ps,
        end_ps=min(one.end_ps, end_ps) - begin_ps,
    )


def _cut_counter(one: Counter, begin_ps: int, end_ps: int) -> Counter:
    before = [(0, value) for time, value in one.points if time <= begin_ps]
    inside = [(time - begin_ps, value) for time, value in one.points if begin_ps < time < end_ps]
    return replace(one, points=(*before[-1:], *inside))


def _check_slice(one: Slice, tracks: int) -> None:
    if not 0 <= one.track < tracks:
        raise _wrong(f"slice {one.name!r} is on row {one.track} of {tracks}")
    if not 0 <= one.begin_ps <= one.end_ps:
        raise _wrong(f"slice {one.name!r} lasts from {one.begin_ps} to {one.end_ps} ps")


def _check_nesting(slices: list[Slice], track: str) -> None:
    """Slices by begin lie inside the one around them."""
    around: list[Slice] = []
    for one in slices:
        while around and around[-1].end_ps <= one.begin_ps:
            around.pop()
        if around and one.end_ps > around[-1].end_ps:
            raise _wrong(f"{around[-1].name!r} and {one.name!r} overlap in part on row {track!r}")
        around.append(one)


def _wrong(message: str) -> InvalidInputError:
    return InvalidInputError(message, code="invalid_timeline")
