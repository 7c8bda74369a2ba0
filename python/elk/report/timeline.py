"""Timelines: what happened when, shown, cut and saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from elk.base import atomic_file
from elk.errors import InvalidInputError
from elk.report.events import Counter, Events, Flow, Slice, wrong
from elk.report.perfetto import chrome_json, perfetto_bytes
from elk.report.timeline_page import document, page

_SUFFIXES: Final = {
    ".pftrace": "perfetto",
    ".perfetto-trace": "perfetto",
    ".json": "chrome",
    ".html": "page",
}
_MOST_RANGES: Final = 4


@dataclass(frozen=True, kw_only=True)
class Timeline(Events):
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

    def window(self, begin_ps: int, end_ps: int) -> Timeline:
        """What happens between two times, counted from the first; slices are cut at both.

        Raises:
            InvalidInputError: the window ends before it begins.

        Example:
            >>> first_half = timeline.window(0, timeline.end_ps // 2)
        """
        if not 0 <= begin_ps < end_ps:
            raise wrong(f"a window lasts from {begin_ps} to {end_ps} ps")
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
        return page(self)


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
