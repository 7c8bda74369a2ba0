"""An objective of the caller's own, applied to simulated plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Final

from elk.base.policies import BUILT_UP, POLICIES, built_up
from elk.errors import InfeasibleError, InvalidInputError
from elk.plan.functions import Objective

if TYPE_CHECKING:
    from elk.chip.chip import Chip
    from elk.plan.plan import Plan

_POLICIES: Final = tuple(reversed(BUILT_UP))


def finalists(policy: str, chip: Chip) -> Iterator[tuple[str, str]]:
    """The plans that compete, as policy and objective; the one for latency is the first.

    Example:
        >>> list(finalists("static", elk.chips.get("a100")))
        [('static', 'latency'), ('basic', 'latency')]

    Raises:
        InvalidInputError: the policy makes no plan that could be simulated.
    """
    if policy not in _POLICIES:
        raise InvalidInputError(
            f"policy must be one of {', '.join(_POLICIES)} for an objective of your own, "
            f"got {policy!r}",
            remedy="take a policy whose plans run on the simulator",
        )
    yield policy, "latency"
    if chip.energy and POLICIES[policy].counts_energy:
        yield policy, "energy"
        yield policy, "edp"
    competing = built_up(chip.to_core())
    for lower in _POLICIES[_POLICIES.index(policy) + 1 :]:
        if lower in competing:
            yield lower, "latency"


def best(objective: Objective, policy: str, chip: Chip, plan: Callable[[str, str], Plan]) -> Plan:
    """The finalist for which `objective` is least when simulated; of equal ones the first.

    Args:
        objective: Of latency in seconds, energy in joules (not a number where the chip has no
            coefficients) and bytes read from and written to the HBM.
        policy: The policy that was asked for.
        chip: The chip that is planned for.
        plan: Plans for a policy and a named objective.

    Raises:
        InvalidInputError: `objective` fails, or says no finite number.
        InfeasibleError: the model does not fit under `policy`; others that do not fit are left out.
    """
    chosen, least = None, math.inf
    for position, named in enumerate(finalists(policy, chip)):
        try:
            found = plan(*named)
        except InfeasibleError:
            if position == 0:
                raise
            continue
        cost = _cost(objective, found)
        if chosen is None or cost < least:
            chosen, least = found, cost
        if found.stopped:
            break
    assert chosen is not None, "the first finalist is there, or has raised"
    return chosen


def _cost(objective: Objective, plan: Plan) -> float:
    run = copy(plan).simulate()  # The plan itself stays as it was planned.
    energy_j = math.nan if run.energy_j is None else run.energy_j
    asked = (run.latency_s, energy_j, float(run._run.totals.hbm_bytes * run._copies))
    of = "latency_s {:g}, energy_j {:g}, hbm_bytes {:g}".format(*asked)
    try:
        cost = float(objective(*asked))
    except Exception as error:
        raise InvalidInputError(
            f"objective must be a function of {of}, got {type(error).__name__}: {error}",
            remedy="take three numbers, return one",
        ) from error
    if not math.isfinite(cost):
        raise InvalidInputError(
            f"objective must be finite, got {cost} of {of}",
            remedy="give the chip an [energy] table, or leave energy out of it"
            if math.isnan(energy_j)
            else "return a finite number",
        )
    return cost
