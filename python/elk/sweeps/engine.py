"""Where points are evaluated: what the coordinator of a sweep needs of workers anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from elk.limits import Limits
from elk.sweeps.definition import Task
from elk.sweeps.evaluate import Answer, Evaluator
from elk.sweeps.sources import Source


@dataclass(frozen=True, kw_only=True)
class Work:
    """What all tasks of a sweep share; it crosses to each worker once.

    Attributes:
        sources: The models.
        columns: The results that are kept.
        plans: Whether plans are kept.
        limits: What models may have at most.
        threads: Threads of a worker's search.
    """

    sources: tuple[Source, ...]
    columns: tuple[str, ...]
    plans: bool = False
    limits: Limits | None = None
    threads: int = 1

    def evaluator(self) -> Evaluator:
        """What answers tasks of this work."""
        return Evaluator(
            columns=self.columns,
            sources={source.digest: source for source in self.sources},
            plans=self.plans,
            limits=self.limits,
            threads=self.threads,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks for one worker, with the documents of their chips as JSON, by digest."""

    tasks: tuple[Task, ...]
    chips: dict[str, str]


_MOST_IN_BATCH: Final = 512
_REMEMBERED: Final = 64  # answers that say how long tasks take: later ones may be of other sizes


@dataclass(frozen=True, kw_only=True)
class Caps:
    """What one point may take: seconds, and bytes of its worker's memory; None: any."""

    seconds: float | None = None
    memory_bytes: int | None = None


GIVEN_BACK: Final = "given_back"  # the code of tasks that waited behind one that was lost


@dataclass(frozen=True, slots=True)
class Lost:
    """A task that a worker was given and will not answer.

    Attributes:
        task: The task.
        code: Why: `worker_died`, `timeout`, `memory` or `GIVEN_BACK`.
        message: The same for people.
        again: Whether another worker may do better: the fault need not lie in the task.
    """

    task: Task
    code: str
    message: str
    again: bool = False


class Engine(Protocol):
    """Workers, given batches of tasks; the coordinator asks, and no answer is waited for long."""

    def wanted(self) -> list[object]:
        """A slot for each batch that can be given now; equal slots stand for the same worker."""

    def batch_size(self) -> int:
        """How many tasks a batch should have."""

    def give(self, slot: object, batch: Batch) -> None:
        """Gives a batch to a slot that `wanted` has returned."""

    def wait(self, seconds: float) -> list[Answer | Lost]:
        """What came back, after at most so many seconds."""

    def close(self) -> None:
        """Ends all work at once; what was not answered is dropped."""


class Pace:
    """How many tasks make a batch of some seconds, by how long the last ones have taken."""

    def __init__(self, batch_s: float) -> None:
        self._batch_s = batch_s
        self._last_s: deque[float] = deque(maxlen=_REMEMBERED)
        self._tasks = 0

    def learn(self, answers: Iterable[Answer]) -> None:
        """Counts what came back."""
        for answer in answers:
            self._last_s.append(answer.seconds)
            self._tasks += 1

    def batch_size(self) -> int:
        """One, before anything came back; and never more than twice what came back."""
        if self._tasks == 0:
            return 1
        mean_s = max(sum(self._last_s) / len(self._last_s), 1e-6)
        return max(1, min(_MOST_IN_BATCH, 2 * self._tasks, int(self._batch_s / mean_s)))


class InlineEngine:
    """The caller's own process: no worker to start, and none to lose either."""

    def __init__(self, work: Work) -> None:
        self._evaluator = work.evaluator()
        self._tasks: deque[Task] = deque()

    def wanted(self) -> list[object]:
        """One slot, when all tasks are answered."""
        return [] if self._tasks else [self]

    def batch_size(self) -> int:
        """A few, so that answers come to disk soon."""
        return 8

    def give(self, slot: object, batch: Batch) -> None:  # noqa: ARG002 - there is one slot
        """Keeps a batch for `wait`."""
        self._evaluator.know(batch.chips)
        self._tasks.extend(batch.tasks)

    def wait(self, seconds: float) -> list[Answer | Lost]:  # noqa: ARG002 - a point takes what it does
        """Answers the next task."""
        return [self._evaluator.answer(self._tasks.popleft())] if self._tasks else []

    def close(self) -> None:
        """Drops what was not answered."""
        self._tasks.clear()
