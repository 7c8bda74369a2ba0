"""Plans of pods whose chips share a model: sound by a checker of their own, never worse."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk import models
from elk.cli import main
from onnx import TensorProto
from onnx_graphs import model_of, node
from plan_oracle import broken_rules
from small_chips import tiny_pod

MODELS = Path(__file__).parents[2] / "models"
UNNAMED = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "copy"}
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")


def decoder(layers: int = 2) -> elk.Model:
    """Eight heads over four of keys and values, wide enough that weights decide."""
    config = models.TransformerConfig(
        layers=layers, hidden=512, heads=8, kv_heads=4, head_dim=64, ffn=1024, vocab=512
    )
    proto = models.transformer(config, phase="decode")
    return elk.load_model(proto, bindings={"batch": 4, "past": 64})


def rows(plan: elk.Plan) -> list[dict[str, Any]]:
    return list(plan.to_json()["ops"])


def collectives(plan: elk.Plan) -> list[dict[str, Any]]:
    return [row for row in rows(plan) if "collective" in row]


def test_a_sharded_decoder_breaks_no_rule(subtests: pytest.Subtests) -> None:
    for policy, topology in itertools.product(POLICIES, ["all_to_all", "mesh2d"]):
        with subtests.test(policy=policy, topology=topology):
            plan = elk.compile(decoder(), tiny_pod(topology=topology), policy=policy)
            assert plan.pod == "sharded"
            assert broken_rules(plan) == []
            assert plan.check() == []
            assert len(collectives(plan)) >= 4


def test_sizes_that_are_no_multiple_of_the_chips_are_shared(subtests: pytest.Subtests) -> None:
    for chips in [3, 5]:
        with subtests.test(chips=chips):
            plan = elk.compile(decoder(), tiny_pod(chips), policy="basic")
            assert broken_rules(plan) == []
            assert plan.check() == []
            alone = elk.compile(decoder(), "tiny", policy="basic")
            read = [
                sum(r["preload"]["hbm_bytes"] for r in rows(p) if r["preload"])
                for p in (plan, alone)
            ]
            # Every chip reads as much as the first, whose parts are the longest.
            assert read[1] < read[0] < 1.4 * read[1]
            assert plan.simulate().latency_s == pytest.approx(plan.latency_s, rel=0.1)


def test_a_model_that_no_chip_holds_is_shared_until_it_fits() -> None:
    pod = tiny_pod(inter_chip_bytes_per_s="1 MB/s")  # Nothing would be exchanged for its speed.
    free = elk.compile(decoder(), pod, policy="basic")
    assert collectives(free) == []
    kept = sum(t.bytes for t in decoder().graph.tensors if t.home.name in {"Weight", "State"})
    tight = elk.compile(decoder(), pod.replace(capacity_bytes=kept // 3), policy="basic")
    assert collectives(tight) != []
    assert broken_rules(tight) == []


def test_rows_of_a_sharded_plan_name_the_whole_models_tensors() -> None:
    model = decoder()
    plan = elk.compile(model, tiny_pod(), policy="basic")
    stored = {tensor.name: tensor for tensor in model.graph.tensors}
    split = 0
    for row in rows(plan):
        assert (row["onnx_type"] is None) == (row["name"].split("/")[0] in UNNAMED)
        for x in row["operands"]:
            tensor = stored[x["tensor"].split("@")[0]]
            assert x["shape"] == list(tensor.shape)
            if "chip_shape" in x:
                split += 1
                assert sum(a != b for a, b in zip(x["shape"], x["chip_shape"], strict=True)) == 1
        if row["split"]:
            assert row["split"]["chips"] == 4
            assert row["split"]["axis"] in {axis["name"] for axis in row["axes"]}
    assert split > 20


def test_a_collective_says_what_it_does_and_how() -> None:
    plan = elk.compile(decoder(), tiny_pod(), policy="basic")
    for row in collectives(plan):
        moved = row["collective"]
        assert row["kind"] in {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}
        assert row["execute"]["algorithm"]["collective"] in {"ring", "direct"}
        assert moved["sent_bytes"] > 0
        assert row["preload"] is None
        kind = {("partial", "whole"): "all_reduce"}.get((moved["before"], moved["after"]))
        assert kind in {None, row["kind"]}
        text = str(plan.explain(row["id"]))
        assert "Between chips" in text
        assert "each sends" in text


def test_each_chip_reads_its_part_of_the_weights() -> None:
    model, pod = decoder(), tiny_pod()
    sharded = elk.compile(model, pod, policy="basic")
    alone = elk.compile(model, "tiny", policy="basic")
    read = [
        sum(r["preload"]["hbm_bytes"] for r in rows(p) if r["preload"]) for p in (sharded, alone)
    ]
    # What is read by every chip, such as weights of norms, is little.
    assert read[1] <= read[0] <= 1.05 * read[1]
    assert sharded.bounds.hbm_s == pytest.approx(alone.bounds.hbm_s / 4, rel=0.05)


def test_a_saved_plan_is_checked_again_as_one_chips(tmp_path: Path) -> None:
    plan = elk.compile(decoder(), tiny_pod(), policy="elk-dyn")
    plan.save(tmp_path / "p.elkplan")
    again = elk.load_plan(tmp_path / "p.elkplan")
    assert again == plan
    assert again.check() == []
    assert again.summary() == plan.summary()


def test_the_card_shows_a_layer_and_the_bytes_between_chips() -> None:
    plan = elk.compile(decoder(layers=4), tiny_pod(), policy="basic")
    text = plan.summary()
    assert "sent by each chip" in text
    assert "one layer, and what is split over the chips" in text
    assert "partial to" in text
    assert "one layer over the chips" in plan._repr_html_()
    assert "between chips" not in elk.compile(decoder(), "tiny", policy="basic").summary()


def test_repeated_layers_stay_repeated() -> None:
    document = elk.compile(decoder(layers=6), tiny_pod(), policy="basic").to_json()
    assert document["repeat"]["count"] >= 4
    names = [row["name"] for row in document["ops"]]
    assert len(set(names)) == len(names)


def convolutions(layers: int = 3, channels: int = 64, size: int = 56) -> onnx.ModelProto:
    """Windows of three by three over eight images: a chip of 8 x 8 cores has rows to spare."""
    weights = {f"w{i}": np.zeros((channels, channels, 3, 3), np.float16) for i in range(layers)}
    nodes = [node("Conv", f"x{i} w{i}", f"x{i + 1}", pads=[1] * 4) for i in range(layers)]
    inputs = {"x0": (TensorProto.FLOAT16, [8, channels, size, size])}
    return model_of(nodes, inputs, [f"x{layers}"], weights)


def test_where_one_machine_of_all_cores_is_faster_it_is_taken_and_said(tmp_path: Path) -> None:
    model = convolutions()
    plan = elk.compile(model, "wormhole-n300", policy="basic")
    pooled = elk.compile(model, "wormhole-n300", policy="basic", pod="pooled")
    assert plan.pod == "pooled"
    assert plan.latency_s == pooled.latency_s
    assert "as one machine are faster than any sharding found" in plan.summary()
    assert "as one machine" not in pooled.summary()
    assert broken_rules(plan) == []
    plan.save(tmp_path / "p.elkplan")
    again = elk.load_plan(tmp_path / "p.elkplan")
    assert again == plan
    assert again.summary() == plan.summary()
    assert again.check() == []


def test_where_chips_are_far_apart_it_is_not_taken() -> None:
    far = elk.chips.get("wormhole-n300").replace(inter_chip_bytes_per_s="1 GB/s")
    plan = elk.compile(convolutions(), far, policy="basic")
    pooled = elk.compile(convolutions(), far, policy="basic", pod="pooled")
    assert plan.pod == "sharded"
    assert plan.latency_s <= pooled.latency_s
    assert "as one machine" not in plan.summary()


def test_policies_never_get_worse() -> None:
    pod = tiny_pod(3, hbm_bytes_per_s="8 GB/s")
    times = [elk.compile(decoder(), pod, policy=policy).latency_s for policy in POLICIES[:4]]
    assert times == sorted(times, reverse=True)


def test_a_callers_tile_model_is_asked_about_collectives_too() -> None:
    def cycles(kernel: tuple[str, str, str], sizes: dict[str, int], _: tuple[int, int]) -> float:
        asked.add(kernel[0])
        return 100.0 + math.prod(sizes.values()) / 100.0

    asked: set[str] = set()
    plan = elk.compile(decoder(), tiny_pod(), policy="basic", tile_model=cycles)
    assert any(row["collective"]["before"] == "partial" for row in collectives(plan))
    assert "partials_reduce" in asked


def test_a_plot_of_a_collectives_front_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    plan = elk.compile(decoder(), tiny_pod(), policy="basic")
    assert plan.explain(collectives(plan)[0]["id"]).plot() is not None


def test_the_command_takes_both_pods(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", str(MODELS / "nerf.onnx"), "--chip", "ipu-pod4-hbm", "--bind", "rows=64"]
    for pod in ("sharded", "pooled"):
        assert main([*words, "--pod", pod, "--policy", "basic"]) == 0
        assert f"basic, {pod}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.nightly
def test_a_pod_is_pooled_only_where_that_simulates_shorter() -> None:
    # DiT on 20 chips of a wafer: one machine is forecast to take less, for the forecast does not
    # know that what two chips shift to each other passes links between others.
    model = elk.load_model(MODELS / "dit-xl-2.onnx", bindings={"batch": 8})
    times = {}
    for pod in ("sharded", "pooled"):
        plan = elk.compile(model, "palm-wafer", policy="elk-dyn", pod=pod)
        times[pod] = plan.simulate(fidelity="symmetric").latency_s
    assert times["sharded"] < times["pooled"]
