"""ELK-Full against the best schedules there are, on models small enough to know them.

Two oracles: constraint programming for up to 12 ops, trial of everything for up to 4 (and for up to
6 in C++, in tests/cpp/schedule/test_oracle.cpp). Constraint programming leaves contention out: its
least time is exact on chips where there is none, and elsewhere a bound from below, while what its
schedule takes under contention is one from above.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

import pytest
import schedule_trial
from elk import _core
from elk.base.policies import POLICIES
from elk.errors import InfeasibleError
from elk.tile.tilemodel import load_tile_model
from schedule_costs import Choice, Costs
from schedule_cp_sat import Least, least
from schedule_forecast import forecast_s
from schedule_instances import Instance, instance, resident

ROUNDING = 1e-5  # the oracle counts whole picoseconds, of a million or more
WORK = 10.0  # deterministic units, about as many seconds
SEEDS = [
    pytest.param(range(12), 7, id="first", marks=pytest.mark.slow),
    pytest.param(range(12, 200), 120, id="more", marks=[pytest.mark.slow, pytest.mark.nightly]),
]


@dataclass(frozen=True)
class Case:
    """What is known of one instance; `found` and `best` are empty where nothing fits."""

    seed: int
    instance: Instance
    costs: Costs
    found: _core.Found | None
    best: Least | None

    def forecast_s(
        self, choices: Sequence[Choice], order: Sequence[int], issued: Sequence[int]
    ) -> float:
        costs = self.costs
        return forecast_s(
            [works[costs.key(op, choices)] for op, works in enumerate(costs.works)],
            {op: costs.loads[op][choices[op]] for op in costs.loaded},
            order,
            issued,
            drag=self.instance.drag,
            latency_s=self.instance.latency_s,
        )

    @property
    def reached_s(self) -> float:
        """Seconds of the oracle's schedule under contention."""
        assert self.best
        return self.forecast_s(self.best.choices, self.best.preload_order, self.best.issued_before)


def cases(
    seeds: Iterable[int], *, ops: tuple[int, int], options: int, contended: bool
) -> Iterator[Case]:
    """The instances in which every op fits by itself, with all that the search added to them."""
    for seed in seeds:
        one = instance(seed, ops=ops, options=options, contended=contended)
        if one.problem is None:
            continue
        found = None
        with suppress(InfeasibleError):
            found = one.problem.search(POLICIES["elk-full"], 1)
        costs = one.costs()
        best = least(costs, first_latency_s=one.latency_s, work=WORK)
        yield Case(seed, one, costs, found, best)


@pytest.mark.parametrize(("seeds", "enough"), SEEDS)
def test_full_is_never_better_than_the_best_and_near_it(seeds: range, enough: int) -> None:
    gaps = {}
    for case in cases(seeds, ops=(3, 12), options=4, contended=False):
        assert (case.found is None) == (case.best is None), f"seed {case.seed}"
        if case.found and case.best:
            assert case.found.total_s >= case.best.bound_s, f"seed {case.seed}"
            if case.best.proved:
                gaps[case.seed] = case.found.total_s / case.best.bound_s
    assert len(gaps) >= enough
    assert max(gaps.values()) <= 1.15, sorted(gaps.items(), key=lambda gap: -gap[1])[:5]
    assert fmean(gaps.values()) <= 1.03


@pytest.mark.parametrize(("seeds", "enough"), SEEDS)
def test_full_lies_between_the_bounds_under_contention(seeds: range, enough: int) -> None:
    gaps = {}
    for case in cases(seeds, ops=(3, 8), options=4, contended=True):
        assert (case.found is None) == (case.best is None), f"seed {case.seed}"
        if case.found and case.best:
            assert case.found.total_s >= case.best.bound_s, f"seed {case.seed}"
            gaps[case.seed] = case.found.total_s / case.reached_s
    assert len(gaps) >= enough
    assert max(gaps.values()) <= 1.15, sorted(gaps.items(), key=lambda gap: -gap[1])[:5]
    assert fmean(gaps.values()) <= 1.03


@pytest.mark.slow
@pytest.mark.nightly
def test_the_oracles_agree() -> None:
    """Instances on which they do not would be set aside: these are all of them."""
    agreed, set_aside = 0, []
    for case in cases(range(500, 540), ops=(2, 4), options=3, contended=False):
        tried_s = schedule_trial.best_s(case.costs, drag=0.0, latency_s=0.0)
        if case.best is None:
            assert tried_s == float("inf"), f"seed {case.seed}"
        elif tried_s == pytest.approx(case.best.bound_s, rel=ROUNDING):
            agreed += 1
        else:
            set_aside.append((case.seed, tried_s, case.best.bound_s))
    assert set_aside == []
    assert agreed >= 20


