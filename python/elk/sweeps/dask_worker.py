"""What a worker of Dask does with a batch: it has it answered by a process of its own.

A point that ends its process, hangs or eats memory then costs that process alone: the worker, with
all that Dask keeps on it, stays.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from elk import _core
from elk.errors import ElkError
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost
from elk.sweeps.evaluate import Answer
from elk.sweeps.local import LocalEngine

_IDLE_S: Final = 30.0  # how long a process waits for another batch before it is ended
_LEAST_BYTES: Final = 256 << 20  # what a process may hold, however little memory the worker has


def answered_apart(
    packed: bytes, sweep: str, version: str, caps: Caps, batch: Batch
) -> list[Answer | Lost]:
    """Answers a batch in the process that this thread keeps.

    Args:
        packed: The work, pickled.
        sweep: What tells the work from that of others.
        version: The version of ELK that answers are wanted of.
        caps: What a point may take.
        batch: The tasks.

    Raises:
        ElkError: this worker's ELK is of another version, or its processes cannot start.
    """
    from distributed import get_worker  # noqa: PLC0415 - optional, and here alone

    if version != _core.__version__:
        raise ElkError(
            f"a worker has ELK {_core.__version__}, the sweep is of {version}",
            code="worker_version",
            remedy=f"install elk-icca=={version} on all workers",
        )
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    kept = _kept()
    engine = kept.taken(sweep) or LocalEngine(1, pickle.loads(packed), _own_caps(caps, worker))
    try:
        found = _answers(engine, batch, is_wanted)
    except BaseException:
        engine.close()
        raise
    if len(found) < len(batch.tasks):  # Nobody waits for the rest.
        engine.close()
    else:
        kept.keep(sweep, engine)
    return [
        replace(one, worker=f"{worker.address} {one.worker}") if isinstance(one, Answer) else one
        for one in found
    ]


def _answers(
    engine: LocalEngine, batch: Batch, is_wanted: Callable[[], bool]
) -> list[Answer | Lost]:
    """Answers of all tasks, or of those that were done when the batch was no longer wanted."""
    found: list[Answer | Lost] = []
    tasks: list[Task] = list(batch.tasks)
    while len(found) < len(batch.tasks) and is_wanted():
        if tasks:
            engine.give(engine.wanted()[0], Batch(tuple(tasks), batch.chips))
            tasks = []
        for one in engine.wait(1.0):
            if isinstance(one, Lost) and one.code == GIVEN_BACK:
                tasks.append(one.task)
            else:
                found.append(one)
    return found


def _own_caps(caps: Caps, worker: object) -> Caps:
    """The caps with this thread's share of the worker's memory where none is given."""
    if caps.memory_bytes is not None:
        return caps
    limit = getattr(getattr(worker, "memory_manager", None), "memory_limit", None)
    if not limit:
        return caps
    threads = worker.state.nthreads  # type: ignore[attr-defined]
    used = worker.monitor.get_process_memory()  # type: ignore[attr-defined]
    return replace(caps, memory_bytes=max(_LEAST_BYTES, (limit - used) // threads))


class _Kept:
    """The process of a thread between two batches; without a batch it is ended after a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sweep = ""
        self._engine: LocalEngine | None = None
        self._timer: threading.Timer | None = None

    def taken(self, sweep: str) -> LocalEngine | None:
        """The process, if it knows the work of this sweep; one of another sweep is ended."""
        with self._lock:
            engine, self._engine = self._engine, None
            if self._timer is not None:
                self._timer.cancel()
            if engine is not None and self._sweep != sweep:
                engine.close()
                return None
            return engine

    def keep(self, sweep: str, engine: LocalEngine) -> None:
        """Keeps the process for the next batch."""
        with self._lock:
            self._sweep, self._engine = sweep, engine
            self._timer = threading.Timer(_IDLE_S, self._end)
            self._timer.daemon = True
            self._timer.start()

    def _end(self) -> None:
        self.taken("")  # No sweep's: it is ended.


_HERE = threading.local()


def _kept() -> _Kept:
    if not hasattr(_HERE, "kept"):
        _HERE.kept = _Kept()
    kept: _Kept = _HERE.kept
    return kept


def same(packed: bytes) -> bytes:
    """The work as a task of Dask's: what holds it may be lost, and it is made again."""
    return packed
