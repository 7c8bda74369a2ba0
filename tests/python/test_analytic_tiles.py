"""Analytic tile models: what a call takes is what the sentences of `AnalyticModel` say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from each_case import each
from elk import _core
from elk.errors import InvalidInputError
from elk.tile.forms import GranulesForm, SideForm
from elk.tile.tilemodel import AnalyticModel, FamilyRecord, KernelRecord, find_record, names
from hypothesis import given
from hypothesis import strategies as st

DIMS = _core.TILE_DIMS
SHIPPED = [name for name in names() if isinstance(find_record(name), AnalyticModel)]

PRODUCT = ("group", "m", "k", "n")
CONVOLUTION = ("group", "batch", "out_h", "out_w", "in_ch", "out_ch", "kernel_h", "kernel_w")
WINDOW = ("batch", "out_h", "out_w", "out_ch", "kernel_h", "kernel_w")
# What else a tile consists of: each element counts once.
OTHERS = {
    "exp": ("elements",),
    "add": ("elements",),
    "cast": ("elements",),
    "add/col_vector": ("rows", "cols"),
    "mul/row_scalar": ("rows", "cols"),
    "sum/inner": ("rows", "cols"),
    "max/outer": ("rows", "cols"),
    "softmax": ("rows", "cols"),
    "layernorm": ("rows", "cols"),
    "partials_reduce": ("rows", "cols"),
    "gather": ("slices", "slice_elements"),
    "scatter_add": ("slices", "slice_elements"),
    "slice_copy": ("slices", "slice_elements"),
    "transpose": ("group", "rows", "cols"),
    "depthwise_conv2d": WINDOW,
    "maxpool2d": WINDOW,
    "sumpool2d": WINDOW,
    "avgpool2d": WINDOW,
}

sizes = st.integers(1, 40) | st.integers(1, 400)
models = st.builds(
    AnalyticModel,
    kind=st.just("analytic"),
    name=st.just("drawn"),
    source=st.just("a test"),
    macs_per_cycle=st.floats(1.0, 1e5),
    granularity=st.tuples(*(st.integers(1, 320) for _ in range(3))),
    vector_elements_per_cycle=st.integers(1, 6000),
    sram_bytes_per_cycle=st.floats(1.0, 1e5),
    call_cycles=st.floats(1.0, 1000.0),
) | st.sampled_from(SHIPPED).map(find_record)


def cycles(model: AnalyticModel, function: str, tile: dict[str, int], dtype: str = "f16") -> float:
    row = np.ones((1, len(DIMS) + 2), dtype=np.int64)
    row[0, len(DIMS) :] = 0
    for name, size in tile.items():
        row[0, DIMS.index(name)] = size
    return float(model.to_core().cycles((function, dtype, dtype), row)[0])


def drawn(data: st.DataObject, axes: tuple[str, ...]) -> dict[str, int]:
    return {axis: data.draw(sizes, axis) for axis in axes}


def blocks(model: AnalyticModel, m: int, k: int, n: int) -> float:
    """Cycles of the blocks that cover a product."""
    gm, gk, gn = model.granularity
    count = math.ceil(m / gm) * math.ceil(k / gk) * math.ceil(n / gn)
    return count * gm * gk * gn / model.macs_per_cycle


@given(model=models, data=st.data())
def test_a_product_takes_the_blocks_that_cover_it(
    model: AnalyticModel, data: st.DataObject
) -> None:
    t = drawn(data, PRODUCT)
    wanted = t["group"] * (model.call_cycles + blocks(model, t["m"], t["k"], t["n"]))
    assert cycles(model, "matmul", t) == pytest.approx(max(1.0, wanted), rel=1e-9)


@given(model=models, data=st.data())
def test_a_convolution_is_a_product_of_positions_and_channels(
    model: AnalyticModel, data: st.DataObject
) -> None:
    t = drawn(data, CONVOLUTION)
    positions = t["batch"] * t["out_h"] * t["out_w"]
    depth = t["in_ch"] * t["kernel_h"] * t["kernel_w"]
    wanted = model.call_cycles + t["group"] * blocks(model, positions, depth, t["out_ch"])
    assert cycles(model, "conv2d", t) == pytest.approx(max(1.0, wanted), rel=1e-9)


@given(model=models, data=st.data())
def test_anything_else_takes_its_elements_over_the_lanes(
    model: AnalyticModel, data: st.DataObject
) -> None:
    shape = drawn(data, tuple(sorted({axis for axes in OTHERS.values() for axis in axes})))
    for function, axes in OTHERS.items():
        t = {axis: shape[axis] for axis in axes}
        steps = math.ceil(math.prod(t.values()) / model.vector_elements_per_cycle)
        wanted = max(1.0, model.call_cycles + steps)
        assert cycles(model, function, t) == pytest.approx(wanted, rel=1e-9), function


@each(("function", "axes"), [("matmul", PRODUCT), ("conv2d", CONVOLUTION), ("exp", ("elements",))])
def test_other_types_cost_their_bytes_over_four(function: str, axes: tuple[str, ...]) -> None:
    model = find_record("tensix-wormhole")
    assert isinstance(model, AnalyticModel)
    for size in (1, 16, 33):
        t = dict.fromkeys(axes, size)
        for dtype, scale in (("f32", 1), ("bf16", 1), ("i64", 2), ("i8", 0.25)):
            wanted = scale * cycles(model, function, t)
            assert cycles(model, function, t, dtype) == pytest.approx(wanted, rel=1e-9)


def kernel(*sides: SideForm) -> dict[str, object]:
    record = KernelRecord(
        function="matmul",
        dtype="f32",
        accumulate="f32",
        families=(
            FamilyRecord(form=GranulesForm(sides=sides), pieces=((1.0, 1.0),), outside=(1.0, 1.0)),
        ),
        limit=(1,) * 9,
    )
    return record.model_dump(exclude={"rows"})


OPAQUE = {"call_cycles": 1.0, "sram_bytes_per_cycle": 1.0, "vector_elements_per_cycle": 1.0}


def test_a_fit_finds_the_cost_of_a_tile_and_keeps_its_sides() -> None:
    form = GranulesForm(
        sides=(SideForm(axes=("m", "n"), granule=7), SideForm(axes=("k",), granule=3))
    )
    rows = np.ones((200, len(DIMS) + 2), dtype=np.int64)
    rows[:, len(DIMS) :] = 0
    rows[:, [DIMS.index(dim) for dim in "mkn"]] = np.random.default_rng(1).integers(1, 60, (200, 3))
    m, k, n = (rows[:, DIMS.index(dim)] for dim in "mkn")
    taken = (50 + 4 * -(-m * n // 7) * -(-k // 3)).astype(np.float64)
    unknown = np.full(200, -1, dtype=np.int64)
    fit = _core.fit_tile_kernel(
        ("matmul", "f32", "f32"), rows, taken, (unknown, unknown), [[form.model_dump()]]
    )
    family = KernelRecord.model_validate(fit | {"rows": 200}).families[0]
    assert family.form == form
    assert family.pieces[0] == pytest.approx((50.0, 4.0), rel=1e-6)


@each(
    ("sides", "says"),
    [
        ([("m",), ("k", "m")], "the axis m lies on two sides"),
        ([("m", "m")], "the axis m lies on two sides"),
    ],
)
def test_an_axis_on_two_sides_is_refused(sides: list[tuple[str, ...]], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        _core.TileModel(
            [kernel(*(SideForm.model_validate({"axes": s, "granule": 2}) for s in sides))], OPAQUE
        )
