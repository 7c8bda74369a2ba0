"""What a worker does: plans a point, simulates it, and says what it found or what went wrong."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from elk.base.policies import FORECASTS
from elk.chip.chip import Chip
from elk.document.carried import carried
from elk.errors import ElkError, InfeasibleError
from elk.plan.planning import compile as compile_plan
from elk.points.columns import COLUMNS, DONE, FAILED, INFEASIBLE, MEASURED, Outcome
from elk.sweeps.definition import Task, loading
from elk.sweeps.sources import Source

if TYPE_CHECKING:
    from elk.limits import Limits
    from elk.model.model import Model
    from elk.plan.plan import Plan

_MOST_CHIPS: Final = 256  # of batches before the last
_MOST_MODELS: Final = 2  # loaded at a time, each with what its compiles left for the next


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task.

    Attributes:
        key: The task's.
        status: `done`, `infeasible` or `failed`.
        code: A word for programs that says why it is not done.
        message: The same for people.
        traceback: Where a failure was raised.
        row: The results, by column; None where the point has none of it.
        plan: The plan as it is carried between processes, where plans are kept.
        seconds: How long it took.
        worker: Who did it.
        is_forecast: Whether its latency is of a policy that makes forecasts, which no chip runs.
    """

    key: str
    status: str
    code: str | None = None
    message: str | None = None
    traceback: str | None = None
    row: dict[str, Any] = field(default_factory=dict)
    plan: bytes | None = None
    seconds: float = 0.0
    worker: str = ""
    is_forecast: bool = False


@dataclass
class Evaluator:
    """Answers tasks one after another; what points share is found once.

    Attributes:
        columns: The results that are kept.
        sources: The models, by digest.
        plans: Whether plans are kept.
        limits: What models may have at most.
        threads: Threads of the search.
    """

    columns: tuple[str, ...]
    sources: Mapping[str, Source]
    plans: bool = False
    limits: Limits | None = None
    threads: int | None = 1
    _chips: dict[str, Chip] = field(default_factory=dict)
    _models: dict[str, Model] = field(default_factory=dict)

    def know(self, chips: Mapping[str, str]) -> None:
        """Learns the chips that the next tasks name, from their documents; older ones may go."""
        while len(self._chips) > _MOST_CHIPS:
            del self._chips[next(iter(self._chips))]
        for digest, text in chips.items():
            if digest not in self._chips:
                self._chips[digest] = Chip.from_dict(json.loads(text))

    def answer(self, task: Task) -> Answer:
        """What became of a task, whatever is raised; only what ends the process is let through."""
        start = time.perf_counter()
        try:
            if task.problem is not None:
                raise InfeasibleError(task.problem, code="invalid_chip")
            row, plan = self._row(task)
            kept = self._packed(plan) if self.plans else None
            found = Answer(task.key, DONE, row=row, plan=kept)
        except InfeasibleError as error:
            found = Answer(task.key, INFEASIBLE, error.code, str(error))
        except ElkError as error:
            found = Answer(task.key, FAILED, error.code, str(error), traceback.format_exc())
        except MemoryError as error:
            found = Answer(task.key, FAILED, "memory", str(error), traceback.format_exc())
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            found = Answer(task.key, FAILED, "exception", message, traceback.format_exc())
        seconds = time.perf_counter() - start
        forecast = task.options["policy"] in FORECASTS
        return replace(found, seconds=seconds, is_forecast=forecast)

    def plan(self, task: Task) -> Plan:
        """The plan of a task."""
        options = {
            name: value
            for name, value in task.options.items()
            if name not in ("fidelity", "weights", "state")
        }
        return compile_plan(
            self._model(task),
            self._chips[task.chip],
            threads=self.threads,
            progress=False,
            **options,
        )

    def _row(self, task: Task) -> tuple[dict[str, Any], Plan]:
        times = [time.process_time()]
        plan = self.plan(task)
        if plan.stopped:  # Ctrl-C ends the sweep; the best plan so far is no answer of its point.
            raise KeyboardInterrupt
        times.append(time.process_time())
        forecast = task.options["policy"] in FORECASTS
        run = None if forecast else plan.simulate(fidelity=task.options["fidelity"])
        times.append(time.process_time())
        found = Outcome(run, plan._document)
        row = {name: COLUMNS[name].of(found) for name in self.columns if name not in MEASURED}
        spent = dict(zip(MEASURED, (times[1] - times[0], times[2] - times[1]), strict=True))
        row.update({name: spent[name] for name in MEASURED if name in self.columns})
        return row, plan

    def _model(self, task: Task) -> Model:
        """The loaded model of a task; the one used longest ago makes room for a new one."""
        label = repr((task.source, sorted(task.bindings.items()), loading(task.options)))
        model = self._models.pop(label, None)
        if model is None:
            while len(self._models) >= _MOST_MODELS:
                del self._models[next(iter(self._models))]
            source = self.sources[task.source]
            model = source.load(task.bindings, loading(task.options), self.limits)
        self._models[label] = model
        return model

    @staticmethod
    def _packed(plan: Plan) -> bytes:
        return carried(plan._content.whole())
