"""A broken plan stops, gives other numbers, or moves other bytes than the lists say.

What the emulator finds by itself (addresses, sizes and lives of buffers, instructions that are
missing) stands in tests/cpp/emulate/test_mutations.cpp.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import elk
import numpy as np
import pytest
from elk.errors import ElkError
from elk.plan.plan import Plan
from emulated_documents import Document, run_document, stored
from emulated_models import MODELS, feeds_of, machine
from emulated_moves import Key, listed_moves, uneven

Mutation = Callable[[Document], None]


@cache
def sound() -> tuple[Plan, Any]:
    """A plan that rotates, cuts sums and deals out preloaded pieces, and its model."""
    feeds, bindings = feeds_of(MODELS["vit"])
    model = elk.load_model(MODELS["vit"], bindings=bindings)
    plan = elk.compile(model, machine("little memory", "vit"), policy="static")
    return plan, (model, feeds)


def run(document: Document) -> tuple[dict[str, Any], Counter[Key]]:
    """The numbers of a document's program, and its exchanges."""
    model, feeds = sound()[1]
    return run_document(document, model, feeds)


@cache
def reference() -> tuple[dict[str, Any], Counter[Key]]:
    return run(sound()[0].to_json())


def is_caught(document: Document) -> bool:
    """Whether the program stops, or numbers or moves are not those of the sound one."""
    try:
        numbers, _ = run(document)
        listed = listed_moves(stored(document))
    except ElkError:
        return True
    right, moves = reference()
    aside = uneven(sound()[0])
    keys = {key for key in {*moves, *listed} if (key[0], key[3]) not in aside}
    if any(moves[key] != listed[key] for key in keys):
        return True
    return any(
        name not in numbers or not np.array_equal(numbers[name], right[name]) for name in right
    )


def rotating(document: Document) -> Document:
    return next(row for row in document["ops"] if row["execute"]["steps"] > 1)


def _shorter_pace(document: Document) -> None:
    row = next(
        row for row in document["ops"] if any(p > 1 for p in row["execute"]["pace"].values())
    )
    row["execute"]["pace"] = {a: max(1, p // 2) for a, p in row["execute"]["pace"].items()}


def _ring_order(document: Document) -> None:
    row = next(
        row
        for row in document["ops"]
        if row["execute"]["steps"] > 1 and len(row["execute"]["order"]) > 1
    )
    row["execute"]["order"].reverse()


def _whole_instead_of_parts(document: Document) -> None:
    temporal = rotating(document)["execute"]["temporal"]
    for name in temporal:
        temporal[name] = [1] * len(temporal[name])


def _divisor(document: Document) -> None:
    row = next(
        row
        for row in document["ops"]
        if row["preload"] and any(d > 1 for d in row["preload"]["divisor"].values())
    )
    row["preload"]["divisor"] = dict.fromkeys(row["preload"]["divisor"], 1)


def _factor(document: Document) -> None:
    row = max(document["ops"], key=lambda row: row["execute"]["cores"])
    axis = max(row["execute"]["factors"], key=row["execute"]["factors"].__getitem__)
    row["execute"]["factors"][axis] //= 2


def first(document: Document, opcode: str, after: int = 0) -> int:
    return next(
        i for i, (code, _) in enumerate(document["program"]) if code == opcode and i >= after
    )


def _late_preload(document: Document) -> None:
    code = document["program"]
    at = first(document, "preload_async")
    execute = code.index(["execute", code[at][1]])
    code[at], code[execute] = code[execute], code[at]


def _early_execute(document: Document) -> None:
    code = document["program"]
    at = [i for i, (opcode, _) in enumerate(code) if opcode == "execute"]
    middle = len(at) // 2
    code[at[middle]], code[at[middle + 1]] = code[at[middle + 1]], code[at[middle]]


MUTATIONS: list[Mutation] = [
    _shorter_pace, _ring_order, _whole_instead_of_parts, _divisor, _factor, _late_preload,
    _early_execute,
]  # fmt: skip


@pytest.mark.slow
def test_a_sound_plan_is_not_caught_and_a_broken_one_is(subtests: pytest.Subtests) -> None:
    document = sound()[0].to_json()
    assert not is_caught(document)
    for mutation in MUTATIONS:
        broken = copy.deepcopy(document)
        mutation(broken)
        assert broken != document
        with subtests.test(mutation.__name__):
            assert is_caught(broken)
