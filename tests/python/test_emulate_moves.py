"""What the emulator moves is what the lists say, and so what the simulator times."""

from __future__ import annotations

import elk
import pytest
from emulated_models import MODELS, feeds_of, machine
from emulated_moves import ABROAD, emulated_moves, listed_moves, uneven

CASES = [(name, chip) for name in ("gpt", "resnet", "llama", "vit", "lstm", "audio", "mixtral")
         for chip in ("tiny", "little memory", "mesh")]  # fmt: skip
CASES += [(name, "little mesh") for name in ("gpt", "vit", "audio", "lstm")]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "chip"), CASES)
def test_the_emulator_moves_what_the_lists_say(name: str, chip: str) -> None:
    feeds, bindings = feeds_of(MODELS[name])
    plan = elk.compile(MODELS[name], machine(chip, name), bindings=bindings, policy="basic")
    done = emulated_moves(plan, plan.emulate(feeds).tapes[0])
    listed = listed_moves(plan)
    aside = uneven(plan)
    compared = {key for key in {*done, *listed} if (key[0], key[3]) not in aside}
    assert {key: done[key] for key in compared} == {key: listed[key] for key in compared}
    assert len(compared) > 0.5 * len(listed)


SHARED = [
    (name, chip, policy)
    for name in ("llama", "gpt", "encoder")
    for chip, policy in (
        ("close pod", "basic"),
        ("close pod", "elk-full"),
        ("one port", "basic"),
        ("ring pod", "basic"),
    )
]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "chip", "policy"), SHARED)
def test_so_do_chips_that_share_a_model(name: str, chip: str, policy: str) -> None:
    feeds, bindings = feeds_of(MODELS[name], {"batch": 1, "seq": 8, "past": 7})
    plan = elk.compile(MODELS[name], machine(chip, name), bindings=bindings, policy=policy)
    rows = {row["id"]: row for row in plan.to_json()["ops"] if "collective" in row}
    ways = {row["execute"]["algorithm"]["collective"] for row in rows.values()}
    assert ("ring" in ways) == (chip == "ring pod")
    listed = listed_moves(plan)
    aside = uneven(plan)
    result = plan.emulate(feeds, check=True)
    assert result.passed, result.checks
    assert len(result.tapes) == 4
    for tape in result.tapes:
        done = emulated_moves(plan, tape)
        compared = {key for key in {*done, *listed} if (key[0], key[3]) not in aside}
        assert {key: done[key] for key in compared} == {key: listed[key] for key in compared}
        assert any(key[0] in rows and key[5] == ABROAD for key in compared)
        beside = any(key[0] in rows and key[1] == "reduce" for key in compared)
        assert beside == (chip == "one port")


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["little memory", "little mesh"])
def test_rings_are_among_what_is_compared(chip: str) -> None:
    turned = 0
    for name in ("gpt", "vit", "audio"):
        plan = elk.compile(
            MODELS[name],
            machine(chip, name),
            bindings=feeds_of(MODELS[name])[1],
            policy="basic",
        )
        aside = uneven(plan)
        shifts = [key for key in listed_moves(plan) if key[1] == "shift"]
        turned += sum((op, tensor) not in aside for op, _, _, tensor, _, _ in shifts)
    assert turned > 200
