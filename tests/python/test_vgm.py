"""Forecasts of a virtual global memory: T10's baseline on chips without HBM."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import elk
import pytest
from emulated_models import MODELS, feeds_of, product
from plan_oracle import broken_rules
from small_chips import bare, tiny_pod


def encoder() -> elk.Model:
    return elk.load_model(MODELS["encoder"], bindings=feeds_of(MODELS["encoder"])[1])


def planned(sram: str) -> elk.Plan:
    return elk.compile(encoder(), bare(sram), policy="vgm")


def rounds(plan: elk.Plan) -> list[dict[str, int]]:
    return [row["execute"]["rounds"] for row in plan.to_json()["ops"]]


def test_less_memory_takes_more_rounds_and_time(tmp_path: Path) -> None:
    roomy, tight = planned("64 KiB"), planned("10000 B")
    assert not any(rounds(roomy))
    assert any(rounds(tight))
    assert tight.latency_s > roomy.latency_s
    for plan in (roomy, tight):
        assert broken_rules(plan) == []
        assert plan.bounds.lower_bound_s <= plan.latency_s
        plan.save(tmp_path / "plan.elkplan")
        read = elk.load_plan(tmp_path / "plan.elkplan")
        assert (read.to_json()["ops"], read.summary()) == (plan.to_json()["ops"], plan.summary())
    op = next(i for i, row in enumerate(rounds(tight)) if row)
    assert "rounds along" in str(tight.explain(op))


def test_every_weight_lies_evenly_over_all_cores() -> None:
    plan = elk.compile(product(), bare("64 KiB"), policy="vgm")  # 20 x 8 floats on 64 cores.
    idle = plan.to_json()["ops"][0]["idle"]
    assert idle == {"divisor": {"w": 0}, "space_bytes": 16, "setup_bytes": 0, "setup_s": 0.0}


def test_a_forecast_neither_runs_nor_is_compared() -> None:
    plan = planned("64 KiB")
    assert plan.check() == []
    assert plan.to_json()["buffers"] == []
    with pytest.raises(elk.InvalidInputError, match="'vgm' is a forecast"):
        plan.simulate()
    with pytest.raises(elk.InvalidInputError, match="forecast"):
        plan.emulate(feeds_of(MODELS["encoder"])[0])
    with pytest.raises(elk.InvalidInputError, match="'vgm' is a forecast"):
        plan.listing(core=0)
    with pytest.raises(elk.InvalidInputError, match="policies must be one of"):
        elk.compare(product(), bare("64 KiB"), policies=["vgm"])


def test_chips_pods_and_plans_that_it_does_not_take_are_refused() -> None:
    pod = tiny_pod(2).replace(hbm=None)
    given: list[tuple[dict[str, Any], str]] = [
        ({"chip": "tiny"}, "chips without HBM"),
        ({"chip": pod}, "take pod pooled"),
        ({"chip": bare("9 KiB"), "plans": {0: [{"factors": {"m": 2}}]}}, "leave plans out"),
        ({"chip": bare("64 KiB"), "objective": "energy"}, "energy"),
        ({"chip": "tiny", "plans": {0: [{"factors": {}, "rounds": {"k": 2}}]}}, "of policy vgm"),
    ]
    for keywords, message in given:
        with pytest.raises(elk.InvalidInputError, match=message):
            elk.compile(product(), policy="vgm", **keywords)
    with pytest.raises(elk.InfeasibleError, match="under policy vgm: weights and live activations"):
        elk.compile(encoder(), bare("8400 B"), policy="vgm")
    pooled = elk.compile(product(), pod, policy="vgm", pod="pooled")
    assert (pooled.pod, broken_rules(pooled)) == ("pooled", [])


def test_a_file_whose_rounds_are_wrong_is_refused(tmp_path: Path) -> None:
    right = planned("10000 B").to_json()
    op = next(i for i, row in enumerate(right["ops"]) if row["execute"]["rounds"])
    axis = next(iter(right["ops"][op]["execute"]["rounds"]))
    path = tmp_path / "plan.json"
    wrong: tuple[Any, ...] = (None, {axis: 1}, {"none": 2}, {axis: 1 << 40}, {}, {axis: 3, "x": 2})
    for value in wrong:
        document: Any = copy.deepcopy(right)
        document.pop("digest", None)
        if value is None:
            del document["ops"][op]["execute"]["rounds"]
        else:
            document["ops"][op]["execute"]["rounds"] = value
        path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(elk.PlanFileError):
            elk.load_plan(path)


def test_sweeps_tell_its_forecast_as_the_latency_and_never_as_the_best() -> None:
    space = {"policy": ["vgm", "t10"]}
    sweep = elk.sweep(product(), bare("16 KiB"), space, workers=0)
    rows = {row["policy"]: row for row in sweep.rows()}
    assert rows["vgm"]["latency_s"] == rows["vgm"]["forecast_s"] > 0
    assert rows["vgm"]["forecast_error"] is None
    assert sweep.best().plan().policy == "t10"


def test_random_models_are_forecast_no_faster_than_their_bound() -> None:
    draw = random.Random(3)
    seen = {False: 0, True: 0}  # by whether there are rounds
    for _ in range(12):
        width, out = draw.choice((8, 24, 40, 64)), draw.choice((3, 8, 40))
        model = elk.models.mlp(elk.models.MlpConfig(width=width, hidden_layers=2, out=out))
        rows = draw.choice((16, 64, 256))
        chip = bare(f"{draw.choice((9, 10, 12, 16))} KiB")
        try:
            plan = elk.compile(model, chip, bindings={"rows": rows}, policy="vgm")
        except elk.InfeasibleError:
            continue
        assert plan.bounds.lower_bound_s <= plan.latency_s
        assert broken_rules(plan) == []
        seen[any(rounds(plan))] += 1
    assert min(seen.values()) > 0
