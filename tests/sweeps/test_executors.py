"""Sweeps behind executors of `concurrent.futures`, and how many points travel together."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import random
from collections import Counter
from pathlib import Path

import elk
import pytest
import sweep_faults
from elk.points.columns import DONE
from elk.sweeps.coordinator import Coordinator, Queue
from elk.sweeps.definition import Base, Definition, define
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost, Pace, Work
from elk.sweeps.evaluate import Answer
from elk.sweeps.executors import engine_of
from elk.sweeps.store import Store

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


def table(sweep: elk.Sweep, path: Path) -> bytes:
    sweep.save(path, timed=False)
    return path.read_bytes()


def test_threads_give_what_this_process_gives(tmp_path: Path) -> None:
    space = {"rows": [*range(80, 84)], "policy": ["static", "ideal"]}
    here = elk.sweep(MODEL, "tiny", space, workers=0)
    with cf.ThreadPoolExecutor(2) as executor:
        there = elk.sweep(MODEL, "tiny", space, executor=executor)
    assert table(here, tmp_path / "a.parquet") == table(there, tmp_path / "b.parquet")


@pytest.mark.slow
def test_a_broken_pool_ends_the_sweep_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(sweep_faults.install(tmp_path / "faults"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "faults"), prepend=":")
    path = tmp_path / "s.elksweep"
    sizes = [*range(80, 96), sweep_faults.SIGKILL, *range(96, 112)]
    spawning = multiprocessing.get_context("spawn")
    with (
        cf.ProcessPoolExecutor(2, mp_context=spawning) as executor,
        pytest.raises(elk.ElkError, match="takes no more points") as caught,
    ):
        elk.sweep(MODEL, "tiny", {"rows": sizes}, executor=executor, store=path)
    assert caught.value.code == "executor_broken"
    assert any(str(path) in note for note in caught.value.__notes__)
    left = elk.sweep.open(path)
    kept = {row["rows"] for row in left.rows() if row["status"] == "done"}
    assert 0 < len(kept) < len(sizes)
    assert left.progress.failed == 0
    assert left.resume(workers=1, retries=0).progress.done == len(sizes) - 1


def test_executors_take_no_caps(subtests: pytest.Subtests) -> None:
    for caps in [Caps(seconds=1.0), Caps(memory_bytes=1 << 30)]:
        with subtests.test(caps=caps):
            work = Work(sources=(), columns=())
            with (
                cf.ThreadPoolExecutor(1) as executor,
                pytest.raises(elk.InvalidInputError) as caught,
            ):
                engine_of(executor, work, caps)
            assert caught.value.code == "no_caps"


def test_batches_grow_and_shrink_with_what_points_take() -> None:
    pace = Pace(5.0)
    sizes = []
    for seconds in [0.001] * 12 + [2.0] * 12:
        size = pace.batch_size()
        pace.learn(Answer(str(number), DONE, seconds=seconds) for number in range(size))
        sizes.append(size)
    assert sizes[0] == 1
    assert all(later <= 2 * sum(sizes[: at + 1]) for at, later in enumerate(sizes[1:]))
    assert max(sizes) == 512
    assert sizes[-1] == 2


class Perilous:
    """Workers of which each has several batches, and which some tasks end, with all they have."""

    def __init__(self, deadly: set[str], seed: int) -> None:
        self._deadly = deadly
        self._random = random.Random(seed)
        self._batches: list[Batch] = []
        self.deaths: Counter[str] = Counter()

    def wanted(self) -> list[object]:
        return [self] * (3 - len(self._batches))

    def batch_size(self) -> int:
        return self._random.randint(1, 8)

    def give(self, slot: object, batch: Batch) -> None:
        assert slot is self
        self._batches.append(batch)

    def wait(self, seconds: float) -> list[Answer | Lost]:
        assert seconds > 0
        batch = self._batches.pop(self._random.randrange(len(self._batches)))
        keys = [task.key for task in batch.tasks]
        deadly = [key for key in keys if key in self._deadly]
        if not deadly:
            return [Answer(key, DONE, row={"latency_s": 1.0}) for key in keys]
        self.deaths.update(deadly[:1])
        if len(keys) == 1:
            return [Lost(batch.tasks[0], "worker_died", "ended", again=True)]
        return [Lost(task, GIVEN_BACK, "", again=True) for task in batch.tasks]

    def close(self) -> None:
        self._batches = []


def perilous_definition() -> Definition:
    base = Base(model=MODEL, chip="tiny", bindings={}, options={}, columns=("latency_s",))
    return define(base, {"rows": [*range(64, 124)]})


def test_tasks_that_end_workers_are_found_and_no_others_blamed(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for seed in range(4):
        with subtests.test(seed=seed):
            definition = perilous_definition()
            store = Store.create(tmp_path / f"{seed}.elksweep", definition)
            keys = [point.task.key for point in definition.points]
            deadly = set(random.Random(seed).sample(keys, 3))
            engine = Perilous(deadly, seed)
            reported: list[Answer] = []
            with store.coordinating():
                Coordinator(store=store, engine=engine, retries=2, report=reported.extend).run(
                    Queue.of(store.open_tasks(), store.chips())
                )
            assert sorted(answer.key for answer in reported) == sorted(keys)
            assert {answer.key for answer in reported if answer.code} == deadly
            assert all(answer.message == "ended, 3 times" for answer in reported if answer.code)
            assert all(
                3 <= engine.deaths[key] <= 4 for key in deadly
            )  # Once in company at the most.
            store.close()
