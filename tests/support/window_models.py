"""Vision models that attend in windows and at several scales, with weights that have no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KIND = TensorProto.FLOAT16
HEAD = 32  # channels of a head


class Builder:
    """Nodes of a model one after another, each with one result."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node and names its result."""
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """A weight of halves."""
        name = f"weight_{len(self._weights)}"
        data = np.full(shape, 0.5, np.float16)
        self._weights.append(numpy_helper.from_array(data, name))
        return name

    def numbers(self, *values: int) -> str:
        name = f"numbers_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def reshape(self, x: str, *shape: int) -> str:
        return self("Reshape", x, self.numbers(*shape))

    def part(self, x: str, axis: int, begin: int, end: int, step: int = 1) -> str:
        """Every `step`-th index from begin to end."""
        bounds = [self.numbers(number) for number in (begin, end, axis, step)]
        return self("Slice", x, *bounds)

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        return self("Add", self("MatMul", x, self.weight(inputs, outputs)), self.weight(outputs))

    def norm(self, x: str, width: int) -> str:
        return self("LayerNormalization", x, self.weight(width), self.weight(width), axis=-1)

    def conv(self, x: str, shape: tuple[int, int, int], stride: int, group: int = 1) -> str:
        """A square convolution; shape: channels out, channels in, kernel."""
        out, channels, kernel = shape
        weight = self.weight(out, channels // group, kernel, kernel)
        pads, strides = [kernel // 2 if kernel > stride else 0] * 4, [stride, stride]
        return self("Conv", x, weight, strides=strides, pads=pads, group=group)

    def attention(self, of: str, over: str, sizes: tuple[int, int, int, int]) -> str:
        """Heads of 32 channels; sizes: batch, queries, keys, width."""
        batch, queries, keys, width = sizes
        heads = width // HEAD
        q, k, v = (
            self("Transpose", self.reshape(self.linear(x, width, width), batch, n, heads, HEAD),
                 perm=perm)
            for x, n, perm in (
                (of, queries, [0, 2, 1, 3]), (over, keys, [0, 2, 3, 1]), (over, keys, [0, 2, 1, 3])
            )
        )  # fmt: skip
        shares = self("Softmax", self("MatMul", q, k), axis=-1)
        mixed = self("Transpose", self("MatMul", shares, v), perm=[0, 2, 1, 3])
        return self.linear(self.reshape(mixed, batch, queries, width), width, width)

    def model(self, name: str, shape: list[int], result: str) -> onnx.ModelProto:
        """The model that leads from `x` to a result."""
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info("x", KIND, shape)],
            [helper.make_tensor_value_info(result, KIND, None)],
            self._weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def shifted_windows(
    batch: int = 8, side: int = 56, width: int = 96, window: int = 7, stages: int = 2
) -> onnx.ModelProto:
    """Swin's blocks: windows, windows shifted by strips, and after a stage strided slices."""
    build, x, shape = Builder(), "x", [batch, side, side, width]
    for stage in range(stages):
        for shift in (0, window // 2):
            x = _window_block(build, x, (batch, side, width), (window, shift))
        if stage + 1 < stages:
            corners = [(row, col) for col in (0, 1) for row in (0, 1)]
            parts = [
                build.part(build.part(x, 1, row, side, 2), 2, col, side, 2) for row, col in corners
            ]
            merged = build.norm(build("Concat", *parts, axis=3), 4 * width)
            x = build("MatMul", merged, build.weight(4 * width, 2 * width))
            side, width = side // 2, 2 * width
    return build.model("shifted windows", shape, x)


def _window_block(
    build: Builder, x: str, sizes: tuple[int, int, int], windows: tuple[int, int]
) -> str:
    batch, side, width = sizes
    window, shift = windows
    across = side // window
    y = build.norm(x, width)
    for axis in (1, 2) if shift else ():
        strips = build.part(y, axis, shift, side), build.part(y, axis, 0, shift)
        y = build("Concat", *strips, axis=axis)
    y = build.reshape(y, batch, across, window, across, window, width)
    y = build("Transpose", y, perm=[0, 1, 3, 2, 4, 5])
    y = build.reshape(y, batch * across**2, window**2, width)
    y = build.attention(y, y, (batch * across**2, window**2, window**2, width))
    y = build.reshape(y, batch, across, across, window, window, width)
    y = build.reshape(build("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), batch, side, side, width)
    for axis in (1, 2) if shift else ():
        strips = build.part(y, axis, side - shift, side), build.part(y, axis, 0, side - shift)
        y = build("Concat", *strips, axis=axis)
    x = build("Add", x, y)
    inner = build("Gelu", build.linear(build.norm(x, width), width, 4 * width))
    return build("Add", x, build.linear(inner, 4 * width, width))


def many_scales(
    batch: int = 4, side: int = 64, widths: tuple[int, ...] = (32, 64, 160), out: int = 64
) -> onnx.ModelProto:
    """SegFormer's blocks: convolved patches, attention over fewer keys, and a head over scales."""
    build, x, channels = Builder(), "x", 3
    shape, scales = [batch, channels, side, side], []
    for stage, width in enumerate(widths):
        kernel, stride, fewer = (7, 4, 4) if stage == 0 else (3, 2, max(1, 4 >> stage))
        x, side = build.conv(x, (width, channels, kernel), stride), side // stride
        x, channels = _scale_block(build, x, (batch, side, width), fewer), width
        scales.append((x, side, width))
    full = scales[0][1]
    parts = []
    for scale, here, width in reversed(scales):
        flat = build("Transpose", build.reshape(scale, batch, width, here**2), perm=[0, 2, 1])
        flat = build("Transpose", build.linear(flat, width, out), perm=[0, 2, 1])
        part, sizes = build.reshape(flat, batch, out, here, here), (batch, out, full, full)
        grown = build("Resize", part, "", "", build.numbers(*sizes), mode="linear")
        parts.append(grown if here < full else part)
    fused = build.conv(build("Concat", *parts, axis=1), (out, out * len(parts), 1), 1)
    return build.model("many scales", shape, build("Relu", fused))


def _scale_block(build: Builder, x: str, sizes: tuple[int, int, int], fewer: int) -> str:
    batch, side, width = sizes
    tokens, keys = side**2, (side // fewer) ** 2
    x = build("Transpose", build.reshape(x, batch, width, tokens), perm=[0, 2, 1])
    y = build.norm(x, width)
    over = y
    if fewer > 1:
        image = build.reshape(build("Transpose", y, perm=[0, 2, 1]), batch, width, side, side)
        small = build.reshape(build.conv(image, (width, width, fewer), fewer), batch, width, keys)
        over = build.norm(build("Transpose", small, perm=[0, 2, 1]), width)
    x = build("Add", x, build.attention(y, over, (batch, tokens, keys, width)))
    inner = build.linear(build.norm(x, width), width, 4 * width)
    image = build.reshape(build("Transpose", inner, perm=[0, 2, 1]), batch, 4 * width, side, side)
    mixed = build("Gelu", build.conv(image, (4 * width, 4 * width, 3), 1, 4 * width))
    flat = build("Transpose", build.reshape(mixed, batch, 4 * width, tokens), perm=[0, 2, 1])
    x = build("Add", x, build.linear(flat, 4 * width, width))
    return build.reshape(build("Transpose", x, perm=[0, 2, 1]), batch, width, side, side)
