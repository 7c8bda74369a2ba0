"""Residual networks and plain perceptrons as ONNX graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elk.base.choices import one_of
from elk.models.graph import GraphBuilder, linear

if TYPE_CHECKING:
    import onnx

    from elk.models.sizes import MlpConfig, ResNetConfig

PHASES = ("forward",)


def resnet(
    config: ResNetConfig, *, phase: str = "forward", dtype: str = "f16", name: str = "resnet"
) -> onnx.ModelProto:
    """A residual network as ONNX, without weights.

    It takes `pixel_values` [batch, channels, image, image] and gives `logits` [batch, classes].

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.resnet(elk.models.config("resnet-18"))
        >>> elk.load_model(model, bindings={"batch": 1}).facts.external_parameters
        11684712
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    pixels = g.input("pixel_values", ["batch", config.channels, config.image, config.image])
    width = config.widths[0]
    stem = _convolved(g, config, pixels, "stem", (config.channels, width, 7, 2))
    x = g.node(
        "MaxPool", g.node("Relu", stem), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]
    )
    for stage, (inner, depth) in enumerate(zip(config.widths, config.depths, strict=True)):
        for block in range(depth):
            stride = 2 if stage > 0 and block == 0 else 1
            with g.scope(f"stages.{stage}.{block}"):
                x = _block(g, config, x, (width, inner, stride))
            width = inner * config.bottleneck
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    logits = linear(g, x, "classifier", (width, config.classes), bias=True)
    g.output(g.node("Identity", logits, out="logits"), ["batch", config.classes])
    return g.model()


def _block(g: GraphBuilder, config: ResNetConfig, x: str, sizes: tuple[int, int, int]) -> str:
    """A basic or a bottleneck block; `sizes` are channels given and inside, and the stride."""
    given, inner, stride = sizes
    out = inner * config.bottleneck
    if config.bottleneck > 1:
        shapes = [(given, inner, 1, 1), (inner, inner, 3, stride), (inner, out, 1, 1)]
    else:
        shapes = [(given, inner, 3, stride), (inner, inner, 3, 1)]
    y = x
    for number, shape in enumerate(shapes, start=1):
        y = _convolved(g, config, g.node("Relu", y) if number > 1 else y, f"conv{number}", shape)
    if given != out or stride > 1:
        x = _convolved(g, config, x, "shortcut", (given, out, 1, stride))
    return g.node("Relu", g.node("Add", y, x))


def _convolved(
    g: GraphBuilder, config: ResNetConfig, x: str, name: str, sizes: tuple[int, int, int, int]
) -> str:
    """A convolution and its batch normalization; `sizes`: channels in and out, kernel, stride."""
    given, out, kernel, stride = sizes
    options: dict[str, Any] = {"strides": [stride, stride], "pads": [kernel // 2] * 4}
    with g.scope(name):
        weight = g.weight("weight", (out, given, kernel, kernel))
        if config.folded:
            return g.node("Conv", x, weight, g.weight("bias", (out,)), **options)
        x = g.node("Conv", x, weight, **options)
        learned = g.weight("norm.weight", (out,)), g.weight("norm.bias", (out,))
        statistics = g.floats(np.zeros(out)), g.floats(np.ones(out))
        return g.node("BatchNormalization", x, *learned, *statistics, epsilon=config.epsilon)


def mlp(
    config: MlpConfig, *, phase: str = "forward", dtype: str = "f16", name: str = "mlp"
) -> onnx.ModelProto:
    """A perceptron as ONNX, without weights.

    It takes `x` [rows, width] and gives `y` [rows, out].

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.mlp(elk.models.config("nerf-t10"))
        >>> elk.load_model(model, bindings={"rows": 4096}).facts.external_parameters
        24768
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    x = g.input("x", ["rows", config.width])
    for layer in range(config.hidden_layers):
        sizes = (config.width, config.width)
        x = g.node("Relu", linear(g, x, f"hidden.{layer}", sizes, bias=False))
    y = g.node("MatMul", x, g.weight("head.weight", (config.width, config.out)), out="y")
    g.output(y, ["rows", config.out])
    return g.model()
