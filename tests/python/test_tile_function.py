"""A function of the caller's as tile model."""

from __future__ import annotations

import math
from pathlib import Path

import elk
import numpy as np
import pytest
from each_case import each
from elk.tile.tilemodel import load_tile_model
from plan_oracle import broken_rules

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
Kernel = tuple[str, str, str]


def by_volume(kernel: Kernel, sizes: dict[str, int], params: tuple[int, int]) -> float:
    """Sixteen multiply-adds or elements a cycle, and a start."""
    assert len(kernel) == 3
    assert len(params) == 2
    return 50.0 + math.prod(sizes.values()) / 16


def test_it_is_asked_and_named_in_the_plan() -> None:
    asked: set[Kernel] = set()

    def counted(kernel: Kernel, sizes: dict[str, int], params: tuple[int, int]) -> float:
        asked.add(kernel)
        assert all(size > 1 for size in sizes.values())
        return by_volume(kernel, sizes, params)

    plan = elk.compile(NERF, "tiny", bindings={"rows": 512}, tile_model=counted)
    assert ("matmul", "f16", "f16") in asked
    assert plan.check() == []
    assert broken_rules(plan) == []
    assert "counted" in plan.to_json()["chip"]["core"]["tile_model"]


def test_slower_tiles_make_a_slower_plan_the_same_for_any_number_of_threads() -> None:
    def slow(kernel: Kernel, sizes: dict[str, int], params: tuple[int, int]) -> float:
        return 10 * by_volume(kernel, sizes, params)

    bindings = {"rows": 512}
    fast = elk.compile(NERF, "tiny", bindings=bindings, tile_model=by_volume)
    plans = [
        elk.compile(NERF, "tiny", bindings=bindings, tile_model=slow, threads=threads)
        for threads in (1, 2)
    ]
    assert plans[0] == plans[1]
    assert plans[0].latency_s > 2 * fast.latency_s


def test_a_function_that_says_what_the_model_says_gives_its_plan() -> None:
    tiles = load_tile_model("ipu-mk2")

    def same(kernel: Kernel, sizes: dict[str, int], params: tuple[int, int]) -> float:
        row = [sizes.get(dim, 1) for dim in elk._core.TILE_DIMS]
        return float(tiles.cycles(kernel, np.asarray([[*row, *params]], dtype=np.int64))[0])

    chip = elk.chips.get("tiny")
    fitted = elk.compile(NERF, chip, bindings={"rows": 512})
    asked = elk.compile(NERF, chip, bindings={"rows": 512}, tile_model=same)
    assert asked.latency_s == fitted.latency_s


def raises(_kernel: Kernel, _sizes: dict[str, int], _params: tuple[int, int]) -> float:
    raise ValueError("no such kernel")


@each(
    ("function", "reason"),
    [
        (lambda *_: -1.0, "must return cycles above 0, got -1"),
        (lambda *_: math.nan, "must return cycles above 0, got nan"),
        (lambda *_: "fast", "must return a number"),
        (raises, "no such kernel"),
    ],
)
def test_what_is_no_time_is_refused(function: object, reason: str) -> None:
    with pytest.raises(elk.InvalidInputError, match=reason) as caught:
        elk.compile(NERF, "tiny", bindings={"rows": 64}, tile_model=function)  # type: ignore[arg-type]
    assert caught.value.code == "tile_model"


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(elk.InvalidInputError, match="must be a function"):
        elk.compile(NERF, "tiny", bindings={"rows": 64}, tile_model="ipu-mk2")  # type: ignore[arg-type]
