"""Timelines as traces: Perfetto's protocol buffers, and Chrome's JSON.

Field numbers are those of `protos/perfetto/trace` in the Perfetto repository; the wire format is
that of Protocol Buffers: a key `(number << 3) | type`, then a varint, eight bytes, or a length and
bytes.
"""

from __future__ import annotations

import heapq
import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from elk.report.events import Events, Fact

_SEQUENCE: Final = 1
_STATE_CLEARED, _NEEDS_STATE = 1, 2  # TracePacket.SequenceFlags
_BEGIN, _END, _COUNTER = 1, 2, 4  # TrackEvent.Type
_EXPLICIT_ORDER: Final = 3  # TrackDescriptor.ChildTracksOrdering
_BYTES: Final = 3  # CounterDescriptor.Unit
_PS_PER_NS: Final = 1000
_PS_PER_US: Final = 1e6


class Message:
    """A protocol buffer message under construction."""

    def __init__(self) -> None:
        self._data = bytearray()

    def uint(self, number: int, value: int) -> Message:
        """Appends a non-negative integer."""
        self._varint(number << 3)
        self._varint(value)
        return self

    def fixed64(self, number: int, value: int) -> Message:
        """Appends an integer of eight bytes."""
        self._varint(number << 3 | 1)
        self._data += struct.pack("<Q", value)
        return self

    def double(self, number: int, value: float) -> Message:
        """Appends a float of eight bytes."""
        self._varint(number << 3 | 1)
        self._data += struct.pack("<d", value)
        return self

    def text(self, number: int, value: str) -> Message:
        """Appends a text."""
        return self._sized(number, value.encode())

    def message(self, number: int, value: Message) -> Message:
        """Appends a message."""
        return self._sized(number, value._data)

    def __bytes__(self) -> bytes:
        return bytes(self._data)

    def _sized(self, number: int, data: bytes | bytearray) -> Message:
        self._varint(number << 3 | 2)
        self._varint(len(data))
        self._data += data
        return self

    def _varint(self, value: int) -> None:
        while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
            self._data.append(value & 0x7F | 0x80)
            value >>= 7
        self._data.append(value)


