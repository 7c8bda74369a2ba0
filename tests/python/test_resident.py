"""Chips without HBM: what they keep of weights all the time, and what setups bring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from emulated_models import MODELS, feeds_of
from onnx_graphs import model_of, node
from plan_oracle import broken_rules
from small_chips import bare


def divisors(plan: elk.Plan) -> set[int]:
    rows = [row["idle"] for row in plan.to_json()["ops"]]
    return {d for row in rows if row for d in row["divisor"].values()}


def assert_sound(plan: elk.Plan) -> None:
    plan.simulate()
    assert not broken_rules(plan)


def pick_and_product() -> onnx.ModelProto:
    """Rows of a table, times a matrix, times the table: all that may lie evenly over cores."""
    weights = {"table": np.zeros((96, 64), np.float32), "w": np.zeros((64, 64), np.float32)}
    nodes = [
        node("Gather", "table ids", "rows", axis=0),
        node("MatMul", "rows w", "hidden"),
        node("Transpose", "table", "columns", perm=[1, 0]),
        node("MatMul", "hidden columns", "scores"),
    ]
    return model_of(nodes, {"ids": (onnx.TensorProto.INT64, [5])}, ["scores"], weights)


def test_a_table_from_which_an_index_picks_rests_whole_and_evenly() -> None:
    plan = elk.compile(pick_and_product(), bare("64 KiB"))
    document = plan.to_json()
    picks = next(row for row in document["ops"] if any("pick" in x for x in row["operands"]))
    assert picks["idle"]["divisor"]["table"] == 0
    cores = plan.chip.core.cores
    assert picks["idle"]["space_bytes"] == -(-96 * 64 * 4 // cores // 8) * 8
    kept = [b for b in document["buffers"] if b["role"] == "resident" and b["tensor"] == "table"]
    assert [b["bytes"] for b in kept if b["op"] == picks["id"]] == [picks["idle"]["space_bytes"]]
    assert_sound(plan)


@pytest.mark.slow
def test_an_encoder_with_all_kinds_of_idle_states_gives_the_numbers_of_onnx_runtime() -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS["encoder"])
    kinds: set[int] = set()
    for kib in (9, 10, 11, 12, 14, 16, 20, 24, 32):
        try:
            plan = elk.compile(MODELS["encoder"], bare(f"{kib} KiB"), bindings=bindings)
        except elk.InfeasibleError:
            continue
        found = {0 if d == 0 else 1 if d == 1 else 2 for d in divisors(plan)}
        if found - kinds:
            kinds |= found
            assert_sound(plan)
            assert plan.emulate(feeds, check=True).passed
    assert kinds == {0, 1, 2}


@pytest.mark.parametrize("change", ["early", "small", "no setup"])
def test_the_checker_refuses(change: str) -> None:
    plan = elk.compile(MODELS["encoder"], bare("64 KiB"), bindings=feeds_of(MODELS["encoder"])[1])
    plan.simulate()
    document: dict[str, Any] = plan.to_json()
    resident = next(b for b in document["buffers"] if b["role"] == "resident")
    if change == "early":
        resident["to"] -= 1
    elif change == "small":
        resident["bytes"] -= 8
    else:
        row = next(row["idle"] for row in document["ops"] if row["idle"])
        row["divisor"] = dict.fromkeys(row["divisor"], 0)
        row["setup_bytes"] = 0
    assert broken_rules(document)


def test_policies_build_on_one_another_without_hbm() -> None:
    model = elk.load_model(MODELS["encoder"], bindings=feeds_of(MODELS["encoder"])[1])
    for kib in (10, 24, 96):
        taken = [
            elk.compile(model, bare(f"{kib} KiB"), policy=policy).simulate().total_ps
            for policy in ("basic", "t10", "elk-dyn", "elk-full")
        ]
        assert taken == sorted(taken, reverse=True)


def test_a_plan_file_has_the_points_that_t10_explored(tmp_path: Path) -> None:
    model = elk.load_model(MODELS["encoder"], bindings=feeds_of(MODELS["encoder"])[1])
    plan = elk.compile(model, bare("24 KiB"), policy="t10")
    explored = plan.to_json()["search"]["explored"]
    assert len(explored["time_s"]) > 1
    assert explored["idle_bytes"] == sorted(explored["idle_bytes"])
    assert min(explored["time_s"]) == pytest.approx(plan.latency_s, rel=0.05)
    path = tmp_path / "plan.elkplan"
    plan.save(path)
    assert elk.load_plan(path).to_json()["search"]["explored"] == explored
    basic = elk.compile(model, bare("24 KiB"), policy="basic").to_json()
    assert "explored" not in basic["search"]


def test_a_plan_file_with_impossible_explored_points_is_refused(tmp_path: Path) -> None:
    model = elk.load_model(MODELS["encoder"], bindings=feeds_of(MODELS["encoder"])[1])
    right = elk.compile(model, bare("24 KiB"), policy="t10").to_json()
    path = tmp_path / "plan.json"
    for key, value, rule in (
        ("idle_bytes", [8], "as long as time_s"),
        ("peak_bytes", [], "as long as time_s"),
        ("idle_bytes", [24 << 10] * len(right["search"]["explored"]["time_s"]), "peak_bytes"),
        ("peak_bytes", [25 << 10] * len(right["search"]["explored"]["time_s"]), "the SRAM"),
    ):
        explored = {**right["search"]["explored"], key: value}
        wrong = {**right, "search": {**right["search"], "explored": explored}}
        wrong.pop("digest", None)
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(elk.PlanFileError, match=f"search.explored.*{rule}"):
            elk.load_plan(path)
