"""Workers of a sweep: whatever becomes of one, all other points are done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import elk
import pytest
import sweep_faults
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost, Work
from elk.sweeps.evaluate import Answer
from elk.sweeps.local import LocalEngine
from patience import wait_until

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
        {"rows": [*range(60, 67), *range(68, 70), *range(71, 77)], "policy": ["static"]},
        store=tmp_path / "s.elksweep",
        workers=2,
        memory_bytes="700 MB",
        retries=1,
    )
    rows = {row["rows"]: row for row in sweep.rows()}
    failed = {size: row["code"] for size, row in rows.items() if row["status"] != "done"}
    assert failed == sweep_faults.EXPECTED
    assert "SIGKILL, 2 times" in rows[65]["message"]
    assert "SIGSEGV" in rows[66]["message"]
    assert "TypeError" in str(sweep[8].traceback)
    endless = {"rows": [sweep_faults.ENDLESS], "policy": ["static"]}
    (row,) = elk.sweep(MODEL, "tiny", endless, workers=1, timeout_s=1, retries=0).rows()
    assert row["code"] == "timeout"


def large(number: int) -> Task:
    """A task of some kilobytes that is answered with some megabytes."""
    options = {"note": "x" * 8192}
    return Task(f"{number}", "model", "chip", {"rows": sweep_faults.LARGE}, options, None)


def answers(engine: LocalEngine, count: int) -> list[Answer | Lost]:
    found: list[Answer | Lost] = []
    while len(found) < count:
        found += engine.wait(0.1)
    return found


@pytest.mark.slow
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


SCRIPT = """
import sys, elk
elk.sweep({model!r}, "tiny", {{"rows": [*range(64, 94)], "policy": ["basic", "static"]}},
          store=sys.argv[1], workers=2)
"""


def finished(sweep: elk.Sweep) -> dict[int, str]:
    """When each point was done, of those that are."""
    return {row["point"]: row["finished_at"] for row in sweep.rows() if row["finished_at"]}


def done(store: Path) -> int:
    """How many points are done; none of a store that is being made."""
    try:
        return elk.sweep.open(store).progress.done
    except elk.SweepStoreError:
        return 0


def kill_when(count: int, store: Path) -> None:
    """Starts the sweep, and kills its coordinator once so many points are done."""
    command = [sys.executable, "-c", SCRIPT.format(model=str(MODEL)), str(store)]
    with subprocess.Popen(command, start_new_session=True) as process:
        wait_until(lambda: done(store) >= count or process.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_coordinator_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    store = tmp_path / "s.elksweep"
    reported: dict[int, str] = {}
    for count in (1, 10):
        kill_when(count, store)
        now = finished(elk.sweep.open(store))
        assert now.items() >= reported.items()
        reported = now
    assert len(reported) < 60
    killed = elk.sweep.open(store).resume(workers=2)
    assert finished(killed).items() >= reported.items()
    assert killed.progress.done == 60
    whole = elk.sweep(
        MODEL,
        "tiny",
        {"rows": [*range(64, 94)], "policy": ["basic", "static"]},
        store=tmp_path / "whole.elksweep",
        workers=0,
    )
    for sweep, name in ((killed, "a.parquet"), (whole, "b.parquet")):
        sweep.save(tmp_path / name, timed=False)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
