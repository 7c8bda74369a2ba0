"""Traces of anybody's accelerator: Figures 4 and 5 of the xPU-Shark paper, and random programs."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.analyze.transfers import STALLS, STATES

BASE_PS = 1_000_000
SIZES = {"hbm": 1 << 30, "vmem": 1 << 16, "registers": 64}
MACHINE = {
    "memories": {
        "hbm": {"bytes": SIZES["hbm"], "bytes_per_s": 1e12},
        "vmem": {"bytes": SIZES["vmem"], "bytes_per_s": 2e12},
        "registers": {"bytes": SIZES["registers"]},
    },
    "latency_ps": BASE_PS,
}


def read(at: int, **more: Any) -> dict[str, Any]:
    """An issue of 1,000 bytes, which take 1 ns, to an address of the on-chip memory."""
    return {"from": "hbm", "to": "vmem", "bytes": 1000, "writes": [("vmem", at, at + 1000)], **more}


def setup(*, heads_first: bool) -> list[dict[str, Any]]:
    """Three chains as in Figure 5: a head brings an address, which two reads need."""
    found: list[dict[str, Any]] = []

    def add(one: dict[str, Any]) -> int:
        found.append(one)
        return len(found) - 1

    def tail(chain: int) -> list[int]:
        region = [("registers", 8 * chain, 8 * chain + 8)]
        value = [("vmem", 4000 * chain, 4000 * chain + 8)]
        add({"ps": 0, "light": True, "reads": value, "writes": region})
        return [add(read(4000 * chain + at, reads=region)) for at in (1000, 2000)]

    if heads_first:
        heads = [add(read(4000 * chain)) for chain in range(3)]
        for head in heads:
            add({"wait": head})
        for issue in [issue for chain in range(3) for issue in tail(chain)]:
            add({"wait": issue})
        return found
    for chain in range(3):
        add({"wait": add(read(4000 * chain))})
        for issue in tail(chain):
            add({"wait": issue})
    return found


def test_figure_4_has_its_three_cases() -> None:
    for computes_ps, stalls, slack in [
        (400_000, (0, 600_000, 1000), 0),
        (1_000_400, (0, 0, 600), 0),
        (1_500_000, (0, 0, 0), 499_000),
    ]:
        ran = elk.trace_of(MACHINE, [read(0), {"ps": computes_ps}, {"wait": 0}])
        row = ran.transfers().rows()[0]
        assert tuple(row[name] for name in STALLS) == stalls
        assert row["slack_ps"] == slack
        assert ran.total_ps == max(BASE_PS + 1000, computes_ps)


def test_figure_5_stalls_for_six_latencies_or_for_two() -> None:
    chained = elk.trace_of(MACHINE, setup(heads_first=False))
    early = elk.trace_of(MACHINE, setup(heads_first=True))
    assert chained.total_ps == 6_009_000
    assert early.total_ps == 2_009_000
    assert int(chained.transfers()["stall_base_ps"].sum()) == 6 * BASE_PS
    assert int(early.transfers()["stall_base_ps"].sum()) == 2 * BASE_PS
    heads = chained.dependences().where(np.array([0, 3, 6]))
    assert heads["relaxed"].tolist() == [-1, -1, -1]
    assert heads["back_tail_ps"].tolist() == [0, 2_003_000, 4_006_000]


def random_program(seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    found: list[dict[str, Any]] = []
    waiting: list[int] = []

    def regions() -> list[tuple[str, int, int]]:
        memory, size = rng.choice([("vmem", 1 << 16), ("registers", 64)])
        begin = rng.randrange(size)
        return [(memory, begin, rng.randint(begin + 1, min(size, begin + 3000)))]

    for at in range(rng.randint(1, 60)):
        kind = rng.random()
        if kind < 0.4:
            source, target = rng.choice([("hbm", "vmem"), ("vmem", "hbm"), ("vmem", "vmem")])
            amount = rng.choice([0, 1, 1000, 70_000])
            one = {"from": source, "to": target, "bytes": amount}
            found.append({**one, "reads": regions(), "writes": regions()})
            waiting.append(at)
        elif kind < 0.7 and waiting:
            found.append({"wait": waiting.pop(rng.randrange(len(waiting)))})
        else:
            light = rng.random() < 0.5
            one = {"ps": rng.choice([0, 7, 400_000]), "unit": rng.choice("ab"), "light": light}
            found.append({**one, "reads": regions(), "writes": regions()})
    return found


def test_random_programs_add_up(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for seed in range(60):
        with subtests.test(seed=seed):
            ran = elk.trace_of(MACHINE, random_program(seed))
            found = ran.transfers()
            parts = np.sum([found[name] for name in STATES], axis=0)
            assert (parts == found["end_ps"] - found["issued_ps"]).all()
            assert all(found[name].min(initial=0) >= 0 for name in (*STATES, *STALLS))
            stalled = np.sum([found[name] for name in STALLS], axis=0)
            assert (stalled == found["stall_ps"]).all()
            times = ran.instruction_times
            assert (times["begin_ps"][1:] == times["end_ps"][:-1]).all()
            limits = ran.dependences()
            order = [limits[name] for name in ("relaxed", "conservative", "placed", "instruction")]
            assert all((a <= b).all() for a, b in itertools.pairwise(order))
            assert (order[2] < order[3]).all()
            for memory in ran.memories:
                held = ran.memory(memory)
                names = [f"{name}_bytes" for name in ("used", "arriving", "idle", "free")]
                assert (np.sum([held[name] for name in names], axis=0) == SIZES[memory]).all()
                assert (held["hole_bytes"] <= held["free_bytes"]).all()
            if ran.total_ps:
                moved = ran.units(max(1, ran.total_ps // 7))
                sides = np.array([1, 1])[None] * found["bytes"][:, None]
                carried = moved["hbm_bytes"].sum() + moved["vmem_bytes"].sum()
                assert carried == pytest.approx(sides.sum())
                assert (
                    max(moved[name].max() for name in moved if name.endswith("_used")) <= 1 + 1e-9
                )
            ran.save(tmp_path / "one.elktrace")
            again = elk.load_trace(tmp_path / "one.elktrace")
            assert isinstance(again, elk.Trace)
            assert again.transfers().rows() == found.rows()
            again.save(tmp_path / "two.elktrace")
            files = [(tmp_path / f"{name}.elktrace").read_bytes() for name in ("one", "two")]
            assert files[0] == files[1]
            assert ran.timeline().end_ps <= ran.total_ps


def test_a_slower_memory_or_unit_draws_the_program_out() -> None:
    program = [read(0), {"wait": 0}, {"ps": 1001, "unit": "mxu"}]
    ran = elk.trace_of(MACHINE, program)
    assert ran.replay().total_ps == ran.total_ps == BASE_PS + 2001
    assert ran.replay(slow={"hbm": 0.5}).total_ps == ran.total_ps + 1000
    assert ran.replay(slow={"mxu": 0.5}).total_ps == ran.total_ps + 1001
    wrong: list[tuple[dict[str, float], str]]
    wrong = [({"hbn": 0.5}, "no memory or unit 'hbn'"), ({"hbm": 0}, "must be from 1e-06")]
    for slow, words in wrong:
        with pytest.raises(elk.InvalidInputError, match=words):
            ran.replay(slow=slow)


def test_what_no_machine_plays_is_refused_with_its_place(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        ([{"wait": 0}], "no issue before it"),
        ([{"ps": 1}, {"wait": 0}], "no issue before it"),
        ([{"from": "registers", "to": "vmem", "bytes": 1}], "no transfer reaches it"),
        ([{"from": "hbm", "to": "nowhere", "bytes": 1}], "no memory 'nowhere'"),
        ([{"from": "hbm", "to": "vmem", "bytes": -1}], "greater than or equal to 0"),
        ([{"from": "hbm", "to": "vmem", "bytes": 1 << 50}], "bytes must be from 0 to"),
        ([{"ps": 1.5}], "integer"),
        ([{"ps": 1, "unti": "a"}], "unti"),
        ([{"ps": 1, "reads": [("vmem", 5, 5)]}], "bytes 5 to 5 are none"),
        ([{"ps": 1, "reads": [("vmem", 0, 1 << 20)]}], "are none of the 65,536"),
        ([7], "is no instruction"),
    ]
    for program, words in cases:
        with subtests.test(program=program), pytest.raises(elk.InvalidInputError) as caught:
            elk.trace_of(MACHINE, program)
        assert words in str(caught.value)
        assert caught.value.place is not None
    with pytest.raises(elk.InvalidInputError, match="bytes_per_s"):
        elk.trace_of({"memories": {"a": {"bytes": 1, "bytes_per_s": 0}}}, [])
