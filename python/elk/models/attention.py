"""Attention with a cache: grouped heads, and latent rows.

A decode step takes one token: its key and value are appended to the cache, and queries meet all
of it. Prefill starts with no cache and gives it; training has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elk.models.graph import (
    BOOL,
    INT64,
    GraphBuilder,
    count_up,
    dropped,
    linear,
    norm,
    reshape,
    scaled,
    size_of,
    softcapped,
    split,
    transpose,
    unsqueeze,
)
from elk.models.rotary import angles, frequencies, halves, rotated

if TYPE_CHECKING:
    from elk.models.decoder_config import LatentAttention, TransformerConfig

_BEHIND = (1 << 63) - 1  # A bound behind the last one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What all layers of one run have in common.

    Attributes:
        phase: "decode", "prefill" or "train".
        dropout: The share of attention that training drops.
        mask: 1 for each token that counts and 0 for padding, past tokens included.
        angle: Cos and sin of the positions; None without rotary positions.
        masks: For each window what is added to scores: 0, or the lowest number.
    """

    phase: str
    dropout: float
    mask: str
    angle: tuple[str, str] | None
    masks: dict[int, str]

    @property
    def decode(self) -> bool:
        """Whether this is a decode step."""
        return self.phase == "decode"

    def cached(self, window: int) -> str:
        """Rows of a cache before the step."""
        return f"min(past, {window})" if window else "past"

    def kept(self, window: int) -> str:
        """Rows of a cache after the step."""
        if self.decode:
            return f"{self.cached(window)} + 1"
        return f"min(seq, {window})" if window else "seq"


def begin(g: GraphBuilder, config: TransformerConfig, phase: str) -> Step:
    """Writes what all layers read: the mask that is given, positions, rotations and masks."""
    decode = phase == "decode"
    mask = g.input("attention_mask", ["batch", "past + 1" if decode else "seq"], INT64)
    total = size_of(g, mask, 1)
    positions = g.node("Sub", total, g.ints(1)) if decode else count_up(g, total)
    angle = None
    if config.rope is not None:
        size = config.mla.rope if config.mla else config.head_size
        turns = frequencies(config.rope, size)
        angle = angles(g, turns, positions, config.rope.attention_factor)
    seen = g.node("Cast", mask, to=BOOL)
    grouped = config.mla is None and config.kv != config.heads
    masks = {}
    for window in sorted({config.window(i) for i in range(config.layers)}):
        with g.scope(f"mask{window or ''}"):
            allowed = (_decode_mask if decode else _prefill_mask)(g, seen, positions, window)
            if grouped:
                allowed = unsqueeze(g, allowed, 1)
            masks[window] = g.node("Where", allowed, g.floats(0.0), g.floats(g.lowest))
    return Step(phase=phase, dropout=config.dropout, mask=mask, angle=angle, masks=masks)


def _decode_mask(g: GraphBuilder, seen: str, positions: str, window: int) -> str:
    """What the new token sees of the cache and itself: [batch, 1, 1, rows + 1].

    A cache of a window keeps as many rows; when it is full, its oldest is out of sight.
    """
    if not window:
        return unsqueeze(g, seen, 1, 2)
    rows = g.node("Add", g.node("Min", positions, g.ints(window)), g.ints(1))
    last = g.node("Slice", seen, g.node("Neg", rows), g.ints(_BEHIND), g.ints(1))
    near = g.node("GreaterOrEqual", count_up(g, rows), g.node("Sub", rows, g.ints(window)))
    return g.node("And", unsqueeze(g, last, 1, 2), near)


def _prefill_mask(g: GraphBuilder, seen: str, positions: str, window: int) -> str:
    """What tokens see of themselves and those before: [batch, 1, seq, seq]."""
    query = unsqueeze(g, positions, 1)
    causal = g.node("LessOrEqual", positions, query)
    if window:
        near = g.node("Greater", positions, g.node("Sub", query, g.ints(window)))
        causal = g.node("And", causal, near)
    return g.node("And", causal, unsqueeze(g, seen, 1, 2))


def attention(g: GraphBuilder, config: TransformerConfig, layer: int, step: Step, x: str) -> str:
    """Attention of `x` [batch, seq, hidden], and the output that holds the cache."""
    with g.scope("self_attn"):
        if config.mla is not None:
            return _latent(g, config, layer, step, x)
        return _grouped(g, config, layer, step, x)


