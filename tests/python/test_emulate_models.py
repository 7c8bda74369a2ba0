"""Small models, planned under every policy and emulated, give ONNX Runtime's numbers."""

from __future__ import annotations

from itertools import cycle
from itertools import product as product_of
from typing import Any

import elk
import numpy as np
import pytest
from elk.errors import InvalidInputError
from emulated_models import MODELS, POLICIES, ROTATING, feeds_of, machine, pod, product
from sampling import few_then

CHIPS = ("tiny", "little memory", "mesh")
# The models that rotate meet every kind of chip, and each model one policy.
FEW = [
    *((name, "little memory", policy) for name, policy in zip(MODELS, cycle(POLICIES))),
    *((name, "mesh", policy) for name, policy in zip(ROTATING[::2], cycle(POLICIES))),
    ("diffusion", "tiny", "elk-full"),
]
SHARED = ("llama", "llama decode", "gpt", "encoder", "vit")


def assert_right(plan: elk.Plan, feeds: dict[str, Any]) -> None:
    pytest.importorskip("onnxruntime")
    result = plan.emulate(feeds, check=True)
    assert result.checks
    assert result.passed, result.checks


def assert_computes_what_onnx_runtime_does(name: str, chip: str, policy: str) -> None:
    feeds, bindings = feeds_of(MODELS[name])
    plan = elk.compile(MODELS[name], machine(chip, name), bindings=bindings, policy=policy)
    if chip == "little memory":
        rows = plan.to_json()["ops"]
        assert any(row["execute"]["steps"] > 1 for row in rows) or name not in ROTATING
        whole = name == "mlp" or (name, policy) == ("lstm", "elk-full")  # faster so
        assert any(map(cuts_a_sum, rows)) or whole
    assert_right(plan, feeds)


def cuts_a_sum(row: dict[str, Any]) -> bool:
    """Whether an op cuts a reduction axis."""
    factors = row["execute"]["factors"]
    return any(factors[x["name"]] > 1 for x in row["axes"] if x["role"] == "reduction")


@pytest.mark.slow
@few_then(FEW, product_of(MODELS, CHIPS, POLICIES))
def test_a_plan_computes_what_onnx_runtime_does(
    cases: list[tuple[str, str, str]], subtests: pytest.Subtests
) -> None:
    for name, chip, policy in cases:
        with subtests.test(name, chip=chip, policy=policy):
            assert_computes_what_onnx_runtime_does(name, chip, policy)


@pytest.mark.slow
def test_so_it_does_on_a_pooled_pod() -> None:
    feeds, bindings = feeds_of(MODELS["resnet"])
    plan = elk.compile(MODELS["resnet"], pod(), bindings=bindings, pod="pooled")
    assert max(row["execute"]["cores"] for row in plan.to_json()["ops"]) > 64
    assert_right(plan, feeds)


@pytest.mark.slow
@few_then(zip(SHARED, cycle(reversed(POLICIES))), product_of(SHARED, POLICIES))
def test_so_do_chips_that_share_a_model(
    cases: list[tuple[str, str]], subtests: pytest.Subtests
) -> None:
    for name, policy in cases:
        with subtests.test(name, policy=policy):
            feeds, bindings = feeds_of(MODELS[name], {"batch": 1, "seq": 8, "past": 7})
            plan = elk.compile(MODELS[name], machine("close pod"), bindings=bindings, policy=policy)
            rows = plan.to_json()["ops"]
            assert any("collective" in row for row in rows)
            assert any(row["split"] for row in rows)
            assert_right(plan, feeds)


@pytest.mark.slow
def test_so_do_chips_that_share_a_batch(subtests: pytest.Subtests) -> None:
    for name in ("llama decode", "resnet"):
        with subtests.test(name=name):
            feeds, bindings = feeds_of(MODELS[name], {"batch": 4, "seq": 8, "past": 7})
            plan = elk.compile(MODELS[name], pod(), bindings=bindings, policy="basic")
            assert any(row["split"] for row in plan.to_json()["ops"])
            assert_right(plan, feeds)


def test_an_input_that_is_missing_unknown_or_of_another_shape_is_named() -> None:
    plan = elk.compile(product(), "tiny")
    with pytest.raises(InvalidInputError, match="inputs without a value: 'x'"):
        plan.emulate({})
    with pytest.raises(InvalidInputError, match="no input 'z'; it has 'x'"):
        plan.emulate({"z": np.zeros(1)})
    with pytest.raises(InvalidInputError, match=r"'x' has the shape \[3\], not \[12, 20\]"):
        plan.emulate({"x": np.zeros(3)})


def test_weights_come_from_the_file_unless_they_are_given() -> None:
    plan = elk.compile(product(), "tiny")
    ones = np.ones((12, 20), dtype=np.float32)
    assert np.all(plan.emulate({"x": ones})["y"] == 10.0)
    given = {"w": np.full((20, 8), 2.0, dtype=np.float32)}
    assert np.all(plan.emulate({"x": ones}, given)["y"] == 40.0)


def test_a_forecast_and_a_file_are_not_emulated(tmp_path: Any) -> None:
    ones = {"x": np.ones((12, 20), dtype=np.float32)}
    with pytest.raises(InvalidInputError, match="a forecast"):
        elk.compile(product(), "tiny", policy="ideal").emulate(ones)
    elk.compile(product(), "tiny").save(tmp_path / "p.elkplan")
    with pytest.raises(InvalidInputError, match="another process cannot be emulated"):
        elk.load_plan(tmp_path / "p.elkplan").emulate(ones)


def test_the_backend_runs_models_by_onnxs_interface() -> None:
    from elk.onnx_backend import ElkBackend  # noqa: PLC0415

    rep = ElkBackend.prepare(product(), chip="tiny")
    (y,) = rep.run([np.ones((12, 20), dtype=np.float32)])
    assert np.all(y == 10.0)
    assert ElkBackend.supports_device("CPU")
    assert not ElkBackend.supports_device("CUDA:0")
