"""Published totals of chips, and the presets that stream weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import elk
import pytest
from each_case import each
from elk import cli
from elk.chip import published as chip_published
from elk.chip.chip import Chip
from elk.tile.tilemodel import find_record
from hypothesis import given
from hypothesis import strategies as st

MODELS = Path(__file__).parents[2] / "models"
NAMES = elk.chips.names()
STREAMED = [name for name in NAMES if elk.chips.get(name).streaming]
POD = elk.chips.get("ipu-pod4-hbm")
TINY = elk.chips.get("tiny")
SOURCE = {"source": "a data sheet"}

Capture = pytest.CaptureFixture[str]


def with_totals(chip: Chip, **totals: object) -> Chip:
    return Chip(**chip.to_dict(), published=SOURCE | totals)


@each("name", NAMES)
def test_a_preset_comes_to_what_is_published_or_says_why_not(name: str) -> None:
    chip = elk.chips.get(name)
    if name == "tiny":  # Nobody makes it.
        assert chip.published is None
        return
    assert chip.published is not None
    totals = chip_published.compare(chip)
    assert {total.name for total in totals} == set(chip.published.totals())
    differing = [total.name for total in totals if total.differs]
    assert not differing or chip.published.note, differing
    if find_record(chip.core.tile_model).kind == "analytic":  # A refit may come closer.
        assert not chip.published.note or differing


@each("name", NAMES)
def test_check_compares_every_preset_with_what_is_published(name: str, capsys: Capture) -> None:
    chip = elk.chips.get(name)
    assert cli.main(["chip", "check", name]) == 0
    out = capsys.readouterr().out
    assert "is valid" in out
    assert "bisection" in out
    assert max(map(len, out.splitlines()[1:])) <= 100
    totals = chip_published.compare(chip)
    assert out.count("\n  differs: ") == sum(total.differs for total in totals)
    assert ("\npublished" in out) == (chip.published is not None)
    assert cli.main(["chip", "check", name, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["published"]
    if chip.published is None:
        assert said is None
        return
    assert said["source"] == chip.published.source
    assert {key: entry["differs"] for key, entry in said["totals"].items()} == {
        total.name: total.differs for total in totals
    }


@given(
    total=st.sampled_from(["matrix_flops_per_s", "memory_bytes_per_s", "sram_bytes"]),
    error=st.floats(-0.5, 0.5),
    name=st.sampled_from(["ipu-pod4-hbm", "gc200", "a100", "wse3", "tiny"]),
)
def test_what_differs_by_over_three_hundredths_is_said(total: str, error: float, name: str) -> None:
    chip = elk.chips.get(name)
    memory = chip.hbm.bytes_per_s if chip.hbm else chip.core.sram_bytes_per_s * chip.core.cores
    here = {
        "matrix_flops_per_s": chip_published.matrix_flops_per_s(chip),
        "memory_bytes_per_s": memory,
        "sram_bytes": chip.core.sram_bytes * chip.core.cores,
    }[total]
    published = round(here / (1.0 + error))
    found = chip_published.compare(with_totals(chip, **{total: published}))
    assert [entry.name for entry in found] == [total]
    assert found[0].here == pytest.approx(here)
    assert found[0].differs == (abs(here / published - 1.0) > 0.03)


@each(
    ("name", "flops"),
    [("a100", 312e12), ("wormhole-n150", 65.5e12), ("dojo-d1", 342 * 1.024e12), ("h100", 989.4e12)],
)
def test_the_peak_of_an_analytic_chip_is_that_of_its_unit(name: str, flops: float) -> None:
    found = chip_published.matrix_flops_per_s(elk.chips.get(name))
    assert found == pytest.approx(flops, rel=0.005)


def test_totals_are_no_part_of_the_machine() -> None:
    bare = Chip.from_dict(POD.to_dict())
    assert bare.published is None
    assert POD.published is not None
    assert bare == POD
    assert hash(bare) == hash(POD)
    assert elk.chips.get("wse2").replace(sram_bytes="40 KiB").published is None
    assert elk.chips.get("wse2").replace(sram_bytes="40 KiB").streaming is None


@given(
    suffix=st.sampled_from(["toml", "yaml", "json"]),
    totals=st.fixed_dictionaries(
        {"sram_bytes": st.integers(1, 1 << 62)},
        optional={
            "matrix_flops_per_s": st.floats(1.0, 1e22),
            "memory_bytes_per_s": st.floats(1.0, 1e22),
            "note": st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
        },
    ),
)
def test_any_totals_survive_every_format(
    suffix: str, totals: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    chip = with_totals(TINY, **totals)
    path = tmp_path_factory.getbasetemp() / f"totals.{suffix}"
    chip.save(path)
    assert elk.load_chip(path).published == chip.published


@each(
    ("totals", "says"),
    [
        ({}, "must give a total"),
        ({"sram_bytes": 0}, "sram_bytes must be above zero"),
        ({"memory_bytes_per_s": "-1 GB/s"}, "memory_bytes_per_s must be above zero"),
        ({"matrix_flops_per_s": "3 TB/s"}, "must be a rate of operations"),
        ({"sram_bytes": "1 MiB", "source": None}, "source"),
        ({"sram": "1 MiB"}, "is not a key of [published]"),
        ({"sram_bytes": "1 MiB", "note": 3}, "note"),
    ],
)
def test_wrong_totals_are_refused(totals: dict[str, object], says: str) -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        with_totals(TINY, **totals)
    assert says in caught.value.message


def test_a_total_in_a_file_has_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "bare.toml"
    text = elk.chips.preset_file("tiny").read_text(encoding="utf-8")
    path.write_text(f'{text}\n[published]\nsram_bytes = 4\nsource = "x"\n', encoding="utf-8")
    with pytest.raises(elk.ChipFileError, match=r"published\.sram_bytes must have a unit, got 4"):
        elk.load_chip(path)


# --- presets that stream weights ---


def test_wafers_have_presets_that_stream() -> None:
    assert STREAMED == ["wse2", "wse3"]


@each("name", STREAMED)
def test_a_streaming_preset_is_the_same_chip_with_memory(name: str) -> None:
    chip = elk.chips.get(name)
    streaming = elk.chips.get(str(chip.streaming))
    assert chip.hbm is None
    assert streaming.hbm is not None
    assert streaming.streaming is None
    assert streaming.to_dict() | {"name": name, "hbm": None} == chip.to_dict() | {"hbm": None}


@each(("name", "cores", "gigabytes"), [("wse2", 753_972, 37), ("wse3", 893_064, 44)])
def test_a_wafer_has_the_cores_and_the_sram_of_its_fabric(
    name: str, cores: int, gigabytes: int
) -> None:
    core = elk.chips.get(name).core
    assert core.cores == cores
    assert round(core.cores * core.sram_bytes / 1e9) == gigabytes


def test_what_sram_does_not_hold_is_refused_with_the_streaming_preset() -> None:
    # A thousandth of the wafer, and of the rows: the refusal does not depend on their number.
    chip = Chip(
        **elk.chips.get("wse2").to_dict() | {"core": SMALL_CORE}, streaming="wse2-streaming"
    )
    with pytest.raises(elk.InfeasibleError) as caught:
        elk.compile(MODELS / "gpt2.onnx", chip, bindings={"batch": 1, "seq": 16}, policy="basic")
    assert caught.value.code == "sram_overflow"
    assert "'wse2-streaming'" in str(caught.value.remedy)
    with pytest.raises(elk.InfeasibleError) as plain:
        elk.compile(
            MODELS / "gpt2.onnx",
            chip.replace(name="mine"),
            bindings={"batch": 1, "seq": 16},
            policy="basic",
        )
    assert plain.value.remedy is None


SMALL_CORE = elk.chips.get("wse2").to_dict()["core"] | {"grid": [24, 32]}
