"""Searches: a front in a third of its space, the same points for one seed, resumed stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.sweeps.analysis.pareto import hypervolume

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
pytest.importorskip("optuna")

SPACE = {
    "clock_hz": [0.5e9, 0.75e9, 1e9, 1.25e9, 1.5e9],
    "link_bytes_per_s": elk.logspace("1 GB/s", "16 GB/s", 5),
    "hbm_bandwidth": elk.logspace("4 GB/s", "64 GB/s", 5),
}
AIMS = ("latency_s", "link_bytes_per_s")
HOW: dict[str, Any] = {"bindings": {"rows": 512}, "policy": "static", "workers": 0}


def searched(**how: Any) -> elk.Sweep:
    return elk.search(MODEL, "tiny", how.pop("space", SPACE), **{"objectives": AIMS, **HOW, **how})


def found(sweep: elk.Sweep) -> set[tuple[float, ...]]:
    return {tuple(row[name] for name in AIMS) for row in sweep.pareto(*AIMS).rows()}


def below(sweep: elk.Sweep, corner: list[float]) -> float:
    """The hypervolume below a sweep's front, in logarithms."""
    values = np.log([[row[name] for name in AIMS] for row in sweep.rows()])
    return hypervolume(values, corner)


@pytest.mark.slow
def test_a_third_of_a_space_has_most_of_its_front() -> None:
    whole = elk.sweep(MODEL, "tiny", SPACE, **HOW)
    part = searched(points=len(whole) // 3)
    assert len(part) == len(whole) // 3
    front = found(whole)
    assert len(found(part) & front) >= len(front) - 1
    corner = [max(np.log(row[name]) for row in whole.rows()) + 1e-9 for name in AIMS]
    assert below(part, corner) >= 0.995 * below(whole, corner)


def test_a_seed_gives_the_same_points_and_a_store_is_gone_on_with(tmp_path: Path) -> None:
    whole = searched(points=18, store=tmp_path / "whole.elksweep")
    cut = searched(points=10, store=tmp_path / "cut.elksweep")
    finished = [row["finished_at"] for row in cut.rows()]
    again = searched(points=18, store=tmp_path / "cut.elksweep")
    assert [row["finished_at"] for row in again.rows()][:10] == finished
    names = [*SPACE, "latency_s"]
    told = [[tuple(row[name] for name in names) for row in s.rows()] for s in (whole, again)]
    assert told[0] == told[1]
    other = searched(points=18, seed=1)
    assert {tuple(row[name] for name in names) for row in other.rows()} != set(told[0])


def test_results_of_a_sweep_are_taken_from_its_store(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    small = {**SPACE, "hbm_bandwidth": ["16 GB/s"]}
    swept = elk.sweep(MODEL, "tiny", small, store=path, **HOW)
    finished = {row["point"]: row["finished_at"] for row in swept.rows()}
    more = searched(points=12, space=small, store=path)
    assert {row["point"]: row["finished_at"] for row in more.rows()} == finished


def test_ranges_functions_and_constraints_are_searched() -> None:
    space = {
        "cores": elk.between(8, 64),
        "hbm_bandwidth": lambda point: 1e9 * point["cores"],
        "policy": ["basic", "static"],
    }
    given: dict[str, Any] = {
        "bindings": {"rows": 64},
        "workers": 0,
        "where": lambda p: p["cores"] % 4 == 0,
    }
    sweep = elk.search(MODEL, "tiny", space, points=12, objectives=("latency_s", "cores"), **given)
    assert len(sweep) == 12
    assert all(row["cores"] % 4 == 0 for row in sweep.rows())
    assert all(row["hbm_bandwidth"] == 1e9 * row["cores"] for row in sweep.rows())


def test_a_search_ends_when_nothing_gets_better() -> None:
    patient = searched(points=100, patience=8, tolerance=0.05)
    assert len(patient) < 60


def test_points_that_do_not_fit_are_not_sought() -> None:
    space = {"sram": ["8194 B", "24 KiB", "48 KiB", "64 KiB"], "rows": [64, 512, 4096, 16_384]}
    sweep = elk.search(
        MODEL, "tiny", space, points=14, objectives=("latency_s", "-rows"), workers=0,
        policy="static",
    )  # fmt: skip
    assert {row["status"] for row in sweep.rows()} == {"done", "infeasible"}
    assert len(sweep) == 14


def test_wrong_searches_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"points": 0}, "points must be from 1"),
        ({"points": 5, "objectives": ("latency_s",)}, "two or more"),
        ({"points": 5, "objectives": ("latency_s", "energy")}, "energy is no axis"),
        ({"points": 5, "objectives": ("latency_s", "energy_j")}, "no point has energy_j"),
        ({"points": 5, "policies": ["static"]}, "policies"),
        ({"points": 5, "space": {"clok_hz": [1e9]}}, "did you mean 'clock'"),
        ({"points": 5, "batch": 2.5}, "whole number"),
    ]
    for given, word in cases:
        with (
            subtests.test(given=given, word=word),
            pytest.raises(elk.InvalidInputError, match=word),
        ):
            searched(**given)