@pytest.mark.slow
@pytest.mark.nightly
def test_the_best_under_contention_lies_between_the_bounds_of_the_other_oracle() -> None:
    apart = 0
    for case in cases(range(600, 640), ops=(2, 4), options=3, contended=True):
        if case.best and case.found:
            tried_s = schedule_trial.best_s(
                case.costs, drag=case.instance.drag, latency_s=case.instance.latency_s
            )
            assert case.best.bound_s <= tried_s <= case.reached_s * (1 + 1e-12)
            assert tried_s <= case.found.total_s * (1 + 1e-12), f"seed {case.seed}"
            apart += case.best.bound_s < tried_s * (1 - ROUNDING)
    assert apart >= 5  # there is contention


@pytest.mark.parametrize(
    ("seeds", "enough"),
    [
        pytest.param(range(900, 930), 20, id="first"),
        pytest.param(range(930, 1200), 200, id="more", marks=pytest.mark.nightly),
    ],
)
def test_full_is_near_the_best_of_active_plans_and_idle_states(seeds: range, enough: int) -> None:
    gaps = {}
    for seed in seeds:
        one = resident(seed, ops=(2, 5), options=3)
        if one.problem is None:
            continue
        found = None
        with suppress(InfeasibleError):
            found = one.problem.search(POLICIES["elk-full"], 1)
        tried_s = schedule_trial.best_s(one.costs(), drag=one.drag, latency_s=0.0)
        assert (found is None) == (tried_s == float("inf")), f"seed {seed}"
        if found:
            assert found.total_s >= tried_s * (1 - 1e-12), f"seed {seed}"
            gaps[seed] = found.total_s / tried_s
    assert len(gaps) >= enough
    assert max(gaps.values()) <= 1.05, sorted(gaps.items(), key=lambda gap: -gap[1])[:5]
    assert fmean(gaps.values()) <= 1.02


def test_forecasts_written_apart_agree() -> None:
    compared = 0
    for case in cases(range(700, 706), ops=(3, 8), options=4, contended=True):
        if case.found:
            choices = [(choice.option, choice.state) for choice in case.found.choices]
            order, issued = case.found.preload_order, case.found.issued_before
            assert case.forecast_s(choices, order, issued) == pytest.approx(
                case.found.total_s, rel=1e-12
            )
            compared += 1
    assert compared >= 3


def test_tables_say_what_the_situation_of_any_choices_is() -> None:
    choose = random.Random(7)
    for seed in range(800, 806):
        one = instance(seed, ops=(3, 12), options=4, contended=True)
        if one.problem is None:
            continue
        costs = one.costs()
        for _ in range(20):
            choices = [choose.choice(own) for own in costs.choices]
            now = one.problem.situation(choices)
            for op, works in enumerate(costs.works):
                work = works[costs.key(op, choices)]
                assert now["compute_s"][op] == work.compute_s
                assert now["in_wire_s"][op] == work.in_wire_s
                assert now["base_bytes"][op] == costs.used_bytes(op, choices)
                assert now["piece_bytes"][op] == costs.loads[op][choices[op]].bytes


def test_a_problem_refuses_what_it_does_not_have() -> None:
    one = instance(0, ops=(3, 3), options=3, contended=True)
    assert one.problem
    some: list[Choice] = [(0, 0)] * len(one.problem.front_of)
    with pytest.raises(ValueError, match="a row for each op"):
        one.problem.situation(some[1:])
    for wrong in ((99, 0), (0, 99), (-1, 0)):
        with pytest.raises(IndexError):
            one.problem.situation([wrong, *some[1:]])
    with pytest.raises(IndexError):
        one.problem.fronts[0].keep([99])
    fronts, chip = one.problem.fronts, one.chip.to_core()
    tiles = load_tile_model(one.chip.core.tile_model)
    with pytest.raises(ValueError, match="a front for each op"):
        _core.Problem(one.graph, chip, tiles, fronts, one.problem.front_of[1:])
    with pytest.raises(IndexError):
        _core.Problem(one.graph, chip, tiles, fronts, [99, *one.problem.front_of[1:]])
