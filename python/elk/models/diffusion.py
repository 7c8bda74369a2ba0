"""Diffusion transformers as ONNX graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elk.base.choices import one_of
from elk.models.encoders import network, self_attention
from elk.models.graph import (
    FLOAT,
    INT64,
    GraphBuilder,
    activated,
    embedded,
    hidden_states,
    last_hidden_state,
    linear,
    plain_norm,
    reshape,
    split,
    transpose,
    unsqueeze,
)

if TYPE_CHECKING:
    import onnx

    from elk.models.sizes import DiffusionTransformerConfig

PHASES = ("forward",)
_PERIOD = 10000.0


def diffusion_transformer(
    config: DiffusionTransformerConfig,
    *,
    phase: str = "forward",
    dtype: str = "f16",
    name: str = "diffusion_transformer",
    body: bool = False,
) -> onnx.ModelProto:
    """One denoising step of a diffusion transformer as ONNX, without weights.

    It takes `hidden_states` [batch, channels, sample, sample], `timestep` [batch] and
    `class_labels` [batch], and gives `sample` [batch, 2 * channels, sample, sample]: the noise
    and its variance. The table of positions is computed, as its sines and cosines are no weights.
    A body takes `hidden_states` [batch, patches, hidden], and the `condition` [batch, hidden] that
    is made of time step and class, and gives `last_hidden_state` [batch, patches, hidden].

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.diffusion_transformer(elk.models.config("dit-xl-2"))
        >>> elk.load_model(model, bindings={"batch": 1}).facts.external_parameters
        674834720
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    hidden, patch, side = config.hidden, config.patch, config.side
    if body:
        x = hidden_states(g, side * side, hidden)
        x = _blocks(g, config, x, activated(g, g.input("condition", ["batch", hidden]), "silu"))
        last_hidden_state(g, x, side * side, hidden)
        return g.model()
    dims: list[int | str] = ["batch", config.channels, config.sample, config.sample]
    latent = g.input("hidden_states", dims)
    with g.scope("patches"):
        kernel = g.weight("weight", (hidden, config.channels, patch, patch))
        bias = g.weight("bias", (hidden,))
        x = g.node("Conv", latent, kernel, bias, strides=[patch, patch])
    x = transpose(g, reshape(g, x, 0, hidden, -1), 0, 2, 1)
    x = g.node("Add", x, _positions(g, config))
    condition = activated(g, _condition(g, config), "silu")
    x = _blocks(g, config, x, condition)
    shift, scale = _modulation(g, config, condition, 2)
    x = _modulated(g, config, x, shift, scale)
    out = 2 * config.channels
    x = linear(g, x, "final", (hidden, patch * patch * out), bias=True)
    x = transpose(g, reshape(g, x, 0, side, side, patch, patch, out), 0, 5, 1, 3, 2, 4)
    shape = g.ints(0, out, config.sample, config.sample)
    g.output(g.node("Reshape", x, shape, out="sample"), ["batch", out, *dims[2:]])
    return g.model()


def _positions(g: GraphBuilder, config: DiffusionTransformerConfig) -> str:
    """Sines and cosines of the column, then of the row of each patch: [side * side, hidden]."""
    count, quarter = config.side, config.hidden // 4
    omega = g.singles(_PERIOD ** -(np.arange(quarter) / quarter))
    places = g.node("Range", g.integer(0), g.integer(count), g.integer(1))
    turns = g.node("Mul", unsqueeze(g, g.node("Cast", places, to=FLOAT), 1), omega)
    one = g.node("Concat", g.node("Sin", turns), g.node("Cos", turns), axis=1)
    grid = g.ints(count, count, 2 * quarter)
    columns = g.node("Expand", unsqueeze(g, one, 0), grid)
    rows = g.node("Expand", unsqueeze(g, one, 1), grid)
    table = reshape(g, g.node("Concat", columns, rows, axis=2), count * count, config.hidden)
    return g.node("Cast", table, to=g.dtype)


def _condition(g: GraphBuilder, config: DiffusionTransformerConfig) -> str:
    """The embeddings of the time step and the class, added: [batch, hidden]."""
    step = g.input("timestep", ["batch"], INT64)
    label = g.input("class_labels", ["batch"], INT64)
    half = config.frequencies // 2
    omega = g.singles(_PERIOD ** -(np.arange(half) / half))
    turns = g.node("Mul", g.node("Cast", unsqueeze(g, step, 1), to=FLOAT), omega)
    waves = g.node("Concat", g.node("Cos", turns), g.node("Sin", turns), axis=1)
    with g.scope("time"):
        sizes = (config.frequencies, config.hidden)
        time = linear(g, g.node("Cast", waves, to=g.dtype), "fc1", sizes, bias=True)
        square = (config.hidden, config.hidden)
        time = linear(g, activated(g, time, "silu"), "fc2", square, bias=True)
    table = g.weight("labels", (config.classes + 1, config.hidden))
    return g.node("Add", time, embedded(g, label, table))


def _modulation(
    g: GraphBuilder, config: DiffusionTransformerConfig, condition: str, count: int
) -> list[str]:
    """`count` vectors of each sample, as [batch, 1, hidden]."""
    sizes = (config.hidden, count * config.hidden)
    flat = linear(g, condition, "modulation", sizes, bias=True)
    return split(g, unsqueeze(g, flat, 1), 2, *(config.hidden,) * count)


def _modulated(
    g: GraphBuilder, config: DiffusionTransformerConfig, x: str, shift: str, scale: str
) -> str:
    """`x` normalised, then scaled and shifted."""
    x = plain_norm(g, x, config.hidden, "layernorm", config.epsilon)
    x = g.node("Mul", x, g.node("Add", scale, g.floats(1.0)))
    return g.node("Add", x, shift)


def _blocks(g: GraphBuilder, config: DiffusionTransformerConfig, x: str, condition: str) -> str:
    """All blocks, one behind the other."""
    for layer in range(config.layers):
        with g.scope(f"blocks.{layer}"):
            x = _block(g, config, x, condition)
    return x


def _block(g: GraphBuilder, config: DiffusionTransformerConfig, x: str, condition: str) -> str:
    """Attention and network, modulated before and gated behind (adaLN-Zero)."""
    vectors = _modulation(g, config, condition, 6)
    before = _modulated(g, config, x, vectors[0], vectors[1])
    found = self_attention(g, before, (config.hidden, config.heads))
    x = g.node("Add", x, g.node("Mul", vectors[2], found))
    before = _modulated(g, config, x, vectors[3], vectors[4])
    found = network(g, before, (config.hidden, config.ffn), "gelu_tanh")
    return g.node("Add", x, g.node("Mul", vectors[5], found))
