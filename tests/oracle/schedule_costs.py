"""What every choice about a small model costs, in tables that oracles of its schedule read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product

from elk import _core

Choice = tuple[int, int]  # option in the front, preload state of it
Key = tuple[int, ...]  # a choice, then the options of the ops that make what the op reads


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of the parts of an execute, in order; `wire` is what contention stretches."""

    in_before_s: float
    in_wire_s: float
    in_after_s: float
    compute_s: float
    out_before_s: float
    out_wire_s: float
    out_after_s: float

    def alone_s(self) -> float:
        exchange_s = self.in_before_s + self.in_wire_s + self.in_after_s
        return exchange_s + self.compute_s + self.out_before_s + self.out_wire_s + self.out_after_s


@dataclass(frozen=True, slots=True)
class Load:
    """Seconds of a preload, its share of the port, and its bytes from issue to execute."""

    time_s: float
    share: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Costs:
    """A model by the choices of its ops."""

    room_bytes: int
    loaded: list[int]  # ops with a preload
    makers: list[list[int]]  # of each op: the ops that make what it reads
    choices: list[list[Choice]]
    works: list[dict[Key, Work]]
    base_bytes: list[dict[Key, int]]  # at the execute, all other ops at option 0
    loads: list[dict[Choice, Load]]
    beyond_bytes: dict[tuple[int, int], list[int]]  # (op, execute it is not read by): by option
    idle_bytes: list[dict[Choice, int]]  # kept all the time, on a chip without HBM

    def key(self, op: int, choices: Sequence[Choice]) -> Key:
        return (*choices[op], *(choices[maker][0] for maker in self.makers[op]))

    def used_bytes(self, op: int, choices: Sequence[Choice]) -> int:
        """Bytes in use at the execute of `op`, preloads aside."""
        others = sum(
            by_option[choices[other][0]]
            for (other, execute), by_option in self.beyond_bytes.items()
            if execute == op
        )
        return self.base_bytes[op][self.key(op, choices)] + others


def measure(problem: _core.Problem) -> Costs:
    """Asks `problem` about every choice of every op beside every choice of those that feed it."""
    ops = range(len(problem.front_of))
    fronts = problem.fronts
    readers = problem.readers
    costs = Costs(
        room_bytes=problem.room_bytes,
        loaded=problem.loaded,
        makers=[[maker for maker in ops if op in readers[maker]] for op in ops],
        choices=[
            [
                (option, state)
                for option, plan in enumerate(fronts[front].options)
                for state in range(len(plan.states))
            ]
            for front in problem.front_of
        ],
        works=[{} for _ in ops],
        base_bytes=[{} for _ in ops],
        loads=[{} for _ in ops],
        beyond_bytes={},
        idle_bytes=[
            {
                (option, state): 0 if problem.loaded else plan.states[state].space_bytes
                for option, plan in enumerate(fronts[front].options)
                for state in range(len(plan.states))
            }
            for front in problem.front_of
        ],
    )
    for op in ops:
        _measure_op(problem, costs, op)
        _measure_beyond(problem, costs, op, {op, *readers[op]})
    return costs


def _measure_op(problem: _core.Problem, costs: Costs, op: int) -> None:
    choices: list[Choice] = [(0, 0)] * len(costs.choices)
    makers = costs.makers[op]
    fed = [sorted({option for option, _ in costs.choices[maker]}) for maker in makers]
    for options in product(*fed):
        for maker, option in zip(makers, options, strict=True):
            choices[maker] = (option, 0)
        for choice in costs.choices[op]:
            choices[op] = choice
            now = problem.situation(choices)
            key = costs.key(op, choices)
            costs.works[op][key] = Work(**{f.name: float(now[f.name][op]) for f in fields(Work)})
            costs.base_bytes[op][key] = int(now["base_bytes"][op])
            costs.loads[op][choice] = Load(
                time_s=float(now["load_s"][op]),
                share=float(now["load_share"][op]),
                bytes=int(now["piece_bytes"][op]),
            )


def _measure_beyond(problem: _core.Problem, costs: Costs, op: int, own: set[int]) -> None:
    """What the option of `op` changes at executes that do not read it."""
    choices: list[Choice] = [(0, 0)] * len(costs.choices)
    rows = []
    for option in sorted({option for option, _ in costs.choices[op]}):
        choices[op] = (option, 0)
        rows.append(problem.situation(choices)["base_bytes"])
    for execute in range(len(choices)):
        change = [int(row[execute] - rows[0][execute]) for row in rows]
        if execute not in own and any(change):
            costs.beyond_bytes[op, execute] = change
