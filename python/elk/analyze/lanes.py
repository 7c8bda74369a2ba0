"""The timeline of a trace: transfers in lanes, what the instructions did, and stalls."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final

from elk.report.events import Slice, Track
from elk.report.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.analyze.columns import Columns

_MOST_LANES: Final = 64


def trace_timeline(
    name: str, transfers: Columns, work: Sequence[tuple[str, str, int, int]]
) -> Timeline:
    """The timeline of a trace.

    A transfer lies in the first lane that is free when it is issued: its whole life, and inside it
    how it queued, waited for its first byte and moved. Those beyond the last lane are left out.
    """
    tracks: list[Track] = []
    places: dict[str, int] = {}
    slices = []
    for row, title, begin, end in work:
        if row not in places:
            places[row] = len(tracks)
            tracks.append(Track(name=row, group="instructions"))
        if end > begin:
            slices.append(_slice(places[row], title, "execute", begin, end))
    places["stalls"] = len(tracks)
    tracks.append(Track(name="stalls", group="instructions"))
    rows = transfers.rows()
    for transfer in sorted(rows, key=lambda one: (one["reached_ps"], one["instruction"])):
        if transfer["stall_ps"] > 0:
            title = f"waits for {transfer['name']}"
            begin, end = transfer["reached_ps"], transfer["end_ps"]
            slices.append(_slice(places["stalls"], title, "wait", begin, end))
    first = len(tracks)
    for lane, transfer in _in_lanes(rows):
        while len(tracks) <= first + lane:
            tracks.append(Track(name=f"transfers {len(tracks) - first}", group="transfers"))
        slices.extend(_life(first + lane, transfer))
    return Timeline(name=name, tracks=tuple(tracks), slices=tuple(slices))


def _in_lanes(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The transfers, each with a lane in which nothing else lies meanwhile."""
    free: list[int] = list(range(_MOST_LANES))
    taken: list[tuple[int, int]] = []
    found = []
    for row in sorted(rows, key=lambda one: (one["issued_ps"], one["instruction"])):
        while taken and taken[0][0] <= row["issued_ps"]:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free and row["end_ps"] > row["issued_ps"]:
            lane = heapq.heappop(free)
            heapq.heappush(taken, (row["end_ps"], lane))
            found.append((lane, row))
    return found


def _life(track: int, row: dict[str, Any]) -> list[Slice]:
    facts = {name: row[name] for name in ("bytes", "stall_ps", "slack_ps", "contention_ps")}
    whole = Slice(
        track=track,
        name=f"{row['kind']} {row['name']}",
        category=row["kind"],
        begin_ps=row["issued_ps"],
        end_ps=row["end_ps"],
        facts=facts,
    )
    moves = (row["first_ps"], row["end_ps"])
    before = (row["issued_ps"], row["first_ps"])
    parts = [("waits", "wait", *before), ("moves", row["kind"], *moves)]
    return [whole, *(_slice(track, *part) for part in parts if part[3] > part[2])]


def _slice(track: int, name: str, category: str, begin_ps: int, end_ps: int) -> Slice:
    return Slice(track=track, name=name, category=category, begin_ps=begin_ps, end_ps=end_ps)
