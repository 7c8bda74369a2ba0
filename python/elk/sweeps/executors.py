"""Workers behind an executor of `concurrent.futures`, wherever it runs what it is given."""

from __future__ import annotations

import concurrent.futures as cf
import os
import pickle
from functools import lru_cache
from typing import Any, Final

from elk.errors import InvalidInputError
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Engine, Lost, Pace, Work
from elk.sweeps.evaluate import Answer, Evaluator

_BATCH_S: Final = 5.0  # how long a batch should take: what giving it costs is little beside that
_AHEAD: Final = 2  # batches that wait for each worker


def engine_of(executor: Any, work: Work, timeout_s: float | None) -> Engine:
    """The engine of what a caller gave as executor.

    Raises:
        InvalidInputError: it is no executor, and no client or address of Dask.
    """
    if isinstance(executor, cf.Executor):
        return FuturesEngine(executor, work, timeout_s)
    raise InvalidInputError(
        f"executor must be one of concurrent.futures, got {executor!r}",
        remedy="leave it out for processes of this machine",
    )


@lru_cache(maxsize=1)
def _evaluator(packed: bytes) -> Evaluator:
    """What answers tasks in this process; kept, with all it knows, from batch to batch."""
    work: Work = pickle.loads(packed)
    return work.evaluator()


def answered(packed: bytes, batch: Batch) -> list[Answer]:
    """What a worker does with a batch; `packed` is the work, pickled."""
    evaluator = _evaluator(packed)
    evaluator.know(batch.chips)
    return [evaluator.answer(task) for task in batch.tasks]


class FuturesEngine:
    """An executor of `concurrent.futures`: what it loses is given again, as often as `retries`."""

    def __init__(self, executor: cf.Executor, work: Work, timeout_s: float | None) -> None:
        if timeout_s is not None:
            raise InvalidInputError(
                "an executor cannot end a point that takes too long",
                code="no_timeout",
                place="timeout_s",
                remedy="leave timeout_s out, or take workers of this machine or of Dask",
            )
        self._executor = executor
        self._packed = pickle.dumps(work)
        self._futures: dict[cf.Future[list[Answer]], tuple[Task, ...]] = {}
        self._pace = Pace(_BATCH_S)

    def wanted(self) -> list[object]:
        """Slots that stand for no worker, two for each."""
        workers = getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1
        return [None] * (workers * _AHEAD - len(self._futures))

    def batch_size(self) -> int:
        """As many tasks as take a few seconds."""
        return self._pace.batch_size()

    def give(self, slot: object, batch: Batch) -> None:  # noqa: ARG002 - the executor chooses
        """Submits a batch."""
        self._futures[self._executor.submit(answered, self._packed, batch)] = batch.tasks

    def wait(self, seconds: float) -> list[Answer | Lost]:
        """Answers of the batches that are over."""
        done, _ = cf.wait(self._futures, timeout=seconds, return_when=cf.FIRST_COMPLETED)
        found: list[Answer | Lost] = []
        for future in done:
            tasks = self._futures.pop(future)
            try:
                answers = future.result()
            except Exception as error:
                found += lost_batch(tasks, f"{type(error).__name__}: {error}")
            else:
                self._pace.learn(answers)
                found += answers
        return found

    def close(self) -> None:
        """Cancels what has not begun; the executor is the caller's to shut down."""
        for future in self._futures:
            future.cancel()


def lost_batch(tasks: tuple[Task, ...], message: str) -> list[Lost]:
    """Tasks that were lost together: one alone is to blame, several are given one by one."""
    if len(tasks) == 1:
        return [Lost(tasks[0], "worker_died", message, again=True)]
    return [Lost(task, GIVEN_BACK, "", again=True) for task in tasks]
