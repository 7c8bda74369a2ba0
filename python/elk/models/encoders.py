"""Encoders of images, text and sound as ONNX graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk.base.choices import one_of
from elk.models.graph import (
    BOOL,
    INT64,
    GraphBuilder,
    activated,
    count_up,
    embedded,
    hidden_states,
    last_hidden_state,
    linear,
    norm,
    reshape,
    scaled,
    size_of,
    transpose,
    unsqueeze,
)

if TYPE_CHECKING:
    import onnx

    from elk.models.sizes import AudioEncoderConfig, EncoderConfig, VisionTransformerConfig

PHASES = ("forward",)


def self_attention(
    g: GraphBuilder,
    x: str,
    sizes: tuple[int, int],
    mask: str | None = None,
    *,
    key_bias: bool = True,
) -> str:
    """Attention of all tokens of `x` [batch, seq, hidden]; `sizes` are hidden and heads."""
    hidden, heads = sizes
    size = hidden // heads

    def projected(name: str, factor: float = 1.0, *, bias: bool = True) -> str:
        flat = scaled(g, linear(g, x, name, (hidden, hidden), bias=bias), factor)
        return transpose(g, reshape(g, flat, 0, 0, heads, size), 0, 2, 1, 3)

    with g.scope("self_attn"):
        query = projected("q_proj", size**-0.5)
        key, value = projected("k_proj", bias=key_bias), projected("v_proj")
        scores = g.node("MatMul", query, transpose(g, key, 0, 1, 3, 2))
        if mask is not None:
            scores = g.node("Add", scores, mask)
        read = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
        rows = reshape(g, transpose(g, read, 0, 2, 1, 3), 0, 0, hidden)
        return linear(g, rows, "o_proj", (hidden, hidden), bias=True)


def network(g: GraphBuilder, x: str, sizes: tuple[int, int], activation: str = "gelu") -> str:
    """A feed-forward network with biases; `sizes` are hidden and the inner width."""
    with g.scope("mlp"):
        middle = activated(g, linear(g, x, "fc1", sizes, bias=True), activation)
        return linear(g, middle, "fc2", sizes[::-1], bias=True)


def _pre_norm(
    g: GraphBuilder,
    x: str,
    config: VisionTransformerConfig | AudioEncoderConfig,
    *,
    key_bias: bool = True,
) -> str:
    """Layers whose norms come first."""
    for layer in range(config.layers):
        with g.scope(f"layers.{layer}"):
            before = norm(g, x, "norm1", config.hidden, "layernorm", config.epsilon)
            found = self_attention(g, before, (config.hidden, config.heads), key_bias=key_bias)
            x = g.node("Add", x, found)
            before = norm(g, x, "norm2", config.hidden, "layernorm", config.epsilon)
            x = g.node("Add", x, network(g, before, (config.hidden, config.ffn)))
    return x


def _first_token(g: GraphBuilder, x: str) -> str:
    """The first token of `x` [batch, seq, hidden] as [batch, hidden]."""
    first = g.node("Slice", x, g.ints(0), g.ints(1), g.ints(1))
    return g.node("Squeeze", first, g.ints(1))


def vision_transformer(
    config: VisionTransformerConfig,
    *,
    phase: str = "forward",
    dtype: str = "f16",
    name: str = "vision_transformer",
    body: bool = False,
) -> onnx.ModelProto:
    """A vision transformer as ONNX, without weights.

    It takes `pixel_values` [batch, channels, image, image] and gives `logits` [batch, classes].
    A body takes `hidden_states` and gives `last_hidden_state`, both [batch, tokens, hidden].

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.vision_transformer(elk.models.config("vit-base-16"))
        >>> elk.load_model(model, bindings={"batch": 1}).facts.external_parameters
        86567656
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    hidden, patch = config.hidden, config.patch
    if body:
        x = _pre_norm(g, hidden_states(g, config.tokens, hidden), config)
        last_hidden_state(g, x, config.tokens, hidden)
        return g.model()
    pixels = g.input("pixel_values", ["batch", config.channels, config.image, config.image])
    with g.scope("patches"):
        kernel = g.weight("weight", (hidden, config.channels, patch, patch))
        bias = g.weight("bias", (hidden,))
        x = g.node("Conv", pixels, kernel, bias, strides=[patch, patch])
    x = transpose(g, reshape(g, x, 0, hidden, -1), 0, 2, 1)
    shape = g.node("Concat", size_of(g, pixels, 0), g.ints(1, hidden), axis=0)
    token = g.node("Expand", g.weight("cls_token", (1, 1, hidden)), shape)
    x = g.node("Concat", token, x, axis=1)
    x = g.node("Add", x, g.weight("positions", (1, config.tokens, hidden)))
    x = norm(g, _pre_norm(g, x, config), "norm", hidden, "layernorm", config.epsilon)
    x = _first_token(g, x)
    logits = linear(g, x, "classifier", (hidden, config.classes), bias=True)
    g.output(g.node("Identity", logits, out="logits"), ["batch", config.classes])
    return g.model()


