"""Small whole models, the chips that they are emulated on, and numbers to feed them."""

from __future__ import annotations

from functools import cache
from typing import Any

import elk
import numpy as np
import onnx
from elk import models
from model_runs import Array
from onnx import TensorProto, helper, numpy_helper
from seeded_weights import SeededWeights
from small_models import CONFIGS, FORWARD

POLICIES = ("basic", "static", "elk-dyn", "elk-full")
SIZES = {"batch": 2, "seq": 5, "past": 6, "rows": 2}

# Changes to the chip `tiny` of 64 cores, all to all.
CHIPS: dict[str, dict[str, Any]] = {
    "tiny": {},
    "mesh": {"core_count": 42, "topology": "mesh2d"},  # six rows of seven
    "no multicast": {"multicast": False},
}
# SRAM of each of 16 cores on which a model just fits: operands rotate, or sums are cut.
LITTLE_BYTES = {
    "vit": 2816, "encoder": 1280, "audio": 2048, "diffusion": 3072, "mlp": 1024, "llama": 1280,
    "llama decode": 1024, "gpt": 1280, "mixtral": 3840, "mixtral decode": 2048,
    "deepseek decode": 2048, "resnet": 1792, "lstm": 1024,
}  # fmt: skip
# Models whose operands rotate. Decoding has too few rows for that.
ROTATING = ("vit", "encoder", "audio", "diffusion", "llama", "gpt", "mixtral", "resnet", "lstm")


# Chips that exchange almost for free share even a small model: weights are split, not rows.
CLOSE: dict[str, Any] = {"bytes_per_s": 1e12, "latency_s": 1e-10}


def pod(
    bytes_per_s: float = 20e9,
    latency_s: float = 100e-9,
    port_cores: int = 64,
    topology: str = "all_to_all",
) -> elk.Chip:
    """Four chips of 64 cores."""
    between = {
        "bytes_per_s": bytes_per_s,
        "latency_s": latency_s,
        "sync_latency_s": latency_s,
        "port_cores": port_cores,
        "topology": topology,
    }
    tiny = elk.chips.get("tiny").to_dict()
    return elk.Chip.from_dict({**tiny, "chips": 4, "inter_chip": between})


def machine(name: str, model: str = "llama") -> elk.Chip:
    """A chip by its name in `CHIPS`, a pod, or one with little memory for a model."""
    if name == "pod":
        return pod()
    if name == "close pod":
        return pod(**CLOSE).replace(hbm_bytes_per_s=1e9)  # Weights are worth sharing.
    if name == "ring pod":  # Direct messages pass chips in between: parts go around the ring.
        slow: dict[str, Any] = {"bytes_per_s": 4e9, "latency_s": 1e-10, "topology": "ring"}
        return pod(**slow).replace(hbm_bytes_per_s=2e8)
    if name == "one port":  # The other cores reach other chips through the first one.
        return pod(**CLOSE, port_cores=1).replace(hbm_bytes_per_s=1e9)
    little = {"core_count": 16, "sram_bytes": LITTLE_BYTES[model], "reserved_bytes": 256}
    if name == "little mesh":  # four rows of four; what is cut along two axes needs more
        return elk.chips.get("tiny").replace(
            core_count=16, sram_bytes=LITTLE_BYTES[model] + 256, reserved_bytes=256,
            topology="mesh2d",
        )  # fmt: skip
    return elk.chips.get("tiny").replace(**(little if name == "little memory" else CHIPS[name]))


def product(rows: int = 12, inner: int = 20, cols: int = 8) -> onnx.ModelProto:
    """One MatMul by a weight of halves."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [value("x", TensorProto.FLOAT, [rows, inner])],
        [value("y", TensorProto.FLOAT, [rows, cols])],
        [helper.make_tensor("w", TensorProto.FLOAT, [inner, cols], [0.5] * inner * cols)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def lstm(steps: int = 4, batch: int = 2, inputs: int = 12, hidden: int = 16) -> onnx.ModelProto:
    """Two layers of LSTM, the second one in both directions, and a projection of the last state."""
    weight = SeededWeights(5)

    def layer(name: str, x: str, width: int, directions: int) -> onnx.NodeProto:
        gates = 4 * hidden
        return helper.make_node(
            "LSTM",
            [
                x,
                weight(f"{name}.w", directions, gates, width),
                weight(f"{name}.r", directions, gates, hidden),
                weight(f"{name}.b", directions, 2 * gates),
            ],
            [f"{name}.y", f"{name}.h", f"{name}.c"],
            name=name,
            hidden_size=hidden,
            direction="bidirectional" if directions == 2 else "forward",
        )

    axis = numpy_helper.from_array(np.array([1]), "axis")
    shape = numpy_helper.from_array(np.array([batch, 2 * hidden]), "shape")
    nodes = [
        layer("first", "x", inputs, 1),
        helper.make_node("Squeeze", ["first.y", "axis"], ["between"]),
        layer("second", "between", hidden, 2),
        helper.make_node("Transpose", ["second.h"], ["states"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["states", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", weight("out.w", 2 * hidden, 5)], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, inputs])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 5])],
        [axis, shape, *weight.tensors],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _transformer(name: str, phase: str) -> onnx.ModelProto:
    return models.transformer(CONFIGS[name], phase=phase, dtype="f32")


MODELS: dict[str, onnx.ModelProto] = {
    **{name: proto for name, (proto, _) in FORWARD.items()},
    "llama": _transformer("grouped", "prefill"),
    "llama decode": _transformer("grouped", "decode"),
    "gpt": _transformer("opt", "prefill"),
    "mixtral": _transformer("mixtral", "prefill"),
    "mixtral decode": _transformer("mixtral", "decode"),
    "deepseek decode": _transformer("deepseek", "decode"),
    "resnet": models.resnet(
        models.ResNetConfig(widths=(4, 8), depths=(2, 1), image=16, classes=5), dtype="f32"
    ),
    "lstm": lstm(),
}


def feeds_of(
    proto: onnx.ModelProto, sizes: dict[str, int] | None = None
) -> tuple[dict[str, Array], dict[str, int]]:
    """Random inputs, and the sizes of symbolic dimensions that they have."""
    rng = np.random.default_rng(3)
    known = {**SIZES, **(sizes or {})}
    decode = any(x.name.startswith("past") for x in proto.graph.input)
    now, past = (1 if decode else known["seq"]), known["past"]
    feeds: dict[str, Array] = {}
    bindings: dict[str, int] = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        bound = {**known, "seq": now}
        shape = tuple(
            bound.get(d.dim_param, past + 1 if d.dim_param else d.dim_value) or past for d in dims
        )
        if value.name == "attention_mask":
            feeds[value.name] = np.ones((known["batch"], past + 1 if decode else now), np.int64)
        elif value.type.tensor_type.elem_type == TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 5, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(np.float32)
        names = zip(dims, feeds[value.name].shape, strict=True)
        bindings |= {d.dim_param: n for d, n in names if d.dim_param}
    return feeds, bindings


@cache
def _bindings(name: str) -> tuple[tuple[str, int], ...]:
    return tuple(feeds_of(MODELS[name])[1].items())


def model_of(name: str) -> tuple[onnx.ModelProto, dict[str, int]]:
    """A model and the sizes of its symbolic dimensions."""
    return MODELS[name], dict(_bindings(name))
