"""Types that are several ops: what they become, and that they compute what ONNX Runtime does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
from each_case import each
from elk.model.model import Model, load_model
from graph_reference import evaluate
from onnx import TensorProto, numpy_helper
from onnx_graphs import F32, Array, assert_computes, model_of, node

U8, I8 = TensorProto.UINT8, TensorProto.INT8
RNG = np.random.default_rng(10)


def functions(model: Model) -> Counter[str]:
    return Counter(op.function.partition("/")[0] for op in model.graph.ops)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def bytes_of(model: Model, home: str) -> int:
    return sum(t.bytes for t in model.graph.tensors if t.home.name == home)


# Recurrent types.

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(kind: str, directions: int, **given: Any) -> onnx.ModelProto:
    steps, batch, read, hidden = 3, 2, 5, 4
    rows = _GATES[kind] * hidden
    constants: dict[str, Any] = {
        "w": floats(directions, rows, read),
        "r": floats(directions, rows, hidden),
        "b": floats(directions, 2 * rows),
    }
    outputs = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
    nodes = [node(kind, "x w r b", " ".join(outputs), hidden_size=hidden, **given)]
    return model_of(nodes, {"x": [steps, batch, read]}, outputs, constants)


@each("kind", ["RNN", "GRU", "LSTM"])
@each("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_types_are_a_product_of_all_steps_and_one_a_step(
    kind: str, direction: str
) -> None:
    count = 2 if direction == "bidirectional" else 1
    model = assert_computes(recurrent(kind, count, direction=direction))
    a_step = 2 if kind == "GRU" else 1  # The reset gate stands between two products.
    assert functions(model)["matmul"] == count * (1 + 3 * a_step)


def test_a_gru_may_reset_after_its_product() -> None:
    assert_computes(recurrent("GRU", 1, linear_before_reset=1))


def test_an_lstm_may_have_functions_and_a_clip_of_its_own() -> None:
    names = ["HardSigmoid", "Softsign", "ScaledTanh"]
    assert_computes(
        recurrent(
            "LSTM", 1, activations=names, activation_alpha=[0.3, 1.5], activation_beta=[0.4, 0.7],
            clip=0.8, input_forget=1,
        )
    )  # fmt: skip


# Convolutions of their input.


@each(
    "given",
    [
        {},
        {"strides": [2, 2]},
        {"strides": [2, 3], "pads": [1, 0, 0, 2], "output_padding": [1, 1]},
        {"strides": [3, 1], "dilations": [2, 2]},
        {"strides": [2, 2], "group": 2},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [3, 2], "output_shape": [12, 9]},
    ],
)
def test_a_transposed_convolution_is_one_convolution(given: dict[str, Any]) -> None:
    groups = given.get("group", 1)
    shapes = {"x": [2, 4, 4, 5], "w": [4, 6 // groups, 3, 4], "b": [6]}
    model = assert_computes(model_of([node("ConvTranspose", "x w b", "y", **given)], shapes, ["y"]))
    assert functions(model)["conv2d"] == 1


def test_a_transposed_convolution_computes_no_more_than_its_products() -> None:
    proto = model_of(
        [node("ConvTranspose", "x w", "y", strides=[2, 2], kernel_shape=[4, 4])],
        {"x": [1, 16, 8, 8], "w": [16, 8, 4, 4]},
        ["y"],
    )
    (op,) = [op for op in load_model(proto, weights="w").graph.ops if op.kind.name == "Conv"]
    products = 2 * 16 * 8 * 8 * 8 * 4 * 4
    assert products <= op.flops <= products * (18 * 18) / (16 * 16)


def test_the_kernel_of_a_transposed_convolution_lies_in_hbm_as_it_is_read() -> None:
    proto = model_of(
        [node("ConvTranspose", "x w", "y", strides=[2, 2])],
        {"x": [1, 16, 8, 8], "w": [16, 8, 4, 4]},
        ["y"],
    )
    model = load_model(proto, weights="w")
    assert [op.kind.name for op in model.graph.ops] == ["Conv"]
    assert bytes_of(model, "Weight") == 16 * 8 * 4 * 4 * 4


# Sizes.


@each("mode", ["nearest", "linear", "cubic"])
@each("place", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@each("out", [(7, 9), (2, 3), (8, 10)])
def test_images_are_resized_as_onnx_runtime_does(
    mode: str, place: str, out: tuple[int, int]
) -> None:
    constants: dict[str, Any] = {"sizes": np.asarray([1, 2, *out], dtype=np.int64)}
    given = {"mode": mode, "coordinate_transformation_mode": place}
    proto = model_of(
        [node("Resize", "x - - sizes", "y", **given)], {"x": [1, 2, 4, 5]}, ["y"], constants
    )
    assert_computes(proto)


# Quantised types. ONNX Runtime's kernels for processors without VNNI add two products of a byte
# and a signed byte in 16 bits, and saturate: weights of seven bits leave them room.

SEVEN_BITS = (-64, 64)


def quantised_conv(zeros: tuple[int, int]) -> onnx.ModelProto:
    constants: dict[str, Any] = {
        "xs": np.asarray(0.02, dtype=np.float32), "xz": np.asarray(zeros[0], dtype=np.uint8),
        "w": RNG.integers(*SEVEN_BITS, (8, 4, 3, 3)).astype(np.int8),
        "ws": np.linspace(0.01, 0.02, 8, dtype=np.float32),
        "wz": np.full(8, zeros[1], dtype=np.int8),
        "ys": np.asarray(0.5, dtype=np.float32), "yz": np.asarray(120, dtype=np.uint8),
        "b": RNG.integers(-500, 500, 8).astype(np.int32),
    }  # fmt: skip
    nodes = [node("QLinearConv", "x xs xz w ws wz ys yz b", "y", pads=[1, 1, 1, 1])]
    return model_of(nodes, {"x": (U8, [1, 4, 6, 6])}, ["y"], constants)


def quantised_feeds(shape: tuple[int, ...]) -> dict[str, Array]:
    return {"x": RNG.integers(0, 255, shape).astype(np.uint8)}


@each("zeros", [(0, 0), (117, 0)])
def test_a_quantised_convolution_reads_bytes_and_sums_in_32_bits(zeros: tuple[int, int]) -> None:
    model = assert_close(quantised_conv(zeros), quantised_feeds((1, 4, 6, 6)))
    (op,) = [op for op in model.graph.ops if op.kind.name == "Conv"]
    assert (op.compute.name, op.accumulate.name) == ("u8", "i32")
    weight = model.graph.tensors[op.operands[1].tensor]
    assert (weight.dtype.name, weight.bytes) == ("i8", 8 * 4 * 9)


def assert_close(proto: onnx.ModelProto, feeds: dict[str, Array]) -> Model:
    """Like `assert_computes`; results that lie between two integers may be rounded either way."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    model = load_model(proto)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, feeds)
    for got, right in zip(evaluate(model, feeds), wanted, strict=True):
        apart = np.abs(got.astype(np.float64) - right.astype(np.float64))
        assert apart.max() <= 1
        assert (apart > 0).mean() < 0.01
    return model


