"""`static-paper`: the baseline as ELK's paper words it, never among the candidates of others."""

from __future__ import annotations

import functools
from typing import Any

import elk
import pytest
from sampling import few_then

POLICIES = ("basic", "static", "elk-dyn", "elk-full")
# A pod that streams, a mesh, and a chip whose weights stay.
CHIPS = ("ipu-pod4-hbm", "wormhole-n150", "ipu-mk2")


@functools.cache
def model() -> elk.Model:
    return elk.load_model(elk.models.get("gpt2", layers=1), bindings={"batch": 8, "past": 256})


@functools.cache
def planned(chip: str, policy: str) -> elk.Plan:
    return elk.compile(model(), chip, policy=policy, effort="fast", progress=False)


@pytest.mark.slow
@few_then(CHIPS[:1], CHIPS[1:])
def test_it_is_checked_and_no_candidate_of_others(cases: list[str]) -> None:
    for chip in cases:
        plan = planned(chip, "static-paper")
        assert plan.check() == []
        assert plan.policy == plan.to_json()["origin"] == "static-paper"
        plan.simulate()
        for policy in POLICIES:
            assert planned(chip, policy).to_json()["origin"] in POLICIES


@pytest.mark.slow
def test_all_preloads_lie_whole_or_all_shared_as_far_as_can_be(subtests: pytest.Subtests) -> None:
    for sram in ["96 KiB", "256 KiB", "624 KiB"]:
        with subtests.test(sram=sram):
            chip = elk.chips.get("ipu-pod4-hbm").replace(sram_bytes=sram)
            plan = elk.compile(model(), chip, policy="static-paper", progress=False).to_json()
            states = [state for op in plan["ops"] for state in _states(op)]
            assert any(copies > 1 for _, copies in states)
            assert all(d == 1 for d, _ in states) or all(d == copies for d, copies in states)


def _states(op: Any) -> list[tuple[int, int]]:
    """The divisor of each preloaded tensor of an operator, and how many cores share a piece."""
    found = []
    for operand in op["operands"] if op["preload"] else []:
        divisor = op["preload"]["divisor"].get(operand["tensor"])
        if divisor is None:
            continue
        axes = {axis for dimension in operand["dims"] for axis in dimension}
        copies = 1
        for axis, factor in op["execute"]["factors"].items():
            copies *= 1 if axis in axes else factor
        for factor in op["execute"]["temporal"].get(operand["tensor"], []):
            copies //= factor
        found.append((divisor, copies))
    return found
