"""Reads native traces of Perfetto with Google's own decoder, to check those that ELK writes.

The messages are declared here from `protos/perfetto/trace` of the Perfetto repository, as far as
traces of ELK use them; a field of another number or type would not be found.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import (  # type: ignore[import-untyped]
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

_TYPES = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "uint64": _TYPES.TYPE_UINT64,
    "uint32": _TYPES.TYPE_UINT32,
    "int32": _TYPES.TYPE_INT32,
    "int64": _TYPES.TYPE_INT64,
    "fixed64": _TYPES.TYPE_FIXED64,
    "double": _TYPES.TYPE_DOUBLE,
    "string": _TYPES.TYPE_STRING,
}
# message: field = number, type; `*` repeated.
_SCHEMA = {
    "Trace": {"packet": (1, "*TracePacket")},
    "TracePacket": {
        "timestamp": (8, "uint64"),
        "trusted_packet_sequence_id": (10, "uint32"),
        "track_event": (11, "TrackEvent"),
        "interned_data": (12, "InternedData"),
        "sequence_flags": (13, "uint32"),
        "track_descriptor": (60, "TrackDescriptor"),
    },
    "InternedData": {
        "event_categories": (1, "*InternedName"),
        "event_names": (2, "*InternedName"),
        "debug_annotation_names": (3, "*InternedName"),
    },
    "InternedName": {"iid": (1, "uint64"), "name": (2, "string")},
    "TrackDescriptor": {
        "uuid": (1, "uint64"),
        "name": (2, "string"),
        "process": (3, "ProcessDescriptor"),
        "parent_uuid": (5, "uint64"),
        "counter": (8, "CounterDescriptor"),
        "child_ordering": (11, "int32"),
        "sibling_order_rank": (12, "int32"),
    },
    "ProcessDescriptor": {"pid": (1, "int32"), "process_name": (6, "string")},
    "CounterDescriptor": {"unit": (3, "int32"), "unit_name": (6, "string")},
    "TrackEvent": {
        "category_iids": (3, "*uint64"),
        "debug_annotations": (4, "*DebugAnnotation"),
        "type": (9, "int32"),
        "name_iid": (10, "uint64"),
        "track_uuid": (11, "uint64"),
        "double_counter_value": (44, "double"),
        "flow_ids": (47, "*fixed64"),
        "terminating_flow_ids": (48, "*fixed64"),
    },
    "DebugAnnotation": {
        "name_iid": (1, "uint64"),
        "uint_value": (3, "uint64"),
        "double_value": (5, "double"),
        "string_value": (6, "string"),
    },
}
_BEGIN, _END, _COUNTER = 1, 2, 4
_BYTES = 3
_CLEARED, _NEEDED = 1, 2
_VALUES = ("uint_value", "double_value", "string_value")


@dataclass(kw_only=True)
class ReadTrack:
    """A row or a counter as the trace describes it."""

    name: str
    process: str
    unit: str


@dataclass(kw_only=True)
class ReadTrace:
    """What a trace holds; slices are (name, begin in ns, end in ns, how deep they lie)."""

    processes: dict[int, str] = field(default_factory=dict)
    tracks: dict[int, ReadTrack] = field(default_factory=dict)
    slices: dict[str, list[tuple[str, int, int, int]]] = field(default_factory=dict)
    values: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    flows: list[tuple[str, str]] = field(default_factory=list)


def read_trace(data: bytes) -> ReadTrace:
    """The trace, once every packet was found sound: times never fall, every begin has its end,
    every number has its text, every event its track, every arrow two ends."""
    trace = _message("Trace").FromString(data)
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == len(data), "a field that Perfetto has not declared"
    return _Reader(trace).read()


class _Reader:
    def __init__(self, trace: Any) -> None:
        self.packets = list(trace.packet)
        self.found = ReadTrace()
        self.open: defaultdict[int, list[list[Any]]] = defaultdict(list)
        self.leaving: dict[int, str] = {}
        self.now = 0

    def read(self) -> ReadTrace:
        first = self.packets[0]
        assert first.sequence_flags == _CLEARED
        interned = first.interned_data
        self.names = {one.iid: one.name for one in interned.event_names}
        self.categories = {one.iid for one in interned.event_categories}
        self.fact_names = {one.iid: one.name for one in interned.debug_annotation_names}
        for packet in self.packets:
            assert packet.trusted_packet_sequence_id == 1
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            if packet.HasField("track_event"):
                assert packet.sequence_flags == _NEEDED
                assert packet.timestamp >= self.now, "time fell"
                self.now = packet.timestamp
                self.play(packet.track_event)
        assert not any(self.open.values()), "a slice never ends"
        assert not self.leaving, "an arrow never arrives"
        return self.found

    def describe(self, track: Any) -> None:
        assert track.uuid not in self.found.tracks
        assert track.uuid not in self.found.processes
        if track.HasField("process"):
            self.found.processes[track.uuid] = track.process.process_name
            return
        unit = "bytes" if track.counter.unit == _BYTES else track.counter.unit_name
        process = self.found.processes[track.parent_uuid]
        self.found.tracks[track.uuid] = ReadTrack(name=track.name, process=process, unit=unit)

    def play(self, event: Any) -> None:
        row = self.found.tracks[event.track_uuid].name
        if event.type == _COUNTER:
            self.found.values.setdefault(row, []).append((self.now, event.double_counter_value))
        elif event.type == _BEGIN:
            self.begin(event, row)
        else:
            assert event.type == _END
            self.open[event.track_uuid].pop()[2] = self.now
            if not self.open[event.track_uuid]:
                self.close(row)

    def begin(self, event: Any, row: str) -> None:
        name = self.names[event.name_iid]
        assert set(event.category_iids) <= self.categories
        depth = len(self.open[event.track_uuid])
        entry = [name, self.now, None, depth]
        self.open[event.track_uuid].append(entry)
        self.found.slices.setdefault(row, []).append(entry)  # type: ignore[arg-type]
        self.found.facts[name] = {
            self.fact_names[one.name_iid]: next(getattr(one, v) for v in _VALUES if one.HasField(v))
            for one in event.debug_annotations
        }
        for flow in event.terminating_flow_ids:
            self.found.flows.append((self.leaving.pop(flow), name))
        for flow in event.flow_ids:
            assert flow not in self.leaving
            self.leaving[flow] = name

    def close(self, row: str) -> None:
        rows = self.found.slices
        rows[row] = [tuple(entry) for entry in rows[row]]  # type: ignore[misc]


def _message(name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="elk_trace.proto", package="elk_trace", syntax="proto2"
    )
    for message, fields in _SCHEMA.items():
        made = file.message_type.add(name=message)
        for field_name, (number, kind) in fields.items():
            declared = made.field.add(name=field_name, number=number)
            repeated = kind.startswith("*")
            declared.label = _TYPES.LABEL_REPEATED if repeated else _TYPES.LABEL_OPTIONAL
            scalar = _SCALARS.get(kind.lstrip("*"))
            declared.type = _TYPES.TYPE_MESSAGE if scalar is None else scalar
            if scalar is None:
                declared.type_name = f".elk_trace.{kind.lstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"elk_trace.{name}"))
