"""Convolutions and pools have the windows that ONNX says they have, and ONNX Runtime's numbers."""

from __future__ import annotations

import itertools
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from elk.frontend.inference import Result, confirm
from elk.frontend.ops import kinds, reshaping
from elk.frontend.ops.kind import viewed
from elk.frontend.views.node import Node
from elk.frontend.views.values import constant
from onnx_graphs import assert_computes, model_of, node
from window_cases import WindowCase, difference, drawn, listed, proto_of


def differences(cases: Any, **how: bool) -> list[str]:
    pytest.importorskip("onnxruntime")
    return [text for case in cases if (text := difference(case, **how))]


@pytest.mark.slow
def test_windows_along_a_line_are_those_of_onnx_runtime() -> None:
    """Every eleventh; `benchmarks/tables/window_table.py` compares all of them."""
    cases = list(itertools.islice(listed(), 0, None, 11))
    assert len(cases) > 150
    assert differences(cases) == []


@pytest.mark.slow
def test_windows_with_uneven_pads_and_strides_are_those_of_onnx_runtime() -> None:
    assert differences(drawn(160)) == []


@pytest.mark.slow
def test_planned_windows_are_those_of_onnx_runtime() -> None:
    assert differences(drawn(24, seed=1), placed=True) == []


def conv(size: int, kernel: int, **attrs: Any) -> WindowCase:
    return WindowCase("Conv", (1, 2, size), (kernel,), {"group": 1, **attrs}, 3, bias=True)


def test_windows_may_lie_in_the_padding(subtests: pytest.Subtests) -> None:
    for case in [
        conv(5, 1, strides=[1], dilations=[1], pads=[1, 1]),  # Windows begin in the padding.
        conv(1, 1, strides=[9], dilations=[1], pads=[3, 0]),  # The only one ends in front.
        conv(2, 2, strides=[1], dilations=[3], pads=[1, 1]),  # The window surrounds the input.
        WindowCase("LpPool", (1, 2, 2), (2,), {"strides": [1], "dilations": [3], "pads": [1, 1]}),
        WindowCase(
            "MaxPool",
            (1, 2, 5),
            (2,),
            {"strides": [3], "dilations": [1], "pads": [0, 1], "ceil_mode": 1},
        ),
    ]:
        with subtests.test(case=case):
            assert differences([case]) == []


def test_a_convolution_that_reads_only_padding_is_its_bias(subtests: pytest.Subtests) -> None:
    for dtype in [np.float32, np.uint8]:
        with subtests.test(dtype=dtype):
            pytest.importorskip("onnxruntime")
            proto = proto_of(conv(1, 1, strides=[9], dilations=[1], pads=[3, 0]))
            if dtype == np.uint8:
                given = {"w": np.ones((3, 2, 1), dtype)}
                inputs: Any = {"x": (onnx.TensorProto.UINT8, [1, 2, 1])}
                proto = model_of([node("ConvInteger", "x w", "y", strides=[9], pads=[3, 0])],
                                 inputs, ["y"], given)  # fmt: skip
            plan = elk.compile(proto, "tiny", policy="basic", threads=1)
            found = plan.emulate({"x": np.ones((1, 2, 1), dtype)}, check=True)
            assert found.passed
            assert found["y"].shape == (1, 3, 1)


def test_the_last_window_of_a_pool_may_not_begin_in_the_padding(subtests: pytest.Subtests) -> None:
    """ONNX's inference of older versions says it may; no runtime lets it."""
    for opset, kind in itertools.product([10, 19, 22], ["MaxPool", "AveragePool"]):
        with subtests.test(opset=opset, kind=kind):
            pytest.importorskip("onnxruntime")
            pool = node(kind, "x", "y", kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1)
            proto = model_of([pool], {"x": [1, 1, 5]}, ["y"], opset=opset)
            proto.graph.output[0].type.tensor_type.ClearField("shape")
            model = assert_computes(proto)
            assert model.outputs[0].shape == (1, 1, 2)


def test_a_pool_that_is_padded_twice_is_padded_by_itself() -> None:
    """ONNX Runtime and ELK go by `auto_pad`, ONNX's inference by `pads`."""
    twice = {"strides": [1], "dilations": [1], "auto_pad": "SAME_UPPER", "pads": [0, 0]}
    assert differences([WindowCase("MaxPool", (1, 2, 5), (3,), twice)]) == []
    with pytest.raises(elk.UnsupportedModelError, match="'pads' and 'auto_pad'"):
        elk.load_model(proto_of(conv(5, 3, **twice)))


def test_attributes_that_mean_nothing_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"auto_pad": "BOTH"}, "auto_pad"),
        ({"ceil_mode": 2}, "ceil_mode"),
    ]
    for attrs, rule in cases:
        with subtests.test(attrs=attrs, rule=rule):
            pool = node("MaxPool", "x", "y", kernel_shape=[2])
            proto = model_of([pool], {"x": [1, 1, 5]}, ["y"])
            proto.graph.node[0].attribute.extend(
                onnx.helper.make_attribute(*x) for x in attrs.items()
            )
            with pytest.raises(elk.UnsupportedModelError, match=f"attribute '{rule}' must be"):
                elk.load_model(proto)


def test_a_shape_that_onnx_does_not_infer_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(kinds.KINDS, "Relu", viewed(reshaping.flatten))
    proto = model_of([node("Relu", "x", "y")], {"x": [2, 3, 4]}, ["y"])
    with pytest.raises(elk.InternalError, match=r"f32 \[2, 12\].*infers f32 \[2, 3, 4\]") as caught:
        elk.load_model(proto)
    assert caught.value.place == "node 'Relu_y'"


def test_results_are_held_against_types_and_sizes(subtests: pytest.Subtests) -> None:
    for wanted in [
        Result("f32", (2, 4)),
        Result("f32", (2, 3, 1)),
        Result("i64", (2, 3)),
        Result("f16", None),
    ]:
        with subtests.test(wanted=wanted):
            made = Node("n", "Relu", {}, [], ["y"], 20)
            values = {"y": constant("y", np.zeros((2, 3), np.float32))}
            for fits in (Result("f32", (2, 3)), Result("f32", (2, None)), Result(None, None), None):
                confirm(made, (fits,), values)
            with pytest.raises(elk.InternalError, match="ONNX infers"):
                confirm(made, (wanted,), values)
