"""Gathers take what their busiest sender takes: strips, strided parts and scales of images."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import elk
import onnx
import pytest
from elk.model.model import Model
from plan_oracle import broken_rules
from sampling import few_then
from window_models import Builder, many_scales, shifted_windows

BAR = 0.03
RESNET = Path(__file__).parents[2] / "models" / "resnet18.onnx"
PORTS = ("a100", "bow", "gc200", "h100", "ipu-mk2", "ipu-pod4-hbm", "trainium2")


def strip() -> onnx.ModelProto:
    """Three of 56 columns, as a shift of windows cuts them off: few cores hold any of them."""
    build = Builder()
    image = build("Relu", "x")
    return build.model("strip", [8, 56, 56, 96], build.part(image, 2, 0, 3))


@cache
def loaded(name: str) -> Model:
    if name == "strip":
        return elk.load_model(strip())
    if name == "windows":
        return elk.load_model(shifted_windows(batch=1, side=28, stages=1))
    return elk.load_model(many_scales(batch=1))


def test_a_strip_takes_what_the_few_cores_that_hold_it_send(subtests: pytest.Subtests) -> None:
    for chip in ["bow", "ipu-pod4-hbm"]:
        with subtests.test(chip=chip):
            plan = elk.compile(loaded("strip"), chip, policy="basic")
            run = plan.simulate(fidelity="core")
            assert broken_rules(plan) == []
            assert plan.latency_s == pytest.approx(run.latency_s, rel=0.005)


@pytest.mark.slow
@few_then(
    [("windows", "ipu-mk2"), ("scales", "a100")], itertools.product(["windows", "scales"], PORTS)
)
def test_no_window_is_forecast_far_off(
    cases: list[tuple[str, str]], subtests: pytest.Subtests
) -> None:
    for model, chip in cases:
        with subtests.test(model, chip=chip):
            plan = elk.compile(loaded(model), chip, policy="basic")
            plan.simulate()
            assert broken_rules(plan) == []
            assert abs(plan.forecast_error()) <= BAR
            gathers_s = sum(op["execute"]["distribute_s"] for op in plan.to_json()["ops"])
            columns = plan.simulate(fidelity="core").columns
            undisturbed = columns["gather_ps"] - columns["link_contention_ps"]
            assert gathers_s >= undisturbed.sum() / 1e12 * (1 - 1e-6)


@pytest.mark.slow
def test_gathers_over_a_mesh_of_chips_pass_the_links_between_them() -> None:
    bindings = {"batch": 1}
    plan = elk.compile(RESNET, "palm-wafer", bindings=bindings, policy="basic", pod="pooled")
    columns = plan.simulate(fidelity="core").columns
    undisturbed_s = (columns["gather_ps"] - columns["link_contention_ps"]).sum() / 1e12
    gathers_s = sum(op["execute"]["distribute_s"] for op in plan.to_json()["ops"])
    assert gathers_s == pytest.approx(undisturbed_s, rel=0.01)
