"""Timelines: what they refuse, how they fold, what they draw, and what traces hold of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import elk
import pytest
from each_case import each
from elk.cli import main
from elk.report.colours import COLLECTIVE, SLICES
from elk.report.events import Counter, Flow, Interval, Slice, Track
from elk.report.timeline import Timeline, core_names
from elk.report.timeline_plan import core_rows
from perfetto_reader import read_trace

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
_MOST_HTML = 200_000


def _slice(name: str, begin_ps: int, end_ps: int, *, track: int = 0, **facts: Any) -> Slice:
    return Slice(
        track=track, name=name, category="execute", begin_ps=begin_ps, end_ps=end_ps, facts=facts
    )


def _timeline(*slices: Slice, **parts: Any) -> Timeline:
    tracks = (Track(name="HBM", group="memory"), Track(name="core 0", group="cores"))
    return Timeline(name="made up", tracks=tracks, slices=slices, **parts)


@pytest.fixture
def nested() -> Timeline:
    """An execute with two phases, the read that it waited for, and a counter."""
    return _timeline(
        _slice("read w", 0, 4_500, track=0, hbm_bytes=64, where="chip 0"),
        _slice("op", 4_500, 12_000, track=1, share=0.5),
        _slice("shift", 9_000, 12_000, track=1),
        _slice("step", 4_500, 9_000, track=1),
        counters=(
            Counter(name="SRAM", group="SRAM", unit="B", points=((0, 64), (4_500, 128))),
            Counter(name="reads", group="memory", unit="B/s", points=((0, 1.5e12),)),
        ),
        flows=(Flow(source=0, target=1),),
    )


@each(
    ("slices", "message"),
    [
        ([_slice("a", 0, 5, track=2)], "'a' is on row 2 of 2"),
        ([_slice("a", 5, 4)], "'a' lasts from 5 to 4 ps"),
        ([_slice("a", -1, 4)], "'a' lasts from -1 to 4 ps"),
        ([_slice("a", 0, 5), _slice("b", 3, 8)], "'a' and 'b' overlap in part on row 'HBM'"),
    ],
)
def test_an_impossible_slice_is_refused(slices: list[Slice], message: str) -> None:
    with pytest.raises(elk.InvalidInputError) as raised:
        _timeline(*slices)
    assert message in str(raised.value)
    assert raised.value.code == "invalid_timeline"


def test_slices_may_touch_nest_and_last_no_time() -> None:
    made = _timeline(_slice("a", 0, 5), _slice("b", 5, 5), _slice("c", 5, 9), _slice("d", 6, 9))
    assert made.end_ps == 9
    assert [made.slices[i].name for i in made.order(0)] == ["a", "c", "b", "d"]


def test_an_arrow_points_forward_in_time() -> None:
    slices = (_slice("late", 5, 6), _slice("early", 0, 5))
    with pytest.raises(elk.InvalidInputError, match="leads back from 'late' to 'early'"):
        _timeline(*slices, flows=(Flow(source=0, target=1),))
    with pytest.raises(elk.InvalidInputError, match="joins slices 0 and 2 of 2"):
        _timeline(*slices, flows=(Flow(source=0, target=2),))


def test_a_counter_never_goes_back_in_time() -> None:
    back = Counter(name="SRAM", group="SRAM", unit="B", points=((5, 1), (4, 2)))
    with pytest.raises(elk.InvalidInputError, match="'SRAM' goes back in time"):
        _timeline(counters=(back,))


def test_many_ranges_of_cores_are_named_in_short() -> None:
    assert core_names(range(0, 20, 2)) == "cores 0, 2, 4, 6 ... 18 (10)"


def test_a_window_cuts_slices_counters_and_arrows(nested: Timeline) -> None:
    part = nested.window(4_000, 9_500)
    spans = [(one.name, one.begin_ps, one.end_ps) for one in part.slices]
    assert spans == [("read w", 0, 500), ("op", 500, 5_500), ("shift", 5_000, 5_500),
                     ("step", 500, 5_000)]  # fmt: skip
    assert list(part.counters[0].points) == [(0, 64.0), (500, 128.0)]
    assert list(part.flows) == [Flow(source=0, target=1)]
    assert not nested.window(5_000, 9_500).flows
    with pytest.raises(elk.InvalidInputError, match="from 9 to 9 ps"):
        nested.window(9, 9)


def test_a_native_trace_holds_rows_slices_values_and_arrows(
    nested: Timeline, tmp_path: Path
) -> None:
    nested.save(tmp_path / "made.pftrace")
    trace = read_trace((tmp_path / "made.pftrace").read_bytes())
    assert trace.processes == {1: "memory", 2: "cores", 3: "SRAM"}
    assert [(t.name, t.process) for t in trace.tracks.values()] == [
        ("HBM", "memory"), ("core 0", "cores"), ("SRAM", "SRAM"), ("reads", "memory")
    ]  # fmt: skip
    assert [t.unit for t in trace.tracks.values()] == ["", "", "bytes", "B/s"]
    assert trace.slices["HBM"] == [("read w", 0, 4, 0)]
    assert trace.slices["core 0"] == [("op", 4, 12, 0), ("step", 4, 9, 1), ("shift", 9, 12, 1)]
    assert trace.values == {"SRAM": [(0, 64.0), (4, 128.0)], "reads": [(0, 1.5e12)]}
    assert trace.flows == [("read w", "op")]
    facts = {"begin_ps": 4_500, "duration_ps": 7_500, "share": 0.5}
    assert trace.facts["op"] == facts
    assert trace.facts["read w"]["where"] == "chip 0"


def test_slices_within_a_nanosecond_stay_in_order(tmp_path: Path) -> None:
    short = [_slice(f"s{i}", 10 * i, 10 * i + 10) for i in range(300)]
    _timeline(_slice("all", 0, 3_000), *short).save(tmp_path / "short.pftrace")
    found = read_trace((tmp_path / "short.pftrace").read_bytes()).slices["HBM"]
    assert [name for name, *_ in found] == ["all", *(f"s{i}" for i in range(300))]
    assert {depth for _, _, _, depth in found} == {0, 1}


def test_a_chrome_trace_keeps_picoseconds(nested: Timeline, tmp_path: Path) -> None:
    nested.save(tmp_path / "made.json")
    events = json.loads((tmp_path / "made.json").read_text())["traceEvents"]
    slices = {event["name"]: event for event in events if event["ph"] == "X"}
    assert round(slices["op"]["ts"] * 1e6) == 4_500
    assert round(slices["op"]["dur"] * 1e6) == 7_500
    assert slices["read w"]["args"] == {"hbm_bytes": 64, "where": "chip 0"}
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names[slices["op"]["pid"]] == "cores"
    start, finish = (event for event in events if event["ph"] in "sf")
    assert (start["id"], start["ts"], finish["id"], finish["bp"]) == (1, 0.0, 1, "e")
    assert finish["tid"] == slices["op"]["tid"]
    assert sum(event["ph"] == "C" for event in events) == 3


def test_a_trace_of_another_kind_is_refused(nested: Timeline, tmp_path: Path) -> None:
    with pytest.raises(elk.InvalidInputError, match=r"\.pftrace, \.perfetto-trace, \.json, \.html"):
        nested.save(tmp_path / "made.svg")


def test_the_page_draws_every_row_and_escapes_names(nested: Timeline) -> None:
    drawn = nested._repr_html_()
    assert all(word in drawn for word in ("HBM", "core 0", "read w", "SRAM", "12.000 ns in all"))
    evil = _timeline(_slice("<script>", 0, 9))._repr_html_()
    assert "<script>" not in evil
    assert "&lt;script&gt;" in evil


def test_the_page_stays_small_whatever_happens() -> None:
    rows = tuple(Track(name="r" * 1000, group="cores") for _ in range(100))
    many = tuple(_slice("n" * 1000, 10 * i, 10 * i + 9, track=i % 100) for i in range(20_000))
    page = Timeline(name="n" * 1000, tracks=rows, slices=many)._repr_html_()
    assert len(page) < _MOST_HTML
    assert "and 76 more rows" in page
    assert len(_timeline()._repr_html_()) < _MOST_HTML


def test_the_page_stays_small_whatever_things_are_called() -> None:
    name, tracks = "<&>" * 300, tuple(Track(name="<&>" * 300, group="cores") for _ in range(30))
    slices = [
        Slice(
            track=i % 30,
            name=f"{name}{depth}",
            category=name,
            begin_ps=100 * i + depth,
            end_ps=100 * i + 99 - depth,
            facts={name: name},
        )
        for i in range(2_000)
        for depth in range(6)
    ]
    counters = [
        Counter(
            name=name,
            group=f"{name}{group}",
            unit="B",
            points=tuple((100 * i, (i * 7919 + one) % 1000) for i in range(2_000)),
        )
        for group in range(6)
        for one in range(6)
    ]
    made = Timeline(name=name, tracks=tracks, slices=tuple(slices), counters=tuple(counters))
    assert len(made._repr_html_().encode()) < _MOST_HTML


def _rects(drawn: str) -> list[tuple[str, float, float]]:
    """The first line of what each shape says, its left edge and its top."""
    found = re.findall(r'<title>([^<\n]*)[^<]*</title><rect x="([0-9.]+)" y="([0-9.]+)"', drawn)
    return [(said, float(x), float(y)) for said, x, y in found]


def test_slices_inside_others_are_drawn_below_them(nested: Timeline) -> None:
    rects = {said.split(" (")[0]: (x, y) for said, x, y in _rects(nested._repr_html_())}
    assert rects["step"][0] == rects["op"][0] < rects["shift"][0]
    assert rects["step"][1] == rects["shift"][1] > rects["op"][1] > rects["read w"][1]


def test_short_slices_are_drawn_together_and_no_wider_than_that_needs() -> None:
    short = [_slice(f"s{i}", 10 * i, 10 * i + 10) for i in range(5_000)]
    rects = _rects(_timeline(*short)._repr_html_())
    counts = [int(said.split(" short ones")[0]) for said, _, _ in rects]
    assert sum(counts) == 5_000
    assert max(counts) < 50
    assert len(rects) > 100


@each(
    ("end_ps", "marks"),
    [
        (5_287_000_000, ["0 ms", "1 ms", "2 ms", "3 ms", "4 ms", "5 ms"]),
        (200_000_000, ["0 µs", "50 µs", "100 µs", "150 µs", "200 µs"]),
        (12_000, ["0 ns", "2 ns", "4 ns", "6 ns", "8 ns", "10 ns", "12 ns"]),
        (7, [f"{i} ps" for i in range(8)]),
    ],
)
def test_the_axis_has_round_numbers(end_ps: int, marks: list[str]) -> None:
    drawn = _timeline(_slice("op", 0, end_ps))._repr_html_()
    assert re.findall(r'text-anchor="[a-z]+">([^<]*)<', drawn) == marks


def test_a_long_legend_goes_on_in_another_line() -> None:
    kinds = [*SLICES, "pool"]
    kinds[kinds.index(COLLECTIVE)] = "all_reduce"
    many = [
        Slice(track=0, name=kind, category=kind, begin_ps=i, end_ps=i + 1)
        for i, kind in enumerate(kinds)
    ]
    drawn = _timeline(*many)._repr_html_()
    names = re.findall(r'height="10" fill="[^"]*"/><text x="(\d+)" y="([0-9.]+)">([^<]*)<', drawn)
    assert [name for _, _, name in names] == [*SLICES, "other"]
    assert len({y for _, y, _ in names}) == 2
    (width,) = re.findall(r'viewBox="0 0 (\d+) ', drawn)
    assert all(float(x) + 6 * len(name) < float(width) for x, _, name in names)


def test_a_chip_without_hbm_has_no_row_no_reads_and_no_queue_of_one() -> None:
    run = elk.compile(NERF, "ipu-mk2", bindings={"rows": 64}, policy="basic").simulate()
    made = run.timeline()
    assert {counter.group for counter in made.counters} == {"SRAM of one core"}
    assert [track.name for track in made.tracks] == ["cores 0-1471", "links of cores 0-1471"]
    gathers = [one for one in made.slices if one.category == "gather"]
    assert {made.tracks[one.track].name for one in gathers} == {"links of cores 0-1471"}
    assert "0.0 preloads and stores on average" in run.summary()
    assert len(made._repr_html_()) < _MOST_HTML
    empty = Counter(name="nothing", group="nothing", unit="B", points=())
    assert "nothing" in _timeline(_slice("op", 0, 5), counters=(empty,))._repr_html_()


def test_areas_are_as_high_as_their_counters_together_and_no_higher() -> None:
    one = Counter(name="SRAM: execute", group="SRAM", unit="B", points=((0, 60), (5, 10)))
    two = Counter(name="SRAM: preload", group="SRAM", unit="B", points=((0, 10), (5, 60)))
    busy = _slice("op", 0, 1_000_000)  # Both counters change within the first column.
    drawn = _timeline(busy, counters=(one, two))._repr_html_()
    assert "up to 70 B" in drawn
    assert "SRAM: execute, at most 60 B" in drawn


def test_a_page_is_saved_for_any_browser(nested: Timeline, tmp_path: Path) -> None:
    nested.save(tmp_path / "made.html")
    saved = (tmp_path / "made.html").read_text(encoding="utf-8")
    assert saved.startswith("<!doctype html>")
    assert '<meta charset="utf-8">' in saved
    assert nested._repr_html_() in saved


@pytest.fixture(scope="module")
def plan() -> elk.Plan:
    return elk.compile(NERF, "tiny", bindings={"rows": 64})


@pytest.fixture(scope="module")
def simulated() -> elk.Plan:
    return elk.compile(NERF, "tiny", bindings={"rows": 64}, policy="static")


@pytest.fixture(scope="module")
def run(simulated: elk.Plan) -> elk.Run:
    return simulated.simulate()


def test_the_timeline_of_a_plan_says_what_the_plan_says(plan: elk.Plan) -> None:
    made = plan.timeline()
    document = plan.to_json()
    assert made.end_ps == round(document["predicted"]["total_s"] * 1e12)
    executes = [one for one in made.slices if one.track == 1 and one.category != "wait"]
    times = document["predicted"]["ops"]
    assert [one.name for one in executes] == list(plan.op_names)
    assert [one.begin_ps for one in executes] == [round(t["execute"][0] * 1e12) for t in times]
    loaded = sum("preload" in t for t in times)
    assert len(made.flows) == loaded > 0
    for flow in made.flows:
        assert made.slices[flow.source].name == made.slices[flow.target].name
        assert made.slices[flow.source].end_ps <= made.slices[flow.target].begin_ps
    assert made.tracks[1].name == "cores 0-63"
    waits = [one for one in made.slices if one.category == "wait"]
    assert waits
    assert waits[0].begin_ps == 0


def test_the_counters_of_a_plan_are_those_of_its_buffers(plan: elk.Plan) -> None:
    made = plan.timeline()
    document = plan.to_json()
    peak = {c.name: max(value for _, value in c.points) for c in made.counters}
    preloads = [b["bytes"] for b in document["buffers"] if b["role"] == "preload"]
    assert max(preloads) <= peak["SRAM: preload"] <= sum(preloads)
    assert 0 < peak["HBM reads"] <= plan.chip.hbm.bytes_per_s * 1.001  # type: ignore[union-attr]


def test_a_plan_that_was_not_simulated_has_no_simulated_timeline() -> None:
    plan = elk.compile(NERF, "tiny", bindings={"rows": 64}, policy="basic")
    with pytest.raises(elk.InvalidInputError, match="was not simulated") as raised:
        plan.timeline(of="simulated")
    assert raised.value.code == "not_simulated"
    with pytest.raises(elk.InvalidInputError, match="of must be one of 'simulated'"):
        plan.timeline(of="measured")


def test_a_simulated_plan_has_the_timeline_of_its_run(simulated: elk.Plan, run: elk.Run) -> None:
    made = simulated.timeline(of="simulated")
    assert made == run.timeline()
    assert made.end_ps == run.total_ps
    assert made.end_ps != simulated.timeline().end_ps
    assert [track.name for track in made.tracks] == ["HBM", "cores 0-63", "links of cores 0-63"]
    times = simulated.to_json()["simulated"]["ops"]
    executes = [one for one in made.slices if one.track == 1 and one.name in simulated.op_names]
    assert [[one.begin_ps, one.end_ps] for one in executes] == [row["execute"] for row in times]
    loads = {one.name: [one.begin_ps, one.end_ps] for one in made.slices if one.track == 0}
    rows = zip(simulated.op_names, times, strict=True)
    assert loads == {name: row["preload"] for name, row in rows if "preload" in row}


def test_the_timeline_of_a_run_shows_the_parts_of_its_executes(run: elk.Run) -> None:
    made = run.timeline()
    shown = [
        (s.category, s.facts["of"], s.begin_ps, s.end_ps) for s in made.slices if "of" in s.facts
    ]
    parts = [x for x in run.intervals() if x.resource != "hbm"]
    assert shown == [(x.kind, x.name, x.begin_ps, x.end_ps) for x in parts]
    assert {kind for kind, *_ in shown} >= {"compute", "gather"}


def test_unfolded_rows_show_which_cores_take_part() -> None:
    plan = elk.compile(NERF, "tiny", bindings={"rows": 9}, policy="basic")
    run = plan.simulate()
    made = run.timeline(fold=False)
    rows = [(i, track.name) for i, track in enumerate(made.tracks) if track.name.startswith("core")]
    assert len(rows) > 1
    assert sum(_count(name) for _, name in rows) == 64
    drawn = {i: {s.name for s in made.slices if s.track == i} for i, _ in rows}
    for op in plan.to_json()["ops"]:
        cores = [name for i, name in rows if op["name"] in drawn[i]]
        assert sum(map(_count, cores)) == op["execute"]["cores"]
    assert made.end_ps == run.total_ps
    assert len(made.flows) == len(run.timeline().flows) > 0
    for flow in made.flows:
        assert made.slices[flow.source].name == made.slices[flow.target].name
        assert made.slices[flow.target].category not in ("preload", "wait")


def _count(name: str) -> int:
    """How many cores a name such as `cores 0-6, 8` stands for."""
    ranges = [part.split("-") for part in name.split(" ", 1)[1].split(", ")]
    return sum(int(ids[-1]) - int(ids[0]) + 1 for ids in ranges)


def test_an_execute_without_tile_calls_is_everyones() -> None:
    rows = core_rows([[], [1]], [0, 1, 0], 3, ", each chip")
    assert [(row.name, row.ops) for row in rows] == [
        ("cores 0, 2, each chip", frozenset({0, 2})),
        ("core 1, each chip", frozenset({0, 1, 2})),
    ]


def test_the_trace_of_a_run_has_its_times(run: elk.Run, tmp_path: Path) -> None:
    run.save_trace(tmp_path / "run.pftrace")
    trace = read_trace((tmp_path / "run.pftrace").read_bytes())
    for resource, row in (("hbm", "HBM"), ("links", "links of cores 0-63")):
        spans = [
            (x.begin_ps // 1000, x.end_ps // 1000)
            for x in run.intervals()
            if x.resource == resource
        ]
        assert [(begin, end) for _, begin, end, _ in trace.slices[row]] == spans
    computing = [(b, e) for name, b, e, _ in trace.slices["cores 0-63"] if name == "compute"]
    spans = [(x.begin_ps, x.end_ps) for x in run.intervals() if x.resource == "cores"]
    assert computing == [(begin // 1000, end // 1000) for begin, end in spans]
    assert trace.flows


def test_the_timeline_of_a_simulated_file_has_its_times(
    simulated: elk.Plan, run: elk.Run, tmp_path: Path
) -> None:
    simulated.save(tmp_path / "p.elkplan")
    made = elk.load_plan(tmp_path / "p.elkplan").timeline(of="simulated")
    assert made.end_ps == run.total_ps
    assert made.slices == tuple(one for one in run.timeline().slices if "of" not in one.facts)


def test_simulated_times_are_whole_picoseconds(plan: elk.Plan) -> None:
    from elk.report.timeline_plan import plan_timeline  # noqa: PLC0415 - this test alone reads documents

    document: Any = plan.to_json()
    end = 1_000 * len(document["ops"])
    document["simulated"] = {
        "total_ps": end,
        "ops": [
            {"id": i, "preload": [0, 0], "execute": [1_000 * i, 1_000 * i + 1_000]}
            for i in range(len(document["ops"]))
        ],
        "stores": [],
    }
    assert plan_timeline(document, "simulated").end_ps == end
    parts = [
        Interval(op=0, name="op", resource="cores", kind="compute", begin_ps=400, end_ps=1_000),
        Interval(op=0, name="op", resource="links", kind="gather", begin_ps=0, end_ps=400),
        Interval(op=0, name="op", resource="hbm", kind="preload", begin_ps=0, end_ps=400),
    ]
    made = plan_timeline(document, "simulated", parts)
    assert [track.name for track in made.tracks] == ["HBM", "cores 0-63", "links of cores 0-63"]
    inside = [(made.tracks[s.track].name, s.name) for s in made.slices if "of" in s.facts]
    assert inside == [("cores 0-63", "compute"), ("links of cores 0-63", "gather")]


def test_the_command_line_writes_both_traces(
    plan: elk.Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan.save(tmp_path / "p.elkplan")
    for file in ("t.pftrace", "t.json"):
        assert main(["trace", str(tmp_path / "p.elkplan"), "-o", str(tmp_path / file)]) == 0
        assert (tmp_path / file).stat().st_size > 1_000
    assert "2 rows" in capsys.readouterr().out
    run = [
        "trace",
        str(tmp_path / "p.elkplan"),
        "-o",
        str(tmp_path / "r.json"),
        "--of",
        "simulated",
    ]
    assert main([*run, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 3
    assert facts["end_ps"] == plan.simulate().total_ps
    assert main([*run, "--unfold", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == len(plan.simulate().timeline(fold=False).tracks)
    assert main([*run[:-2], "--unfold"]) == 2
    assert "--of simulated" in capsys.readouterr().err
    words = ["trace", str(tmp_path / "p.elkplan"), "-o", str(tmp_path / "t.txt"), "--json"]
    assert main(words) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "trace_format"
