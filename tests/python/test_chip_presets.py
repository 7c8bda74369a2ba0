"""Presets: what data/chips.csv says, marks of what it does not know, files, and plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import chip_table
import elk
import numpy as np
import pytest
from each_case import each
from elk import _core, cli
from elk.chip.chip import Chip
from elk.chip.confidence import Confidence, flat
from elk.tile.tilemodel import AnalyticModel, find_record, load_tile_model
from hypothesis import given
from hypothesis import strategies as st
from plan_oracle import broken_rules

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
NAMES = elk.chips.names()
ROWS = list(chip_table.presets())
IDS = [chip.name for _, chip in ROWS]
FORMATS = ("toml", "yaml", "yml", "json")
WAFERS = ("wse2", "wse2-streaming", "wse3", "wse3-streaming")  # Close to a million cores each.
# Where a preset says another thing than its row, and why stands in its file.
DIFFERS = {
    ("dojo-d1", "cores"),  # 354 cores are no whole grid.
    ("gc200", "dram_gbs_chip"),
}


def value_of(chip: Chip, field: str) -> float | None:
    found: object = chip
    for key in field.split("."):
        found = getattr(found, key, None)
    return found if isinstance(found, int | float) else None


@each(("row", "chip"), ROWS)
def test_a_preset_says_what_its_row_says(row: dict[str, str], chip: Chip) -> None:
    compared = 0
    for column in chip_table.COLUMNS:
        written, value = row[column.name], value_of(chip, column.field)
        unused = column.field == "interconnect.hop_latency_s" and chip.core.grid is None
        if written in ("unknown", "n/a") or value is None or unused:
            continue
        if (chip.name, column.name) not in DIFFERS:
            assert value == pytest.approx(float(written) * column.unit, rel=1e-9), column.name
            compared += 1
    assert compared >= 5  # Maia 100: chips, cores, rate and size of its HBM, host.


@each(("row", "chip"), ROWS)
def test_a_preset_marks_what_its_row_is_not_sure_of(row: dict[str, str], chip: Chip) -> None:
    marks = chip.confidence or Confidence()
    for column in chip_table.COLUMNS:
        field = "core.grid" if column.field == "core.cores" else column.field
        if value_of(chip, column.field) is None or column.name not in (
            row["low_confidence_fields"].split() + row["unknown_fields"].split()
        ):
            continue
        unused = field == "interconnect.hop_latency_s" and chip.core.grid is None
        assert unused or marks.level(field) != "known", column.name


@each(("row", "chip"), ROWS)
def test_an_analytic_tile_model_reaches_the_rates_of_its_row(
    row: dict[str, str], chip: Chip
) -> None:
    record = find_record(chip.core.tile_model)
    if not isinstance(record, AnalyticModel):
        assert record.name == "ipu-mk2"
        return
    assert record.name == chip.core.tile_model
    assert (chip.confidence or Confidence()).level("core.tile_model") == "assumed"
    tiles = load_tile_model(chip.core.tile_model)
    sizes = np.ones((1, len(_core.TILE_DIMS) + 2), dtype=np.int64)
    sizes[0, len(_core.TILE_DIMS) :] = 0
    for dim in "mkn":
        sizes[0, _core.TILE_DIMS.index(dim)] = 5120  # Whole blocks of 16, 128 and 320.
    seconds = tiles.cycles(("matmul", "f16", "f16"), sizes)[0] / chip.core.clock_hz
    reached = 2 * 5120**3 / seconds
    assert reached == pytest.approx(float(row["matrix_fp16_gflops_core"]) * 1e9, rel=0.01)
    if row["vector_gflops_core"] != "unknown":
        lanes = float(row["vector_gflops_core"]) * 1e9 / 2 / chip.core.clock_hz
        fed = record.sram_bytes_per_cycle // 6 if row["sram_gbs_core"] != "unknown" else lanes
        assert record.vector_elements_per_cycle == pytest.approx(min(lanes, fed), rel=0.01)


@each("suffix", FORMATS)
@each("name", NAMES)
def test_a_preset_has_the_name_of_its_file_and_survives_every_format(
    name: str, suffix: str, tmp_path: Path
) -> None:
    chip = elk.chips.get(name)
    path = tmp_path / f"chip.{suffix}"
    chip.save(path)
    read = elk.load_chip(path)
    assert read == chip
    assert read.to_dict() == chip.to_dict()
    for told in ("confidence", "published", "streaming"):  # No part of what is equal.
        assert getattr(read, told) == getattr(chip, told)
    assert read.name == name


def plan_keeps_the_rules(chip: elk.Chip, rows: int, policy: str) -> None:
    plan = elk.compile(NERF, chip, bindings={"rows": rows}, policy=policy)
    assert plan.check() == []
    assert broken_rules(plan) == []
    assert plan.latency_s >= plan.bounds.lower_bound_s


@each("name", [name for name in NAMES if name not in WAFERS])
def test_a_preset_can_be_planned_for(name: str) -> None:
    plan_keeps_the_rules(elk.chips.get(name), 4096, "elk-dyn")


@pytest.mark.nightly
@pytest.mark.slow
@each("name", WAFERS)
def test_a_wafer_can_be_planned_for(name: str) -> None:
    plan_keeps_the_rules(elk.chips.get(name), 4096, "elk-dyn")


@each("name", NAMES)
def test_show_prints_every_preset(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["chip", "show", name, "--toml"]) == 0
    path = tmp_path / "own.toml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert elk.load_chip(path) == elk.chips.get(name)


@each(
    ("topology", "position", "modules", "injection", "edge_cut", "bisection"),
    [
        # 8 x 8 cores, links of 4 GB/s; the share of the data that goes on is that of other cores.
        ("mesh2d", "nodes", 4, 4 * 4e9, 16 * 4e9 / (60 / 64), 8 * 4e9),
        ("mesh2d", "edges_all", 4, 28 * 4e9, 24 * 4e9 / (36 / 64), 8 * 4e9),
        ("mesh2d", "edges_left_right", 2, 16 * 4e9, 16 * 4e9 / (48 / 64), 8 * 4e9),
        ("torus2d", "nodes", 4, 4 * 4e9, 16 * 4e9 / (60 / 64), 16 * 4e9),
        ("torus2d", "edges_left_right", 2, 16 * 4e9, 16 * 4e9 / (48 / 64), 16 * 4e9),
        ("ring", "nodes", 4, 4 * 4e9, 8 * 4e9 / (60 / 64), 2 * 4e9),
    ],
)
def test_check_shows_injection_edge_cut_and_bisection(
    topology: str,
    position: str,
    modules: int,
    injection: float,
    edge_cut: float,
    bisection: float,
) -> None:
    chip = elk.chips.get("tiny").replace(topology=topology, position=position, modules=modules)
    delivery = chip.delivery()
    assert delivery.injection_bytes_per_s == pytest.approx(injection)
    assert delivery.edge_cut_bytes_per_s == pytest.approx(edge_cut)
    assert delivery.bisection_bytes_per_s == pytest.approx(bisection)
    assert chip.bisection_bytes_per_s == chip.replace(hbm=None).bisection_bytes_per_s == bisection


GRIDS: list[tuple[str, str, dict[str, Any]]] = [
    ("mesh2d", "nodes", {}),
    ("mesh2d", "edges_all", {"grid": [5, 7], "modules": 3}),
    ("mesh2d", "edges_left_right", {"grid": [1, 24], "modules": 2}),
    ("mesh2d", "nodes", {"grid": [24, 1], "sram_bytes": "1 MiB", "hop_latency_s": 0}),
    ("mesh2d", "nodes", {"multicast": False}),
    ("ring", "nodes", {"multicast": False}),
    ("torus2d", "nodes", {"grid": [3, 11], "modules": 5}),
    ("torus2d", "edges_all", {"overlaps_compute": True}),
    ("torus2d", "edges_left_right", {"native_shift": True}),
    ("ring", "nodes", {"core_count": 37, "modules": 4}),
    ("ring", "nodes", {"hbm": None}),
]


def grid_keeps_the_rules(topology: str, position: str, **changes: Any) -> None:
    placed = {} if "hbm" in changes else {"position": position}
    given = {"topology": topology, "hop_latency_s": "1 ns", **placed, **changes}
    plan_keeps_the_rules(elk.chips.get("tiny").replace(**given), 64, "elk-full")


@each(("topology", "position", "changes"), GRIDS)
def test_meshes_tori_and_rings_can_be_planned_for(
    topology: str, position: str, changes: dict[str, Any]
) -> None:
    grid_keeps_the_rules(topology, position, **changes)


@pytest.mark.nightly
@pytest.mark.slow
@each(("topology", "position", "changes"), GRIDS)
def test_pods_of_meshes_tori_and_rings_can_be_planned_for(
    topology: str, position: str, changes: dict[str, Any]
) -> None:
    between = {"bytes_per_s": "10 GB/s", "latency_s": 0, "sync_latency_s": 0, "topology": "ring"}
    grid_keeps_the_rules(topology, position, **changes, chips=3, inter_chip=between)


# --- marks ---

POD = elk.chips.get("ipu-pod4-hbm")


def test_a_preset_says_how_far_a_field_can_be_trusted() -> None:
    marks = POD.confidence
    assert marks is not None
    assert marks.level("hbm.latency_s") == "assumed"
    assert marks.level("hbm.capacity_bytes") == "low"
    assert marks.level("core.sram_bytes") == "known"


def test_a_field_that_changes_loses_its_mark() -> None:
    changed = POD.replace(hbm_latency_s="200 ns", name="mine")
    assert changed.confidence is not None
    assert changed.confidence.level("hbm.latency_s") == "known"
    assert changed.confidence.level("hbm.outstanding_bytes") == "assumed"
    alone = POD.replace(hbm=None, chips=1).confidence
    assert alone is not None
    assert not [name for name in alone.assumed if name.startswith(("hbm.", "inter_chip."))]


def test_marks_are_no_part_of_the_machine() -> None:
    unmarked = Chip.from_dict(POD.to_dict())
    assert unmarked.confidence is None
    assert unmarked == POD
    assert hash(unmarked) == hash(POD)
    assert POD.replace(chips=2) != POD
    assert POD != "ipu-pod4-hbm"


@each(
    ("marks", "says", "remedy"),
    [
        ({"assumed": ["hbm.latency"]}, "must name fields", "'hbm.latency_s'"),
        ({"low": ["core.grid"]}, "must name fields", "core."),
        ({"low": ["name"], "assumed": ["name"]}, "got 'name' twice", "keep"),
        ({"low": "name"}, "confidence.low must be as in", "low ="),
        ({"low": ["name"] * 65}, "confidence.low must be as in", "low ="),
        ({"guessed": []}, "is not a key of [confidence]", "known are low, assumed"),
    ],
)
def test_wrong_marks_are_refused(marks: dict[str, object], says: str, remedy: str) -> None:
    with pytest.raises(elk.InvalidInputError) as caught:
        Chip(**POD.to_dict(), confidence=marks)
    assert says in caught.value.message
    assert remedy in str(caught.value.remedy)


def test_a_wrong_mark_is_refused_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    tiny = elk.chips.preset_file("tiny").read_text(encoding="utf-8")
    path.write_text(f'{tiny}\n[confidence]\nlow = []\nassumed = ["hbm.lat"]\n', encoding="utf-8")
    with pytest.raises(elk.ChipFileError) as caught:
        elk.load_chip(path)
    assert caught.value.place == f"{path}:{len(tiny.splitlines()) + 4}"


@given(marks=st.lists(st.sampled_from(sorted(flat(POD.to_dict()))), unique=True))
def test_any_marks_survive(marks: list[str]) -> None:
    half = len(marks) // 2
    chip = Chip(**POD.to_dict(), confidence={"low": marks[:half], "assumed": marks[half:]})
    assert chip.confidence is not None
    assert [chip.confidence.level(name) for name in marks] == ["low"] * half + ["assumed"] * (
        len(marks) - half
    )


# --- files ---


@given(
    suffix=st.sampled_from(["toml", "yaml", "json"]),
    changes=st.fixed_dictionaries(
        {
            "name": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
            "core_count": st.integers(1, 5000),
            "hbm_bytes_per_s": st.floats(16.0, 1e18),
            "hbm_latency_s": st.floats(0.0, 1.0),
            "sram_bytes": st.integers(8193, 1 << 40),
            "clock_hz": st.floats(1.0, 1e18),
        }
    ),
)
def test_any_possible_value_can_be_put_in_and_survives_every_format(
    suffix: str, changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    chip = POD.replace(**changes)
    chip.save(path)
    assert elk.load_chip(path).to_dict() == chip.to_dict()
    found = chip.to_dict()
    put = {"name": found["name"], **{f"core_{k}": v for k, v in found["core"].items()},
           **{f"hbm_{k}": v for k, v in found["hbm"].items()}, **found["core"]}  # fmt: skip
    assert {key: put[key] for key in changes} == changes
    assert chip.total_cores == 4 * changes["core_count"]


@each("name", ["chip.txt", "chip", "missing/chip.toml", "a\0b.json"])
def test_a_chip_that_cannot_be_written_is_an_error_of_ours(name: str, tmp_path: Path) -> None:
    with pytest.raises(elk.ChipFileError) as caught:
        POD.save(tmp_path / name)
    assert caught.value.remedy
    assert caught.value.place


def test_a_tile_model_that_is_a_file_lies_beside_the_chip_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "chips", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    record = (Path(elk.__file__).parent / "data/tile_models/a100.json").read_text()
    (folder / "own.json").write_text(record, encoding="utf-8")
    monkeypatch.chdir(folder)
    elk.chips.get("tiny").replace(tile_model="own.json").save("own.toml")
    monkeypatch.chdir(elsewhere)
    chip = elk.load_chip("../chips/own.toml")
    assert chip.core.tile_model == "../chips/own.json"
    assert elk.compile(NERF, chip, bindings={"rows": 64}).latency_s > 0
    chip.save("copy.yaml")
    assert elk.load_chip(elsewhere / "copy.yaml").core.tile_model == str(
        elsewhere / "../chips/own.json"
    )


@each("name", ["no-such-model", "/dev/zero", "a\0b", ".", "missing.json"])
def test_check_refuses_a_tile_model_that_cannot_be_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chip.toml"
    elk.chips.get("tiny").replace(tile_model=name).save(path)
    assert cli.main(["chip", "check", str(path)]) == cli.USER_ERROR
    assert "tile_model_file" in capsys.readouterr().err


@each(
    ("field", "value"),
    [
        ("granularity", [0, 1, 1]),
        ("granularity", [1, 1 << 40, 1]),
        ("vector_elements_per_cycle", 1 << 40),
        ("macs_per_cycle", 0),
        ("call_cycles", "nan"),
    ],
)
def test_an_impossible_tile_model_is_refused(field: str, value: object, tmp_path: Path) -> None:
    record = find_record("a100").model_dump(mode="json", by_alias=True) | {field: value}
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(elk.InvalidInputError, match=field):
        load_tile_model(path)
