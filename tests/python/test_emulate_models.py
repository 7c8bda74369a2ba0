"""Small models, planned under every policy and emulated, give ONNX Runtime's numbers."""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk import models
from elk.errors import InvalidInputError
from model_runs import Array
from onnx import TensorProto, helper
from small_chips import tiny_pod
from small_models import CONFIGS, FORWARD

POLICIES = ("basic", "static", "elk-dyn", "elk-full")
SIZES = {"batch": 2, "seq": 5, "past": 6, "rows": 2}
# A chip with so little memory that operands rotate and sums are cut.
SMALL = {"sram_bytes": "13 KiB", "reserved_bytes": "1 KiB"}
MESH = {"core_count": 42, "topology": "mesh2d"}


def feeds_of(proto: onnx.ModelProto) -> tuple[dict[str, Array], dict[str, int]]:
    """Random inputs, and the sizes of symbolic dimensions that they have."""
    rng = np.random.default_rng(3)
    decode = any(x.name.startswith("past") for x in proto.graph.input)
    feeds: dict[str, Array] = {}
    bindings: dict[str, int] = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        sizes = {**SIZES, "seq": 1} if decode else SIZES
        shape = tuple(sizes.get(d.dim_param, 7 if d.dim_param else d.dim_value) or 6 for d in dims)
        if value.name == "attention_mask":
            feeds[value.name] = np.ones((2, 7 if decode else 5), dtype=np.int64)
        elif value.type.tensor_type.elem_type == TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 5, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(np.float32)
        names = zip(dims, feeds[value.name].shape, strict=True)
        bindings |= {d.dim_param: n for d, n in names if d.dim_param}
    return feeds, bindings


def transformer(name: str, phase: str) -> onnx.ModelProto:
    return models.transformer(CONFIGS[name], phase=phase, dtype="f32")


MODELS: dict[str, Any] = {
    **{name: proto for name, (proto, _) in FORWARD.items()},
    "llama": transformer("grouped", "prefill"),
    "llama decode": transformer("grouped", "decode"),
    "gpt": transformer("opt", "prefill"),
    "mixtral": transformer("mixtral", "prefill"),
    "mixtral decode": transformer("mixtral", "decode"),
    "deepseek decode": transformer("deepseek", "decode"),
    "resnet": models.resnet(
        models.ResNetConfig(widths=(4, 8), depths=(2, 1), image=16, classes=5), dtype="f32"
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MODELS)
def test_a_plan_computes_what_onnx_runtime_does(name: str, policy: str) -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS[name])
    plan = elk.compile(MODELS[name], "tiny", bindings=bindings, policy=policy)
    result = plan.emulate(feeds, check=True)
    assert result.checks
    assert result.passed, result.checks


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("chip", [SMALL, MESH], ids=["little memory", "mesh"])
@pytest.mark.parametrize("name", MODELS)
def test_so_it_does_on_other_chips(name: str, chip: dict[str, Any]) -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS[name])
    machine = elk.chips.get("tiny").replace(**chip)
    plan = elk.compile(MODELS[name], machine, bindings=bindings, policy="basic")
    result = plan.emulate(feeds, check=True)
    assert result.passed, result.checks


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["llama decode", "resnet"])
def test_so_it_does_on_a_pooled_pod(name: str) -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS[name])
    plan = elk.compile(MODELS[name], tiny_pod(), bindings=bindings, pod="pooled")
    assert max(row["execute"]["cores"] for row in plan.to_json()["ops"]) > 64
    result = plan.emulate(feeds, check=True)
    assert result.passed, result.checks


def test_a_plan_of_chips_that_share_a_model_is_not_emulated() -> None:
    plan = elk.compile(product(), tiny_pod())
    with pytest.raises(InvalidInputError, match="does not exchange between chips"):
        plan.emulate({"x": np.ones((12, 20), dtype=np.float32)})


def product(rows: int = 12, inner: int = 20, cols: int = 8) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [value("x", TensorProto.FLOAT, [rows, inner])],
        [value("y", TensorProto.FLOAT, [rows, cols])],
        [helper.make_tensor("w", TensorProto.FLOAT, [inner, cols], [0.5] * inner * cols)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


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
    with pytest.raises(InvalidInputError, match="policy 'ideal' places no buffers"):
        elk.compile(product(), "tiny", policy="ideal").emulate(ones)
    elk.compile(product(), "tiny").save(tmp_path / "p.elkplan")
    with pytest.raises(InvalidInputError, match="from a file cannot be emulated"):
        elk.load_plan(tmp_path / "p.elkplan").emulate(ones)


def test_the_backend_runs_models_by_onnxs_interface() -> None:
    from elk.onnx_backend import ElkBackend  # noqa: PLC0415

    rep = ElkBackend.prepare(product(), chip="tiny")
    (y,) = rep.run([np.ones((12, 20), dtype=np.float32)])
    assert np.all(y == 10.0)
    assert ElkBackend.supports_device("CPU")
    assert not ElkBackend.supports_device("CUDA:0")
