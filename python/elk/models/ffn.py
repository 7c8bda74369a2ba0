"""What follows attention: a feed-forward network, or a mixture of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk.models.graph import (
    GraphBuilder,
    activated,
    embedded,
    linear,
    reshape,
    scaled,
    split,
    unsqueeze,
)

if TYPE_CHECKING:
    from elk.models.decoder_config import Experts, TransformerConfig

# gpt-oss clamps its gate and up projections to this, and scales the gate's sigmoid.
_LIMIT = 7.0
_ALPHA = 1.702


def feed_forward(g: GraphBuilder, config: TransformerConfig, layer: int, x: str) -> str:
    """The network of `layer` for `x` [batch, seq, hidden]."""
    with g.scope("mlp"):
        if config.experts is None or layer < config.experts.dense_layers:
            return dense(g, config, x, config.ffn)
        return _mixture(g, config, config.experts, x)


def dense(g: GraphBuilder, config: TransformerConfig, x: str, width: int) -> str:
    """A network of inner width `width`, gated or not."""
    inner, bias = (config.hidden, width), config.ffn_bias
    if config.gated:
        gate = linear(g, x, "gate_proj", inner, bias=bias)
        middle = _gated(g, config, gate, linear(g, x, "up_proj", inner, bias=bias))
    else:
        middle = activated(g, linear(g, x, "up_proj", inner, bias=bias), config.activation)
    return linear(g, middle, "down_proj", (width, config.hidden), bias=bias)


def _gated(g: GraphBuilder, config: TransformerConfig, gate: str, up: str) -> str:
    if config.activation != "clamped_swiglu":
        return g.node("Mul", activated(g, gate, config.activation), up)
    gate = g.node("Min", gate, g.floats(_LIMIT))
    up = g.node("Clip", up, g.floats(-_LIMIT), g.floats(_LIMIT))
    glu = g.node("Mul", gate, g.node("Sigmoid", scaled(g, gate, _ALPHA)))
    return g.node("Mul", g.node("Add", up, g.floats(1.0)), glu)


def _mixture(g: GraphBuilder, config: TransformerConfig, moe: Experts, x: str) -> str:
    """Each token gathers the matrices of its experts, as exporters write it.

    ELK reads the experts that are hit, once each; nothing is copied.
    """
    with g.scope("gate"):
        logits = linear(g, x, "router", (config.hidden, moe.experts), bias=moe.bias)
        share, index = _routed(g, moe, logits)
    found = [_part(g, config, moe, part, index, x) for part in range(moe.parts)]
    down = found[0]
    for other in found[1:]:
        down = g.node("Add", down, other)
    with g.scope("experts"):
        if moe.bias:
            rows = embedded(g, index, g.weight("down_proj.bias", (moe.experts, config.hidden)))
            down = g.node("Add", down, unsqueeze(g, rows, 3))
        weighted = g.node("Mul", g.node("Squeeze", down, g.ints(3)), unsqueeze(g, share, 3))
        result = g.node("ReduceSum", weighted, g.ints(2), keepdims=0)
    if moe.shared:
        with g.scope("shared_experts"):
            result = g.node("Add", result, dense(g, config, x, moe.shared * moe.ffn))
    return result


def _part(
    g: GraphBuilder, config: TransformerConfig, moe: Experts, part: int, index: str, x: str
) -> str:
    """What a part of each expert's inner width adds: [batch, seq, topk, 1, hidden]."""
    width = moe.ffn // moe.parts
    inner = width * (2 if config.gated else 1)
    with g.scope(f"experts.{part}" if moe.parts > 1 else "experts"):
        token = unsqueeze(g, x, 2, 3)  # [batch, seq, 1, 1, hidden]
        up = _chosen(g, moe, "gate_up_proj", index, token, (config.hidden, inner))
        if moe.bias:
            rows = embedded(g, index, g.weight("gate_up_proj.bias", (moe.experts, inner)))
            up = g.node("Add", up, unsqueeze(g, rows, 3))
        if config.gated:
            middle = _gated(g, config, *split(g, up, -1, width, width))
        else:
            middle = activated(g, up, config.activation)
        return _chosen(g, moe, "down_proj", index, middle, (width, config.hidden))


def _chosen(
    g: GraphBuilder, moe: Experts, name: str, index: str, x: str, sizes: tuple[int, int]
) -> str:
    """`x` [batch, seq, 1 or topk, 1, n] times the matrices [n, m] that `index` names."""
    matrices = embedded(g, index, g.weight(f"{name}.weight", (moe.experts, *sizes)))
    return g.node("MatMul", x, matrices)


def _routed(g: GraphBuilder, moe: Experts, logits: str) -> tuple[str, str]:
    """The weights of the chosen experts and their numbers, both [batch, seq, topk]."""
    if moe.router == "topk_softmax":
        best, index = _best(g, logits, moe.topk)
        return g.node("Softmax", best, axis=-1), index
    if moe.router == "softmax_topk":
        share, index = _best(g, g.node("Softmax", logits, axis=-1), moe.topk)
        return share, index
    score = g.node("Sigmoid", logits)
    bias = g.weight("e_score_correction_bias", (moe.experts,))
    choice = _in_groups(g, moe, g.node("Add", score, bias))
    index = _best(g, choice, moe.topk)[1]
    best = g.node("GatherElements", score, index, axis=-1)
    total = g.node("ReduceSum", best, g.ints(-1), keepdims=1)
    return scaled(g, g.node("Div", best, total), moe.scale), index


def _in_groups(g: GraphBuilder, moe: Experts, choice: str) -> str:
    """`choice` with the lowest number in all groups but the best ones.

    A group counts as much as its two best experts (DeepSeek-V3, arXiv:2412.19437, section 2.1.2).
    """
    if moe.groups == moe.top_groups:
        return choice
    each = moe.experts // moe.groups
    groups = reshape(g, choice, 0, 0, moe.groups, each)
    two = _best(g, groups, min(2, each))[0]
    sums = g.node("ReduceSum", two, g.ints(-1), keepdims=0)
    last = g.node("ReduceMin", _best(g, sums, moe.top_groups)[0], g.ints(-1), keepdims=1)
    good = unsqueeze(g, g.node("GreaterOrEqual", sums, last), 3)
    spread = g.node("Expand", good, g.ints(1, 1, 1, each))
    flat = reshape(g, spread, 0, 0, moe.experts)
    return g.node("Where", flat, choice, g.floats(g.lowest))


def _best(g: GraphBuilder, x: str, count: int) -> list[str]:
    return g.nodes("TopK", x, g.ints(count), count=2, axis=-1)
