"""The timeline of a plan: what its file says about when, as rows, counters and arrows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, Protocol

from elk.chip import Chip
from elk.errors import InvalidInputError
from elk.explain import parts
from elk.plan_schema import OpRow, PlanDocument
from elk.plots import memory_by_role
from elk.timeline import Counter, Fact, Flow, Slice, Timeline, Track, core_names

SOURCES: Final = ("predicted", "simulated")
_HBM, _CORES, _LINKS = 0, 1, 2  # rows
_ROWS: Final = {"cores": _CORES, "links": _LINKS}
_PS: Final = 1e12


class Interval(Protocol):
    """What a resource did for a while within an execute: the intervals of a run are such."""

    @property
    def resource(self) -> str:
        """`cores` where it computed, `links` where it exchanged; others are left out."""

    @property
    def kind(self) -> str:
        """Such as `compute`, `gather` or `shift`."""

    @property
    def name(self) -> str:
        """The operator."""

    @property
    def begin_ps(self) -> int:
        """When it began, in picoseconds."""

    @property
    def end_ps(self) -> int:
        """When it ended."""


def plan_timeline(
    document: PlanDocument,
    source: str,
    intervals: Iterable[Interval] = (),
    counters: Iterable[Counter] = (),
) -> Timeline:
    """When every preload, execute and store of a plan happens.

    Args:
        document: The plan, with the times of `source`.
        source: `predicted` or `simulated`.
        intervals: Parts of executes: computations are drawn inside them, exchanges on a row of
            their own.
        counters: Quantities to show beside those of SRAM and HBM.

    Raises:
        InvalidInputError: the plan was not simulated.
    """
    spans = _Spans(document, source)
    chip = Chip.from_dict(document["chip"])
    tracks: tuple[Track, ...] = (
        Track(name="HBM", group="memory"),
        Track(name=core_names(range(chip.total_cores)), group="cores"),
    )
    slices: list[Slice] = []
    flows: list[Flow] = []
    end_ps = 0
    for row in document["ops"]:
        preload, execute = spans.preload(row["id"]), spans.execute(row["id"])
        arrives = len(slices)
        if preload is not None:
            slices.append(_slice(_HBM, row["name"], "preload", preload, _preload_facts(row)))
        if execute[0] > end_ps:
            name = "waits for HBM" if preload is not None else "waits"
            slices.append(_slice(_CORES, name, "wait", (end_ps, execute[0]), {"for": row["name"]}))
        slices.append(_slice(_CORES, row["name"], row["kind"], execute, _execute_facts(row)))
        if preload is not None:
            flows.append(Flow(source=arrives, target=len(slices) - 1))
        end_ps = max(end_ps, execute[1])
    slices.extend(_slice(_HBM, name, "store", span, {}) for name, span in spans.stores())
    parts_of = [_part(one) for one in intervals if one.resource in _ROWS]
    if any(one.track == _LINKS for one in parts_of):
        tracks = (*tracks, Track(name=f"links of {tracks[_CORES].name}", group="cores"))
    slices.extend(parts_of)
    if chip.hbm is None:
        tracks = tracks[1:]
        slices = [replace(one, track=one.track - 1) for one in slices]
    return Timeline(
        name=f"{document['model']['name']} on {chip.name}, {document['policy']}, {source}",
        tracks=tracks,
        slices=tuple(slices),
        counters=(*_memory(document, spans), *_reads(document, spans), *counters),
        flows=tuple(flows),
    )


class _Spans:
    """The times of a plan in picoseconds: a forecast is in seconds, a simulation is not."""

    def __init__(self, document: PlanDocument, source: str) -> None:
        times: Any = document[source]  # type: ignore[literal-required]
        if times is None:
            raise InvalidInputError(
                f"the plan of {document['model']['name']!r} was not simulated",
                code="not_simulated",
                remedy='run plan.simulate() first, or take the forecast: of="predicted"',
            )
        self._unit = _PS if source == "predicted" else 1.0
        self._ops = {row["id"]: row for row in times["ops"]}
        self._stores = times["stores"]

    def preload(self, op: int) -> tuple[int, int] | None:
        span = self._ops[op].get("preload")
        return None if span is None else self._ps(span)

    def execute(self, op: int) -> tuple[int, int]:
        return self._ps(self._ops[op]["execute"])

    def stores(self) -> list[tuple[str, tuple[int, int]]]:
        return [(row["tensor"], self._ps(row["store"])) for row in self._stores]

    def _ps(self, span: list[float]) -> tuple[int, int]:
        return round(span[0] * self._unit), round(span[1] * self._unit)


def _slice(
    track: int, name: str, category: str, span: tuple[int, int], facts: dict[str, Fact]
) -> Slice:
    return Slice(
        track=track,
        name=name,
        category=category,
        begin_ps=span[0],
        end_ps=span[1],
        facts=facts,
    )


def _part(one: Interval) -> Slice:
    span = (one.begin_ps, one.end_ps)
    return _slice(_ROWS[one.resource], one.kind, one.kind, span, {"of": one.name})


def _preload_facts(row: OpRow) -> dict[str, Fact]:
    preload = row["preload"]
    if preload is None:
        return {}
    return {
        "hbm_bytes": preload["hbm_bytes"],
        "core_bytes": preload["space_bytes"],
        "divisors": ", ".join(f"{name} 1/{d}" for name, d in preload["divisor"].items()),
    }


def _execute_facts(row: OpRow) -> dict[str, Fact]:
    execute, alone = row["execute"], parts(row)
    return {
        "cut": " ".join(f"{axis}/{f}" for axis, f in execute["factors"].items() if f > 1),
        "cores": execute["cores"],
        "steps": execute["steps"],
        "space_bytes": execute["space_bytes"],
        "compute_alone_s": alone["compute"],
        "exchange_alone_s": alone["link"],
    }


def _memory(document: PlanDocument, spans: _Spans) -> list[Counter]:
    """SRAM of one core by kind of buffer: constant from the end of one execute to the next."""
    executes = [i for i, (opcode, _) in enumerate(document["program"]) if opcode == "execute"]
    order = [document["program"][i][1] for i in executes]
    begins = [0, *(spans.execute(op)[1] for op in order[:-1])]
    counters = []
    for role, held in memory_by_role(document).items():
        if held.any():
            points = _changes(begins, [int(held[i]) for i in executes])
            counters.append(
                Counter(name=f"SRAM: {role}", group="SRAM of one core", unit="B", points=points)
            )
    return counters


def _reads(document: PlanDocument, spans: _Spans) -> list[Counter]:
    """The rate at which preloads take bytes from HBM."""
    points: dict[int, float] = {}
    for row in document["ops"]:
        span = spans.preload(row["id"])
        if span is None or row["preload"] is None or span[1] == span[0]:
            continue
        points[span[0]] = row["preload"]["hbm_bytes"] / (span[1] - span[0]) * _PS
        points.setdefault(span[1], 0.0)
    if not points:
        return []
    times = sorted(points)
    changes = _changes(times, [points[time] for time in times])
    return [Counter(name="HBM reads", group="memory", unit="B/s", points=changes)]


def _changes(times: list[int], values: list[float]) -> tuple[tuple[int, float], ...]:
    """The points at which the value is another than before, the last one always."""
    pairs = list(zip(times, values, strict=True))
    kept = [after for before, after in pairwise([(0, None), *pairs]) if before[1] != after[1]]
    return tuple(kept)  # type: ignore[arg-type]
