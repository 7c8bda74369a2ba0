"""Pictures of sweeps: axes with units, what has a line or a panel, what is marked or refused."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.points.labels import measure, said, title

pytest.importorskip("matplotlib").use("Agg")

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
SPACE = {
    "sram": ["8194 B", "24 KiB", "32 KiB", "64 KiB"],  # the first beside 8 KiB that are reserved
    "rows": [64, 4096],
    "hbm_bandwidth": ["10 GB/s", "50 GB/s"],
    "policy": ["static", "ideal"],
}


@pytest.fixture(scope="module")
def sweep() -> elk.Sweep:
    return elk.sweep(MODEL, "tiny", SPACE, workers=0)


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    from matplotlib import pyplot as plt  # noqa: PLC0415

    yield
    plt.close("all")


def drawn(ax: Any) -> list[Any]:
    """The lines that are of points, no marks."""
    return [line for line in ax.get_lines() if line.get_linestyle() != "None"]


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.figure.legends[0].get_texts()]


def overlaps(axis: Any) -> bool:
    """Whether two labels of ticks cover each other."""
    boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_axes_have_units_in_which_numbers_are_handy(sweep: elk.Sweep) -> None:
    ax = sweep.plot(x="hbm_bandwidth", hue="rows", where={"sram": "64 KiB", "policy": "static"})
    assert ax.get_xlabel() == "HBM bandwidth (GB/s)"
    assert ax.get_ylabel() == "latency (µs)"
    assert legend(ax) == ["64", "4096"]
    rows = [
        r for r in sweep.rows() if (r["sram"], r["policy"], r["rows"]) == (65_536, "static", 64)
    ]
    x, y = drawn(ax)[0].get_data()
    assert list(x[:2]) == [10, 50]
    assert list(y[:2]) == pytest.approx([1e6 * row["latency_s"] for row in rows])


def test_panels_are_of_the_values_of_axes_and_have_the_same_scales(sweep: elk.Sweep) -> None:
    grid = sweep.plot(x="sram", hue="rows", row="hbm_bandwidth", col="policy")
    assert grid.shape == (2, 2)
    assert grid[1, 0].get_title() == "HBM bandwidth = 50 GB/s, policy = static"
    assert len({ax.get_ylim() for ax in grid.flat}) == 1
    grid[0, 0].figure.savefig(io.BytesIO())
    assert not any(overlaps(axis) for ax in grid.flat for axis in (ax.xaxis, ax.yaxis))


def test_what_is_not_named_has_a_line_each_and_nothing_is_averaged(sweep: elk.Sweep) -> None:
    ax = sweep.plot(x="sram", hue="policy")
    values = {y for line in drawn(ax) for y in line.get_ydata() if not np.isnan(y)}
    wanted = {1e6 * row["latency_s"] for row in sweep.rows() if row["status"] == "done"}
    assert {round(y, 9) for y in values} == {round(y, 9) for y in wanted}
    assert "a line for each rows, HBM bandwidth" in ax.get_title()
    only = sweep.plot(x="sram", where={"policy": "static", "hbm_bandwidth": 10e9})
    assert legend(only)[:2] == ["64", "4096"]


def test_points_that_are_not_done_break_lines_and_are_marked(sweep: elk.Sweep) -> None:
    where = {"policy": "static", "hbm_bandwidth": "10 GB/s"}
    ax = sweep.plot(x="sram", hue="rows", where=where)
    missing = [
        row["sram"] / 1024
        for row in sweep.rows()
        if row["status"] == "infeasible"
        and (row["policy"], row["hbm_bandwidth"]) == ("static", 10e9)
    ]
    marks = [line for line in ax.get_lines() if line.get_marker() == "x"]
    assert [x for line in marks for x in line.get_xdata()] == missing
    assert len(missing) > 0
    assert legend(ax)[-1] == f"infeasible ({len(missing)})"
    high = [y for line in drawn(ax) for y in line.get_ydata()]
    assert np.isnan(high).sum() == len(missing) + len(drawn(ax))
    ax.figure.savefig(io.BytesIO())
    foot = ax.transData.inverted().transform(ax.transAxes.transform((0, 0.05)))[1]
    assert np.nanmin(high) > foot


def test_heat_maps_have_a_cell_for_each_point_and_refuse_two_in_one(sweep: elk.Sweep) -> None:
    ax = sweep.plot(x="sram", y="rows", where={"policy": "static", "hbm_bandwidth": "10 GB/s"})
    cells: Any = ax.collections[0].get_array()
    assert cells.shape[:2] == (2, 4)
    assert ax.get_ylabel() == "rows"
    with pytest.raises(elk.InvalidInputError, match="hbm_bandwidth, policy vary"):
        sweep.plot(x="sram", y="rows")
    by_word = sweep.plot(
        x="sram", y="rows", hue="binds", where={"hbm_bandwidth": 10e9}, col="policy"
    )
    assert by_word.shape == (1, 2)


def test_samples_and_results_are_drawn_as_points() -> None:
    space = {
        "hbm_bandwidth": elk.between("2 GB/s", "64 GB/s", log=True),
        "link_bandwidth": elk.between("1 GB/s", "8 GB/s"),
    }
    samples = elk.sweep(
        MODEL, "tiny", elk.sampled(space, 8), bindings={"rows": 64}, workers=0, policy="static"
    )
    ax = samples.plot(x="hbm_bandwidth")
    assert len(ax.collections[0].get_offsets()) == 8
    assert ax.get_xscale() == "log"
    assert samples.plot(x="hbm_bandwidth", log=False).get_xscale() == "linear"
    used = samples.plot(x="hbm_use", hue="link_bandwidth")
    assert used.get_xlabel() == "HBM use"


def test_wrong_words_are_refused_with_the_right_ones(
    sweep: elk.Sweep, subtests: pytest.Subtests
) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"x": "hbm_bandwith"}, "did you mean 'hbm_bandwidth'"),
        ({"y": "latency"}, "did you mean 'latency_s'"),
        ({"y": "energy_j"}, "no point has energy_j"),
        ({"y": "binds", "x": "sram", "kind": "line"}, "column of numbers"),
        ({"col": "binds"}, "values of an axis"),
        ({"kind": "bars"}, "heatmap"),
        ({"hue": "binds", "kind": "line"}, "scatter"),
        ({"where": {"sram": "48 KiB"}}, "there are 8.002 KiB, 24 KiB"),
        ({"where": {"rowz": 1}}, "did you mean 'rows'"),
    ]
    for given, word in cases:
        with (
            subtests.test(given=given, word=word),
            pytest.raises(elk.InvalidInputError, match=word),
        ):
            sweep.plot(**given)


def test_columns_are_called_as_people_do() -> None:
    assert title("hbm_bytes_per_s") == "HBM bandwidth"
    assert said("link_bytes_per_s", 5.5e9) == "5.5 GB/s"
    assert said("rows", 16_384) == "16384"
    assert measure("latency_s", [1e-4, 1e-1]).log
    assert not measure("batch", [8, 16, 24, 32]).log
    assert measure("batch", [1, 2, 4, 8, 16]).log
    assert measure("batch", [1, 2, 4], log=["latency_s"]).log is False
