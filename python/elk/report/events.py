"""What happened when: rows of slices, counters beside them, arrows between slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from elk.errors import InvalidInputError

Fact: TypeAlias = str | int | float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What one resource did for a while, in picoseconds from the start.

    Attributes:
        resource: `hbm`, `cores` (computing) or `links` (exchanging).
        kind: `preload`, `store`, or the part of an execute: `distribute`, `gather`, `compute`,
            `shift`, `reduce`.
        op: The op's id; -1 of a store.
        name: The op's name, or the stored tensor's.
        begin_ps: When it began.
        end_ps: When it ended.
    """

    resource: str
    kind: str
    op: int
    name: str
    begin_ps: int
    end_ps: int


@dataclass(frozen=True, kw_only=True)
class Events:
    """All that a timeline shows, checked: `Timeline` says what its fields are."""

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
                raise wrong(f"counter {counter.name!r} goes back in time")
        for flow in self.flows:
            self._check_flow(flow)

    def _check_flow(self, flow: Flow) -> None:
        if not all(0 <= end < len(self.slices) for end in (flow.source, flow.target)):
            raise wrong(
                f"an arrow joins slices {flow.source} and {flow.target} of {len(self.slices)}"
            )
        source, target = self.slices[flow.source], self.slices[flow.target]
        if target.begin_ps < source.begin_ps:
            raise wrong(f"an arrow leads back from {source.name!r} to {target.name!r}")

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


def _check_slice(one: Slice, tracks: int) -> None:
    if not 0 <= one.track < tracks:
        raise wrong(f"slice {one.name!r} is on row {one.track} of {tracks}")
    if not 0 <= one.begin_ps <= one.end_ps:
        raise wrong(f"slice {one.name!r} lasts from {one.begin_ps} to {one.end_ps} ps")


def _check_nesting(slices: list[Slice], track: str) -> None:
    """Slices by begin lie inside the one around them."""
    around: list[Slice] = []
    for one in slices:
        while around and around[-1].end_ps <= one.begin_ps:
            around.pop()
        if around and one.end_ps > around[-1].end_ps:
            raise wrong(f"{around[-1].name!r} and {one.name!r} overlap in part on row {track!r}")
        around.append(one)


def wrong(message: str) -> InvalidInputError:
    """The error of what no timeline can show."""
    return InvalidInputError(message, code="invalid_timeline")
