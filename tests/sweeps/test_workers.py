"""Workers of a sweep: whatever becomes of one, all other points are done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import elk
import pytest
import sweep_faults
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost, Work
from elk.sweeps.evaluate import Answer
from elk.sweeps.local import LocalEngine

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that start from now on have the faults."""
    monkeypatch.syspath_prepend(sweep_faults.install(tmp_path / "faults"))


@pytest.mark.slow
@pytest.mark.usefixtures("faults")
def test_each_fault_costs_its_own_point(tmp_path: Path) -> None:
    sweep = elk.sweep(
        MODEL,
        "tiny",
        {"rows": [*range(60, 70), *range(71, 77)], "policy": ["static"]},
        store=tmp_path / "s.elksweep",
        workers=2,
        timeout_s=10,
        memory_bytes="700 MB",
        retries=1,
    )
    rows = {row["rows"]: row for row in sweep.rows()}
    failed = {size: row["code"] for size, row in rows.items() if row["status"] != "done"}
    assert failed == sweep_faults.EXPECTED
    assert "SIGKILL, 2 times" in rows[65]["message"]
    assert "SIGSEGV" in rows[66]["message"]
    assert "TypeError" in str(sweep[9].traceback)


def large(number: int) -> Task:
    """A task of some kilobytes that is answered with some megabytes."""
    options = {"note": "x" * 8192}
    return Task(f"{number}", "model", "chip", {"rows": sweep_faults.LARGE}, options, None)


def answers(engine: LocalEngine, count: int) -> list[Answer | Lost]:
    found: list[Answer | Lost] = []
    until_s = time.monotonic() + 120
    while len(found) < count and time.monotonic() < until_s:
        found += engine.wait(0.1)
    return found


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("faults")
def test_pipes_full_both_ways_hold_nobody_up() -> None:
    engine = LocalEngine(1, Work(sources=(), columns=()), Caps())
    try:
        engine.give(engine.wanted()[0], Batch((large(0),), {}))
        engine.give(engine.wanted()[0], Batch(tuple(large(at) for at in range(1, 201)), {}))
        assert [one.key for one in answers(engine, 20) if isinstance(one, Answer)][:20] == [
            f"{at}" for at in range(20)
        ]
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.usefixtures("faults")
def test_a_worker_may_die_while_it_starts() -> None:
    engine = LocalEngine(1, Work(sources=(), columns=()), Caps())
    try:
        engine.give(engine.wanted()[0], Batch((large(0),), {}))
        os.kill(engine._workers[0].process.pid, signal.SIGKILL)
        (lost,) = answers(engine, 1)
        assert isinstance(lost, Lost)
        assert lost.code == GIVEN_BACK
        engine.give(engine.wanted()[0], Batch((large(0),), {}))
        (found,) = answers(engine, 1)
        assert isinstance(found, Answer)
    finally:
        engine.close()


def test_workers_that_never_start_end_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    engine = LocalEngine(2, Work(sources=(), columns=()), Caps())
    try:
        with pytest.raises(elk.ElkError, match="workers cannot start: its worker exited"):
            answers(engine, 1)
    finally:
        engine.close()


@pytest.mark.slow
def test_workers_give_what_this_process_gives(tmp_path: Path) -> None:
    space = {"rows": [64, 128], "hbm_bandwidth": ["32 GB/s", "96 GB/s"], "policy": ["elk-full"]}
    here = elk.sweep(MODEL, "tiny", space, store=tmp_path / "a.elksweep", workers=0)
    there = elk.sweep(MODEL, "tiny", space, store=tmp_path / "b.elksweep", workers=2)
    for sweep, name in ((here, "a.parquet"), (there, "b.parquet")):
        sweep.save(tmp_path / name, timed=False)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


SCRIPT = """
import sys, elk
elk.sweep({model!r}, "tiny", {{"rows": [*range(64, 94)], "policy": ["basic", "static"]}},
          store=sys.argv[1], workers=2)
"""


def finished(sweep: elk.Sweep) -> dict[int, str]:
    """When each point was done, of those that are."""
    return {row["point"]: row["finished_at"] for row in sweep.rows() if row["finished_at"]}


def killed_after(seconds: float, store: Path) -> int:
    """Starts the sweep, kills its coordinator, and returns how many points are done then."""
    command = [sys.executable, "-c", SCRIPT.format(model=str(MODEL)), str(store)]
    process = subprocess.Popen(command, start_new_session=True)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return elk.sweep.open(store).progress.done if store.exists() else 0


@pytest.mark.slow
def test_a_killed_coordinator_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    store = tmp_path / "s.elksweep"
    reported: dict[int, str] = {}
    for _ in range(3):
        killed_after(2.0, store)
        if not store.exists():
            continue
        now = {
            r["point"]: r["finished_at"] for r in elk.sweep.open(store).rows() if r["finished_at"]
        }
        assert now.items() >= reported.items()
        reported = now
    killed = elk.sweep.open(store).resume(workers=2)
    assert finished(killed).items() >= reported.items()
    assert killed.progress.done == 60
    whole = elk.sweep(
        MODEL,
        "tiny",
        {"rows": [*range(64, 94)], "policy": ["basic", "static"]},
        store=tmp_path / "whole.elksweep",
        workers=2,
    )
    for sweep, name in ((killed, "a.parquet"), (whole, "b.parquet")):
        sweep.save(tmp_path / name, timed=False)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
