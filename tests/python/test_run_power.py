"""Watts of runs, and the energy coefficients of presets: sources, parts, and what a TDP allows."""

from __future__ import annotations

import json
import pickle
import runpy
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import elk
import pytest
from elk import cli
from elk.chip import published as chip_published
from elk.chip.chip import Chip
from elk.chip.confidence import flat
from elk.chip.tables import Energy
from hypothesis import given, settings
from hypothesis import strategies as st
from small_chips import tiny_pod

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
NAMES = elk.chips.names()
POWERED = [name for name in NAMES if elk.chips.get(name).energy]
RATED = [
    name
    for name in POWERED
    if (published := elk.chips.get(name).published) is not None and published.tdp_w
]
WAFERS = ("wse2", "wse3", "wse2-streaming", "wse3-streaming")  # minutes a model
KEYS = tuple(Energy.model_fields)
PS = 1e12
energy_table = SimpleNamespace(
    **runpy.run_path(str(ROOT / "benchmarks" / "tables" / "energy_table.py"))
)

Capture = pytest.CaptureFixture[str]


# --- runs ---


def powered(chip: Chip, coefficients: tuple[float, ...]) -> Chip:
    energy = dict(zip(KEYS, coefficients, strict=True))
    return Chip.from_dict({**chip.to_dict(), "energy": energy})


@lru_cache(maxsize=8)
def planned(case: str) -> elk.Plan:
    nerf, layer = MODELS / "nerf.onnx", MODELS / "retnet-1.3b-layer.onnx"
    tiny, once = elk.chips.get("tiny"), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    mesh = tiny.replace(topology="mesh2d", overlaps_compute=True)
    return {
        "one chip": lambda: elk.compile(nerf, powered(tiny, once), bindings={"rows": 64}),
        "mesh": lambda: elk.compile(
            nerf, powered(mesh, once), bindings={"rows": 512}, policy="basic"
        ),
        "sharded": lambda: elk.compile(
            nerf, powered(tiny_pod(), once), bindings={"rows": 256}, policy="static"
        ),
        "pooled": lambda: elk.compile(
            nerf, powered(tiny_pod(), once), bindings={"rows": 64}, pod="pooled"
        ),
        "stores": lambda: elk.compile(
            layer, "ipu-pod4-hbm", bindings={"batch": 8}, policy="static"
        ),
    }[case]()


CASES = ("one chip", "mesh", "sharded", "pooled", "stores")


@lru_cache(maxsize=8)
def ran(case: str) -> elk.Run:
    return planned(case).simulate()


def with_coefficients(case: str, coefficients: tuple[float, ...]) -> elk.Run:
    """The run of a case, on a chip that differs in its coefficients alone."""
    run = ran(case)
    chip = {**run._plan["chip"], "energy": dict(zip(KEYS, coefficients, strict=True))}
    return elk.Run(run._run, lambda: {**run._plan, "chip": chip}, run._source)


def loads(run: elk.Run) -> list[tuple[int, int, float]]:
    """Begin, end and joules of every preload and store of the chips that were simulated."""
    energy, core = run._plan["chip"]["energy"], run._run
    found = []
    preloads = ("preload_begin_ps", "preload_end_ps", "loaded_bytes", "load_hop_bytes")
    stores = ("begin_ps", "end_ps", "moved_bytes", "hop_bytes")
    for rows, names in ((core.ops | core.work, preloads), (core.stores, stores)):
        columns = [rows[name].tolist() for name in (*names, "hbm_bytes")]
        for begin, end, moved, hops, hbm in zip(*columns, strict=True):
            picojoules = (
                energy["pj_per_sram_byte"] * moved
                + energy["pj_per_link_byte_hop"] * hops
                + energy["pj_per_hbm_byte"] * hbm
            )
            found.append((begin, end, picojoules / PS))
    return [load for load in found if load[1] > load[0]]


def beside(load: tuple[int, int, float], begin: int, end: int) -> float:
    """Joules of a load from `begin` to `end`, if it moves evenly."""
    overlap = max(0, min(load[1], end) - max(load[0], begin))
    return load[2] * overlap / (load[1] - load[0])


ANY = st.tuples(*[st.floats(0.0, 1e3) for _ in KEYS])


