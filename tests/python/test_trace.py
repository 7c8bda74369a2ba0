"""Traces of runs: played again, cut into windows, and asked what waited and what was busy."""

from __future__ import annotations

import itertools
import pickle
import random
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.analyze.columns import Columns
from elk.analyze.program_trace import ProgramTrace
from elk.analyze.transfers import STALLS, STATES
from onnx_graphs import model_of, node
from traced_runs import ALL, BOTH, NERF, differing, ends_with_a_store, planned, ran, runs, unlike

PARTS = ("distribute_ps", "gather_ps", "compute_ps", "shift_ps", "reduce_ps")


@pytest.mark.slow
def test_a_replay_is_the_run(subtests: pytest.Subtests) -> None:
    for name, run in runs(*BOTH):
        with subtests.test(name):
            trace = run.trace()
            assert trace.total_ps == run.total_ps
            assert differing(trace.transfers(), run.transfers()) == []
            assert unlike(trace.replay(), trace) == []
            assert unlike(trace.replay().replay(slow={}), trace) == []


def test_a_window_is_what_ran_between_its_ends(subtests: pytest.Subtests) -> None:
    rng = random.Random(0)
    every = list(runs(*BOTH))
    for name, run in rng.choices(every, k=100):
        trace = run.trace()
        length = trace.instruction_times.count
        first = rng.randrange(length)
        last = min(length, first + rng.choice([1, 2, rng.randrange(1, length), length]))
        with subtests.test(name, first=first, last=last):
            window = trace.window(first, last - first)
            inside = trace.instruction_times.where(np.arange(first, last))
            assert differing(window.instruction_times, inside) == []
            assert unlike(window.replay(), window) == []
            found = window.transfers()
            over = found.where(found["over"] & (found["reached_ps"] >= 0))
            assert over.rows() == waited_for(run, window.begin_ps, first, last)


def waited_for(run: elk.Run, begin_ps: int, first: int, last: int) -> list[dict[str, Any]]:
    """What the instructions from `first` to `last` of a run wait for, as a window says it."""
    program, ops = run._plan["program"], run._plan["ops"]
    rows = []
    for row in run.transfers().rows():
        if row["kind"] == "preload":
            op = next(op["id"] for op in ops if op["name"] == row["name"])
            waited = first <= program.index(["execute", op]) < last
        else:  # The end of a program waits for stores; those that were over are of no window.
            waited = last == len(program) and row["end_ps"] > begin_ps
        if waited:
            rows.append({**row, "instruction": max(-1, row["instruction"] - first)})
    return rows


def test_a_window_begins_with_an_operator(subtests: pytest.Subtests) -> None:
    run = ran("decoder", "refresh", "core")
    program, ops = run._plan["program"], run._plan["ops"]
    for op in (0, 7, len(ops) - 1):
        begin = program.index(["execute", op])
        for first in (op, ops[op]["name"]):
            with subtests.test(first=first):
                assert unlike(run.trace(first=first, count=3), run.trace().window(begin, 3)) == []
                assert run.trace(first=first).end_ps == run.total_ps
    assert unlike(run.trace(count=5), run.trace().window(0, 5)) == []
    assert unlike(run.trace(count=5).window(2, 9), run.trace().window(2, 3)) == []
    for wrong in ({"first": "none"}, {"first": 1000}, {"first": -1}, {"first": 0, "count": 0}):
        with subtests.test(**wrong), pytest.raises(elk.InvalidInputError):
            run.trace(**wrong)


def test_the_states_of_a_transfer_fill_its_life(subtests: pytest.Subtests) -> None:
    for name, run in runs(*ALL):
        with subtests.test(name):
            found = run.transfers()
            assert all(int(found[state].min()) >= 0 for state in STATES)
            life = found["end_ps"] - found["issued_ps"]
            for parts, whole in [(STATES, life), (STALLS, found["stall_ps"])]:
                assert np.sum([found[part] for part in parts], axis=0).tolist() == whole.tolist()
            assert all(int(found[stall].min()) >= 0 for stall in (*STALLS, "slack_ps"))
            assert not (found["stall_ps"] * found["slack_ps"]).any()
            assert found["over"].all()
            assert (found["reached_ps"] >= 0).all()


def test_the_time_of_a_run_is_what_it_waits_and_what_executes_take(
    subtests: pytest.Subtests,
) -> None:
    for name, run in runs(*ALL):
        with subtests.test(name):
            found, columns = run.transfers(), run.columns
            stored = found["kind"] == "store"
            waited = np.zeros_like(columns["waited_ps"])
            names = [row["name"] for row in run.rows()]
            for row in found.where(~stored).rows():
                waited[names.index(row["name"])] = row["stall_ps"]
            assert waited.tolist() == columns["waited_ps"].tolist()
            for_stores = int(found["stall_ps"][stored].sum())
            parts = sum(int(columns[part].sum()) for part in PARTS)
            assert int(waited.sum()) + parts + for_stores == run.total_ps
            stalls = run.stalls()
            assert round(1e12 * stalls["preload"]) == int(waited.sum())
            assert round(1e12 * stalls["store"]) == for_stores


