"""Spaces of points: what axes mean, which points there are, and how wrong ones are refused."""

from __future__ import annotations

from pathlib import Path

import elk
import pytest
from elk.sweeps import definition
from elk.sweeps.definition import Base, Definition, define
from elk.sweeps.sources import chip_of

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"


def defined(space: object, **base: object) -> Definition:
    given = {"model": MODEL, "chip": "tiny", "bindings": {}, "options": {}, **base}
    return define(Base(**given), space)  # type: ignore[arg-type]


def test_a_mapping_is_a_product_with_the_last_axis_fastest() -> None:
    made = defined({"rows": [64, 128], "policy": ["static", "ideal"]})
    assert [point.values for point in made.points] == [
        (64, "static"),
        (64, "ideal"),
        (128, "static"),
        (128, "ideal"),
    ]


def test_zip_union_lists_and_products_of_spaces() -> None:
    pairs = elk.zip(rows=[64, 128], sram=["64 KiB", "128 KiB"])
    assert [p.values for p in defined(pairs).points] == [(64, 65_536), (128, 131_072)]
    both = elk.union({"rows": [64, 128]}, {"rows": [128, 256]})
    assert [p.values for p in defined(both).points] == [(64,), (128,), (256,)]
    listed = [{"rows": 64, "policy": "static"}, {"rows": 128, "policy": "basic"}]
    assert [p.values for p in defined(listed).points] == [(64, "static"), (128, "basic")]
    crossed = pairs * {"policy": ["static", "basic"]}
    assert len(defined(crossed).points) == 4


def test_an_axis_may_follow_from_the_others_and_constraints_leave_points_out() -> None:
    space = {"rows": 64, "cores": [8, 16, 32], "hbm_bandwidth": lambda p: 1e9 * p["cores"]}
    made = defined(space, where=(lambda p: p["hbm_bandwidth"] < 30e9,))
    assert [point.values for point in made.points] == [(64, 8, 8e9), (64, 16, 16e9)]


def test_values_have_units_wherever_a_number_may_stand() -> None:
    made = defined(
        {
            "rows": 64,
            "hbm_bandwidth": ["32 GB/s", 64e9],
            "sram": elk.logspace("64 KiB", "256 KiB", 3),
        }
    )
    assert made.points[0].values == (64, 32e9, 65_536)
    assert made.points[-1].values == (64, 64e9, 262_144)


def test_totals_change_the_field_that_they_follow_from() -> None:
    chip = elk.chips.get("ipu-pod4-hbm")
    from elk.points.chip_axes import changed  # noqa: PLC0415

    made = changed(chip, {"total_cores": 2_944, "hbm_bandwidth_per_core": 2.7e9})
    assert made.core.count == 736
    assert made.hbm is not None
    assert made.hbm.bytes_per_s == 736 * 2.7e9
    wide = changed(chip, {"total_link_bandwidth": 64e12})
    assert wide.interconnect.link_bytes_per_s * wide.total_cores == pytest.approx(64e12)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        defined({"hbm_bandwith": ["1 TB/s"], "rowz": [1], "policy": ["static"]})
    assert "2 things are wrong" in str(caught.value)
    assert "did you mean 'hbm_bandwidth'?" in str(caught.value)
    assert "did you mean 'rows'?" in str(caught.value)
    with pytest.raises(elk.InvalidInputError) as caught:
        defined({"rows": ["many"], "sram": ["3 GB/s"], "policy": ["elk"], "cores": [2.5]})
    assert "4 things are wrong" in str(caught.value)


def test_wrong_spaces_are_refused(subtests: pytest.Subtests) -> None:
    for space, word in [
        ({"rows": []}, "no values"),
        ({"rows": [64], "bindings.rows": [64]}, "changes the same as axis"),
        ({"rows": [64], "link_bandwidth": [1e9], "total_link_bandwidth": [1e12]}, "the same"),
        ({"rows": elk.between(1, 9)}, "is a range"),
        ({"rows": [64], "sram": elk.linspace("1 GB/s", "2 GB/s", 2)}, "must be a size"),
        ({"rows": [64], "status": ["x"]}, "every sweep"),
        ({"rows": lambda p: p["cols"]}, "KeyError"),
        ({"policy": ["static"]}, "rows"),
        (3, "must be a mapping"),
        ([{"rows": 64}, {"batch": 64}], "point 1 has the axes"),
    ]:
        with (
            subtests.test(space=space, word=word),
            pytest.raises(elk.InvalidInputError, match=word),
        ):
            defined(space)


def test_a_chip_that_cannot_be_is_a_row_unless_no_point_has_one() -> None:
    made = defined({"rows": 64, "sram": ["4 KiB", "64 KiB"]})
    assert made.points[0].task.problem is not None
    assert made.points[1].task.problem is None
    with pytest.raises(elk.InvalidInputError, match="no point is possible"):
        defined({"rows": 64, "sram": ["4 KiB"]})


def test_equal_points_have_equal_keys_however_they_are_written() -> None:
    written = defined({"rows": 64, "hbm_bandwidth": "32 GB/s"}).points[0].task
    counted = defined({"hbm_bandwidth": 32e9}, bindings={"rows": 64}).points[0].task
    assert written.key == counted.key
    other = defined({"hbm_bandwidth": 33e9}, bindings={"rows": 64}).points[0].task
    assert other.key != counted.key


def test_samples_cover_a_space_and_are_the_same_for_one_seed() -> None:
    space = {
        "hbm_bandwidth": elk.between("32 GB/s", "128 GB/s", log=True),
        "rows": [64, 128],
        "cores": elk.between(8, 64),
        "link_bandwidth": lambda p: p["hbm_bandwidth"] / p["cores"],
    }
    first, again = (elk.sampled(space, 32, seed=3) for _ in range(2))
    points = [point.values for point in defined(first).points]
    assert points == [point.values for point in defined(again).points]
    assert points != [point.values for point in defined(elk.sampled(space, 32, seed=4)).points]
    assert {rows for _, rows, *_ in points} == {64, 128}
    assert all(32e9 <= rate <= 128e9 and isinstance(cores, int) for rate, _, cores, _ in points)
    assert sum(rate < 64e9 for rate, *_ in points) == pytest.approx(16, abs=2)


def test_a_chip_is_read_once_however_many_points_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[object] = []

    def counted(given: object) -> elk.Chip:
        read.append(given)
        return chip_of(given)

    monkeypatch.setattr(definition, "chip_of", counted)
    made = defined({"rows": 64, "hbm_bandwidth": elk.linspace("32 GB/s", "96 GB/s", 9)})
    assert len({point.task.chip for point in made.points}) == 9
    assert len(read) == 1


def test_a_loaded_model_brings_its_sizes_and_what_it_was_told_of_its_inputs() -> None:
    file = MODEL.with_name("llama2-13b-decode.onnx")
    sizes = {"batch": 1, "past": 16}
    told = {"weights": "*_ids", "state": ["past*key", "past*value"]}
    loaded = elk.load_model(file, bindings=sizes, **told)  # type: ignore[arg-type]
    (point,) = defined({"past": [32]}, model=loaded).points
    assert point.task.bindings == {"batch": 1, "past": 32}
    assert {name: point.task.options[name] for name in told} == {
        "weights": ("*_ids",),
        "state": ("past*key", "past*value"),
    }
    given = defined({"past": [32]}, model=loaded, bindings={"batch": 2}, options={"state": "k"})
    assert given.points[0].task.bindings == {"batch": 2, "past": 32}
    assert given.points[0].task.options["state"] == "k"