@given(case=st.sampled_from(CASES), coefficients=ANY)
@settings(max_examples=40, deadline=None)
def test_executes_and_what_moves_between_them_take_all_energy(
    case: str, coefficients: tuple[float, ...]
) -> None:
    run = with_coefficients(case, coefficients)
    assert run.energy_j is not None
    assert run.energy_j == sum(run.energy_parts_j.values())
    static_w = coefficients[-1] * run._chips
    rows = run.rows()
    executed = sum(
        (row["power_w"] - static_w) * (row["execute_end_ps"] - row["execute_begin_ps"]) / PS
        for row in rows
    )
    moving = loads(run)
    moved_j = sum(load[2] for load in moving)
    moved_beside = sum(
        beside(load, row["execute_begin_ps"], row["execute_end_ps"])
        for load in moving
        for row in rows
    )
    total = executed + run._copies * (moved_j - moved_beside) + static_w * run.latency_s
    assert total == pytest.approx(run.energy_j, rel=1e-9, abs=1e-15)


def test_an_execute_takes_its_work_and_what_moves_meanwhile(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            run = ran(case)
            energy, work, moving = run._plan["chip"]["energy"], run._run.work, loads(run)
            several = 0
            for i, row in enumerate(run.rows()):
                done = {name: column[i].item() for name, column in work.items()}
                sram = done["operand_bytes"] + 2 * done["received_bytes"]
                own = (
                    energy["pj_per_flop"] * done["flops"]
                    + energy["pj_per_sram_byte"] * sram
                    + energy["pj_per_link_byte_hop"] * done["hop_bytes"]
                    + energy["pj_per_inter_chip_byte"] * done["between_bytes"]
                ) / PS
                begin, end = row["execute_begin_ps"], row["execute_end_ps"]
                shares = [beside(load, begin, end) for load in moving]
                several += any(shares)
                joules = run._copies * (own + sum(shares))
                static_w = energy["static_w"] * run._chips
                assert row["power_w"] == pytest.approx(
                    joules / (end - begin) * PS + static_w, rel=1e-9
                )
            assert several > 0


@given(case=st.sampled_from(CASES), coefficients=ANY)
@settings(max_examples=40, deadline=None)
def test_the_peak_is_no_less_than_the_mean_of_executes(
    case: str, coefficients: tuple[float, ...]
) -> None:
    run = with_coefficients(case, coefficients)
    rows = run.rows()
    lasted = [row["execute_end_ps"] - row["execute_begin_ps"] for row in rows]
    joules = sum(row["power_w"] * ps for row, ps in zip(rows, lasted, strict=True))
    assert run.peak_power_w is not None
    assert run.peak_power_w == max(row["power_w"] for row in rows)
    assert run.peak_power_w * (1 + 1e-12) >= joules / sum(lasted) >= 0.0
    assert run.peak_power_w >= coefficients[-1] * run._chips
    assert run.energy_j is not None
    assert run.power_w == run.energy_j / run.latency_s


def test_without_coefficients_there_are_no_watts() -> None:
    run = elk.compile(MODELS / "nerf.onnx", "tiny", bindings={"rows": 64}).simulate()
    assert run.power_w is None
    assert run.peak_power_w is None
    assert {row["power_w"] for row in run.rows()} == {None}
    assert "power" not in run.summary()


def test_a_run_takes_the_same_power_elsewhere(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            run = ran(case)
            there = pickle.loads(pickle.dumps(run))
            assert there.power_w == run.power_w
            assert there.rows() == run.rows()


def test_card_comparison_and_command_tell_the_power(tmp_path: Path, capsys: Capture) -> None:
    run = ran("stores")
    assert f"{run.power_w:.4g} W on average, {run.peak_power_w:.4g} W in one" in run.summary()
    compared = elk.compare(MODELS / "nerf.onnx", "gc200", bindings={"rows": 64})
    assert all(row.to_dict()["power_w"] == row.run.power_w for row in compared.rows)
    planned("stores").save(tmp_path / "a.elkplan")
    assert cli.main(["simulate", str(tmp_path / "a.elkplan"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["power_w"] == pytest.approx(run.power_w)
    assert said["peak_power_w"] == pytest.approx(run.peak_power_w)


# --- presets ---


def test_every_preset_but_tiny_has_coefficients() -> None:
    assert [name for name in NAMES if name not in POWERED] == ["tiny"]


def test_coefficients_are_those_of_published_circuits_and_marked(subtests: pytest.Subtests) -> None:
    for name in POWERED:
        with subtests.test(name=name):
            chip = elk.chips.get(name)
            assert chip.energy is not None
            assert chip.confidence is not None
            wanted = energy_table.coefficients(chip)
            assert chip.energy.model_dump() == {key: found.value for key, found in wanted.items()}
            written = elk.chips.preset_file(name).read_text(encoding="utf-8")
            assert "\n".join(energy_table.table(chip)) in written
            assert {chip.confidence.level(f"energy.{key}") for key in KEYS} == {"assumed"}
            assert {f"energy.{key}" for key in KEYS} <= set(flat(chip.to_dict()))


def test_energies_between_nodes_fall_from_one_to_the_other(subtests: pytest.Subtests) -> None:
    for energy in [energy_table.FP16_MULTIPLY, (5.0, 5.0), (100.0, 14.0)]:
        with subtests.test(energy=energy):
            found = [energy_table.at(nm, energy) for nm in range(45, 4, -1)]
            assert found[0] == pytest.approx(energy[0])
            assert energy_table.at(7, energy) == energy_table.at(5, energy) == energy[1]
            assert found == sorted(found, reverse=True)


@given(nm=st.integers(5, 45), kib=st.floats(1.0, 1e6))
def test_a_larger_memory_takes_no_less_to_read(nm: int, kib: float) -> None:
    smaller, larger = energy_table.sram(nm, kib)[0], energy_table.sram(nm, 2 * kib)[0]
    least, most = (energy_table.at(nm, energy_table.SRAM_64_BIT[size]) / 8 for size in (8, 1024))
    assert least * (1 - 1e-12) <= smaller <= larger <= most * (1 + 1e-12)


def test_matrix_units_and_memory_at_their_peak_stay_below_the_tdp(
    capsys: Capture, subtests: pytest.Subtests
) -> None:
    for name in RATED:
        with subtests.test(name=name):
            chip = elk.chips.get(name)
            busy = chip_published.busy_w(chip)
            assert busy is not None
            assert chip.published is not None
            assert chip.published.tdp_w is not None
            assert chip.energy is not None
            assert chip.energy.static_w < busy <= chip.published.tdp_w
            assert cli.main(["chip", "check", name]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert (
                f"power by its coefficients: {chip.energy.static_w:.4g} W idle, {busy:.4g} W"
                in said
            )
            assert f"TDP {chip.published.tdp_w:g} W" in said
            assert cli.main(["chip", "check", name, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["power_w"] == {
                "static": chip.energy.static_w,
                "busy": busy,
                "tdp": chip.published.tdp_w,
            }


def assert_is_below_the_tdp(model: elk.Model, name: str) -> None:
    try:
        plan = elk.compile(model, name, policy="static", effort="fast")
    except elk.InfeasibleError:
        assert name in ("dojo-d1", "groq-lpu1")  # The language model does not fit their SRAM.
        return
    run = plan.simulate(fidelity="symmetric")
    chip = elk.chips.get(plan.chip.name)
    assert chip.published is not None
    assert chip.published.tdp_w is not None
    assert chip.energy is not None
    assert run.power_w is not None
    assert chip.energy.static_w < run.power_w / chip.chips <= chip.published.tdp_w


@pytest.mark.slow
def test_a_language_model_stays_below_the_tdp(subtests: pytest.Subtests) -> None:
    model = energy_table.decoder()
    for name in set(RATED) - set(WAFERS):
        with subtests.test(name):
            assert_is_below_the_tdp(model, name)


@pytest.mark.slow
@pytest.mark.nightly
def test_an_image_model_stays_below_the_tdp(subtests: pytest.Subtests) -> None:
    # `benchmarks/tables/energy_table.py --power` runs it on every preset.
    model = elk.load_model(MODELS / "resnet50.onnx", bindings={"batch": 1})
    for name in ("groq-lpu1", "maia100", "mtia-v2", "dojo-d1", "wormhole-n150"):
        with subtests.test(name):
            assert_is_below_the_tdp(model, name)
