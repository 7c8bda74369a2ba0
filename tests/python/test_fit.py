"""Tile models: how well they predict rows they never saw, and what they say beyond them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import elk
import numpy as np
import pytest
from each_case import each
from elk import _core, cli
from elk.tile import fit
from elk.tile.profile import ProfileFileError, held_out, read_profile
from elk.tile.tilemodel import FittedModel, TileModelFileError, load_tile_model, names, read_record

PROFILE = Path(__file__).parents[2] / "data" / "ipu_mk2_profile"
DIMS = _core.TILE_DIMS


@pytest.fixture(scope="module")
def model() -> _core.TileModel:
    return load_tile_model("ipu-mk2")


@pytest.fixture(scope="module")
def table(model: _core.TileModel) -> dict[tuple[str, str], fit.ErrorRow]:
    """The errors of the shipped model on the rows that its fit left out."""
    rows = fit.check(sorted(PROFILE.glob("*.csv")), model, held_out_only=True)
    return {(row.kind, row.dtype): row for row in rows}


def shape(**sizes: int) -> np.ndarray:
    row = np.ones((1, len(DIMS) + 2), dtype=np.int64)
    row[:, len(DIMS) :] = 0
    for name, size in sizes.items():
        row[0, DIMS.index(name)] = size
    return row


def subset(tmp_path: Path, name: str, rows: int) -> Path:
    path = tmp_path / name
    header, *lines = (PROFILE / name).read_text().splitlines(keepends=True)
    path.write_text("".join([header, *lines[:: len(lines) // rows]]))
    return path


@each(
    ("kind", "dtype", "mean_pct", "p95_pct"),
    [
        ("matmul/aligned", "f16", 2, 6),
        ("matmul/random", "f16", 3, 8),
        ("matmul/aligned", "f16_acc32", 2, 6),
        ("matmul/random", "f16_acc32", 3, 8),
        ("matmul/aligned", "f32", 6, 100),
        ("matmul/random", "f32", 6, 100),
        ("batch_matmul/aligned", "f16", 2, 6),
        ("batch_matmul/random", "f16", 3, 8),
        ("softmax/x8", "f16", 3, 100),
        ("softmax/x8", "f32", 3, 100),
        ("layernorm/x8", "f16", 3, 100),
        ("layernorm/x8", "f32", 3, 100),
        ("rmsnorm/x8", "f16", 3, 100),
        ("rmsnorm/x8", "f32", 3, 100),
        ("conv2d/aligned", "f16", 3, 100),
        ("conv2d/random", "f16", 3, 100),
        ("conv2d/aligned", "f16_acc32", 3, 100),
        ("conv2d/random", "f16_acc32", 3, 100),
        ("depthwise_conv2d", "f16", 12, 100),
        ("maxpool2d", "f16", 6, 100),
        ("sumpool2d", "f16", 6, 100),
        ("cast", "f16_to_f32", 1, 100),
        ("cast", "f32_to_f16", 1, 100),
        ("slice_copy", "f16", 1, 100),
        ("slice_copy", "f32", 1, 100),
        ("transpose", "f16", 1, 100),
        ("transpose", "f32", 1, 100),
        ("gather", "f16", 1, 100),
        ("gather", "f32", 1, 100),
    ],
)
def test_a_kernel_meets_its_bar_on_rows_left_out(
    table: dict[tuple[str, str], fit.ErrorRow],
    kind: str,
    dtype: str,
    mean_pct: float,
    p95_pct: float,
) -> None:
    row = table[kind, dtype]
    assert row.mean_pct <= mean_pct
    assert row.p95_pct <= p95_pct


@each(
    ("files", "mean_pct"),
    [
        ("matmul_f16_wide_*.csv", 0.001),
        ("matmul_f16_decode.csv", 0.001),
        ("matmul_f32_wide.csv", 0.001),
        ("matmul_f16_acc32_wide.csv", 0.03),
        ("batch_matmul_f16_wide.csv", 0.007),
        ("conv2d_f16_wide.csv", 2.6),
        ("conv2d_f16_acc32_wide.csv", 2.6),
    ],
)
def test_long_products_and_wide_convolutions_meet_their_bars_on_rows_left_out(
    model: _core.TileModel, files: str, mean_pct: float
) -> None:
    rows = fit.check(sorted(PROFILE.glob(files)), model, held_out_only=True)
    assert sum(row.rows for row in rows) > 60
    mean = sum(row.mean_pct * row.rows for row in rows) / sum(row.rows for row in rows)
    assert mean <= mean_pct


def test_products_of_one_token_with_a_cache_cost_what_the_profile_says(
    model: _core.TileModel,
) -> None:
    profile = read_profile(PROFILE / "matmul_f16_decode.csv")
    m, k, n = (profile.shapes[:, DIMS.index(dim)] for dim in ("m", "k", "n"))
    rows = (m <= 8) & (k == 128) & (n > 512) & (n <= 2100)
    assert rows.sum() >= 10
    predicted = model.cycles(("matmul", "f16", "f16"), profile.shapes[rows])
    assert np.abs(predicted / profile.cycles[rows] - 1).max() < 0.001
    assert not model.extrapolated(("matmul", "f16", "f16"), profile.shapes[rows]).any()


@pytest.mark.slow
@each(
    ("near", "far", "mean_pct"),
    [
        ("matmul_f16_[ar]*[dm].csv", "matmul_f16_wide_*.csv", 2),
        ("matmul_f16_[ar]*[dm].csv", "matmul_f16_decode.csv", 2),
        ("matmul_f16_acc32.csv", "matmul_f16_acc32_wide.csv", 2),
        ("matmul_f32.csv", "matmul_f32_wide.csv", 2),
        ("batch_matmul_f16.csv", "batch_matmul_f16_wide.csv", 5),
        ("conv2d_f16.csv", "conv2d_f16_wide.csv", 12),
        ("conv2d_f16_acc32.csv", "conv2d_f16_acc32_wide.csv", 12),
    ],
)
def test_a_fit_of_small_tiles_is_continued_to_large_ones(
    near: str, far: str, mean_pct: float
) -> None:
    continued = fit.fit(sorted(PROFILE.glob(near)), name="near").to_core()
    rows = fit.check(sorted(PROFILE.glob(far)), continued)
    mean = sum(row.mean_pct * row.rows for row in rows) / sum(row.rows for row in rows)
    assert mean <= mean_pct


def test_elementwise_reductions_and_movement_are_within_one_percent(
    table: dict[tuple[str, str], fit.ErrorRow],
) -> None:
    products = ("matmul", "batch_matmul", "conv2d", "depthwise_conv2d", "maxpool2d", "sumpool2d")
    looser = (*products, "softmax", "layernorm", "rmsnorm", "partials_reduce", "axpy")
    simple = {key: row for key, row in table.items() if key[0].split("/")[0] not in looser}
    assert len(simple) > 80
    assert {key: row.mean_pct for key, row in simple.items() if row.mean_pct > 1} == {}


def test_a_product_costs_the_same_in_both_orientations(model: _core.TileModel) -> None:
    kernel = ("matmul", "f16", "f16")
    random = np.random.default_rng(1)
    for m, k, n in random.integers(1, 3000, size=(300, 3)):
        assert model.cycles(kernel, shape(m=m, k=k, n=n)) == model.cycles(
            kernel, shape(m=n, k=k, n=m)
        )


@each(
    ("kernel", "dims", "far"),
    [
        (("matmul", "f16", "f16"), ("m", "k", "n"), 20_000),
        (("matmul", "f16", "f32"), ("m", "k", "n"), 20_000),
        (("matmul", "f32", "f32"), ("m", "k", "n"), 20_000),
        (("batch_matmul", "f16", "f16"), ("group", "m", "k", "n"), 20_000),
        (("conv2d", "f16", "f32"), ("batch", "out_w", "in_ch", "out_ch", "kernel_w"), 3_000),
        (("depthwise_conv2d", "f16", "f16"), ("out_h", "out_w", "out_ch", "kernel_w"), 3_000),
        (("conv2d", "f16", "f16"), ("out_h", "out_w", "in_ch", "out_ch", "kernel_h"), 3_000),
        (("maxpool2d", "f16", "f16"), ("out_h", "out_w", "out_ch", "kernel_h"), 3_000),
        (("exp", "f16", "f16"), ("elements",), 10_000_000),
        (("add/col_vector", "f16", "f16"), ("rows", "cols"), 30_000),
        (("mul/row_scalar", "f32", "f32"), ("rows", "cols"), 30_000),
        (("sum/inner", "f16", "f32"), ("rows", "cols"), 30_000),
        (("max/outer", "f16", "f16"), ("rows", "cols"), 30_000),
        (("softmax", "f16", "f16"), ("rows", "cols"), 30_000),
        (("layernorm", "f16", "f16"), ("rows", "cols"), 30_000),
        (("gather", "f16", "f16"), ("slices", "slice_elements"), 100_000),
        (("slice_copy", "f16", "f16"), ("slices", "slice_elements"), 100_000),
        (("transpose", "f16", "f16"), ("group", "rows", "cols"), 10_000),
        (("partials_reduce", "f16", "f16"), ("rows", "cols"), 100_000),
    ],
)
def test_time_grows_with_every_axis_beyond_the_fitted_range(
    model: _core.TileModel, kernel: tuple[str, str, str], dims: tuple[str, ...], far: int
) -> None:
    random = np.random.default_rng(2)
    for _ in range(300):
        sizes = {dim: int(np.exp(random.uniform(0, np.log(far)))) for dim in dims}
        sizes[dims[random.integers(len(dims))]] = far
        here = shape(**sizes)
        assert model.extrapolated(kernel, here)[0]
        for dim in dims:
            more = {**sizes, dim: sizes[dim] + int(random.integers(1, 9))}
            assert model.cycles(kernel, shape(**more))[0] >= model.cycles(kernel, here)[0]


def test_kinds_and_dtypes_without_rows_borrow_declared_neighbours(model: _core.TileModel) -> None:
    assert model.find(("exp", "f16", "f16")) == ("exp", False)
    assert model.find(("sin", "f16", "f16")) == ("exp", True)
    assert model.find(("cos", "f32", "f32")) == ("exp", True)
    assert model.find(("where", "f16", "f16")) == ("max", True)
    assert model.find(("less_equal/scalar", "i64", "i64")) == ("max/scalar", True)
    assert model.find(("argmax/inner", "f32", "f32")) == ("max/inner", True)
    assert model.find(("matmul", "bf16", "bf16")) == ("matmul", True)
    assert model.find(("mean/outer", "f16", "f16")) == ("sum/outer", True)
    assert model.find(("unheard_of", "f16", "f16")) == ("opaque", True)
    assert model.find(("topk", "f16", "f16")) == ("opaque", False)


def test_integers_cost_what_floats_cost_by_bytes(model: _core.TileModel) -> None:
    call = shape(elements=6000)
    floats = model.cycles(("add", "f32", "f32"), call)
    assert model.cycles(("add", "i64", "i64"), call) == 2 * floats
    assert model.cycles(("add", "i32", "i32"), call) == floats


def test_a_fit_of_the_same_rows_is_the_same_file(tmp_path: Path) -> None:
    files = [
        subset(tmp_path, "matmul_f16_random.csv", 700),
        subset(tmp_path, "softmax.csv", 300),
        subset(tmp_path, "elementwise_broadcast_row_scalar.csv", 400),
    ]
    words = ["fit", *map(str, files), "-o"]
    assert cli.main([*words, str(tmp_path / "one.json")]) == cli.OK
    assert cli.main([*words, str(tmp_path / "two.json")]) == cli.OK
    first, second = ((tmp_path / f"{name}.json").read_text() for name in ("one", "two"))
    assert first.replace('"one"', '"two"') == second


def test_a_fit_needs_only_the_common_columns(tmp_path: Path) -> None:
    rows = [line.split(",") for line in (PROFILE / "matmul_f16_random.csv").read_text().split()]
    kept = [rows[0].index(name) for name in ("op", "dtype", "draw", "m", "k", "n", "cycles")]
    plain = tmp_path / "plain.csv"
    plain.write_text("\n".join(",".join(row[i] for i in kept) for row in rows[:1500]) + "\n")
    fitted = fit.fit([plain], name="plain")
    errors = fit.check([plain], fitted.to_core(), held_out_only=True)
    assert errors[0].mean_pct < 8


def test_the_rows_left_out_are_a_fifth_and_always_the_same() -> None:
    mask = held_out(10_000)
    assert 0.18 < mask.mean() < 0.22
    assert (held_out(500) == mask[:500]).all()


def test_check_prints_a_table_of_kinds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = subset(tmp_path, "softmax.csv", 200)
    assert cli.main(["fit", "--check", str(path), "--json"]) == cli.OK
    rows = json.loads(capsys.readouterr().out)
    assert list(rows[0]) == [field.name for field in dataclasses.fields(fit.ErrorRow)]
    assert {(row["kind"], row["dtype"]) for row in rows} == {
        ("softmax", "f16"),
        ("softmax", "f32"),
        ("softmax/x8", "f16"),
        ("softmax/x8", "f32"),
    }
    assert all(0 <= row["mean_pct"] <= row["max_pct"] for row in rows)


def test_kinds_join_draw_axis_and_broadcast(tmp_path: Path) -> None:
    for name, kind in (
        ("matmul_f32.csv", "matmul/random"),
        ("reduce.csv", "sum/inner"),
        ("elementwise_broadcast_scalar.csv", "add/scalar"),
        ("cast.csv", "cast"),
    ):
        assert kind in read_profile(subset(tmp_path, name, 300)).kinds


@each(
    ("text", "place", "says"),
    [
        ("", ":1", "empty"),
        ("op,dtype,n,cycles\n", ":1", "no rows"),
        ("op,dtype,n\nexp,f16,4\n", ":1", "cycles is missing"),
        ("op,dtype,n,cycles\nexp,f16,4\n", ":2", "3 values"),
        ("op,dtype,n,cycles\nexp,f16,4,100\nexp,f16,x,100\n", ":3:n", "'x'"),
        ("op,dtype,n,cycles\nexp,f16,0,100\n", ":2:n", "from 1"),
        ("op,dtype,n,cycles\nexp,f16,4,nan\n", ":2:cycles", "'nan'"),
        ("op,dtype,n,cycles\nexp,f17,4,100\n", ":2:dtype", "f17"),
        ("op,dtype,n,n,cycles\nexp,f16,4,4,100\n", ":1", "twice"),
        ("op,dtype,colour,cycles\nexp,f16,4,100\n", ":1", "no sizes"),
    ],
)
def test_a_bad_profile_is_refused_where_it_is_wrong(
    tmp_path: Path, text: str, place: str, says: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ProfileFileError, match=says) as error:
        read_profile(path)
    assert error.value.place == f"{path}{place}"
    assert cli.main(["fit", "--check", str(path)]) == cli.USER_ERROR


def test_a_missing_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileFileError, match="cannot be read"):
        read_profile(tmp_path / "missing.csv")


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TileModelFileError, match="cannot be read"):
        load_tile_model("no-such-model")
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema": "elk.tile_model/1", "kind": "fitted", "name": 3}')
    with pytest.raises(TileModelFileError, match="name"):
        load_tile_model(broken)


def test_the_shipped_models_load_and_stay_small() -> None:
    assert "ipu-mk2" in names()
    folder = Path(elk.__file__).parent / "data" / "tile_models"
    for name in names():
        load_tile_model(name)
        assert (folder / f"{name}.json").stat().st_size < 1 << 20
    record = read_record(folder / "ipu-mk2.json")
    assert isinstance(record, FittedModel)
    assert sum(kernel.rows for kernel in record.kernels) > 70_000
