"""Decoder-only transformers as ONNX graphs without weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from elk.base.choices import one_of
from elk.errors import InvalidInputError
from elk.models.attention import Step, attention, begin
from elk.models.ffn import feed_forward
from elk.models.graph import (
    INT64,
    GraphBuilder,
    dropped,
    embedded,
    hidden_states,
    last_hidden_state,
    linear,
    norm,
    plain_norm,
    scaled,
    softcapped,
    transpose,
    unsqueeze,
)

if TYPE_CHECKING:
    import onnx

    from elk.models.decoder_config import TransformerConfig

PHASES = ("decode", "prefill", "train")
_BEHIND = (1 << 63) - 1  # A bound behind the last element.


def transformer(
    config: TransformerConfig,
    *,
    phase: str = "decode",
    dtype: str = "f16",
    name: str = "transformer",
    body: bool = False,
    dropout: float | None = None,
) -> onnx.ModelProto:
    """A decoder-only transformer as ONNX, without weights.

    A decode step takes one token of each sequence and the caches: `input_ids` [batch, 1],
    `attention_mask` [batch, past + 1] and `past_key_values.<layer>.key` and `.value`
    [batch, kv_heads, past, head]; prefill takes `input_ids` and `attention_mask` [batch, seq].
    Both give `logits` [batch, seq, vocab] and the caches as `present.<layer>.key` and `.value`.
    The cache of a layer with a window has at most as many rows: min(past, window). That of
    latent attention is `past_key_values.<layer>.latent` [batch, 1, past, kv_rank + rope].
    A training step's forward pass has no caches: it takes `labels` [batch, seq] too, the token that
    follows each, and gives `loss`, the mean of the negative logarithms of their shares.
    A body takes `hidden_states` [batch, seq, hidden] in the place of `input_ids`, and gives
    `last_hidden_state` [batch, seq, hidden] in the place of `logits` or `loss`.

    Args:
        config: The hyper-parameters.
        phase: "decode", "prefill" or "train".
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.
        dropout: The share that training drops; None: that of `config`. Nothing else drops any.

    Raises:
        InvalidInputError: There is no such phase, dtype or dropout, or it is not for this phase.

    Example:
        >>> config = elk.models.TransformerConfig(
        ...     layers=2, hidden=256, heads=8, kv_heads=2, vocab=1000, ffn=512
        ... )
        >>> model = elk.models.transformer(config)
        >>> elk.load_model(model, bindings={"batch": 4, "past": 128}).facts.state_bytes
        262144
    """
    one_of("phase", phase, PHASES)
    config = _dropping(config, phase, dropout)
    g = GraphBuilder(name, dtype)
    seq: int | str = 1 if phase == "decode" else "seq"
    if body:
        x = hidden_states(g, seq, config.hidden)
        with g.scope("model"):
            x = _layers(g, config, begin(g, config, phase), x)
        last_hidden_state(g, x, seq, config.hidden)
        return g.model()
    ids = g.input("input_ids", ["batch", seq], INT64)
    with g.scope("model"):
        step = begin(g, config, phase)
        table = g.weight("embed_tokens.weight", (config.vocab, config.hidden))
        x = _layers(g, config, step, _embedding(g, config, step, ids, table))
        if config.final_norm:
            x = norm(g, x, "norm", config.hidden, config.norm, config.epsilon)
        else:
            x = plain_norm(g, x, config.hidden, config.norm, config.epsilon)
    logits = _head(g, x, table, config)
    if phase == "train":
        _loss(g, logits)
    else:
        g.node("Identity", logits, out="logits")
        g.output("logits", ["batch", seq, config.vocab])
    return g.model()


def _dropping(config: TransformerConfig, phase: str, dropout: float | None) -> TransformerConfig:
    """`config` with what this phase drops."""
    if phase == "train":
        return config if dropout is None else replace(config, dropout=dropout)
    if dropout:
        raise InvalidInputError(
            f"phase {phase!r} drops nothing, dropout is {dropout!r}",
            code="model_config",
            place="dropout",
            remedy="leave dropout out, or ask for phase 'train'",
        )
    return replace(config, dropout=0.0)


def _loss(g: GraphBuilder, logits: str) -> None:
    """The output `loss`: of the token behind each, the mean of -log(its share)."""
    labels = g.input("labels", ["batch", "seq"], INT64)
    shares = g.node("LogSoftmax", logits, axis=-1)
    picked = g.node("GatherElements", shares, unsqueeze(g, labels, 2), axis=2)
    g.node("Neg", g.node("ReduceMean", picked, keepdims=0), out="loss")
    g.output("loss", [])


def _embedding(g: GraphBuilder, config: TransformerConfig, step: Step, ids: str, table: str) -> str:
    """The rows of `table` for the tokens `ids`, scaled, and those of their positions."""
    x = scaled(g, embedded(g, ids, table), config.embedding_scale)
    if config.positions:
        rows = config.positions + config.position_offset
        positions = g.weight("embed_positions.weight", (rows, config.hidden))
        x = g.node("Add", x, _rows(g, config, step, positions))
    return dropped(g, x, config.dropout)


def _head(g: GraphBuilder, x: str, table: str, config: TransformerConfig) -> str:
    """The logits: of the embedding `table` again where they are tied."""
    width = config.vocab // config.head_parts
    found = [_head_part(g, x, table, config, part * width) for part in range(config.head_parts)]
    logits = g.node("Concat", *found, axis=-1) if len(found) > 1 else found[0]
    return softcapped(g, logits, config.final_softcap)


def _head_part(g: GraphBuilder, x: str, table: str, config: TransformerConfig, start: int) -> str:
    """The logits of the tokens from `start` on, a part of the head."""
    width = config.vocab // config.head_parts
    if config.tied:
        if config.head_parts > 1:
            table = g.node("Slice", table, g.ints(start), g.ints(start + width), g.ints(0))
        return g.node("MatMul", x, transpose(g, table, 1, 0))
    name = f"lm_head.{start // width}" if config.head_parts > 1 else "lm_head"
    return linear(g, x, name, (config.hidden, width), bias=False)


def _rows(g: GraphBuilder, config: TransformerConfig, step: Step, table: str) -> str:
    """The rows of the position table for the tokens: as many as count up to each of them."""
    index = g.node("CumSum", step.mask, g.integer(1))
    if step.decode:
        index = g.node("Slice", index, g.ints(-1), g.ints(_BEHIND), g.ints(1))
    return embedded(g, g.node("Add", index, g.integer(config.position_offset - 1)), table)


def _layers(g: GraphBuilder, config: TransformerConfig, step: Step, x: str) -> str:
    """All layers, one behind the other."""
    for layer in range(config.layers):
        with g.scope(f"layers.{layer}"):
            x = _layer(g, config, layer, step, x)
    return x


def _layer(g: GraphBuilder, config: TransformerConfig, layer: int, step: Step, x: str) -> str:
    """One layer: attention and network, each with its norm and its residual."""

    def normed(value: str, name: str) -> str:
        return norm(g, value, name, config.hidden, config.norm, config.epsilon)

    before = normed(x, "input_layernorm")
    found = dropped(g, attention(g, config, layer, step, before), config.dropout)
    if config.post_norms:
        found = normed(found, "post_attention_layernorm")
    if config.parallel:
        other = dropped(g, feed_forward(g, config, layer, before), config.dropout)
        return g.node("Add", g.node("Add", x, found), other)
    x = g.node("Add", x, found)
    name = "pre_feedforward_layernorm" if config.post_norms else "post_attention_layernorm"
    found = dropped(g, feed_forward(g, config, layer, normed(x, name)), config.dropout)
    if config.post_norms:
        found = normed(found, "post_feedforward_layernorm")
    return g.node("Add", x, found)
