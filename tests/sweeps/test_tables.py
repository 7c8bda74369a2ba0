"""Tables of a sweep: pandas, xarray and files hold what the store holds, in the caller's order."""

from __future__ import annotations

from pathlib import Path

import elk
import pandas as pd
import pytest
import xarray as xr

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
AXES = ["hbm_bandwidth", "policy"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> elk.Sweep:
    """A product, in which one point is infeasible."""
    return elk.sweep(
        MODEL,
        "tiny",
        {"hbm_bandwidth": ["64 GB/s", "32 GB/s"], "policy": ["static", "ideal", "basic"]},
        bindings={"rows": 64},
        store=tmp_path_factory.mktemp("sweep") / "s.elksweep",
        workers=0,
    )


def test_a_frame_has_numbers_and_units_in_its_names(sweep: elk.Sweep) -> None:
    table = sweep.to_pandas()
    assert list(table.index) == [0, 1, 2, 3, 4, 5]
    assert table.index.name == "point"
    assert list(table.columns[:2]) == AXES
    assert table["latency_s"].dtype == "float64"
    assert table["energy_j"].dtype == "float64"
    assert table["latency_s"].tolist() == [row["latency_s"] for row in sweep.rows()]


def test_a_product_is_a_dataset_with_a_dimension_an_axis(sweep: elk.Sweep) -> None:
    data = sweep.to_xarray()
    assert data["latency_s"].dims == tuple(AXES)
    assert data["policy"].values.tolist() == ["static", "ideal", "basic"]
    assert data["hbm_bandwidth"].values.tolist() == [64e9, 32e9]
    assert data["latency_s"].attrs["units"] == "s"
    for row in sweep.rows():
        at = data.sel({axis: row[axis] for axis in AXES})
        assert float(at["latency_s"]) == row["latency_s"]


def test_points_that_are_no_product_have_one_dimension() -> None:
    points = [{"rows": 64, "policy": "static"}, {"rows": 128, "policy": "basic"}]
    data = elk.sweep(MODEL, "tiny", points, workers=0).to_xarray()
    assert data["latency_s"].dims == ("point",)


def test_files_hold_the_table(sweep: elk.Sweep, tmp_path: Path) -> None:
    for suffix in (".parquet", ".csv", ".nc"):
        sweep.save(tmp_path / f"s{suffix}")
    table = sweep.to_pandas()
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "s.parquet"), table)
    csv = pd.read_csv(tmp_path / "s.csv", index_col="point")
    assert csv["latency_s"].tolist() == table["latency_s"].tolist()
    with xr.open_dataset(tmp_path / "s.nc", engine="h5netcdf") as data:
        assert data["latency_s"].dims == tuple(AXES)
        assert float(data["latency_s"].sum()) == pytest.approx(table["latency_s"].sum())


def test_without_times_files_are_equal_whenever_they_are_made(
    sweep: elk.Sweep, tmp_path: Path
) -> None:
    sweep.save(tmp_path / "s.csv", timed=False)
    header = (tmp_path / "s.csv").read_text().splitlines()[0].split(",")
    assert not {"seconds", "worker", "finished_at", "compile_cpu_s"} & set(header)
    with pytest.raises(elk.InvalidInputError, match=r"\.parquet, \.nc, \.csv"):
        sweep.save(tmp_path / "s.xlsx")
