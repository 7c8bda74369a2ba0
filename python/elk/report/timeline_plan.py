"""The timeline of a plan: what its file says about when, as rows, counters and arrows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from elk.chip.chip import Chip
from elk.document.schema import OpRow, PlanDocument
from elk.errors import InvalidInputError
from elk.report.events import Counter, Fact, Flow, Interval, Slice, Track
from elk.report.explain import parts
from elk.report.sram import memory_by_role
from elk.report.timeline import Timeline, core_names

SOURCES: Final = ("predicted", "simulated")
_HBM, _CORES = 0, 1  # rows: of the HBM, and the first of cores
_PS: Final = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreRow:
    """A row of cores that take part in the same executes.

    Attributes:
        name: Which cores.
        ops: The ids of the operators; None for all.
    """

    name: str
    ops: frozenset[int] | None = None


def core_rows(
    cores: Sequence[Sequence[int]], executions: Sequence[int], count: int, suffix: str = ""
) -> list[CoreRow]:
    """Cores in rows, those that take part in the same executes in one, by their first core.

    Args:
        cores: The cores of each kind of execute; none for one that only exchanges, as all do.
        executions: The kind of each operator's execute.
        count: How many cores there are.
        suffix: What follows the ids in names.

    Example:
        >>> rows = core_rows([[0, 1, 2], [0]], [0, 1], 4)
        >>> [(row.name, sorted(row.ops)) for row in rows]
        [('core 0', [0, 1]), ('cores 1-2', [0]), ('core 3', [])]
    """
    member = np.zeros((len(cores), count), dtype=bool)
    for kind, ids in enumerate(cores):
        member[kind, list(ids) or slice(None)] = True
    _, first, group = np.unique(member, axis=1, return_index=True, return_inverse=True)
    rows = []
    for number in np.argsort(first):
        kinds = set(np.flatnonzero(member[:, first[number]]).tolist())
        ops = frozenset(op for op, kind in enumerate(executions) if kind in kinds)
        ids = np.flatnonzero(group.ravel() == number).tolist()
        rows.append(CoreRow(name=core_names(ids) + suffix, ops=ops))
    return rows


def plan_timeline(
    document: PlanDocument,
    source: str,
    intervals: Iterable[Interval] = (),
    counters: Iterable[Counter] = (),
    rows: Sequence[CoreRow] = (),
) -> Timeline:
    """When every preload, execute and store of a plan happens.

    Args:
        document: The plan, with the times of `source`.
        source: `predicted` or `simulated`.
        intervals: Parts of executes: computations are drawn inside them, exchanges on a row of
            their own.
        counters: Quantities to show beside those of SRAM and HBM.
        rows: The rows of cores; one for all of them without.

    Raises:
        InvalidInputError: the plan was not simulated.
    """
    spans = _Spans(document, source)
    chip = Chip.from_dict(document["chip"])
    everyone = core_names(range(chip.total_cores))
    rows = rows or [CoreRow(name=everyone)]
    tracks = [Track(name="HBM", group="memory")]
    tracks += [Track(name=row.name, group="cores") for row in rows]
    slices: list[Slice] = []
    flows: list[Flow] = []
    end_ps = 0
    for op in document["ops"]:
        preload, execute = spans.preload(op["id"]), spans.execute(op["id"])
        arrives = len(slices)
        if preload is not None:
            slices.append(_slice(_HBM, op["name"], "preload", preload, _preload_facts(op)))
        work = [_slice(_CORES, op["name"], op["kind"], execute, _execute_facts(op))]
        if execute[0] > end_ps:
            name = "waits for HBM" if preload is not None else "waits"
            work.append(_slice(_CORES, name, "wait", (end_ps, execute[0]), {"for": op["name"]}))
        if preload is not None:
            flows.append(Flow(source=arrives, target=len(slices)))
        slices.extend(_on_rows(work, rows, op["id"]))
        end_ps = max(end_ps, execute[1])
    slices.extend(_slice(_HBM, name, "store", span, {}) for name, span in spans.stores())
    links = len(tracks)
    for one in intervals:
        if one.resource == "cores":
            slices.extend(_on_rows([_part(one, _CORES)], rows, one.op))
        elif one.resource == "links":
            slices.append(_part(one, links))
    if any(one.track == links for one in slices):
        tracks.append(Track(name=f"links of {everyone}", group="cores"))
    if chip.hbm is None:
        tracks = tracks[1:]
        slices = [replace(one, track=one.track - 1) for one in slices]
    return Timeline(
        name=f"{document['model']['name']} on {chip.name}, {document['policy']}, {source}",
        tracks=tuple(tracks),
        slices=tuple(slices),
        counters=(*_memory(document, spans), *_reads(document, spans), *counters),
        flows=tuple(flows),
    )


def _on_rows(slices: list[Slice], rows: Sequence[CoreRow], op: int) -> Iterator[Slice]:
    """Slices of the first row of cores, on each row that takes part in an operator."""
    for number, row in enumerate(rows):
        if row.ops is None or op in row.ops:
            yield from (replace(one, track=_CORES + number) for one in slices)


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


def _part(one: Interval, track: int) -> Slice:
    span = (one.begin_ps, one.end_ps)
    return _slice(track, one.kind, one.kind, span, {"of": one.name})


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
