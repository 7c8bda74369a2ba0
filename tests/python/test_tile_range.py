"""Plans say of which operators the tile lies beyond what the tile model was fitted on."""

from __future__ import annotations

from pathlib import Path

import elk
import pytest
from each_case import each

MODELS = Path(__file__).parents[2] / "models"


def unnamed(plan: elk.Plan) -> list[str]:
    """The operators whose times are extrapolated though card or explanation do not say so."""
    first: dict[int, str] = {}
    silent = []
    card = plan.summary()
    for row in plan.to_json()["ops"]:
        told = any(
            "compute is extrapolated" in reason for reason in plan.explain(row["id"]).reasons
        )
        if row["execute"]["extrapolated"] == 0:
            silent += [row["name"]] if told else []
        elif not told or first.setdefault(row["front"], row["name"]) not in card:
            silent.append(row["name"])
    if not first and "0.0 % extrapolated, " not in card:
        silent.append("none is, yet the card names some")
    return silent


def extrapolates_or_names(file: str, chip: str, beyond: bool) -> None:
    sizes = {"batch": 8}
    if file.startswith("llama"):
        sizes = {"batch": 32, "past": 2048}
    elif file.startswith("retnet"):
        sizes = {"batch": 32}
    elif file == "nerf.onnx":
        sizes = {"rows": 65_536}
    plan = elk.compile(elk.load_model(MODELS / file, bindings=sizes), chip, policy="elk-dyn")
    assert unnamed(plan) == []
    assert any(row["execute"]["extrapolated"] > 0 for row in plan.to_json()["ops"]) == beyond


@pytest.mark.slow
@each(
    ("file", "chip", "beyond"),
    [("nerf.onnx", "ipu-mk2", False), ("retnet-1.3b-layer.onnx", "ipu-mk2", True)],
)
def test_a_plan_extrapolates_no_time_or_names_the_operators(
    file: str, chip: str, beyond: bool
) -> None:
    extrapolates_or_names(file, chip, beyond)


@pytest.mark.nightly
@pytest.mark.slow
@each(
    ("file", "chip", "beyond"),
    [
        ("llama2-13b-decode.onnx", "ipu-pod4-hbm", False),
        ("resnet18.onnx", "ipu-pod4", False),
        ("vit-base-16.onnx", "bow", True),
    ],
)
def test_plans_of_other_models_extrapolate_no_time_or_name_the_operators(
    file: str, chip: str, beyond: bool
) -> None:
    extrapolates_or_names(file, chip, beyond)
