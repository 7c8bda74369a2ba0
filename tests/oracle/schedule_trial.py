"""The best schedule of a tiny model, by trial of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from schedule_costs import Choice, Costs
from schedule_forecast import forecast_s


@dataclass(slots=True)
class _Trial:
    costs: Costs
    drag: float
    latency_s: float
    least_s: list[float] = field(default_factory=list)  # of each op and those behind it, alone
    best_s: float = math.inf

    def choose(self, choices: list[Choice], spent_s: float) -> None:
        """All choices behind these, which take `spent_s` by themselves."""
        op = len(choices)
        if op == len(self.costs.choices):
            self.issue(choices)
            return
        for choice in self.costs.choices[op]:
            choices.append(choice)
            work = self.costs.works[op][self.costs.key(op, choices)]
            ends_s = spent_s + work.alone_s()
            if ends_s + self.least_s[op + 1] < self.best_s:
                self.choose(choices, ends_s)
            choices.pop()

    def issue(self, choices: Sequence[Choice]) -> None:
        ops = range(len(choices))
        works = [self.costs.works[op][self.costs.key(op, choices)] for op in ops]
        loads = {op: self.costs.loads[op][choices[op]] for op in self.costs.loaded}
        kept = sum(self.costs.idle_bytes[op][choices[op]] for op in ops)
        used = [kept + self.costs.used_bytes(op, choices) for op in ops]
        for order, slots in _queues(self.costs.loaded, [], []):
            at = dict(zip(order, slots, strict=True))
            fits = all(
                used[k] + sum(loads[op].bytes for op in order if at[op] <= k <= op)
                <= self.costs.room_bytes
                for k in ops
            )
            if fits:
                issued = [sum(slot <= k for slot in slots) for k in ops]
                total_s = forecast_s(
                    works, loads, order, issued, drag=self.drag, latency_s=self.latency_s
                )
                self.best_s = min(self.best_s, total_s)


def _queues(
    left: list[int], order: list[int], slots: list[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Every order of the preloads of `left`, each in every slot up to its execute."""
    if not left:
        yield order, slots
        return
    for op in left:
        rest = [other for other in left if other != op]
        for slot in range(slots[-1] if slots else 0, op + 1):
            yield from _queues(rest, [*order, op], [*slots, slot])


def best_s(costs: Costs, *, drag: float, latency_s: float) -> float:
    """Seconds of the best schedule; infinite where nothing fits."""
    trial = _Trial(costs, drag, latency_s)
    trial.least_s = [0.0]
    for works in reversed(costs.works):
        trial.least_s.insert(0, trial.least_s[0] + min(w.alone_s() for w in works.values()))
    trial.choose([], 0.0)
    return trial.best_s