def encoder(
    config: EncoderConfig,
    *,
    phase: str = "forward",
    dtype: str = "f16",
    name: str = "encoder",
    body: bool = False,
) -> onnx.ModelProto:
    """A text encoder as ONNX, without weights.

    It takes `input_ids` and `attention_mask` [batch, seq] and gives `last_hidden_state`
    [batch, seq, hidden] and `pooler_output` [batch, hidden]. A body takes `hidden_states`
    [batch, seq, hidden] in the place of `input_ids`, and gives no `pooler_output`.

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.encoder(elk.models.config("bert-large"))
        >>> elk.load_model(model, bindings={"batch": 1, "seq": 512}).facts.external_parameters
        335141888
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    if body:
        x = hidden_states(g, "seq", config.hidden)
        last_hidden_state(g, _post_norm(g, x, config, _seen(g)), "seq", config.hidden)
        return g.model()
    ids = g.input("input_ids", ["batch", "seq"], INT64)
    mask = _seen(g)
    x = _post_norm(g, _text(g, config, ids), config, mask)
    last_hidden_state(g, x, "seq", config.hidden)
    pooled = linear(g, _first_token(g, x), "pooler", (config.hidden, config.hidden), bias=True)
    g.output(g.node("Tanh", pooled, out="pooler_output"), ["batch", config.hidden])
    return g.model()


def _seen(g: GraphBuilder) -> str:
    """The mask that is given, as what is added to scores: 0, or the lowest number."""
    given = g.input("attention_mask", ["batch", "seq"], INT64)
    seen = unsqueeze(g, g.node("Cast", given, to=BOOL), 1, 2)
    return g.node("Where", seen, g.floats(0.0), g.floats(g.lowest))


def _post_norm(g: GraphBuilder, x: str, config: EncoderConfig, mask: str) -> str:
    """Layers whose norms come behind attention and network."""
    for layer in range(config.layers):
        with g.scope(f"layers.{layer}"):
            found = self_attention(g, x, (config.hidden, config.heads), mask)
            x = g.node("Add", x, found)
            x = norm(g, x, "norm1", config.hidden, "layernorm", config.epsilon)
            x = g.node("Add", x, network(g, x, (config.hidden, config.ffn)))
            x = norm(g, x, "norm2", config.hidden, "layernorm", config.epsilon)
    return x


def _text(g: GraphBuilder, config: EncoderConfig, ids: str) -> str:
    """Tokens, their positions and their type, added and normalised."""
    with g.scope("embeddings"):
        words = embedded(g, ids, g.weight("words", (config.vocab, config.hidden)))
        places = g.weight("positions", (config.positions, config.hidden))
        types = g.weight("types", (config.types, config.hidden))
        x = g.node("Add", words, g.node("Slice", types, g.ints(0), g.ints(1), g.ints(0)))
        x = g.node("Add", x, embedded(g, count_up(g, size_of(g, ids, 1)), places))
        return norm(g, x, "norm", config.hidden, "layernorm", config.epsilon)


def audio_encoder(
    config: AudioEncoderConfig,
    *,
    phase: str = "forward",
    dtype: str = "f16",
    name: str = "audio_encoder",
    body: bool = False,
) -> onnx.ModelProto:
    """An encoder of sound as ONNX, without weights.

    It takes `input_features` [batch, mels, frames] and gives `last_hidden_state`
    [batch, frames / 2, hidden]. A body takes `hidden_states` [batch, frames / 2, hidden].

    Args:
        config: The hyper-parameters.
        phase: "forward", the only one.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        name: What the graph is called.
        body: Whether there are only the blocks; `elk.models.get` says what that leaves out.

    Raises:
        InvalidInputError: There is no such phase or dtype.

    Example:
        >>> model = elk.models.audio_encoder(elk.models.config("whisper-tiny-encoder"))
        >>> elk.load_model(model, bindings={"batch": 1}).facts.external_parameters
        8208384
    """
    one_of("phase", phase, PHASES)
    g = GraphBuilder(name, dtype)
    hidden, rows = config.hidden, config.frames // 2
    if body:
        x = _pre_norm(g, hidden_states(g, rows, hidden), config, key_bias=False)
        last_hidden_state(g, x, rows, hidden)
        return g.model()
    x = g.input("input_features", ["batch", config.mels, config.frames])
    for number, (channels, stride) in enumerate(((config.mels, 1), (hidden, 2)), start=1):
        with g.scope(f"conv{number}"):
            kernel, bias = g.weight("weight", (hidden, channels, 3)), g.weight("bias", (hidden,))
            x = activated(g, g.node("Conv", x, kernel, bias, strides=[stride], pads=[1, 1]), "gelu")
    places = g.weight("positions", (rows, hidden))
    x = _pre_norm(g, g.node("Add", transpose(g, x, 0, 2, 1), places), config, key_bias=False)
    x = norm(g, x, "norm", hidden, "layernorm", config.epsilon)
    last_hidden_state(g, x, rows, hidden)
    return g.model()
