"""Pareto fronts and ratios of sweeps, against what counting every pair finds."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import elk
import numpy as np
import pytest
from elk.sweeps.analysis.pareto import front_of, hypervolume

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
SPACE = {
    "rows": [64, 4096],
    "sram": ["8194 B", "64 KiB"],  # the first beside 8 KiB that are reserved
    "hbm_bandwidth": ["4 GB/s", "16 GB/s", "64 GB/s"],
    "policy": ["basic", "static", "ideal"],
}


@pytest.fixture(scope="module")
def sweep() -> elk.Sweep:
    return elk.sweep(MODEL, "tiny", SPACE, workers=0)


def beaten_by_some(values: np.ndarray, i: int) -> bool:
    no_larger = np.all(values <= values[i], axis=1)
    return bool(np.any(no_larger & np.any(values < values[i], axis=1)))


def test_a_front_is_what_no_other_point_beats(subtests: pytest.Subtests) -> None:
    for objectives, levels in itertools.product([2, 3, 4], [3, 20, None]):
        with subtests.test(objectives=objectives, levels=levels):
            rng = np.random.default_rng(objectives)
            for count in (1, 2, 7, 60, 300):
                values = rng.random((count, objectives))
                if levels is not None:
                    values = np.floor(values * levels)  # many ties
                wanted = [not beaten_by_some(values, i) for i in range(count)]
                assert front_of(values).tolist() == wanted


def test_a_front_longer_than_a_block_keeps_all_of_it() -> None:
    x = np.linspace(0, 1, 5_000)
    values = np.column_stack([x, 1 - x])
    mixed = np.concatenate([values + 1e-9, values])[np.random.default_rng(1).permutation(10_000)]
    assert front_of(mixed).sum() == np.isin(mixed[:, 0], x).sum()


def test_hypervolumes_are_those_of_counted_cells(subtests: pytest.Subtests) -> None:
    for objectives in [1, 2, 3]:
        with subtests.test(objectives=objectives):
            rng = np.random.default_rng(objectives)
            for _ in range(20):
                points = rng.integers(0, 6, (rng.integers(1, 9), objectives)).astype(float)
                cells = np.stack(np.meshgrid(*[np.arange(5)] * objectives, indexing="ij"), axis=-1)
                covered = (cells[..., None, :] >= points).all(axis=-1).any(axis=-1)
                assert hypervolume(points, [5.0] * objectives) == pytest.approx(covered.sum())


def test_a_front_of_a_sweep_has_no_forecasts_and_no_beaten_point(sweep: elk.Sweep) -> None:
    front = sweep.pareto("latency_s", "hbm_bandwidth", "-achieved_flops_per_s")
    real = [row for row in sweep.rows() if row["status"] == "done" and row["policy"] != "ideal"]
    assert len(front.points) + len(front.beaten) == len(real)
    keys = [(row["latency_s"], row["hbm_bandwidth"], -row["achieved_flops_per_s"]) for row in real]
    wanted = [
        row["point"]
        for row, key in zip(real, keys, strict=True)
        if not any(
            all(a <= b for a, b in zip(other, key, strict=True)) and other != key for other in keys
        )
    ]
    assert sorted(row["point"] for row in front.rows()) == wanted
    assert "Pareto front of least latency_s" in front.summary()
    assert list(front.to_pandas()["point"]) == [row["point"] for row in front.rows()]


def test_a_front_is_drawn_with_units(sweep: elk.Sweep) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    ax = sweep.pareto("latency_s", "hbm_bandwidth").plot(hue="policy")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("latency (µs)", "HBM bandwidth (GB/s)")


def test_objectives_that_are_none_are_refused(sweep: elk.Sweep, subtests: pytest.Subtests) -> None:
    for objectives, word in [
        (("latency_s",), "two different objectives"),
        (("latency_s", "-latency_s"), "two different objectives"),
        (("latency_s", "energy"), "did you mean 'energy_j'"),
        (("latency_s", "energy_j"), "no point has energy_j"),
        (("latency_s", "binds"), "column of numbers"),
    ]:
        with (
            subtests.test(objectives=objectives, word=word),
            pytest.raises(elk.InvalidInputError, match=word),
        ):
            sweep.pareto(*objectives)


def test_ratios_are_of_points_that_differ_in_one_axis(sweep: elk.Sweep) -> None:
    ratios = sweep.compare(to="static")
    rows = {(r["rows"], r["sram"], r["hbm_bandwidth"], r["policy"]): r for r in sweep.rows()}
    done = [key for key, row in rows.items() if row["status"] == "done" and key[-1] != "static"]
    assert len(ratios.pairs) == len(done)
    for pair in ratios.rows():
        key = (pair["rows"], pair["sram"], pair["hbm_bandwidth"], pair["policy"])
        reference = rows[(*key[:-1], "static")]["latency_s"]
        assert pair["ratio"] == rows[key]["latency_s"] / reference
        assert pair["speedup"] == pytest.approx(1 / pair["ratio"])
    by_value = {row["policy"]: row for row in ratios.by_value()}
    found = [pair["ratio"] for pair in ratios.rows() if pair["policy"] == "ideal"]
    assert by_value["ideal"]["mean"] == pytest.approx(math.prod(found) ** (1 / len(found)))
    assert by_value["ideal"]["largest"] == max(found) <= 1
    assert sum(ratios.missing.values()) + len(done) == len(rows) * 2 // 3
    assert "have no answer" in ratios.summary()


def test_any_axis_can_be_compared(sweep: elk.Sweep) -> None:
    ratios = sweep.compare("4 GB/s", axis="hbm_bandwidth", where={"policy": "static"})
    assert {row["hbm_bandwidth"] for row in ratios.rows()} == {16e9, 64e9}
    assert all(row["ratio"] <= 1 for row in ratios.rows())
    with pytest.raises(elk.InvalidInputError, match="no point has policy"):
        sweep.compare("elk-full")
    with pytest.raises(elk.InvalidInputError, match="no axis of this sweep"):
        sweep.compare(64, axis="batch")
    pairs = elk.sweep(MODEL, "tiny", elk.zip(rows=[64, 128], policy=["basic", "static"]), workers=0)
    with pytest.raises(elk.InvalidInputError, match="alone"):
        pairs.compare()