def test_what_was_waited_for_is_told_apart() -> None:
    for fidelity in BOTH:
        found = ran("state", "refresh", fidelity).transfers()
        assert found["kind"].tolist() == ["preload", "preload", "store"]
        assert found["stall_ps"].min() > 0
        assert found["base_ps"].tolist() == [100_000, 0, 100_000]  # After a pause alone.
        assert found["stall_base_ps"].tolist() == found["base_ps"].tolist()
        assert found["refresh_ps"].min() > 0
        assert found["refresh_ps"].sum() % 200_000 == 0  # Each refresh, from end to end.
        assert not ran("state", "mesh", fidelity).transfers()["refresh_ps"].any()
    calm = ran("state", "mesh", "core").transfers()["contention_ps"]
    assert calm.max() > 0  # Of a preload: behind the exchange of a product.


def close(one: Any, other: Any) -> bool:
    """Equal to nine digits of the largest."""
    most = float(np.max(np.abs(other), initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-9 * most))


def amounts(found: Columns) -> dict[str, Any]:
    return {name: x for name, x in found.items() if name.endswith(("_bytes", "_core_s"))}


def highest_share(found: Columns) -> float:
    shares = [x for name, x in found.items() if name.endswith(("_mean", "_busiest"))]
    return max((float(x.max()) for x in shares), default=0.0)


