"""The least time of any schedule of a small model, by constraint programming in whole picoseconds.

The model of design 6 and 7: one plan and preload state an op, preloads in any order, each with the
number of executes that it waits for, capacity at every execute. Left out are what contention adds
and the HBM's latency after it was idle: both only delay, so the least time is a lower bound of any
schedule's, and equal to it, but for rounding, where shares of the port and the latency are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ortools.sat.python import cp_model
from schedule_costs import Choice, Costs, Key

_PS = 1e12


@dataclass(frozen=True, slots=True)
class Least:
    """A schedule, and what none is below; `proved`: without contention this one takes just that."""

    bound_s: float
    proved: bool
    choices: list[Choice]
    preload_order: list[int]
    issued_before: list[int]


class _Model:
    """Variables of every op, and the rules between them."""

    def __init__(self, costs: Costs, first_latency_s: float) -> None:
        self.costs = costs
        self.cp = cp_model.CpModel()
        self.ops = range(len(costs.choices))
        self.first_ps = _ps(first_latency_s)
        self.horizon = self.first_ps + sum(
            max(_ps(work.alone_s()) for work in costs.works[op].values())
            + max(_ps(load.time_s) for load in costs.loads[op].values())
            for op in self.ops
        )
        self.most_bytes = 2 * max(
            costs.room_bytes, *(b for rows in costs.base_bytes for b in rows.values())
        )
        self.pick = [
            {choice: self.cp.new_bool_var(f"op {op}: {choice}") for choice in costs.choices[op]}
            for op in self.ops
        ]
        self.option = [
            self.cp.new_int_var(0, max(option for option, _ in costs.choices[op]), f"option {op}")
            for op in self.ops
        ]
        self.state = [
            self.cp.new_int_var(0, max(state for _, state in costs.choices[op]), f"state {op}")
            for op in self.ops
        ]
        self.base = [self.cp.new_int_var(0, self.most_bytes, f"base {op}") for op in self.ops]
        self.ends = [self._time(f"end {op}") for op in self.ops]
        self.begins = {op: self._time(f"preload of {op} begins") for op in costs.loaded}
        self.loaded = {op: self._time(f"preload of {op} ends") for op in costs.loaded}
        self.slot = {
            op: [self.cp.new_bool_var(f"{op} issued before {at}") for at in range(op + 1)]
            for op in costs.loaded
        }

    def _time(self, name: str) -> cp_model.IntVar:
        return self.cp.new_int_var(0, self.horizon, name)

    def build(self) -> None:
        for op in self.ops:
            self._choose(op)
        for op in self.costs.loaded:
            self._preload(op)
        self._queue()
        for op in self.ops:
            self._fit(op)
        self.cp.minimize(self.ends[-1])

    def _choose(self, op: int) -> None:
        """One choice, and what it costs beside the choices of the ops that feed it."""
        pick = self.pick[op]
        self.cp.add_exactly_one(pick.values())
        self.cp.add(self.option[op] == sum(o * literal for (o, _), literal in pick.items()))
        self.cp.add(self.state[op] == sum(s * literal for (_, s), literal in pick.items()))
        keys: list[Key] = list(self.costs.works[op])
        times = [_ps(self.costs.works[op][key].alone_s()) for key in keys]
        execute = self.cp.new_int_var(min(times), max(times), f"execute {op}")
        self.cp.add_allowed_assignments(
            [
                self.option[op],
                self.state[op],
                *(self.option[maker] for maker in self.costs.makers[op]),
                execute,
                self.base[op],
            ],
            [
                (*key, time, self.costs.base_bytes[op][key])
                for key, time in zip(keys, times, strict=True)
            ],
        )
        if op > 0:
            self.cp.add(self.ends[op] >= self.ends[op - 1] + execute)
        if op in self.loaded:
            self.cp.add(self.ends[op] >= self.loaded[op] + execute)
        self.cp.add(self.ends[op] >= execute)

    def _preload(self, op: int) -> None:
        """Issued once, no later than before its own execute, and no sooner run than issued."""
        loads = self.costs.loads[op]
        time = sum(_ps(loads[choice].time_s) * self.pick[op][choice] for choice in loads)
        self.cp.add(self.loaded[op] == self.begins[op] + time)
        self.cp.add(self.begins[op] >= self.first_ps)
        self.cp.add_exactly_one(self.slot[op])
        for at, literal in enumerate(self.slot[op]):
            if at > 0:
                self.cp.add(self.begins[op] >= self.ends[at - 1]).only_enforce_if(literal)

    def _queue(self) -> None:
        """One preload after another; what comes later in the queue is not issued sooner."""
        loaded = self.costs.loaded
        at = {
            op: sum(slot * literal for slot, literal in enumerate(self.slot[op])) for op in loaded
        }
        for i, one in enumerate(loaded):
            for other in loaded[i + 1 :]:
                first = self.cp.new_bool_var(f"{one} before {other}")
                for a, b, when in ((one, other, first), (other, one, first.negated())):
                    self.cp.add(self.begins[b] >= self.loaded[a]).only_enforce_if(when)
                    self.cp.add(at[a] <= at[b]).only_enforce_if(when)

    def _fit(self, execute: int) -> None:
        """All that is in use at an execute."""
        costs = self.costs
        used: list[cp_model.LinearExprT] = [self.base[execute]]
        for (op, at), by_option in costs.beyond_bytes.items():
            if at == execute:
                used += [by_option[o] * literal for (o, _), literal in self.pick[op].items()]
        for op in costs.loaded:
            if op < execute:
                continue
            loads = costs.loads[op]
            piece = sum(loads[choice].bytes * self.pick[op][choice] for choice in loads)
            here = self.cp.new_int_var(0, self.most_bytes, f"of {op} at {execute}")
            issued = sum(self.slot[op][: execute + 1])
            most = max(load.bytes for load in loads.values())
            self.cp.add(here >= piece - most * (1 - issued))
            used.append(here)
        self.cp.add(sum(used) <= costs.room_bytes)


def _ps(seconds: float) -> int:
    """Rounded down: a bound stays one."""
    return math.floor(seconds * _PS)


def least(costs: Costs, *, first_latency_s: float, work: float) -> Least | None:
    """The least time, or a bound of it where `work` units do not suffice; None: nothing fits.

    One thread, one seed and a limit on deterministic work: the answer is the same every time.
    """
    model = _Model(costs, first_latency_s)
    model.build()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = work
    status = solver.solve(model.cp)
    if status == cp_model.INFEASIBLE:
        return None
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        message = f"no schedule in {work} units of work: {solver.status_name(status)}"
        raise RuntimeError(message)
    slots = {
        op: next(at for at, literal in enumerate(model.slot[op]) if solver.boolean_value(literal))
        for op in costs.loaded
    }
    order = sorted(costs.loaded, key=lambda op: (slots[op], solver.value(model.begins[op]), op))
    return Least(
        bound_s=math.floor(solver.best_objective_bound) / _PS,
        proved=status == cp_model.OPTIMAL,
        choices=[
            next(choice for choice, literal in pick.items() if solver.boolean_value(literal))
            for pick in model.pick
        ],
        preload_order=order,
        issued_before=[sum(slots[op] <= at for op in order) for at in model.ops],
    )
