"""`emulate(check=True)` on quantised models: right numbers pass, and one level is no fault."""

from __future__ import annotations

import elk
import numpy as np
import onnx
import pytest
from elk.emulation.compared import compared
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx_graphs import model_of, node

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 128)).astype(np.float32)


def four_bit_product() -> onnx.ModelProto:
    """ONNX Runtime's optimiser makes of it a kernel that rounds activations to eight bits."""
    scales = RNG.uniform(0.01, 0.2, (4, 64)).astype(np.float32)
    wide = node("DequantizeLinear", "w s", "wide", axis=0, block_size=32)
    made = model_of([wide, node("MatMul", "x wide", "y")], {"x": (4, 128)}, ["y"], {"s": scales})
    made.opset_import[0].version = 21
    levels = RNG.integers(-8, 8, 128 * 64).tolist()
    made.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, [128, 64], levels))
    return made


SCALES: dict[str, NDArray[np.generic]] = {
    "xs": np.array(0.02, np.float32), "xz": np.array(128, np.uint8),
    "ws": np.array(0.01, np.float32), "wz": np.array(0, np.int8),
    "ys": np.array(0.037, np.float32), "yz": np.array(0, np.uint8),
}  # fmt: skip


def eight_bit_product(*, levels: bool) -> onnx.ModelProto:
    """A product between quantizers; its result are `levels`, or the numbers that they stand for."""
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"),
        node("DequantizeLinear", "xq xs xz", "xd"),
        node("DequantizeLinear", "w ws wz", "wd"),
        node("MatMul", "xd wd", "p"),
        node("Relu", "p", "r"),
        node("QuantizeLinear", "r ys yz", "y" if levels else "yq"),
    ]
    if not levels:
        nodes += [node("DequantizeLinear", "yq ys yz", "yd"), node("Flatten", "yd", "y")]
    weight = RNG.integers(-127, 128, (128, 64)).astype(np.int8)
    return model_of(nodes, {"x": (4, 128)}, ["y"], {**SCALES, "w": weight})


def integer_product() -> onnx.ModelProto:
    """Of weights of seven bits: sums of two larger products saturate where a CPU has no VNNI."""
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"),
        node("QLinearMatMul", "xq xs xz w ws wz ys yz", "y"),
    ]
    weight = RNG.integers(-63, 64, (128, 64)).astype(np.int8)
    return model_of(nodes, {"x": (4, 128)}, ["y"], {**SCALES, "w": weight})


MODELS = {
    "weights of four bits": four_bit_product(),
    "levels": eight_bit_product(levels=True),
    "numbers that levels stand for": eight_bit_product(levels=False),
    "a product of integers": integer_product(),
}


def test_numbers_of_a_quantised_model_are_those_of_its_graph(subtests: pytest.Subtests) -> None:
    for name, made in MODELS.items():
        with subtests.test(name):
            assert elk.compile(made, "tiny", effort="fast").emulate({"x": X}, check=True).passed


def test_one_level_is_allowed_where_a_result_is_quantised_and_no_more(
    subtests: pytest.Subtests,
) -> None:
    steps = {"levels": 1.0, "numbers that levels stand for": 0.037, "weights of four bits": 0.0}
    for name, step in steps.items():
        model = elk.load_model(MODELS[name])
        assert model.proto is not None
        right = elk.compile(model, "tiny", effort="fast").emulate({"x": X})["y"]
        for away, passed in ((0.0, True), (1.0, step > 0.0), (2.0, False)):
            with subtests.test(name, levels=away):
                found = right.copy()
                found.flat[3] += np.asarray(away * (step or 0.037)).astype(found.dtype)
                (check,) = compared(model, model.proto, {"y": found}, {"x": X}, {})
                assert check.passed == passed, check
