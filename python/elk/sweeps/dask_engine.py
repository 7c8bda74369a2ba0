"""Workers behind a scheduler of Dask, on one machine or on many.

Each thread of a worker is given one batch at a time, and the next as soon as its answers are here;
which worker has which batch is this engine's to say, so that neighbours stay together and a worker
that is gone takes down what it had and nothing else. The work (models and all) is a task of Dask's,
which every worker fetches once and Dask makes again where all that held it are gone.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import time
import uuid
import warnings
from collections import Counter
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from elk import _core
from elk.errors import ElkError, InvalidInputError, MissingPackageError
from elk.sweeps.dask_worker import answered_apart, same
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost, Pace, Work
from elk.sweeps.evaluate import Answer

# Half of what `distributed` declares has types, so that its clients and futures have none here.
Client: TypeAlias = Any
Future: TypeAlias = Any

_BATCH_S: Final = 5.0  # how long a batch should take: what giving it costs is little beside that
_LOOK_S: Final = 0.5  # how often the scheduler is asked which workers there are
_LONELY_S: Final = 60.0  # how long there may be no worker before that is said
_FETCH_S: Final = 10.0  # how long answers may take to come from a worker that may be gone


def client_of(executor: Any) -> tuple[Client, bool]:
    """The client that a caller gave, or one of the scheduler at an address; and whether it is new.

    Raises:
        InvalidInputError: no scheduler answers, or the client is an asynchronous one.
        MissingPackageError: `distributed` is not installed.
    """
    try:
        import distributed  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise MissingPackageError(
            "sweeps on Dask need distributed, which is not installed",
            remedy="pip install 'elk-icca[dask]'",
        ) from error
    if isinstance(executor, str):
        try:
            make: Any = distributed.Client
            return make(executor, set_as_default=False), True
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"no scheduler of Dask answers: {error}",
                code="no_scheduler",
                place=f"executor={executor!r}",
                remedy="start one with `dask scheduler`, and give the address that it prints",
            ) from error
    if executor.asynchronous:
        raise InvalidInputError(
            "the client of Dask is asynchronous, and a sweep waits",
            place="executor",
            remedy="give Client(address) without asynchronous=True",
        )
    return executor, False


@dataclass(eq=False)
class _Slot:
    """A thread of a worker."""

    address: str


@dataclass(frozen=True)
class _Given:
    slot: _Slot
    batch: Batch


class DaskEngine:
    """Workers of Dask: what a lost one had is given again."""

    def __init__(self, client: Client, is_own: bool, work: Work, caps: Caps) -> None:
        self._client = client
        self._is_own = is_own
        self._caps = caps
        self._packed = pickle.dumps(work)
        self._name = f"elk-sweep-{uuid.uuid4().hex}"
        self._count = 0
        self._work = self._shared()
        self._given: dict[Future, _Given] = {}
        self._over: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._slots: dict[str, list[_Slot]] = {}
        self._suspects: set[str] = set()  # tasks that a lost worker had beside others
        self._pace = Pace(_BATCH_S)
        self._looked_s = -_LOOK_S
        self._peopled_s: float | None = time.monotonic()  # None: it is said

    def wanted(self) -> list[object]:
        """A slot for each idle thread; while a task is suspected, only of idle workers."""
        self._look()
        busy = {given.slot for given in self._given.values()}
        found: list[object] = []
        for slots in self._slots.values():
            free = [slot for slot in slots if slot not in busy]
            if self._suspects:
                free = free[:1] if len(free) == len(slots) else []
            found += free
        return found

    def batch_size(self) -> int:
        """As many tasks as take a few seconds."""
        return self._pace.batch_size()

    def give(self, slot: object, batch: Batch) -> None:
        """Submits a batch for a worker."""
        assert isinstance(slot, _Slot)
        if self._work.status in ("cancelled", "lost", "error"):
            self._work = self._shared()
        self._count += 1
        future: Future = self._client.submit(
            answered_apart,
            self._work,
            self._name,
            _core.__version__,
            self._caps,
            batch,
            key=f"{self._name}-{self._count}",
            workers=[slot.address],
            pure=False,
        )
        self._given[future] = _Given(slot, batch)
        future.add_done_callback(self._over.put)

    def wait(self, seconds: float) -> list[Answer | Lost]:
        """Answers of the batches that are over, and tasks of workers that are gone.

        Raises:
            ElkError: the scheduler is gone, or workers have no ELK or another one.
        """
        with contextlib.suppress(queue.Empty):
            self._over.get(timeout=min(seconds, _LOOK_S))
        found: list[Answer | Lost] = []
        for future in [one for one in self._given if one.done()]:
            found += self._result(future)
        self._look()
        return found + self._gone()

    def close(self) -> None:
        """Cancels all batches, which ends their processes on the workers, too."""
        with contextlib.suppress(Exception):  # Of a scheduler that is gone nothing is left to end.
            self._client.cancel([*self._given, self._work], force=True)
        self._given = {}
        if self._is_own:
            self._client.close()

    def _shared(self) -> Future:
        """The work on the scheduler, from where each worker has it once."""
        from dask import config  # noqa: PLC0415 - optional

        with config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            self._count += 1
            return self._client.submit(
                same, self._packed, key=f"{self._name}-work-{self._count}", pure=False
            )

    def _look(self) -> None:
        """Learns which workers there are, with their threads."""
        if time.monotonic() < self._looked_s + _LOOK_S:
            return
        try:
            threads: dict[str, int] = self._client.nthreads()
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self._without_scheduler(error) from error
        if self._client.status in ("closing", "closed"):
            raise self._without_scheduler(self._client.status)
        self._looked_s = time.monotonic()
        self._slots = {
            address: self._slots.get(address) or [_Slot(address) for _ in range(count)]
            for address, count in threads.items()
        }
        if self._slots:
            self._peopled_s = self._looked_s
        elif self._peopled_s is not None and self._looked_s > self._peopled_s + _LONELY_S:
            self._peopled_s = None
            warnings.warn(
                f"the scheduler {self._client.scheduler.address} has had no worker for "
                f"{_LONELY_S:g} s; the sweep goes on when one joins",
                stacklevel=2,
            )

    def _result(self, future: Future) -> list[Answer | Lost]:
        if future.status == "error":
            return self._broken(future)
        try:
            answers: list[Answer | Lost] = future.result(timeout=_FETCH_S)
        except TimeoutError:  # The worker may be gone with its answers: `_gone` finds out.
            return []
        except CancelledError:  # By whoever restarted the workers, or with the scheduler.
            given = self._given.pop(future)
            return [Lost(task, GIVEN_BACK, "", again=True) for task in given.batch.tasks]
        given = self._given.pop(future)
        self._suspects.difference_update(task.key for task in given.batch.tasks)
        self._pace.learn(one for one in answers if isinstance(one, Answer))
        return answers

    def _broken(self, future: Future) -> list[Answer | Lost]:
        """Tasks of a batch that raised, which points never do: workers were lost, or are unfit."""
        error = future.exception(timeout=_FETCH_S)
        if isinstance(error, ElkError | ImportError):
            raise self._unfit(error) from error
        loads = Counter(given.slot.address for given in self._given.values())
        given = self._given.pop(future)
        message = f"{type(error).__name__}: {error}"
        return self._lost(given, message, is_alone=loads[given.slot.address] == 1)

    def _gone(self) -> list[Answer | Lost]:
        """Tasks of workers that are no more."""
        loads = Counter(given.slot.address for given in self._given.values())
        found: list[Answer | Lost] = []
        for future, given in list(self._given.items()):
            address = given.slot.address
            if address not in self._slots:
                del self._given[future]
                future.cancel()
                message = f"its worker {address} is gone"
                found += self._lost(given, message, is_alone=loads[address] == 1)
        return found

    def _lost(self, given: _Given, message: str, *, is_alone: bool) -> list[Answer | Lost]:
        """A task that had a worker for itself is to blame, others are suspected."""
        tasks = given.batch.tasks
        if is_alone and len(tasks) == 1:
            self._suspects.discard(tasks[0].key)
            return [Lost(tasks[0], "worker_died", message, again=True)]
        self._suspects.update(task.key for task in tasks)
        return [Lost(task, GIVEN_BACK, "", again=True) for task in tasks]

    @staticmethod
    def _unfit(error: Exception) -> ElkError:
        if isinstance(error, ElkError):
            return error
        return ElkError(
            f"workers have no ELK that can be imported: {error}",
            code="worker_start",
            place="executor",
            remedy=f"install elk-icca=={_core.__version__} on all workers",
        )

    @staticmethod
    def _without_scheduler(error: object) -> ElkError:
        return ElkError(
            f"the scheduler of Dask is gone: {error}",
            code="no_scheduler",
            place="executor",
            remedy="start it again, then resume the sweep",
        )