def _grouped(g: GraphBuilder, config: TransformerConfig, layer: int, step: Step, x: str) -> str:
    """Query heads in groups that share keys and values; the group is a dimension of its own."""
    kv, size = config.kv, config.head_size
    shared = config.heads != kv
    groups = (kv, config.heads // kv) if shared else (kv,)
    query, key, value = (
        _heads(g, config, step, x, name, heads)
        for name, heads in (("q", groups), ("k", (kv,)), ("v", (kv,)))
    )
    scale = size**-0.5 if config.query_scale is None else config.query_scale
    query = scaled(g, query, scale)
    keys = _remembered(g, config, layer, step, key, "key")
    values = _remembered(g, config, layer, step, value, "value")
    if shared:
        keys, values = unsqueeze(g, keys, 2), unsqueeze(g, values, 2)
    perm = (0, 1, 2, 4, 3) if shared else (0, 1, 3, 2)
    scores = g.node("MatMul", query, transpose(g, keys, *perm))
    scores = softcapped(g, scores, config.softcap)
    scores = g.node("Add", scores, step.masks[config.window(layer)])
    result = g.node("MatMul", _shares(g, step, scores), values)
    if config.sinks:
        result = _sunk(g, scores, result, groups)
    return _joined(g, config, result, size, shared=shared)


def _shares(g: GraphBuilder, step: Step, scores: str) -> str:
    """What each token attends to, of which training drops some."""
    return dropped(g, g.node("Softmax", scores, axis=-1), step.dropout)


def _heads(
    g: GraphBuilder,
    config: TransformerConfig,
    step: Step,
    x: str,
    name: str,
    heads: tuple[int, ...],
) -> str:
    """A projection of `x` as [batch, *heads, seq, head], normalised and rotated as it needs."""
    size, width = config.head_size, config.head_size
    for count in heads:
        width *= count
    flat = linear(g, x, f"{name}_proj", (config.hidden, width), bias=config.qkv_bias)
    value = reshape(g, flat, 0, 0, *heads, size)
    turned = name != "v"
    if turned and config.qk_norm:
        value = norm(g, value, f"{name}_norm", size, "rmsnorm", config.epsilon)
    value = transpose(g, value, 0, *range(2, 2 + len(heads)), 1, 2 + len(heads))
    if turned and step.angle is not None:
        if config.rope is not None and config.rope.interleaved:
            value = halves(g, value, 2 + len(heads), size)
        value = rotated(g, value, size, step.angle)
    return value


def _remembered(
    g: GraphBuilder, config: TransformerConfig, layer: int, step: Step, new: str, part: str
) -> str:
    """What attention reads of a cache [batch, heads, rows, size]: the past with `new` behind it."""
    if step.phase == "train":
        return new
    mla, window = config.mla, config.window(layer)
    heads, size = (1, mla.kv_rank + mla.rope) if mla else (config.kv, config.head_size)
    out = f"present.{layer}.{part}"
    if step.decode:
        dims: list[int | str] = ["batch", heads, step.cached(window), size]
        past = g.input(f"past_key_values.{layer}.{part}", dims)
        rows = g.node("Concat", past, new, out=out, axis=2)
    elif window:
        rows = new
        g.node("Slice", new, g.ints(-window), g.ints(_BEHIND), g.ints(2), out=out)
    else:
        rows = g.node("Identity", new, out=out)
    g.output(out, ["batch", heads, step.kept(window), size])
    return rows


def _sunk(g: GraphBuilder, scores: str, result: str, groups: tuple[int, ...]) -> str:
    """`result` less the share of attention that a learned score of each head takes.

    A softmax over scores and one more score s is the softmax over the scores alone times
    1 / (1 + exp(s - log sum exp(scores))): no score is copied.
    """
    heads = 1
    for count in groups:
        heads *= count
    sink = reshape(g, g.weight("sinks", (heads,)), *groups, 1, 1)
    whole = g.node("ReduceLogSumExp", scores, g.ints(-1), keepdims=1)
    return g.node("Mul", result, g.node("Sigmoid", g.node("Sub", whole, sink)))


def _joined(
    g: GraphBuilder, config: TransformerConfig, result: str, size: int, *, shared: bool = False
) -> str:
    """Heads side by side, and the projection behind them."""
    perm = (0, 3, 1, 2, 4) if shared else (0, 2, 1, 3)
    width = config.heads * size
    rows = reshape(g, transpose(g, result, *perm), 0, 0, width)
    return linear(g, rows, "o_proj", (width, config.hidden), bias=config.out_bias)


def _latent(g: GraphBuilder, config: TransformerConfig, layer: int, step: Step, x: str) -> str:
    """Attention over latent rows (DeepSeek-V2, arXiv:2405.04434, section 2.1).

    A decode step multiplies queries with the part of `kv_b_proj` that would make keys, so that
    they meet the latent rows themselves; prefill makes keys and values.
    """
    mla = config.mla
    assert mla is not None, "the caller looked"
    plain, turned = _latent_query(g, config, mla, step, x)
    row = _latent_row(g, config, mla, step, x)
    rows = _remembered(g, config, layer, step, row, "latent")
    with g.scope("kv_b_proj"):
        width = config.heads * (mla.nope + mla.value)
        weight = g.weight("weight", (mla.kv_rank, width))
    query = (plain, turned)
    to_value = None
    if step.decode:
        both, keys, values, to_value = _absorbed(g, config, query, rows, weight)
    else:
        both, keys, values = _expanded(g, config, query, rows, weight)
    scores = g.node("MatMul", both, transpose(g, keys, 0, 1, 3, 2))
    scores = g.node("Add", scores, step.masks[config.window(layer)])
    read = g.node("MatMul", _shares(g, step, scores), values)
    if to_value is not None:
        read = g.node("MatMul", read, to_value)
    return _joined(g, config, read, mla.value)


def _latent_query(
    g: GraphBuilder, config: TransformerConfig, mla: LatentAttention, step: Step, x: str
) -> list[str]:
    """Queries [batch, heads, seq, ...]: the part without positions, and the rotated one."""
    source, name, size = x, "q_proj", config.hidden
    if mla.q_rank is not None:
        source = linear(g, x, "q_a_proj", (config.hidden, mla.q_rank), bias=config.qkv_bias)
        source = norm(g, source, "q_a_layernorm", mla.q_rank, "rmsnorm", config.epsilon)
        name, size = "q_b_proj", mla.q_rank
    head = mla.nope + mla.rope
    flat = linear(g, source, name, (size, config.heads * head), bias=False)
    scale = head**-0.5 if config.query_scale is None else config.query_scale
    query = transpose(g, reshape(g, scaled(g, flat, scale), 0, 0, config.heads, head), 0, 2, 1, 3)
    plain, turned = split(g, query, -1, mla.nope, mla.rope)
    return [plain, _turned(g, config, mla, step, turned)]


def _latent_row(
    g: GraphBuilder, config: TransformerConfig, mla: LatentAttention, step: Step, x: str
) -> str:
    """What is kept of each token: [batch, 1, seq, kv_rank + rope]."""
    sizes = (config.hidden, mla.kv_rank + mla.rope)
    both = linear(g, x, "kv_a_proj_with_mqa", sizes, bias=config.qkv_bias)
    latent, key = split(g, both, -1, mla.kv_rank, mla.rope)
    latent = norm(g, latent, "kv_a_layernorm", mla.kv_rank, "rmsnorm", config.epsilon)
    key = _turned(g, config, mla, step, unsqueeze(g, key, 1))
    return g.node("Concat", unsqueeze(g, latent, 1), key, axis=-1)


def _turned(
    g: GraphBuilder, config: TransformerConfig, mla: LatentAttention, step: Step, x: str
) -> str:
    assert step.angle is not None, "latent attention has rotary positions"
    if config.rope is not None and config.rope.interleaved:
        x = halves(g, x, 3, mla.rope)
    return rotated(g, x, mla.rope, step.angle)


def _absorbed(
    g: GraphBuilder, config: TransformerConfig, query: tuple[str, str], rows: str, weight: str
) -> tuple[str, str, str, str]:
    """Queries times a part of `weight`, the latent rows as keys and values, and the other part."""
    mla = config.mla
    assert mla is not None, "the caller looked"
    heads = transpose(g, reshape(g, weight, 0, config.heads, mla.nope + mla.value), 1, 0, 2)
    to_key, to_value = split(g, heads, -1, mla.nope, mla.value)
    latent = g.node("MatMul", query[0], transpose(g, to_key, 0, 2, 1))
    both = g.node("Concat", latent, query[1], axis=-1)
    values = g.node("Slice", rows, g.ints(0), g.ints(mla.kv_rank), g.ints(-1))
    return both, rows, values, to_value


def _expanded(
    g: GraphBuilder, config: TransformerConfig, query: tuple[str, str], rows: str, weight: str
) -> tuple[str, str, str]:
    """Queries, and keys and values made from latent rows."""
    mla = config.mla
    assert mla is not None, "the caller looked"
    latent, turned = split(g, rows, -1, mla.kv_rank, mla.rope)
    flat = g.node("MatMul", g.node("Squeeze", latent, g.ints(1)), weight)
    heads = reshape(g, flat, 0, 0, config.heads, mla.nope + mla.value)
    plain, values = split(g, transpose(g, heads, 0, 2, 1, 3), -1, mla.nope, mla.value)
    every = g.node("Expand", turned, g.ints(1, config.heads, 1, 1))
    keys = g.node("Concat", plain, every, axis=-1)
    return g.node("Concat", *query, axis=-1), keys, values
