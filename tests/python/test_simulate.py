"""Plans on the simulator: what they take, and that it is not the planner's opinion."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk import cli
from elk.document.file import StoredPlan
from elk.plan.content import Content
from elk.plan.plan import Plan
from onnx_graphs import model_of, node
from plan_oracle import broken_rules

MODELS = Path(__file__).parents[2] / "models"
TINY = ("nerf.onnx", "tiny", (("rows", 64),))
POD = ("nerf.onnx", "ipu-pod4-hbm", (("rows", 4096),))
MESH = ("nerf.onnx", "ipu-pod4-hbm-mesh", (("rows", 4096),))
LAYER = ("retnet-1.3b-layer.onnx", "ipu-pod4-hbm", (("batch", 32),))
CASES = (TINY, POD, MESH, LAYER)
POLICIES = ("basic", "static", "elk-dyn", "elk-full")


@lru_cache(maxsize=8)
def planned(
    case: tuple[str, str, tuple[tuple[str, int], ...]], policy: str = "elk-dyn"
) -> elk.Plan:
    file, chip, bindings = case
    return elk.compile(MODELS / file, chip, bindings=dict(bindings), policy=policy)


def test_a_run_is_accepted_by_the_checker_that_trusts_nobody(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            plan = planned(case)
            run = plan.simulate()
            assert broken_rules(plan) == []
            assert plan.to_json()["simulated"]["total_ps"] == run.total_ps
            assert sum(run.split_ps.values()) == run.total_ps


def test_equal_tiles_take_the_same_time_apart_and_together() -> None:
    plan = planned(TINY)
    core = plan.simulate(fidelity="core")
    assert plan.simulate(fidelity="symmetric").total_ps == core.total_ps


def test_unequal_tiles_differ_by_at_most_a_hundredth(subtests: pytest.Subtests) -> None:
    for case in [POD, LAYER]:
        with subtests.test(case=case):
            plan = planned(case)
            core = plan.simulate(fidelity="core").total_ps
            assert plan.simulate(fidelity="symmetric").total_ps == pytest.approx(core, rel=0.01)


def test_the_bytes_it_derives_are_those_of_the_plan(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            plan = planned(case)
            columns = plan.simulate(fidelity="core").columns
            for i, op in enumerate(plan.to_json()["ops"]):
                preload = op["preload"] or {"hbm_bytes": 0, "link_bytes": 0, "distribute_bytes": 0}
                assert columns["hbm_bytes"][i] == preload["hbm_bytes"]
                assert columns["link_bytes"][i] == preload["link_bytes"]
                assert columns["distribute_bytes"][i] == preload["distribute_bytes"]
                assert columns["exchange_bytes"][i] == op["execute"]["exchange_bytes"]


def doubled(value: Any) -> Any:
    """Every number of a part of a document twice as large."""
    if isinstance(value, dict):
        return {key: doubled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [doubled(inner) for inner in value]
    return 2 * value if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_no_planned_time_or_byte_count_is_read(subtests: pytest.Subtests) -> None:
    for case in [TINY, LAYER]:
        with subtests.test(case=case):
            plan = planned(case)
            document = plan.to_json()
            document["simulated"] = None
            for op in document["ops"]:
                for key in ("compute_s", "distribute_s", "shift_s", "reduce_s", "time_s"):
                    op["execute"][key] *= 2
                for key in ("space_bytes", "exchange_bytes"):
                    op["execute"][key] *= 2
                if op["preload"]:
                    kept = op["preload"]["divisor"]
                    op["preload"] = {**doubled(op["preload"]), "divisor": kept}
            for row in document["predicted"]["ops"]:
                row["execute"] = doubled(row["execute"])
            document["bounds"] = dict.fromkeys(
                document["bounds"], 0.0
            )  # A run may not be below them.
            document["raw_s"] *= 2
            document["predicted"]["total_s"] *= 2
            fidelity = "core"
            # Not from a file: reading one compares these figures with the program.
            again = Plan(Content(StoredPlan(json.dumps(document)))).simulate(fidelity=fidelity)
            assert again.total_ps == plan.simulate(fidelity=fidelity).total_ps


def test_a_saved_plan_runs_from_its_file_alone(tmp_path: Path) -> None:
    plan = planned(LAYER)
    run = plan.simulate()
    plan.save(tmp_path / "layer.elkplan")
    loaded = elk.load_plan(tmp_path / "layer.elkplan")
    assert loaded == plan
    assert loaded.to_json()["simulated"] == plan.to_json()["simulated"]
    assert loaded.simulate().total_ps == run.total_ps


def test_a_forecast_cannot_run() -> None:
    with pytest.raises(elk.InvalidInputError, match="ideal"):
        planned(TINY, "ideal").simulate()


def test_a_wrong_fidelity_lists_the_right_ones() -> None:
    with pytest.raises(elk.InvalidInputError, match="symmetric"):
        planned(TINY).simulate(fidelity="symmetrical")


def test_the_forecast_error_is_forecast_over_run() -> None:
    plan = planned(POD)
    run = plan.simulate()
    assert plan.forecast_error() == plan.latency_s / run.latency_s - 1


def test_a_plan_made_with_a_function_asks_for_it(tmp_path: Path) -> None:
    def cycles(kernel: tuple[str, str, str], sizes: dict[str, int], _: tuple[int, int]) -> float:
        return 100.0 + float(np.prod([float(n) for n in sizes.values()])) / 8 + len(kernel)

    plan = elk.compile(
        MODELS / TINY[0], "tiny", bindings={"rows": 64}, policy="basic", tile_model=cycles
    )
    plan.save(tmp_path / "function.elkplan")
    loaded = elk.load_plan(tmp_path / "function.elkplan")
    with pytest.raises(elk.InvalidInputError, match="tile_model"):
        loaded.simulate()
    assert loaded.simulate(tile_model=cycles).total_ps == plan.simulate().total_ps


def test_memory_and_intervals_follow_the_run() -> None:
    plan = planned(LAYER)
    run = plan.simulate()
    memory = run.memory()
    room = plan.chip.core.sram_bytes - plan.chip.core.reserved_bytes
    held = sum(column for kind, column in memory.items() if kind != "time_ps")
    assert np.all(np.diff(memory["time_ps"]) >= 0)
    assert 0 < int(np.max(held)) <= room
    intervals = run.intervals()
    assert {x.resource for x in intervals} == {"hbm", "cores", "links"}
    assert max(x.end_ps for x in intervals) == run.total_ps
    assert all(x.begin_ps <= x.end_ps for x in intervals)


def test_utilisation_lies_between_nothing_and_all() -> None:
    run = planned(LAYER).simulate()
    assert set(run.utilisation) == {"hbm", "links", "matrix", "vector"}
    assert all(0 < used <= 1 for used in run.utilisation.values())


def test_the_card_names_what_matters() -> None:
    run = planned(LAYER).simulate()
    assert "split" in run.summary()
    assert "SRAM port" in run.summary()
    assert "<script" not in run._repr_html_()
    assert "of ideal" in repr(run)


def test_a_table_needs_pandas_and_has_a_row_an_op() -> None:
    pytest.importorskip("pandas")
    run = planned(TINY).simulate()
    assert len(run.table()) == len(run.columns["waited_ps"])


def test_comparison_holds_policies_side_by_side() -> None:
    found = elk.compare(MODELS / TINY[0], "tiny", bindings={"rows": 64})
    assert [row.policy for row in found.rows] == ["basic", "static", "elk-dyn", "elk-full"]
    assert found["static"].of_bound <= 1
    assert json.dumps(found.to_dict())
    with pytest.raises(elk.InvalidInputError, match="breakdown"):
        found.plot("pie")
    with pytest.raises(elk.InvalidInputError, match="elk-full"):
        elk.compare(MODELS / TINY[0], "tiny", bindings={"rows": 64}, policies=["ideal"])


def test_a_comparison_is_a_table_of_times_shares_and_speed_ups() -> None:
    found = elk.compare(MODELS / TINY[0], "tiny", bindings={"rows": 64}, policies=POLICIES[:2])
    head, *lines = found.text.splitlines()[1:]
    columns = [re.split(r"  +", line.strip()) for line in (head, *lines)]
    assert [len(row) for row in columns] == [len(columns[0])] * 3
    table = {row[0]: dict(zip(columns[0], row, strict=True)) for row in columns[1:]}
    for row in found.rows:
        cells, run, bounds = table[row.policy], row.run, row.plan.bounds
        assert cells["of ideal"] == f"{100 * bounds.ideal_s / run.latency_s:.1f} %"
        assert cells["of bound"] == f"{100 * bounds.lower_bound_s / run.latency_s:.1f} %"
        assert cells["speed-up"] == f"{found['basic'].run.latency_s / run.latency_s:.2f} x"
        parts = [float(cells[part].removesuffix(" %")) for part in run.split_ps]
        assert sum(parts) == pytest.approx(100, abs=0.2)
    shown = found._repr_html_()
    assert shown.count("<th>") == len(columns[0])
    assert shown.count("<tr>") == 3


def test_a_comparison_is_drawn_to_scale() -> None:
    pytest.importorskip("matplotlib")
    found = elk.compare(MODELS / TINY[0], "tiny", bindings={"rows": 64}, policies=POLICIES[:2])
    ax: Any = found.plot("breakdown")
    heights = np.array([patch.get_height() for patch in ax.patches]).reshape(4, 2)
    assert heights.sum(axis=0) == pytest.approx([1e3 * row.run.latency_s for row in found.rows])
    lines = [float(line.get_ydata()[0]) for line in ax.lines]
    assert lines == pytest.approx([1e3 * found.ideal_s, 1e3 * found.lower_bound_s])
    ax = found.plot("utilisation")
    heights = np.array([patch.get_height() for patch in ax.patches]).reshape(2, 4)
    for row, shares in zip(found.rows, heights, strict=True):
        assert shares.tolist() == [100 * used for used in row.run.utilisation.values()]


def test_a_plan_from_a_file_is_rebuilt_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nerf.elkplan"
    planned(TINY).save(path)
    plan = elk.load_plan(path)
    first = plan.simulate(fidelity="core")
    monkeypatch.delattr("elk.document.rebuild._Rebuilt")
    assert plan.simulate(fidelity="core").document() == first.document()
    assert plan.simulate(fidelity="symmetric").latency_s > 0.0


def test_the_command_line_simulates_and_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nerf.elkplan"
    planned(TINY).save(path)
    assert cli.main(["simulate", str(path), "--json", "-o", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["split_ps"].values()) == round(found["latency_s"] * 1e12)
    assert elk.load_plan(path).to_json()["simulated"]["fidelity"] == "core"
    model = str(MODELS / TINY[0])
    words = ["compare", model, "--chip", "tiny", "--bind", "rows=64", "--policy", "basic"]
    folder = tmp_path / "traces"
    assert cli.main([*words, "--plot", str(tmp_path / "x.png"), "--traces", str(folder)]) == 0
    assert [path.name for path in folder.iterdir()] == ["basic.pftrace"]
    assert "basic" in capsys.readouterr().out
    assert (tmp_path / "x.png").stat().st_size > 0
    assert cli.main([*words, "--fidelity", "exact"]) == 2
    assert cli.main([*words, "--effort", "endless"]) == 2
    assert "effort must be one of" in capsys.readouterr().err
    assert cli.main([*words, "--plot", str(tmp_path / "x.docx")]) == 2
    assert "end it in one of .png, .svg, .pdf" in capsys.readouterr().err


def test_a_comparison_is_told_which_inputs_are_weights_and_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = {"x": [32, 64], "w": [64, 64], "s": [32, 64]}
    nodes = [node("MatMul", "x w", "p"), node("Add", "p s", "y")]
    onnx.save(model_of(nodes, shapes, ["y"]), tmp_path / "m.onnx")
    words = ["compare", str(tmp_path / "m.onnx"), "--chip", "tiny", "--policy", "basic", "--json"]
    read = []
    for homes in ([], ["--weights", "w"], ["--weights", "w", "--state", "s"]):
        assert cli.main([*words, *homes]) == 0
        (found,) = json.loads(capsys.readouterr().out)["policies"]
        read.append(round(found["utilisation"]["hbm"] * found["latency_s"] * 64e9))
    assert read == [0, 4 * 64 * 64, 4 * 64 * 64 + 4 * 32 * 64]


def test_a_tensor_that_one_op_reads_in_two_ways_comes_back_from_a_file(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for rows, sram in [(96, "8 KiB"), (96, "12 KiB"), (128, "12 KiB")]:
        with subtests.test(rows=rows, sram=sram):
            nodes = [node("Relu", "x", "r"), node("Transpose", "r", "t", perm=[1, 0])]
            product = model_of([*nodes, node("MatMul", "r t", "y")], {"x": [rows, 128]}, ["y"])
            chip = elk.chips.get("tiny").replace(core_count=24, sram_bytes=sram, reserved_bytes=0)
            plan = elk.compile(product, chip, policy="basic")
            assert plan.to_json()["ops"][-1]["execute"]["temporal"]  # One of the two ways rotates.
            plan.save(tmp_path / "product.elkplan")
            loaded = elk.load_plan(tmp_path / "product.elkplan")
            assert loaded.simulate().total_ps == plan.simulate().total_ps
            assert broken_rules(loaded) == []
