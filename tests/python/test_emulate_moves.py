"""What the emulator moves is what the lists say, and so what the simulator times."""

from __future__ import annotations

from collections import Counter
from itertools import product

import elk
import pytest
from emulated_models import MODELS, feeds_of, machine
from emulated_moves import ABROAD, Key, emulated_moves, listed_moves, uneven
from sampling import few_then

CASES = [
    *product(
        ("gpt", "resnet", "llama", "vit", "lstm", "audio", "mixtral"),
        ("tiny", "little memory", "mesh"),
    ),
    *product(("gpt", "vit", "audio", "lstm"), ("little mesh",)),
]
FEW = [("vit", "little memory"), ("mixtral", "tiny"), ("resnet", "mesh"), ("lstm", "little mesh")]
SHARED = [
    ("llama", "close pod", "elk-full"),
    ("gpt", "one port", "basic"),
    ("encoder", "ring pod", "basic"),
]


def compared(plan: elk.Plan) -> tuple[Counter[Key], set[tuple[int, str]]]:
    """What the lists say, and the operands that are set aside."""
    return listed_moves(plan), uneven(plan)


def assert_same(done: Counter[Key], listed: Counter[Key], aside: set[tuple[int, str]]) -> set[Key]:
    keys = {key for key in {*done, *listed} if (key[0], key[3]) not in aside}
    assert {key: done[key] for key in keys} == {key: listed[key] for key in keys}
    return keys


def assert_moves_what_the_lists_say(name: str, chip: str) -> None:
    feeds, bindings = feeds_of(MODELS[name])
    plan = elk.compile(MODELS[name], machine(chip, name), bindings=bindings, policy="basic")
    listed, aside = compared(plan)
    keys = assert_same(emulated_moves(plan, plan.emulate(feeds).tapes[0]), listed, aside)
    assert len(keys) > 0.5 * len(listed)
    if name == "vit" and chip.startswith("little"):  # Rings are among what is compared.
        assert sum(key[1] == "shift" for key in keys) > 50


def assert_so_do_chips_that_share_it(name: str, chip: str, policy: str) -> None:
    feeds, bindings = feeds_of(MODELS[name], {"batch": 1, "seq": 8, "past": 7})
    plan = elk.compile(MODELS[name], machine(chip, name), bindings=bindings, policy=policy)
    rows = {row["id"]: row for row in plan.to_json()["ops"] if "collective" in row}
    ways = {row["execute"]["algorithm"]["collective"] for row in rows.values()}
    assert ("ring" in ways) == (chip == "ring pod")
    listed, aside = compared(plan)
    result = plan.emulate(feeds, check=True)
    assert result.passed, result.checks
    assert len(result.tapes) == 4
    for tape in result.tapes:
        keys = assert_same(emulated_moves(plan, tape), listed, aside)
        assert any(key[0] in rows and key[5] == ABROAD for key in keys)
        beside = any(key[0] in rows and key[1] == "reduce" for key in keys)
        assert beside == (chip == "one port")


@pytest.mark.slow
@few_then(FEW, CASES)
def test_the_emulator_moves_what_the_lists_say(
    cases: list[tuple[str, str]], subtests: pytest.Subtests
) -> None:
    for name, chip in cases:
        with subtests.test(name, chip=chip):
            assert_moves_what_the_lists_say(name, chip)


@pytest.mark.slow
@few_then(SHARED, [(name, *one[1:]) for name in ("llama", "gpt", "encoder") for one in SHARED])
def test_so_do_chips_that_share_a_model(
    cases: list[tuple[str, str, str]], subtests: pytest.Subtests
) -> None:
    for name, chip, policy in cases:
        with subtests.test(name, chip=chip, policy=policy):
            assert_so_do_chips_that_share_it(name, chip, policy)
