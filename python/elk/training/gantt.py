"""The Gantt chart of a training step: a row a stage, memory beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from elk.report.events import Counter, Slice, Track
from elk.report.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

# In the order of the core's `RowKind`.
KINDS: Final = ("forward", "backward", "update", "send activations", "send gradients")
"""What rows of a run are."""
_LETTERS: Final = {"forward": "F", "backward": "B"}
_SENDS: Final = KINDS[3:]


def timeline_of(
    name: str, rows: Sequence[Mapping[str, Any]], memory: Sequence[Mapping[str, NDArray[np.int64]]]
) -> Timeline:
    """The timeline of `rows`: each stage has a row for passes and one for what it hands over.

    Beside them the memory of a device of each stage: they are different devices, so that nothing is
    added up.
    """
    tracks: list[Track] = []
    places = {}
    for stage in range(len(memory)):
        for what in ("passes", "hand-overs"):
            places[stage, what] = len(tracks)
            tracks.append(Track(name=f"stage {stage} {what}", group="stages"))
    slices = tuple(
        Slice(
            track=places[row["stage"], "hand-overs" if row["kind"] in _SENDS else "passes"],
            name=_title(row),
            category=row["kind"],
            begin_ps=row["begin_ps"],
            end_ps=row["end_ps"],
            facts={"micro_batch": row["micro"], "chunk": row["chunk"]},
        )
        for row in rows
        if row["end_ps"] > row["begin_ps"]
    )
    counters = tuple(
        Counter(
            name=f"memory of stage {stage}",
            group=f"memory of stage {stage}",
            unit="B",
            points=_last_of_each_time(columns),
        )
        for stage, columns in enumerate(memory)
    )
    return Timeline(name=name, tracks=tuple(tracks), slices=slices, counters=counters)


def _title(row: Mapping[str, Any]) -> str:
    if row["kind"] == "update":
        return "update"
    letter = _LETTERS.get(row["kind"], row["kind"])
    chunk = f" of chunk {row['chunk']}" if row["chunk"] > 0 else ""
    return f"{letter} {row['micro']}{chunk}"


def _last_of_each_time(columns: Mapping[str, NDArray[np.int64]]) -> tuple[tuple[int, float], ...]:
    points = dict(zip(columns["time_ps"].tolist(), columns["total"].tolist(), strict=True))
    return tuple((time, float(size)) for time, size in points.items())