def test_units_add_up_to_what_the_run_counts(subtests: pytest.Subtests) -> None:
    rng = random.Random(1)
    for name, run in runs(*ALL):
        totals, copies = run._run.totals, run._copies
        counted = {
            "hbm_bytes": copies * totals.hbm_bytes,
            "received_bytes": copies * totals.received_bytes,
            "matrix_core_s": copies * totals.matrix_s,
            "vector_core_s": copies * totals.vector_s,
        }
        for width_ps in (run.total_ps + 1, rng.randrange(run.total_ps // 999, run.total_ps)):
            with subtests.test(name, width_ps=width_ps):
                found = run.trace().units(width_ps)
                assert found["time_ps"].tolist() == list(range(0, run.total_ps, width_ps))
                for unit, amount in counted.items():
                    assert close(found[unit].sum(), amount), unit
                assert highest_share(found) <= 1 + 1e-9


def test_what_halves_do_adds_up_to_the_whole(subtests: pytest.Subtests) -> None:
    rng = random.Random(2)
    for name, run in runs(*ALL):
        trace = run.trace()
        width = rng.randrange(trace.total_ps // 99, trace.total_ps // 9)
        border = width * rng.randrange(1, trace.total_ps // width)
        with subtests.test(name, width=width, border=border):
            whole = trace.units(width)
            halves = trace.units(width, end_ps=border), trace.units(width, begin_ps=border)
            for column, amount in amounts(whole).items():
                assert close(np.concatenate([half[column] for half in halves]), amount), column


def test_no_picosecond_is_used_more_than_once(subtests: pytest.Subtests) -> None:
    rng = random.Random(3)
    for name, run in runs(*ALL):
        begin = rng.randrange(run.total_ps - 300)
        with subtests.test(name, begin=begin):
            span = {"begin_ps": begin, "end_ps": begin + 300}
            found, whole = run.trace().units(1, **span), run.trace().units(300, **span)
            assert found["time_ps"].tolist() == list(range(begin, begin + 300))
            assert highest_share(found) <= 1 + 1e-9
            for column, amount in amounts(whole).items():
                assert close(found[column].sum(), amount[0]), column


def test_units_are_even_where_nothing_overlaps() -> None:
    """A product on cores that all do the same, once its operands are there."""
    weight = {"w": np.ones((256, 256), np.float32)}
    product = model_of([node("MatMul", "x w", "y")], {"x": [64, 256]}, ["y"], weight)
    run = elk.compile(product, "tiny", policy="basic", threads=1).simulate(fidelity="core")
    trace, phases = run.trace(), run._run.phases
    (load,) = run.transfers().rows()
    assert load["contention_ps"] == 0
    rng = random.Random(4)
    times = sorted(rng.sample(range(load["first_ps"], load["end_ps"]), 20))
    for begin, end in itertools.pairwise(times):
        found = trace.units(end - begin, begin_ps=begin, end_ps=end)
        even = load["bytes"] * (end - begin) / (load["end_ps"] - load["first_ps"])
        assert found["hbm_bytes"][0] == pytest.approx(even, rel=1e-5)
        assert found["hbm_busiest"][0] <= 1 + 1e-9
    for phase in zip(*(phases[name].tolist() for name in phases), strict=True):
        row = dict(zip(phases, phase, strict=True))
        found = trace.units(
            row["end_ps"] - row["begin_ps"], begin_ps=row["begin_ps"], end_ps=row["end_ps"]
        )
        assert found["matrix_core_s"][0] == pytest.approx(row["core_s"], rel=1e-9)
        assert found["received_bytes"][0] == pytest.approx(row["received_bytes"], rel=1e-9)
        assert found["receive_bytes"][0] == pytest.approx(row["received_bytes"], rel=1e-9)


def test_impossible_parts_are_refused(subtests: pytest.Subtests) -> None:
    trace = ran("nerf", "mesh", "core").trace()
    cases: list[dict[str, Any]] = [
        *({"width_ps": width} for width in (0, -1, 1.5, True, "1", None, 1)),
        {"width_ps": 10, "begin_ps": 5, "end_ps": 5},
        {"width_ps": 10, "begin_ps": -5},
        {"width_ps": 10, "end_ps": float("nan")},
        {"width_ps": 10, "begin_ps": 0.5, "end_ps": 100.5},
        {"width_ps": 10**25},
    ]
    for case in cases:
        with subtests.test(**case), pytest.raises(elk.InvalidInputError):
            trace.units(**case)


def test_less_hbm_is_not_faster(subtests: pytest.Subtests) -> None:
    for name, run in runs(*BOTH):
        with subtests.test(name):
            trace = run.trace()
            slow = trace.replay(slow={"hbm": 0.5})
            # A preload that lasts longer may meet less of an exchange.
            assert slow.total_ps >= 0.999 * trace.total_ps
            assert slow.transfers()["alone_ps"].sum() >= trace.transfers()["alone_ps"].sum()
            assert slow.replay().total_ps == slow.total_ps
            assert unlike(slow.replay(slow={"hbm": 2.0}).replay(slow={}), trace) == []


def test_a_way_at_a_tenth_of_its_speed_is_the_busiest(subtests: pytest.Subtests) -> None:
    for model, chip, kind in [
        ("resnet", "pod", "send"),
        ("encoder", "refresh", "send"),
        ("nerf", "pod", "receive"),
        ("nerf", "mesh", "link"),
        ("resnet", "mesh", "link"),
        ("state", "mesh", "hbm entry"),
        ("nerf", "pooled", "chip out"),
    ]:
        trace = ran(model, chip, "core").trace()
        found = trace.links()
        found = found.where(np.char.startswith(found["name"], f"{kind} "))
        way = str(found["name"][found["used"].argmax()])
        with subtests.test(model=model, chip=chip, way=way):
            slow = trace.replay(slow={way: 0.1})
            assert slow.total_ps > trace.total_ps
            assert slow.links()["name"][slow.links()["used"].argmax()] == way
            assert slow.links()["used"].max() <= 1 + 1e-9


def test_more_speed_is_not_slower(subtests: pytest.Subtests) -> None:
    rng = random.Random(6)
    for name, run in runs(*BOTH):
        trace = run.trace()
        kinds = sorted({name.rstrip("0123456789- ") for name in trace.links()["name"].tolist()})
        speeds = {kind: rng.uniform(1.0, 8.0) for kind in rng.sample(kinds, 2)}
        with subtests.test(name, speeds=speeds):
            assert trace.replay(slow=speeds).total_ps <= 1.01 * trace.total_ps


def test_speeds_that_mean_nothing_are_refused(subtests: pytest.Subtests) -> None:
    trace = ran("nerf", "mesh", "core").trace()
    shares = (0, -1, 5e-324, float("nan"), float("inf"), True, "half", None, 1e9, 10**400)
    cases = [*({"hbm": share} for share in shares), {"hmb": 0.5}, {3: 0.5}, {"send 1": 0.5}]
    for slow in cases:
        with subtests.test(slow=slow):
            with pytest.raises(elk.InvalidInputError) as raised:
                trace.replay(slow=slow)  # type: ignore[arg-type]
            assert raised.value.place == "slow"
            assert raised.value.remedy
    assert trace.replay(slow={"link 0-1": 0.5, "link": 1}).total_ps >= trace.total_ps


def test_without_hbm_nothing_is_transferred(tmp_path: Path) -> None:
    chip = elk.chips.get("tiny").replace(hbm=None, sram_bytes="1 MiB")
    run = elk.compile(ends_with_a_store(), chip, policy="basic").simulate()
    trace = run.trace()
    trace.save(tmp_path / "x.elktrace")
    loaded = elk.load_trace(tmp_path / "x.elktrace")
    assert isinstance(loaded, ProgramTrace)
    for one in (trace, trace.replay(), trace.window(0, 1), loaded):
        assert one.transfers().count == 0
        assert "hbm_busiest" not in one.units(1000, end_ps=10_000)
        assert "0 transfers" in one.summary()
        assert [track.name for track in one.timeline().tracks] == ["cores", "stalls"]
    with pytest.raises(elk.InvalidInputError, match="no resource 'hbm'"):
        trace.replay(slow={"hbm": 0.5})


def test_a_run_of_flows_is_asked_but_not_played_again(tmp_path: Path) -> None:
    trace = ran("decoder", "pod", "flows").trace()
    assert trace.units(trace.total_ps)["hbm_bytes"][0] > 0
    path = tmp_path / "x.elktrace"
    for act in (trace.replay, trace.links, lambda: trace.window(0, 1), lambda: trace.save(path)):
        with pytest.raises(elk.InvalidInputError, match="fidelity") as raised:
            act()
        assert raised.value.code == "no_replay"
        assert raised.value.remedy


def test_a_run_that_was_pickled_is_traced_all_the_same() -> None:
    for model, chip in [("nerf", "pooled"), ("decoder", "pod"), ("state", "refresh")]:
        for fidelity in ALL:
            run = ran(model, chip, fidelity)
            twin = pickle.loads(pickle.dumps(run))
            assert differing(twin.transfers(), run.transfers()) == []
            one, other = (Columns(each.utilisation_over_time(7)) for each in (run, twin))
            assert differing(one, other) == []
            if fidelity != "flows":
                assert unlike(twin.trace().replay(), run.trace()) == []


def cycles(_kernel: Any, sizes: dict[str, int], _params: Any) -> float:
    return 50.0 + sum(sizes.values())


def slower(_kernel: Any, sizes: dict[str, int], _params: Any) -> float:
    return 5000.0 + sum(sizes.values())


def test_a_run_of_a_tile_function_is_played_again_where_it_is_known(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"bindings": {"rows": 64}, "policy": "basic"}
    plan = elk.compile(NERF, "tiny", **asked, tile_model=cycles)
    run = plan.simulate()
    assert unlike(run.trace().replay(), run.trace()) == []
    plan.save(tmp_path / "x.elkplan")
    loaded = elk.load_plan(tmp_path / "x.elkplan").simulate(tile_model=cycles)
    assert unlike(loaded.trace().replay(), run.trace()) == []
    arrived = [pickle.loads(pickle.dumps(one)) for one in (run, loaded)]
    other = elk.compile(NERF, "tiny", **asked).simulate(tile_model=slower)
    assert other.trace().replay().total_ps == other.total_ps
    for twin in (*arrived, pickle.loads(pickle.dumps(other))):
        trace = twin.trace()
        assert trace.transfers().count == 7
        with pytest.raises(elk.InvalidInputError) as raised:
            trace.replay()
        assert raised.value.code == "no_replay"


def test_a_timeline_has_every_transfer_in_a_lane(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name, run in runs(*ALL):
        with subtests.test(name):
            trace = run.trace()
            shown = trace.timeline()
            rows = [row for row in trace.transfers().rows() if row["end_ps"] > row["issued_ps"]]
            lives = [one for one in shown.slices if "slack_ps" in one.facts]
            assert sorted((f"{row['kind']} {row['name']}", row["issued_ps"], row["end_ps"])
                          for row in rows) == sorted(
                              (one.name, one.begin_ps, one.end_ps) for one in lives)  # fmt: skip
            free: dict[int, int] = {}
            for one in sorted(lives, key=lambda one: one.begin_ps):
                assert one.begin_ps >= free.get(one.track, 0)
                free[one.track] = one.end_ps
            stalls = [one for one in shown.slices if one.category == "wait" and
                      shown.tracks[one.track].name == "stalls"]  # fmt: skip
            assert sum(one.end_ps - one.begin_ps for one in stalls) == sum(
                row["stall_ps"] for row in rows
            )
    shown.save(tmp_path / "x.json")
    shown.save(tmp_path / "x.pftrace")
    assert (tmp_path / "x.json").stat().st_size > (tmp_path / "x.pftrace").stat().st_size > 0


def test_a_summary_names_what_was_stalled_for_longest() -> None:
    trace = ran("state", "refresh", "core").trace()
    assert "3 transfers" in repr(trace)
    found = trace.transfers()
    longest = found.where(np.argsort(-found["stall_ps"])).rows()[0]
    lines = trace.summary().splitlines()
    assert lines[0].endswith("3 transfers")
    assert lines[3].endswith(f"for {longest['kind']} {longest['name']}")
    assert planned("state", "refresh").to_json()["model"]["name"] in lines[0]
    assert found._repr_html_().count("<tr>") == 4
