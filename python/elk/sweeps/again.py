"""The plan of one point, from its store or made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk.document.carried import arrived
from elk.errors import InfeasibleError
from elk.plan.content import Content
from elk.plan.plan import Plan
from elk.sweeps.evaluate import Evaluator

if TYPE_CHECKING:
    from elk.sweeps.definition import Base, Task
    from elk.sweeps.store import Store


def plan_again(store: Store, task: Task, base: Base | None) -> Plan:
    """The plan that the store keeps for a task, else the one that its search finds again.

    Raises:
        InfeasibleError: the task has no plan.
    """
    kept = store.plan(task.key)
    if kept is not None:
        return Plan(Content(arrived(kept)))
    if task.problem is not None:
        raise InfeasibleError(task.problem, code="invalid_chip")
    sources = {source.digest: source for source in store.sources() if source.digest == task.source}
    evaluator = Evaluator((), sources, limits=base.limits if base else None, threads=None)
    evaluator.know(dict(store.chips([task.chip])))
    return evaluator.plan(task)