def test_a_quantised_product_reads_bytes_and_sums_in_32_bits() -> None:
    constants: dict[str, Any] = {
        "xs": np.asarray(0.02, dtype=np.float32), "xz": np.asarray(113, dtype=np.uint8),
        "w": RNG.integers(0, 255, (16, 8)).astype(np.uint8),
        "ws": np.asarray(0.03, dtype=np.float32), "wz": np.asarray(130, dtype=np.uint8),
        "ys": np.asarray(0.4, dtype=np.float32), "yz": np.asarray(128, dtype=np.uint8),
    }  # fmt: skip
    proto = model_of(
        [node("QLinearMatMul", "x xs xz w ws wz ys yz", "y")],
        {"x": (U8, [5, 16])},
        ["y"],
        constants,
    )
    model = assert_close(proto, quantised_feeds((5, 16)))
    assert functions(model) == {
        "matmul": 1, "cast": 2, "mul": 1, "div": 1, "round": 1, "add": 1, "clip": 1,
    }  # fmt: skip
    assert bytes_of(model, "Weight") == 16 * 8


def test_a_dynamically_quantised_layer_is_planned() -> None:
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("MatMulInteger", "q w z wz", "p"),
        node("Cast", "p", "f", to=F32),
        node("Mul", "s ws", "scale"),
        node("Mul", "f scale", "y"),
    ]
    constants: dict[str, Any] = {
        "w": RNG.integers(*SEVEN_BITS, (16, 8)).astype(np.int8),
        "wz": np.asarray(0, dtype=np.int8),
        "ws": np.asarray(0.03, dtype=np.float32),
    }
    model = assert_computes(model_of(nodes, {"x": [5, 16]}, ["y"], constants))
    assert functions(model)["matmul"] == 1
    assert functions(model)["round"] == 2


