"""Traces of PyTorch's profiler: what is counted, what is said of collectives, what is refused."""

from __future__ import annotations

import decimal
import doctest
import gzip
import json
import math
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each_case import each
from elk.errors import TraceFileError
from elk.foreign import bus_bandwidth, kineto
from elk.foreign.kineto import KinetoTrace
from elk.limits import Limits

ROOT = Path(__file__).parents[2]
NCCL = ROOT / "tests" / "data" / "traces" / "nccl_data.json.gz"
Read = Callable[[Any], KinetoTrace]
KINDS = {
    "compute": ("kernel", "gemm of ThreadMap, dma"),
    "communication": ("kernel", "ncclDevKernel_AllReduce"),
    "memory": ("gpu_memcpy", "Memcpy DtoD"),
}


def kernel(ts: Any, dur: Any, stream: Any = 7, kind: str = "compute", **facts: Any) -> Any:
    cat, name = KINDS[kind]
    args = {"device": 0, "stream": stream, **facts}
    row = {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 0, "ts": ts, "dur": dur}
    return {**row, "args": args}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a trace of the given events, or of the given text or bytes."""

    def from_what(what: Any) -> KinetoTrace:
        what = json.dumps({"traceEvents": what}) if isinstance(what, list) else what
        (tmp_path / "made_up.json").write_bytes(what.encode() if isinstance(what, str) else what)
        return KinetoTrace.read(tmp_path / "made_up.json")

    return from_what


def test_a_real_trace_has_the_numbers_that_others_count(tmp_path: Path) -> None:
    trace = KinetoTrace.read(NCCL)
    busy_us = {"compute": 115_655.8, "other": 41_844.2, "communication": 46_876.5}
    us = {"span": 660_551.0, "idle": 503_051.0, "memory": 2_653.5, **busy_us}
    assert {part: round(getattr(trace, f"{part}_ps") / 1e6, 1) for part in us} == us
    assert round(100 * (trace.overlap or 0), 2) == 15.61
    assert (trace.rank, trace.world_size, trace.device_name) == (0, 2, "NVIDIA A100-PG509-200")
    assert [[*row.values()][:3] for row in trace.units()] == [[0, 7, 3753], [0, 40, 21]]
    rows = trace.collectives()
    assert Counter(row["kind"] for row in rows) == {"all_reduce": 15, "broadcast": 6}
    assert rows[0]["bus_bytes_per_s"] == pytest.approx(4 * 6_637_568 / 2636.669e-6, rel=1e-12)
    timeline = trace.timeline()
    assert (len(timeline.slices), timeline.end_ps) == (3774, trace.span_ps)
    (tmp_path / "plain.json").write_bytes(gzip.decompress(NCCL.read_bytes()))
    assert KinetoTrace.read(tmp_path / "plain.json").units() == trace.units()
    assert "15.61 % beside compute" in trace.summary()
    assert trace._repr_html_().count("<tr>") == len(trace.summary().splitlines())


@each("seed", range(30))
def test_unions_equal_a_count_of_every_microsecond(read: Read, seed: int) -> None:
    draw = random.Random(seed)
    events = [
        (draw.randrange(60), draw.randrange(12), draw.choice((7, 9, "20")), draw.choice([*KINDS]))
        for _ in range(draw.randrange(1, 25))
    ]
    trace = read([kernel(*event) for event in events])
    first = min(event[0] for event in events)

    def during(*kinds: str, stream: Any = None) -> set[int]:
        mine = [x for x in events if x[3] in kinds and stream in (None, x[2])]
        return {time for x in mine for time in range(x[0], x[0] + x[1])}

    compute, communication = during("compute"), during("communication")
    busy, span = during(*KINDS), max(event[0] + event[1] for event in events) - first
    us = {"span": span, "idle": span - len(busy), "other": len(busy - compute)}
    us |= {kind: len(during(kind)) for kind in KINDS}
    assert {part: getattr(trace, f"{part}_ps") / 1e6 for part in us} == us
    both = len(compute & communication)
    assert trace.overlap == (both / len(communication) if communication else None)
    for row in trace.units():
        for kind in KINDS:
            assert row[f"{kind}_ps"] == len(during(kind, stream=row["stream"])) * 10**6
    slices = sorted((one.begin_ps / 1e6, one.end_ps / 1e6) for one in trace.timeline().slices)
    assert slices == sorted((x[0] - first, x[0] - first + x[1]) for x in events)


def test_times_are_exact_beyond_what_a_double_holds(read: Read) -> None:
    text = json.dumps([kernel("@", "#"), kernel("@@", 2)]).replace('"@"', "1700000000000000.123457")
    text = text.replace('"@@"', "1.700000000000001123456e15").replace('"#"', "0.0000025")
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP)):
        trace = read(text)
    assert trace.events.begin_ps.tolist() == [0, 999_999]
    assert trace.events.end_ps.tolist() == [2, 2_999_999]  # A half goes to the even neighbour.


def test_units_of_older_files_are_processes_and_threads(read: Read) -> None:
    row = {"ph": "X", "name": "x", "pid": 3, "tid": "stream 7", "ts": 0, "dur": 1}
    others = [{"ph": "M", "name": "process_name"}, {"ph": "X", "cat": "cpu_op", "ts": "?"}]
    trace = read(json.dumps([*others, *({**row, "cat": x} for x in ("Kernel", "Memcpy"))]))
    assert [[*row.values()][:3] for row in trace.units()] == [[3, "stream 7", 2]]
    assert (trace.overlap, trace.rank, trace.device_name) == (None, None, None)


def collective(name: Any, received: int = 0, /, **facts: Any) -> dict[str, Any]:
    sent = {"In msg nelems": 1000, "Out msg nelems": received or 1000}
    return {"Collective name": name, **sent, "Group size": 4, "dtype": "BFloat16", **facts}


@each(
    ("facts", "size_bytes", "bus"),
    [
        (collective("allreduce"), 2000, 1.5),
        (collective("_allgather_base", 4000), 8000, 0.75),
        (collective("reduce_scatter", 250, dtype="Float"), 4000, 0.75),
        *((collective("alltoall", **{"In split size": x}), 2000, 0.75) for x in ("[]", [9, 9])),
        *((collective("alltoallv", **{"In split size": f"[9, {x}]"}), 2000, None) for x in "1."),
        (collective("all_to_allv", 900), 2000, None),
        *((collective(name), 2000, 1.0) for name in ("broadcast", "_reduce_oop", "send", "recv")),
        (collective("allreduce", **{"Group size": None}), 2000, None),
        *((collective(name), None, None) for name in ("barrier", "allreduce_coalesced", None)),
        (collective("allreduce", dtype="Float4"), None, None),
        ({}, None, None),
    ],
)
def test_the_bandwidth_of_a_collective_is_computed_or_none(
    read: Read, facts: dict[str, Any], size_bytes: int | None, bus: float | None
) -> None:
    trace = read([kernel(5, 2, kind="communication", **facts)])
    (row,), speed = trace.collectives(), None if size_bytes is None else size_bytes / 2e-6
    assert (row["size_bytes"], row["time_ps"]) == (size_bytes, 2_000_000)
    assert row["algorithm_bytes_per_s"] == pytest.approx(speed)
    assert row["bus_bytes_per_s"] == (None if bus is None else pytest.approx(bus * (speed or 0)))
    assert ("does not say" in trace.summary()) == (bus is None)


def test_kernels_of_one_collective_have_no_bandwidth_each(read: Read) -> None:
    given: dict[str, Any] = {"kind": "communication", **collective("allreduce")}
    events = [kernel(0, 1, **{**given, "External id": op}) for op in (1, 1, 2, None)]
    assert [row["size_bytes"] for row in read(events).collectives()] == [None, None, 2000, 2000]
    idle = read([kernel(0, 0, **given)])
    assert (idle.collectives()[0]["algorithm_bytes_per_s"], idle.overlap) == (None, None)


def test_events_that_overlap_stand_on_further_rows(read: Read, tmp_path: Path) -> None:
    events = [kernel(0, 10), kernel(0, 5), kernel(5, 2), kernel(10, 0), kernel(2, 30, "<i>")]
    timeline = read(events).timeline()
    assert [track.name for track in timeline.tracks] == ["stream 7", "stream 7 (2)", "stream <i>"]
    assert sorted(one.track for one in timeline.slices) == [0, 0, 1, 1, 2]
    timeline.save(tmp_path / "shown.html")
    assert "<i>" not in (tmp_path / "shown.html").read_text(encoding="utf-8")


def bad(raw: str = "", /, **changes: Any) -> str:
    return json.dumps([kernel(0, 1), {**kernel(0, 1), **changes}]).replace('"@"', raw)


PACKED = gzip.compress(bad().encode())
REFUSED: dict[str, list[str | bytes]] = {
    "line 1 column ": ["", "once upon a time", '[{"ph": "M"},', bad()[:60], bad() + "{}"],
    "can't decode byte 0x": [b'[{"ph": "\xff"}]', bad().encode() + b"\xc3"],
    "ended before the end-of-stream marker": [PACKED[:-9]],
    "CRC check failed": [PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:]],
    "Not a gzipped file": [PACKED + b"junk"],
    "unpacks to more than 50": [gzip.compress(x * 4_000_000) for x in (b" ", b"[", b'{"ph":""},')],
    "recursion": [x * 1_000_000 for x in ("[", '{"traceEvents":', '[{"ph":')],
    "traceEvents: ": ['{"schemaVersion": 1}', '{"traceEvents": {}}', "3"],
    "traceEvents.0: ": ["[[]]"],
    "no device events": [bad(cat="cpu_op").replace("kernel", "ac2g"), "[]"],
    "on 2 devices or ranks": [bad(args={"device": 1}), bad(pid=1)],
    "1.name: Input should be a valid string": [bad(name=x) for x in (None, "\udc00", 3)],
    "1.ts: ": [bad(x, ts="@") for x in ("-1", "-0.5", "1e400", "NaN", f"1e{10**20}")],
    "1.dur: ": [bad(dur=x) for x in (-0.5, None, True, math.inf)],
    "1.args.stream": [bad(args={"stream": x}) for x in (1.5, -1, True)],
    "digits": [bad("9" * 5_000, ts="@")],
    "1,000,000,000,000 microseconds or more": [bad(ts=10**12)],
}


@each("message", REFUSED)
def test_what_is_no_trace_of_one_rank_is_refused_soon(read: Read, message: str) -> None:
    for what in REFUSED[message]:
        begin = time.process_time()
        with pytest.raises(TraceFileError, match=re.escape(message)) as raised:
            read(what)
        assert time.process_time() - begin < 2
        assert (raised.value.place or "").endswith("made_up.json")
        assert (raised.value.code, bool(raised.value.remedy)) == ("trace_file", True)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    paths = {"none.json": "No such file", ".": "no regular file", "pipe.json": "no regular file"}
    for path, message in {**paths, "zero\0.json": "null byte"}.items():
        with pytest.raises(TraceFileError, match=message):
            KinetoTrace.read(tmp_path / path)
    with pytest.raises(TraceFileError, match="bytes of a trace must be at most 100 ") as raised:
        KinetoTrace.read(NCCL, Limits(plan_bytes=100))
    assert raised.value.code == "limit"


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    given = {"trace": KinetoTrace.read(NCCL)}
    for module in (kineto, bus_bandwidth):
        assert doctest.testmod(module, extraglobs=given).failed == 0
