"""Workers behind an executor of `concurrent.futures`, wherever it runs what it is given."""

from __future__ import annotations

import concurrent.futures as cf
import os
import pickle
import sys
import threading
from typing import Any, Final

from elk.errors import ElkError, InvalidInputError
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Engine, Lost, Pace, Work
from elk.sweeps.evaluate import Answer, Evaluator

_BATCH_S: Final = 5.0  # how long a batch should take: what giving it costs is little beside that
_AHEAD: Final = 2  # batches that wait for each worker


def engine_of(executor: Any, work: Work, caps: Caps) -> Engine:
    """The engine of what a caller gave as executor.

    Raises:
        InvalidInputError: it is no executor, and no client or address of Dask; or it cannot end
            what takes too long or too much memory.
        MissingPackageError: `distributed` is not installed.
    """
    if isinstance(executor, cf.Executor):
        return FuturesEngine(executor, work, caps)
    # Whoever holds a client has imported its package.
    client = getattr(sys.modules.get("distributed"), "Client", ())
    if isinstance(executor, client) or (isinstance(executor, str) and "://" in executor):
        from elk.sweeps.dask_engine import DaskEngine, client_of  # noqa: PLC0415 - optional package

        return DaskEngine(*client_of(executor), work, caps)
    raise InvalidInputError(
        "executor must be one of concurrent.futures, a client of Dask or the address of its "
        f"scheduler, got {executor!r}",
        place="executor",
        remedy="leave it out for processes of this machine",
    )


_HERE = threading.local()  # what answers tasks in this thread, with the work that it knows


def answered(packed: bytes, batch: Batch) -> list[Answer]:
    """What a worker does with a batch; `packed` is the work, pickled."""
    if getattr(_HERE, "packed", None) != packed:
        work: Work = pickle.loads(packed)
        _HERE.packed, _HERE.evaluator = packed, work.evaluator()
    evaluator: Evaluator = _HERE.evaluator
    evaluator.know(batch.chips)
    return [evaluator.answer(task) for task in batch.tasks]


class FuturesEngine:
    """An executor of `concurrent.futures`: what it loses is given again, as often as `retries`."""

    def __init__(self, executor: cf.Executor, work: Work, caps: Caps) -> None:
        for name, most in (("timeout_s", caps.seconds), ("memory_bytes", caps.memory_bytes)):
            if most is not None:
                raise InvalidInputError(
                    "an executor cannot end a point that takes too much",
                    code="no_caps",
                    place=name,
                    remedy=f"leave {name} out, or take workers of this machine or of Dask",
                )
        self._executor = executor
        self._packed = pickle.dumps(work)
        self._futures: dict[cf.Future[list[Answer]], tuple[Task, ...]] = {}
        self._pace = Pace(_BATCH_S)
        self._broken: Exception | None = None

    def wanted(self) -> list[object]:
        """Slots that stand for no worker, two for each."""
        workers = getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1
        return [None] * (workers * _AHEAD - len(self._futures))

    def batch_size(self) -> int:
        """As many tasks as take a few seconds."""
        return self._pace.batch_size()

    def give(self, slot: object, batch: Batch) -> None:  # noqa: ARG002 - the executor chooses
        """Submits a batch."""
        try:
            future = self._executor.submit(answered, self._packed, batch)
        except RuntimeError as error:  # Broken, or shut down: `wait` says so after what is done.
            self._broken = error
        else:
            self._futures[future] = batch.tasks

    def wait(self, seconds: float) -> list[Answer | Lost]:
        """Answers of the batches that are over.

        Raises:
            ElkError: the executor is broken or shut down.
        """
        done, _ = cf.wait(self._futures, timeout=seconds, return_when=cf.FIRST_COMPLETED)
        found: list[Answer | Lost] = []
        for future in done:
            tasks = self._futures.pop(future)
            try:
                answers = future.result()
            except (cf.BrokenExecutor, ImportError) as error:  # The next batch will do no better.
                self._broken = error
            except Exception as error:
                found += lost_batch(tasks, f"{type(error).__name__}: {error}")
            else:
                self._pace.learn(answers)
                found += answers
        if self._broken is not None and not found:
            raise ElkError(
                f"the executor takes no more points: {self._broken}",
                code="executor_broken",
                place="executor",
                remedy="resume the sweep with a new one; workers=N of this machine and those of "
                "Dask outlive a point that ends its process",
            ) from self._broken
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