class _Names:
    """Texts and the numbers that stand for them, from 1."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.number = {text: i for i, text in enumerate(dict.fromkeys(texts), start=1)}

    def declare(self, into: Message, field: int) -> None:
        for text, number in self.number.items():
            into.message(field, Message().uint(1, number).text(2, text))


def perfetto_bytes(timeline: Events) -> bytes:
    """The timeline as a native trace of Perfetto.

    Groups are processes, rows and counters their tracks. Times are whole nanoseconds, rounded down,
    which keeps their order; facts `begin_ps` and `duration_ps` say them exactly.

    Example:
        >>> perfetto_bytes(plan.timeline())[0]
        10
    """
    writer = _Writer(timeline)
    packets = [writer.names(), *writer.descriptors(), *writer.events()]
    trace = Message()
    for packet in packets:
        trace.message(1, packet.uint(10, _SEQUENCE))
    return bytes(trace)


class _Writer:
    """Packets of one timeline."""

    def __init__(self, timeline: Events) -> None:
        self._timeline = timeline
        groups = [track.group for track in timeline.tracks]
        groups += [counter.group for counter in timeline.counters]
        self._groups = {name: uuid for uuid, name in enumerate(dict.fromkeys(groups), start=1)}
        self._first_track = len(self._groups) + 1
        self._first_counter = self._first_track + len(timeline.tracks)
        self._names = _Names(one.name for one in timeline.slices)
        self._categories = _Names(one.category for one in timeline.slices)
        facts = (name for one in timeline.slices for name in one.facts)
        self._facts = _Names(["begin_ps", "duration_ps", *facts])
        self._leaving: defaultdict[int, list[int]] = defaultdict(list)
        self._arriving: defaultdict[int, list[int]] = defaultdict(list)
        for number, flow in enumerate(timeline.flows, start=1):
            self._leaving[flow.source].append(number)
            self._arriving[flow.target].append(number)

    def names(self) -> Message:
        """The first packet: every text that later ones name by a number."""
        interned = Message()
        self._categories.declare(interned, 1)
        self._names.declare(interned, 2)
        self._facts.declare(interned, 3)
        return Message().uint(13, _STATE_CLEARED).message(12, interned)

    def descriptors(self) -> Iterator[Message]:
        """A process for each group, with its rows, then its counters, in their order."""
        for group, uuid in self._groups.items():
            process = Message().uint(1, uuid).text(6, group)
            yield _descriptor(Message().uint(1, uuid).message(3, process).uint(11, _EXPLICIT_ORDER))
        for i, track in enumerate(self._timeline.tracks):
            yield _descriptor(self._child(self._first_track + i, track.name, track.group, i))
        for i, counter in enumerate(self._timeline.counters):
            rank = len(self._timeline.tracks) + i
            about = Message()
            if counter.unit == "B":
                about.uint(3, _BYTES)
            else:
                about.text(6, counter.unit)
            child = self._child(self._first_counter + i, counter.name, counter.group, rank)
            yield _descriptor(child.message(8, about))

    def _child(self, uuid: int, name: str, group: str, rank: int) -> Message:
        child = Message().uint(1, uuid).text(2, name).uint(5, self._groups[group])
        return child.uint(12, rank)

    def events(self) -> Iterator[Message]:
        """Begins, ends and values of all tracks in the order of time."""
        rows = [self._row(track) for track in range(len(self._timeline.tracks))]
        counters = [self._values(i) for i in range(len(self._timeline.counters))]
        for time_ns, event in heapq.merge(*rows, *counters, key=lambda pair: pair[0]):
            yield Message().uint(8, time_ns).uint(13, _NEEDS_STATE).message(11, event)

    def _row(self, track: int) -> Iterator[tuple[int, Message]]:
        """Each begin before what lies inside, each end after it."""
        uuid = self._first_track + track
        slices = self._timeline.slices
        open_ends: list[int] = []
        for i in self._timeline.order(track):
            while open_ends and open_ends[-1] <= slices[i].begin_ps:
                yield open_ends.pop() // _PS_PER_NS, Message().uint(9, _END).uint(11, uuid)
            yield slices[i].begin_ps // _PS_PER_NS, self._begin(i, uuid)
            open_ends.append(slices[i].end_ps)
        while open_ends:
            yield open_ends.pop() // _PS_PER_NS, Message().uint(9, _END).uint(11, uuid)

    def _begin(self, i: int, uuid: int) -> Message:
        one = self._timeline.slices[i]
        event = Message().uint(9, _BEGIN).uint(11, uuid)
        event.uint(3, self._categories.number[one.category])
        event.uint(10, self._names.number[one.name])
        exact = {"begin_ps": one.begin_ps, "duration_ps": one.end_ps - one.begin_ps}
        for name, value in {**exact, **one.facts}.items():
            event.message(4, _annotation(self._facts.number[name], value))
        for number in self._leaving[i]:
            event.fixed64(47, number)
        for number in self._arriving[i]:
            event.fixed64(48, number)
        return event

    def _values(self, i: int) -> Iterator[tuple[int, Message]]:
        for time_ps, value in self._timeline.counters[i].points:
            event = Message().uint(9, _COUNTER).uint(11, self._first_counter + i)
            yield time_ps // _PS_PER_NS, event.double(44, value)


def _descriptor(track: Message) -> Message:
    return Message().message(60, track)


def _annotation(name: int, value: Fact) -> Message:
    about = Message().uint(1, name)
    if isinstance(value, str):
        return about.text(6, value)
    if isinstance(value, int) and value >= 0:
        return about.uint(3, int(value))
    return about.double(5, float(value))


def chrome_json(timeline: Events) -> str:
    """The timeline in the JSON format of Chrome's tracing page; times in microseconds.

    Example:
        >>> chrome_json(plan.timeline())[:22]
        '{"displayTimeUnit":"ns'
    """
    groups = [track.group for track in timeline.tracks]
    groups += [counter.group for counter in timeline.counters]
    process = {name: pid for pid, name in enumerate(dict.fromkeys(groups), start=1)}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for name, pid in process.items()
    ]
    where = [
        {"pid": process[track.group], "tid": tid}
        for tid, track in enumerate(timeline.tracks, start=1)
    ]
    for place, track in zip(where, timeline.tracks, strict=True):
        events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": track.name}})
        order = {"sort_index": place["tid"]}
        events.append({"ph": "M", "name": "thread_sort_index", **place, "args": order})
    for place, track_id in zip(where, range(len(timeline.tracks)), strict=True):
        events.extend(_complete(timeline, i, place) for i in timeline.order(track_id))
    events.extend(
        {
            "ph": "C",
            "name": counter.name,
            "pid": process[counter.group],
            "ts": time_ps / _PS_PER_US,
            "args": {counter.unit: value},
        }
        for counter in timeline.counters
        for time_ps, value in counter.points
    )
    for number, flow in enumerate(timeline.flows, start=1):
        arrow = {"name": "waits for", "cat": "flow", "id": number}
        for phase, end in (("s", flow.source), ("f", flow.target)):
            one = timeline.slices[end]
            event = {"ph": phase, **arrow, **where[one.track], "ts": one.begin_ps / _PS_PER_US}
            events.append({**event, "bp": "e"} if phase == "f" else event)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"name": timeline.name},
        "traceEvents": events,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _complete(timeline: Events, i: int, place: dict[str, int]) -> dict[str, Any]:
    one = timeline.slices[i]
    return {
        "ph": "X",
        "name": one.name,
        "cat": one.category,
        **place,
        "ts": one.begin_ps / _PS_PER_US,
        "dur": (one.end_ps - one.begin_ps) / _PS_PER_US,
        "args": dict(one.facts),
    }
