"""Retentive networks as ONNX graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elk.base.choices import one_of
from elk.models.graph import (
    FLOAT,
    INT64,
    GraphBuilder,
    activated,
    count_up,
    embedded,
    hidden_states,
    last_hidden_state,
    linear,
    norm,
    plain_norm,
    reshape,
    scaled,
    size_of,
    transpose,
    unsqueeze,
)
from elk.models.rotary import angles, halves, rotated

if TYPE_CHECKING:
    import onnx

    from elk.models.sizes import RetentionConfig

PHASES = ("decode", "prefill")
_THETA = 10000.0


def retention(
    config: RetentionConfig,
    *,
    phase: str = "decode",
    dtype: str = "f16",
    name: str = "retention",
    body: bool = False,
) -> onnx.ModelProto:
    """A retentive network as ONNX, without weights.

    A decode step takes `input_ids` [batch, 1], the `position` [1] of the token and a state
    `past_key_values.<layer>.state` [batch, heads, hidden / heads, value / heads], which it
    replaces; prefill takes `input_ids` [batch, seq] and computes all tokens at once. Both give
    `logits` [batch, seq, vocab] and `present.<layer>.state`. A body takes `hidden_states`
    [batch, seq, hidden] in the place of `input_ids`, and gives `last_hidden_state`
    [batch, seq, hidden] in the place of `logits`.

    Args:
        config: The hyper-parameters.
        phase: "decode" or "prefill".
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.retention(elk.models.config("retnet-1.3b"))
        >>> elk.load_model(model, bindings={"batch": 32}).facts.state_bytes
        1610612736
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    seq: int | str = 1 if phase == "decode" else "seq"
    if body:
        x = hidden_states(g, seq, config.hidden)
        x = _Layers(g, config, phase, x).all(x)
        last_hidden_state(g, x, seq, config.hidden)
        return g.model()
    ids = g.input("input_ids", ["batch", seq], INT64)
    layers = _Layers(g, config, phase, ids)
    table = g.weight("embed_tokens.weight", (config.vocab, config.hidden))
    x = layers.all(embedded(g, ids, table))
    x = plain_norm(g, x, config.hidden, config.norm, config.epsilon)
    g.node("MatMul", x, transpose(g, table, 1, 0), out="logits")
    g.output("logits", ["batch", seq, config.vocab])
    return g.model()


class _Layers:
    """The layers, and what all of them have in common."""

    def __init__(self, g: GraphBuilder, config: RetentionConfig, phase: str, given: str) -> None:
        """Writes rotations and decays; prefill counts the tokens of `given` [batch, seq, ...]."""
        decode = phase == "decode"
        positions = g.input("position", [1], INT64) if decode else count_up(g, size_of(g, given, 1))
        turns = _THETA ** -np.linspace(0.0, 1.0, config.hidden // config.heads // 2)
        self.g, self.config, self.angle = g, config, angles(g, turns, positions)
        self.decay = 1.0 - 2.0 ** (-5.0 - np.arange(config.heads)[:, None, None])
        self.spread = self.fade = ""
        if not decode:
            self._decays(positions)

    def all(self, x: str) -> str:
        """All layers, one behind the other."""
        for number in range(self.config.layers):
            with self.g.scope(f"layers.{number}"):
                x = self._layer(number, x)
        return x

    def _decays(self, positions: str) -> None:
        """How much of token m is left at token n [heads, seq, seq], and at the end [heads, seq, 1].

        That is decay ** (n - m), and nothing before token m.
        """
        g = self.g
        column = unsqueeze(g, positions, 1)
        age = g.node("Cast", g.node("Sub", column, positions), to=FLOAT)
        left = g.node("Pow", g.singles(self.decay), g.node("Max", age, g.singles(0.0)))
        left = g.node("Where", g.node("Less", age, g.singles(0.0)), g.singles(0.0), left)
        self.spread = g.node("Cast", left, to=g.dtype)
        last = g.node("Sub", size_of(g, positions, 0), g.ints(1))
        rest = g.node("Cast", g.node("Sub", last, column), to=FLOAT)
        self.fade = g.node("Cast", g.node("Pow", g.singles(self.decay), rest), to=g.dtype)

    def _layer(self, number: int, x: str) -> str:
        """One layer: retention and network, each with its norm and its residual."""
        g, config = self.g, self.config
        before = norm(g, x, "norm1", config.hidden, config.norm, config.epsilon)
        with g.scope("retention"):
            x = g.node("Add", x, self._retention(number, before))
        before = norm(g, x, "norm2", config.hidden, config.norm, config.epsilon)
        with g.scope("mlp"):
            up = linear(g, before, "fc1", (config.hidden, config.ffn), bias=False)
            down = linear(
                g, activated(g, up, "gelu"), "fc2", (config.ffn, config.hidden), bias=False
            )
        return g.node("Add", x, down)

    def _retention(self, number: int, x: str) -> str:
        g, config = self.g, self.config
        key_size, value_size = config.hidden // config.heads, config.value // config.heads
        query = self._rotated(self._heads(x, "q_proj", config.hidden), key_size)
        key = self._rotated(self._heads(x, "k_proj", config.hidden), key_size)
        key = scaled(g, key, key_size**-0.5)
        value = self._heads(x, "v_proj", config.value)
        out = f"present.{number}.state"
        dims: list[int | str] = ["batch", config.heads, key_size, value_size]
        if self.spread:
            faded = transpose(g, g.node("Mul", key, self.fade), 0, 1, 3, 2)
            g.node("MatMul", faded, value, out=out)
            scores = g.node("MatMul", query, transpose(g, key, 0, 1, 3, 2))
            read = g.node("MatMul", g.node("Mul", scores, self.spread), value)
        else:
            state = g.input(f"past_key_values.{number}.state", dims)
            kept = g.node("Mul", state, g.floats(self.decay))
            new = g.node("MatMul", transpose(g, key, 0, 1, 3, 2), value)
            read = g.node("MatMul", query, g.node("Add", kept, new, out=out))
        g.output(out, dims)
        read = plain_norm(g, read, value_size, "layernorm", config.epsilon)
        read = reshape(g, transpose(g, read, 0, 2, 1, 3), 0, 0, config.value)
        gate = linear(g, x, "g_proj", (config.hidden, config.value), bias=False)
        gated = g.node("Mul", activated(g, gate, "silu"), read)
        return linear(g, gated, "out_proj", (config.value, config.hidden), bias=False)

    def _heads(self, x: str, name: str, width: int) -> str:
        """A projection as [batch, heads, seq, width / heads]."""
        g, heads = self.g, self.config.heads
        flat = linear(g, x, name, (self.config.hidden, width), bias=False)
        return transpose(g, reshape(g, flat, 0, 0, heads, width // heads), 0, 2, 1, 3)

    def _rotated(self, x: str, size: int) -> str:
        return rotated(self.g, halves(self.g, x, 3, size), size, self.angle)