def test_weights_that_are_stored_quantised_are_read_as_they_are_stored() -> None:
    nodes = [node("DequantizeLinear", "q s z", "w", axis=1), node("MatMul", "x w", "y")]
    constants: dict[str, Any] = {
        "q": RNG.integers(-100, 100, (16, 8)).astype(np.int8),
        "s": np.linspace(0.01, 0.1, 8, dtype=np.float32),
        "z": np.zeros(8, dtype=np.int8),
    }
    model = load_model(model_of(nodes, {"x": [5, 16]}, ["y"], constants))
    x = floats(5, 16)
    (got,) = evaluate(model, {"x": x})
    np.testing.assert_allclose(got, x @ (constants["q"] * constants["s"]), rtol=1e-4, atol=1e-5)
    assert functions(model) == {"matmul": 1}
    assert bytes_of(model, "Weight") == 16 * 8 + 8 * 4


# Weights inside and outside the file.


def dense(external: bool, location: str = "weights.bin") -> onnx.ModelProto:
    weight = numpy_helper.from_array(floats(6, 4), "w")
    proto = model_of([node("MatMul", "x w", "y")], {"x": [2, 6], "w": [6, 4]}, ["y"])
    del proto.graph.input[1]
    if external:
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", "0"), ("length", "96")):
            entry = weight.external_data.add()
            entry.key, entry.value = key, value
    proto.graph.initializer.append(weight)
    return proto


def test_weights_inside_and_outside_the_file_give_the_same_graph() -> None:
    inside, outside = load_model(dense(external=False)), load_model(dense(external=True))
    assert inside.table() == outside.table()
    assert bytes_of(inside, "Weight") == bytes_of(outside, "Weight") == 96
    assert (inside.facts.external_bytes, outside.facts.external_bytes) == (0, 96)


# Other types.


def test_a_long_triangle_is_a_comparison_of_positions_not_a_stored_mask() -> None:
    proto = model_of([node("Trilu", "x", "y", upper=0)], {"x": [1, 1500, 1500]}, ["y"])
    model = load_model(proto)
    assert functions(model) == {"less_equal": 1, "where": 1}
    assert bytes_of(model, "Weight") == 2 * 1500 * 8


def test_einsum_of_three_operands_is_two_products() -> None:
    nodes = [node("Einsum", "a b c", "y", equation="...ij,jk,kl->...il")]
    shapes = {"a": [2, 3, 4, 5], "b": [5, 6], "c": [6, 7]}
    model = assert_computes(model_of(nodes, shapes, ["y"]))
    assert functions(model)["matmul"] == 2


def test_a_spectrum_is_a_product_with_its_roots() -> None:
    constants: dict[str, Any] = {
        "n": np.asarray(16, dtype=np.int64),
        "step": np.asarray(4, dtype=np.int64),
    }
    nodes = [node("STFT", "x step - n", "y", onesided=1)]
    model = assert_computes(model_of(nodes, {"x": [2, 32, 1]}, ["y"], constants))
    assert functions(model) == {"matmul": 1}


def test_a_scatter_is_whole_along_what_it_picks_and_cut_along_the_rest() -> None:
    nodes = [node("ScatterElements", "x i u", "y", axis=1)]
    shapes: dict[str, Any] = {"x": [6, 8], "i": (TensorProto.INT64, [6, 3]), "u": [6, 3]}
    (op,) = load_model(model_of(nodes, shapes, ["y"]), state=["!x"]).graph.ops
    assert (op.kind.name, op.function) == ("Opaque", "scatter")
    assert {axis.name: axis.role.name for axis in op.axes} == {
        "d0": "Parallel", "d1": "Row", "u1": "Row",
    }  # fmt: skip
