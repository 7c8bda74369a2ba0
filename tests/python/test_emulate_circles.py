"""Weights that rotate along two dimensions: by hand in a plan, whose search proposes one."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.errors import ElkError
from emulated_documents import Document, run_document, stored
from emulated_models import MODELS, feeds_of, machine
from emulated_moves import Key, listed_moves, uneven
from plan_oracle import broken_rules

CHIPS = ["little memory", "little mesh"]


@cache
def compiled(chip: str) -> tuple[Document, elk.Model, dict[str, Any]]:
    feeds, bindings = feeds_of(MODELS["vit"])
    model = elk.load_model(MODELS["vit"], bindings=bindings)
    plan = elk.compile(model, machine(chip, "vit"), policy="static")
    return plan.to_json(), model, feeds


@cache
def turned(chip: str) -> tuple[Document, tuple[tuple[int, str], ...]]:
    """The plan with 2 x 2 parts of each weight that alone rotates among four; those weights."""
    document = copy.deepcopy(compiled(chip)[0])
    changed = []
    for row in document["ops"]:
        execute = row["execute"]
        sizes = {axis["name"]: axis["size"] for axis in row["axes"]}
        for operand in row["operands"]:
            name = operand["tensor"]
            if list(execute["temporal"]) != [name] or operand["dims"] != [["k"], ["n"]]:
                continue
            if execute["cores"] == 4 * execute["factors"]["n"] * execute["factors"]["k"]:
                execute["temporal"][name] = [2, 2]
                execute["pace"] = {a: sizes[a] // execute["factors"][a] // 2 for a in "nk"}
                execute["steps"] = 4
                part_bytes = 4 * execute["pace"]["n"] * execute["pace"]["k"]
                saved_bytes = execute["space_by_tensor"][name] - part_bytes
                execute["space_bytes"] -= saved_bytes
                row["preload"]["space_bytes"] -= saved_bytes
                row["preload"]["link_bytes"] -= saved_bytes
                execute["space_by_tensor"][name] = part_bytes
                front = document["fronts"][row["front"]]
                for key in ("steps", "space_bytes"):
                    front[key][row["choice"]] = execute[key]
                changed.append((row["id"], name))
    return document, tuple(changed)


def emulated(chip: str, document: Document) -> tuple[dict[str, Any], Counter[Key]]:
    _, model, feeds = compiled(chip)
    return run_document(document, model, feeds)


@cache
def reference(chip: str) -> tuple[dict[str, Any], Counter[Key]]:
    return emulated(chip, turned(chip)[0])


@pytest.mark.slow
def test_they_give_the_numbers_of_one_dimension(subtests: pytest.Subtests) -> None:
    for chip in CHIPS:
        with subtests.test(chip=chip):
            straight, _ = emulated(chip, compiled(chip)[0])
            numbers, _ = reference(chip)
            assert turned(chip)[1]
            for name, array in straight.items():
                np.testing.assert_allclose(numbers[name], array, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_they_move_what_the_lists_say(subtests: pytest.Subtests) -> None:
    for chip in CHIPS:
        with subtests.test(chip=chip):
            document, changed = turned(chip)
            listed, (_, moves) = listed_moves(stored(document)), reference(chip)
            aside = uneven(stored(document))
            keys = {key for key in {*moves, *listed} if (key[0], key[3]) not in aside}
            assert {key: moves[key] for key in keys} == {key: listed[key] for key in keys}
            shifted = {(key[0], key[3]) for key in keys if key[1] == "shift"}
            assert set(changed) <= shifted


# Along k after each of four steps but the last, along n after the second: four shifts of a quarter.
@pytest.mark.slow
def test_the_simulator_derives_their_bytes(subtests: pytest.Subtests) -> None:
    for chip in CHIPS:
        with subtests.test(chip=chip):
            document, changed = turned(chip)
            plan = stored(document)
            runs = {of: plan.simulate(fidelity=of)._run for of in ("core", "symmetric")}
            before = stored(compiled(chip)[0]).simulate(fidelity="core")._run
            for op, name in changed:
                row, old = document["ops"][op], compiled(chip)[0]["ops"][op]
                operand = next(x for x in row["operands"] if x["tensor"] == name)
                factors = row["execute"]["factors"]
                tile = operand["bytes"] // (factors["n"] * factors["k"])
                parts = max(old["execute"]["temporal"][name])
                wanted = (
                    before.ops["exchange_bytes"][op] - (parts - 1) * tile // parts + 4 * tile // 4
                )
                for run in runs.values():
                    assert run.ops["exchange_bytes"][op] == wanted
                shifts = [x for x in plan.listing(core=0, op=op) if x.action == "shift"]
                assert [x.number for x in shifts] == [0, 1, 1, 2]
                assert sum(p.bytes for x in shifts for p in x.received) == tile


@pytest.mark.slow
def test_their_plan_is_valid_and_lasts(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for chip in CHIPS:
        with subtests.test(chip=chip):
            document, changed = copy.deepcopy(turned(chip))
            exchanged = stored(document).simulate().columns["exchange_bytes"]
            for op, _ in changed:
                document["ops"][op]["execute"]["exchange_bytes"] = int(exchanged[op])
            plan = stored(document)
            assert plan.check() == []
            assert broken_rules(plan) == []
            plan.save(tmp_path / "turned.elkplan")
            again = elk.load_plan(tmp_path / "turned.elkplan")
            assert again == plan
            for op, name in changed:
                assert again.to_json()["ops"][op]["execute"]["temporal"][name] == [2, 2]


def _one_circle_less(row: Document, name: str) -> None:
    row["execute"]["temporal"][name][1] = 1


def _longer_pace(row: Document, name: str) -> None:
    assert name
    row["execute"]["pace"]["n"] *= 2


def _shorter_pace(row: Document, name: str) -> None:
    assert name
    row["execute"]["pace"]["n"] //= 2


def _a_loop_less(row: Document, name: str) -> None:
    assert name
    del row["execute"]["pace"]["n"]


MUTATIONS: list[Callable[[Document, str], None]] = [
    _one_circle_less, _longer_pace, _shorter_pace, _a_loop_less,
]  # fmt: skip


@pytest.mark.slow
def test_a_broken_second_circle_is_caught(subtests: pytest.Subtests) -> None:
    for chip, mutation in itertools.product(CHIPS, MUTATIONS):
        with subtests.test(mutation.__name__, chip=chip):
            sound, changed = turned(chip)
            document = copy.deepcopy(sound)
            op, name = changed[0]
            mutation(document["ops"][op], name)
            right, moves = reference(chip)
            try:
                numbers, others = emulated(chip, document)
            except ElkError:
                continue
            same = all(np.array_equal(numbers[name], right[name]) for name in right)
            assert not same or others != moves
