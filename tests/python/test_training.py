"""`elk.train`: steps against what was measured and published, and what a run says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk.cli import main
from elk.figures.palm import MEASURED, WAFER, on_wafer, wafers
from elk.training.facts import Stage

SEQ = 2048
# Hidden size and heads of each model.
SIZES = {
    "1.7B": (2304, 24),
    "3.6B": (3072, 32),
    "7.5B": (4096, 32),
    "18B": (6144, 48),
    "39B": (8192, 64),
    "76B": (10240, 80),
    "145B": (12288, 96),
    "310B": (16384, 128),
    "530B": (20480, 128),
    "1T": (25600, 160),
}


def gpt(layers: int = 4, name: str = "1.7B", **options: Any) -> Any:
    return elk.models.get(f"megatron-T-{name}", "train", layers=layers, **options)


def trained(machine: Any = "dgx-a100", *, batch: int = 16, layers: int = 4, **fields: Any) -> Any:
    strategy = elk.Strategy(**fields)
    return elk.train(gpt(layers), machine, strategy, batch=batch, bindings={"seq": 256})


@pytest.mark.slow
def test_steps_of_megatron_take_as_long_as_measured() -> None:
    errors = []
    for row in MEASURED:
        training = row.training()
        assert all(stage.memory_bytes <= stage.capacity for stage in training.stages)
        run = training.simulate(fidelity="symmetric")
        errors.append(abs(run.latency_s / row.step_s - 1))
        assert abs(training.forecast_s / run.latency_s - 1) < 0.05
    assert max(errors) <= 0.12
    assert np.mean(errors) <= 0.05


def test_a_wafer_whose_sram_holds_all_trains_as_palm_says() -> None:
    endless = wafers()["endless"]
    for name, palm in WAFER.items():
        run = on_wafer(name, endless, tp=8, micro=1, zero=1).simulate()
        assert abs(run.samples_per_s / palm - 1) <= 0.1


def test_far_groups_take_twice_as_long_as_near_ones() -> None:
    endless = wafers()["endless"]
    for tp in (2, 4, 8):
        spent = [
            on_wafer("18B", endless, tp=tp, micro=1, groups=groups)
            .simulate(fidelity="symmetric")
            .split_ps[3]["tp"]
            for groups in ("far", "near")
        ]
        assert spent[0] / spent[1] == pytest.approx(2, rel=0.01)


def test_a_layer_saves_what_the_formulas_say() -> None:
    endless = elk.clusters.get("dgx-a100").replace(gpu={"memory_bytes": "900 TB"})
    for number, (name, (h, a)) in enumerate(SIZES.items()):
        tp = (1, 2, 4, 8)[number % 4]
        for dropout in (0.1, 0.0):
            for recompute in ("none", "full"):
                saved = [
                    elk.train(
                        gpt(layers, name, dropout=dropout),
                        endless,
                        elk.Strategy(tp=tp, recompute=recompute),
                        batch=1,
                        bindings={"seq": SEQ},
                    )
                    .stages[0]
                    .saved_bytes[0]
                    for layers in (2, 3)
                ]
                whole = 10 if dropout else 8
                scores = (5 if dropout else 2) * a * SEQ * SEQ // tp
                kept = SEQ * h * whole + SEQ * h * 24 // tp + scores
                assert saved[1] - saved[0] == (2 * SEQ * h if recompute == "full" else kept)


def test_a_run_adds_up_and_shows_itself(tmp_path: Path) -> None:
    fields: Any = {"pp": 2, "tp": 2, "dp": 2, "recompute": "full", "zero": 1}
    training = trained("palm-wafer", batch=8, micro_batch=1, **fields)
    run = training.simulate(fidelity="flows")
    assert run.fidelity == "flows"
    assert all(sum(parts.values()) == run.total_ps for parts in run.split_ps)
    assert all(min(parts.values()) >= 0 for parts in run.split_ps)
    assert run.samples_per_s == training.batch / run.latency_s
    assert 0 < run.mfu < run.hfu < 1
    rows = run.rows()
    passes = [row for row in rows if row["kind"] in ("forward", "backward")]
    assert len(passes) == 2 * 2 * training.micro_batches
    assert max(row["end_ps"] for row in rows) == run.total_ps
    for number, (stage, memory) in enumerate(zip(training.stages, run.memory(), strict=True)):
        assert int(memory["activations"].max()) == stage.memory["activations"]
        assert int(memory["total"].max()) == stage.memory_bytes
        assert training.memory()[number]["capacity"] == stage.capacity
    links = run.links()
    assert links["bytes"].sum() > 0
    assert run.plot_links() is not None
    run.save_trace(tmp_path / "step.json")
    assert run.timeline().end_ps == run.total_ps
    assert json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    for text in (repr(training), training.summary(), repr(run), run.summary()):
        assert "None" not in text


def test_recomputation_is_chosen_where_memory_is_short() -> None:
    model = gpt(8)
    endless = elk.clusters.get("dgx-a100").replace(gpu={"memory_bytes": "900 TB"})
    small = endless.replace(gpu={"memory_bytes": "10 GB"})

    def recomputes(cluster: elk.Cluster, recompute: str) -> tuple[Stage, ...]:
        strategy = elk.Strategy(pp=4, tp=2, micro_batch=4, recompute=recompute)
        return elk.train(model, cluster, strategy, batch=64, bindings={"seq": SEQ}).stages

    short = [stage.memory_bytes > small.gpu.memory_bytes for stage in recomputes(endless, "none")]
    assert sorted(set(short)) == [False, True]
    assert [stage.recompute for stage in recomputes(small, "auto")] == short
    assert all(stage.recompute for stage in recomputes(small, "full"))
    with pytest.raises(elk.InfeasibleError, match=r"stage 0 .* activations \d+") as error:
        elk.train(
            model, small, elk.Strategy(pp=4, tp=2, micro_batch=4), batch=64, bindings={"seq": SEQ}
        )
    assert "recompute" in str(error.value.remedy)


def test_a_part_without_layers_is_made_again_whole() -> None:
    model = elk.models.get("resnet-18")
    plain, again = (
        elk.train(model, "dgx-a100", elk.Strategy(pp=2, recompute=recompute), batch=4)
        for recompute in ("none", "full")
    )
    assert plain.stages[0].saved_bytes > again.stages[0].saved_bytes
    run = again.simulate()
    assert all(parts["recompute"] > 0 for parts in run.split_ps)
    assert run.mfu < run.hfu <= 1.34 * run.mfu


def test_a_pipeline_infers_without_backward_passes() -> None:
    strategy = elk.Strategy(pp=4, optimizer="none")
    model = elk.models.get("resnet-18")
    run = elk.train(model, "grayskull-e150", strategy, batch=8).simulate()
    without = elk.models.get("nerf-t10")  # NeRF has no dimension called batch.
    assert elk.train(without, "tiny", elk.Strategy(), batch=2, bindings={"rows": 64}).batch == 2
    assert {row["kind"] for row in run.rows()} == {"forward", "send activations"}
    assert all(parts["backward"] == parts["update"] == 0 for parts in run.split_ps)


def test_all_that_is_wrong_with_a_strategy_is_said_at_once() -> None:
    given: Any = {"pp": 0, "tp": "x", "schedule": "pipe", "zero": 7, "stages": 7}
    with pytest.raises(elk.InvalidInputError) as error:
        elk.Strategy(overlap=["dp", "q"], **given)
    for field, value in {
        "pp": "0",
        "tp": "'x'",
        "schedule": "'pipe'",
        "zero": "7",
        "overlap": "'q'",
        "stages": "7",
    }.items():
        assert f"{field} must" in str(error.value)
        assert value in str(error.value)
    with pytest.raises(elk.InvalidInputError) as error:
        trained(batch=9, pp=64, tp=64, dp=64)
    assert "pp * tp * dp must be at most the 4480 devices" in str(error.value)
    assert "batch must be a multiple" in str(error.value)
    for fields, wrong in (
        ({"chunks": 2}, "chunks must be 1"),
        ({"schedule": "interleaved", "pp": 2}, "chunks must be at least 2"),
        ({"degrees": {"MatMul": {"m": 3}}, "tp": 4}, "divisor of tp"),
        ({"degrees": {"MatMul": {"z": 2}}, "tp": 4}, "must be an axis"),
        ({"degrees": {"Nothing": {"m": 2}}, "tp": 4}, 'type, "Nothing"'),
        ({"pp": 2, "stages": [[20], [30]]}, "every operator"),
        ({"pp": 99}, "kernels of the model"),
    ):
        with pytest.raises(elk.InvalidInputError, match=wrong):
            trained(**fields)
    with pytest.raises(elk.InvalidInputError, match="micro_batch"):
        elk.train(gpt(), "dgx-a100", elk.Strategy(), batch=1, bindings={"seq": 8, "batch": 2})
    with pytest.raises(elk.InvalidInputError, match="no chip or cluster is called 'dgx'"):
        trained("dgx")
    with pytest.raises(elk.InvalidInputError, match="fidelity"):
        trained().simulate(fidelity="core")


def test_a_caller_places_stages_and_cuts_operators() -> None:
    found = trained("palm-wafer", pp=2, tp=2)
    ops = [list(stage.ops) for stage in found.stages]
    cores = [[40, 41], [7, 3]]
    given = [{"ops": part, "cores": own} for part, own in zip(ops, cores, strict=True)]
    placed = trained("palm-wafer", pp=2, tp=2, stages=given)
    assert [list(stage.devices) for stage in placed.stages] == cores
    assert [list(stage.ops) for stage in placed.stages] == ops
    own = trained("palm-wafer", pp=2, tp=2, degrees={"MatMul": {"m": 2}})
    # Columns of weights are no longer cut: each device holds all of those of products.
    assert own.stages[0].parameters > 1.5 * found.stages[0].parameters


def test_more_of_anything_never_takes_longer() -> None:
    wafer = elk.chips.get("palm-wafer")
    fields: Any = {"pp": 4, "tp": 4, "dp": 2, "recompute": "full"}
    base = trained(wafer, batch=8, **fields).simulate(fidelity="flows").latency_s
    for change in (
        {"link_bytes_per_s": "2048 GB/s"},
        {"hbm_bytes_per_s": "512 GB/s"},
        {"sram_bytes": "6 MiB"},
        {"sram_bytes": "1 GiB"},
    ):
        more = trained(wafer.replace(**change), batch=8, **fields).simulate(fidelity="flows")
        assert more.latency_s <= 1.01 * base


def test_clusters_come_from_files_and_refuse_what_is_wrong(tmp_path: Path) -> None:
    preset = Path(elk.__file__).parent / "data" / "clusters" / "dgx-a100.toml"
    mine = tmp_path / "mine.toml"
    mine.write_text(preset.read_text().replace('"dgx-a100"', '"mine"'))
    assert elk.load_cluster(mine).devices == elk.clusters.get("dgx-a100").devices
    assert trained(mine, tp=2).machine.name == "mine"
    wrong = preset.read_text().replace('"80 GB"', "80").replace("count = 8", "count = 0")
    mine.write_text(wrong.replace('"20 GB/s"', '"0 GB/s"'))
    with pytest.raises(elk.ChipFileError) as error:
        elk.load_cluster(mine)
    assert "gpu.count must be at least 1" in str(error.value)
    assert "gpu.memory_bytes must have a unit" in str(error.value)
    assert "between.bytes_per_s must be above 0" in str(error.value)
    with pytest.raises(elk.InvalidInputError, match="dgx-a100"):
        elk.clusters.get("dgx-a10")


def test_collectives_take_what_their_steps_take() -> None:
    cores = [0, 1, 2, 3, 7, 6, 5, 4]
    rate = elk.chips.get("palm-wafer").interconnect.link_bytes_per_s
    (ring,) = elk.play_collectives("palm-wafer", [("all_reduce", cores, 8_000_000)])
    assert ring == pytest.approx(2 * 7 * 1_000_000 / rate, rel=0.01)
    kinds = ("all_reduce", "all_to_all", "reduce", "broadcast", "read", "write")
    rows = [(kind, range(16), 800_000) for kind in kinds]
    alone = [elk.play_collectives("palm-wafer", [row])[0] for row in rows]
    for links in ("shared", "exclusive"):
        together = elk.play_collectives("palm-wafer", rows, links=links)
        assert all(a <= b for a, b in zip(alone, together, strict=True))
    bad: Any = (("all", [0], 1), ("read", [0, 0], 1), ("read", [10**6], 1), ("read", [], 1), 3)
    for wrong in bad:
        with pytest.raises(elk.InvalidInputError, match="collective 0"):
            elk.play_collectives("palm-wafer", [wrong])


def test_the_command_prints_what_python_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gpt.onnx"
    path.write_bytes(gpt().SerializeToString())
    words = ["train", str(path), "--on", "dgx-a100", "--batch", "16", "--pp", "2", "--tp", "2"]
    assert main([*words, "--bind", "seq=256", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    run = trained(pp=2, tp=2).simulate()
    assert printed["latency_s"] == run.latency_s
    assert printed["split_ps"] == run.split_ps
    nerf = tmp_path / "nerf.onnx"
    nerf.write_bytes(elk.models.get("nerf-t10").SerializeToString())
    assert main(["train", str(nerf), "--on", "tiny", "--batch", "2", "--bind", "rows=64"]) == 0
    assert "samples/s" in capsys.readouterr().out
    assert main([*words, "--bind", "seq=256", "--degrees", "{"]) == 2
    assert "degrees must be JSON" in capsys.readouterr().err
