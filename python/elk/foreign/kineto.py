"""Traces of PyTorch's profiler (Kineto): what one device of a training run spent its time on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Context, localcontext
from heapq import heappop, heappush
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from elk.base.readable import duration, share
from elk.foreign.bus_bandwidth import CollectiveFacts, bandwidths, speeds
from elk.foreign.kineto_file import COMMUNICATION, COMPUTE, KINDS, MEMORY, TraceId, read_file
from elk.limits import DEFAULT, Limits
from elk.report.card import html_row
from elk.report.colours import COLLECTIVE
from elk.report.events import Slice, Track
from elk.report.timeline import Timeline

_COLUMNS: Final = np.dtype(
    [("begin_ps", "i8"), ("end_ps", "i8"), ("kind", "U13")]
    + [(key, "O") for key in ("stream", "name", "facts")]
)
_EXACT: Final = Context(prec=64, traps=[])  # Picoseconds of any time; what is no number is NaN.
_PS: Final = 1e12
_NAME: Final = 120  # letters of a name that are shown


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KinetoTrace:
    """What the device of one rank did while PyTorch's profiler watched.

    Times are picoseconds, exact to the last digit of the file, and counted from the begin of the
    first device event. Each is the length of a union of intervals over all streams: what runs
    twice at a time counts once. Kernels with `nccl` or `rccl` in their names communicate, all
    others compute; copies and fills are memory.

    Attributes:
        name: The name of the file.
        rank: The number of the rank; None where the file does not say.
        world_size: How many ranks there were; None where the file does not say.
        device: The device that all events are on.
        device_name: What it is; None where the file does not say.
        events: The device events in the order of the file: `begin_ps`, `end_ps`, `kind`
            (`compute`, `communication` or `memory`), `stream`, `name`, and `facts` of a collective.
        span_ps: From the begin of the first device event to the end of the last.
        busy_ps: How long at least one device event ran.
        idle_ps: How long none ran, within the span.
        compute_ps: How long a kernel ran that does not communicate.
        communication_ps: How long a kernel of a collective ran, its wait for other ranks included.
        memory_ps: How long a copy or a fill ran.
        other_ps: How long the device was busy, but computed nothing.
        overlap: The share of the time of communication while something was computed, from 0 to 1;
            None where nothing communicates.

    Example:
        >>> trace = KinetoTrace.read("tests/data/traces/nccl_data.json.gz")
        >>> trace
        KinetoTrace('nccl_data.json.gz': 3,774 device events, 660.551 ms, 23.8 % busy)
        >>> trace.idle_ps + trace.compute_ps + trace.other_ps == trace.span_ps
        True
    """

    name: str
    rank: int | None
    world_size: int | None
    device: TraceId
    device_name: str | None
    events: np.recarray[Any, Any]
    span_ps: int
    busy_ps: int
    idle_ps: int
    compute_ps: int
    communication_ps: int
    memory_ps: int
    other_ps: int
    overlap: float | None

    @staticmethod
    def read(path: str | PathLike[str], limits: Limits | None = None) -> KinetoTrace:
        """Reads the trace of one rank.

        Args:
            path: What `prof.export_chrome_trace` wrote: `.json` or `.json.gz`, or the older list
                of events without a table around it.
            limits: `plan_bytes` bounds the bytes of the file, unpacked.

        Raises:
            TraceFileError: the file is no whole trace, is larger than the limit, or has no device
                events, or those of several devices.
        """
        source = Path(fspath(path))
        with localcontext(_EXACT):
            file, rows = read_file(source, limits or DEFAULT)
            first = min(row.ts for row in rows)
            begins = [round((row.ts - first) * 10**6) for row in rows]
            ends = [round((row.ts + row.dur - first) * 10**6) for row in rows]
        facts = ((row.kind, row.stream, row.name, row.facts or CollectiveFacts()) for row in rows)
        columns = [(*times, *more) for *times, more in zip(begins, ends, facts, strict=True)]
        events = np.array(columns, _COLUMNS).view(np.recarray)

        def ran(*kinds: str) -> int:
            return _union_ps(events[np.isin(events.kind, kinds)])

        span, busy, compute = int(events.end_ps.max()), ran(*KINDS), ran(COMPUTE)
        communication, either = ran(COMMUNICATION), ran(COMPUTE, COMMUNICATION)
        both = compute + communication - either
        return KinetoTrace(
            name=source.name,
            rank=file.rank,
            world_size=file.size,
            device=rows[0].device,
            device_name=next((x.name for x in file.devices if x.id == rows[0].device), None),
            events=events,
            span_ps=span,
            busy_ps=busy,
            idle_ps=span - busy,
            compute_ps=compute,
            communication_ps=communication,
            memory_ps=ran(MEMORY),
            other_ps=busy - compute,
            overlap=both / communication if communication else None,
        )

    def units(self) -> list[dict[str, Any]]:
        """A row for each stream: device, stream, how many events, and picoseconds as above.

        Example:
            >>> [(row["stream"], row["events"]) for row in trace.units()]
            [(7, 3753), (40, 21)]
        """
        rows = []
        for stream, mine in _by_stream(self.events).items():
            row = {"device": self.device, "stream": stream, "events": len(mine)}
            parts = {f"{kind}_ps": _union_ps(mine[mine["kind"] == kind]) for kind in KINDS}
            rows.append({**row, "busy_ps": _union_ps(mine), **parts})
        return rows

    def collectives(self) -> list[dict[str, Any]]:
        """A row for each kernel that communicates, in the order of the file.

        `collective` is the file's name for what it did, `kind` the rule of nccl-tests that holds
        for it, `size_bytes` the larger of the messages in and out, `time_ps` how long the kernel
        ran. The bandwidth of the algorithm is size over time; that of the bus is comparable with
        the links' own. What the file does not say, or what no rule tells, is None: so it is where
        several kernels belong to one collective, and for the bus of an uneven all-to-all.

        Example:
            >>> row = trace.collectives()[0]
            >>> row["kind"], row["group"], row["size_bytes"]
            ('all_reduce', 2, 26550272)
        """
        events = self.events[self.events.kind == COMMUNICATION]
        sharing, rows = Counter(facts.op for facts in events["facts"]), []
        for begin, end, _, stream, name, facts in events.tolist():
            row = {"name": name, "stream": stream, "begin_ps": begin, "time_ps": end - begin}
            alone = facts.op is None or sharing[facts.op] == 1
            speed = bandwidths(facts if alone else CollectiveFacts(), end - begin)
            rows.append({**row, "collective": facts.name, **speed})
        return rows

    def timeline(self) -> Timeline:
        """When every kernel, copy and fill ran, a row a stream, and more where events overlap."""
        rows: dict[tuple[TraceId, int], int] = {}
        slices = []
        for stream, mine in _by_stream(self.events).items():
            busy: list[tuple[int, int]] = []  # rows of the stream by when they are free again
            free: list[int] = []
            for begin, end, kind, _, name, _ in mine.tolist():
                while busy and busy[0][0] <= begin:
                    heappush(free, heappop(busy)[1])
                row = heappop(free) if free else len(busy)
                heappush(busy, (end, row))
                slices.append(
                    Slice(
                        track=rows.setdefault((stream, row), len(rows)),
                        name=name[:_NAME],
                        category=COLLECTIVE if kind == COMMUNICATION else kind,
                        begin_ps=begin,
                        end_ps=end,
                    )
                )
        names = (f"stream {stream}{f' ({row + 1})' if row else ''}"[:_NAME] for stream, row in rows)
        tracks = tuple(Track(name=name, group=f"device {self.device}"[:_NAME]) for name in names)
        return Timeline(name=self.name[:_NAME], tracks=tracks, slices=tuple(slices))

    def summary(self) -> str:
        """The card as text: what the device spent its time on, and how fast collectives were."""
        return "\n".join(f"{label:<15}{value}" for label, value in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        parts = {"idle": self.idle_ps, "compute": self.compute_ps, "other": self.other_ps}
        hidden = "" if self.overlap is None else f", {100 * self.overlap:.2f} % beside compute"
        of = f" of {self.world_size:,}" if self.world_size is not None else ""
        rank = f", rank {self.rank:,}{of}" if self.rank is not None else ""
        device = f", {self.device_name[:_NAME]}" if self.device_name else ""
        events = f"{len(self.events):,} device events on {len(_by_stream(self.events)):,} streams"
        return [
            ("trace", f"{self.name[:_NAME]}{rank}{device}"),
            ("span", f"{duration(self.span_ps / _PS)}, {events}"),
            *((key, f"{duration(x / _PS)}, {share(x, self.span_ps)}") for key, x in parts.items()),
            ("communication", f"{duration(self.communication_ps / _PS)}{hidden}"),
            ("memory", duration(self.memory_ps / _PS)),
            *speeds(self.collectives()),
        ]

    def _repr_html_(self) -> str:
        return f"<table>{''.join(map(html_row, self._rows()))}</table>"

    def __repr__(self) -> str:
        return (
            f"KinetoTrace({self.name[:_NAME]!r}: {len(self.events):,} device events, "
            f"{duration(self.span_ps / _PS)}, {share(self.busy_ps, self.span_ps)} busy)"
        )


def _union_ps(events: NDArray[np.void]) -> int:
    """How long at least one of the events ran: the time that they span, less the gaps."""
    if not len(events):
        return 0
    order = np.argsort(events["begin_ps"], kind="stable")
    begin, reach = events["begin_ps"][order], np.maximum.accumulate(events["end_ps"][order])
    return int(reach[-1] - begin[0] - np.maximum(begin[1:] - reach[:-1], 0).sum())


def _by_stream(events: NDArray[np.void]) -> dict[TraceId, NDArray[np.void]]:
    """The events of each stream by begin; numbers of streams before names."""
    found: dict[TraceId, list[int]] = {}
    for i in np.argsort(events["begin_ps"], kind="stable").tolist():
        found.setdefault(events["stream"][i], []).append(i)
    order = sorted(found, key=lambda stream: (isinstance(stream, str), stream))
    return {stream: events[found[stream]] for stream in order}
