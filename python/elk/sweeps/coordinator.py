"""Runs the open tasks of a store: neighbours to the same worker, answers to disk, nothing twice."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from elk.base.policies import POLICIES
from elk.points.columns import FAILED
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Engine, Lost
from elk.sweeps.evaluate import Answer
from elk.sweeps.store import Store

_WAIT_S: Final = 0.25
_AGAIN: Final = "again"  # the family of tasks that were lost
_MOST_OF_CHIP: Final = 4  # batches in one, so that the tasks of a chip stay together
# What tables of a chip say that decides which plans an operator has, and what tiles take.
_OF_OPERATORS: Final = ("chips", "core", "inter_chip")

Report: TypeAlias = Callable[[list[Answer]], None]


@dataclass
class Queue:
    """Open tasks, those that share most with one another together.

    A family of tasks has the model, its sizes and the cores in common: what a worker knows of the
    operators of one it knows of all. A worker goes on with its family as long as that has tasks;
    families that nobody has begun come before those that others work on.
    """

    families: dict[str, deque[Task]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _last: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def of(tasks: Iterable[Task], chips: Iterable[tuple[str, str]]) -> Queue:
        """The tasks in the order in which they are best done; `chips` are digests and documents."""
        cores = {digest: _cores(document) for digest, document in chips}
        policies = {name: -position for position, name in enumerate(POLICIES)}
        seen: dict[str, int] = {}
        ranked: defaultdict[str, list[tuple[tuple[Any, ...], Task]]] = defaultdict(list)
        for task in tasks:
            shared = (task.source, sorted(task.bindings.items()), cores.get(task.chip))
            options = sorted((k, str(v)) for k, v in task.options.items() if k != "policy")
            place = seen.setdefault(task.chip, len(seen))
            rank = (place, options, policies[task.options["policy"]], task.key)
            ranked[repr(shared)].append((rank, task))
        queue = Queue()
        for label, rows in ranked.items():
            queue.families[label] = deque(task for _, task in sorted(rows, key=lambda row: row[0]))
        return queue

    def __len__(self) -> int:
        return sum(map(len, self.families.values()))

    def take(self, slot: object, count: int) -> list[Task]:
        """The next tasks for a worker: `count`, and those of the last one's chip besides.

        Tasks that were put back come first and alone, so that the one that ends workers is found.
        """
        again = self.families.get(_AGAIN)
        if again:
            return [again.popleft()]
        label = self._last.get(id(slot), "")
        if not self.families.get(label):
            waiting = [name for name, tasks in self.families.items() if tasks]
            fresh = [name for name in waiting if name not in self._begun]
            if not waiting:
                return []
            label = fresh[0] if fresh else max(waiting, key=lambda name: len(self.families[name]))
            self._last[id(slot)] = label
            self._begun.add(label)
        tasks = self.families[label]
        batch = [tasks.popleft()]
        while tasks and (len(batch) < count or tasks[0].chip == batch[-1].chip):
            if len(batch) >= _MOST_OF_CHIP * count:
                break
            batch.append(tasks.popleft())
        return batch

    def put_back(self, tasks: Iterable[Task]) -> None:
        """Tasks to be given again, before all others and one by one."""
        self.families.setdefault(_AGAIN, deque()).extend(tasks)


@dataclass(kw_only=True)
class Coordinator:
    """Gives tasks to workers and writes what they answer.

    Attributes:
        store: Where answers go.
        engine: The workers.
        retries: How often a task is given again after its worker died.
        report: Called with answers that are on disk.
    """

    store: Store
    engine: Engine
    retries: int
    report: Report
    _attempts: Counter[str] = field(default_factory=Counter)

    def run(self, queue: Queue) -> None:
        """Works until every task has an answer."""
        given = 0
        while queue or given:
            given += self._give(queue)
            came = self.engine.wait(_WAIT_S)
            given -= len(came)
            answers = [one for one in came if isinstance(one, Answer)]
            lost = [one for one in came if isinstance(one, Lost)]
            queue.put_back(one.task for one in lost if self._again(one))
            answers += [self._failure(one) for one in lost if not self._again(one)]
            self._count(lost)
            self.store.record(answers, datetime.now(UTC).isoformat(timespec="milliseconds"))
            if answers:
                self.report(answers)

    def _give(self, queue: Queue) -> int:
        given = 0
        slots = self.engine.wanted()
        # Towards the end batches get small, so that no worker is left with many.
        most = max(1, len(queue) // (2 * max(1, len(slots))))
        for slot in slots:
            batch = queue.take(slot, min(most, self.engine.batch_size()))
            if not batch:
                break
            chips = dict(self.store.chips(dict.fromkeys(task.chip for task in batch)))
            self.engine.give(slot, Batch(tuple(batch), chips))
            given += len(batch)
        return given

    def _again(self, lost: Lost) -> bool:
        return lost.code == GIVEN_BACK or (
            lost.again and self._attempts[lost.task.key] < self.retries
        )

    def _failure(self, lost: Lost) -> Answer:
        times = self._attempts[lost.task.key] + 1
        message = lost.message if times == 1 else f"{lost.message}, {times} times"
        return Answer(lost.task.key, FAILED, lost.code, message)

    def _count(self, lost: Iterable[Lost]) -> None:
        self._attempts.update(one.task.key for one in lost if one.code != GIVEN_BACK)


def _cores(document: str) -> str:
    chip = json.loads(document)
    return json.dumps([chip.get(name) for name in _OF_OPERATORS])
