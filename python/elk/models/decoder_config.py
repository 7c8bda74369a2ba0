"""Hyper-parameters of transformers: plain values, checked where they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from elk.base.choices import one_of
from elk.errors import InvalidInputError

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "clamped_swiglu")
NORMS = ("rmsnorm", "layernorm")
ROUTERS = ("topk_softmax", "softmax_topk", "sigmoid_groups")
ROTATIONS = ("none", "linear", "llama3", "yarn")


# Above these sizes nothing is a model, and writing its graph would not end.
_MOST = 1 << 31
MOST_LAYERS = 4096


def positive(config: Any, *names: str, least: int = 1, most: int = _MOST) -> None:
    """Refuses fields of `config` that are no integer from `least` to `most`.

    Raises:
        InvalidInputError: One of them is not; the place is the field.
    """
    for name in names:
        value = getattr(config, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= most:
            refuse(config, name, f"must be an integer from {least} to {most}, got {value!r}")


def real(config: Any, *names: str) -> None:
    """Refuses fields of `config` that are no positive number, or None.

    Raises:
        InvalidInputError: One of them is not; the place is the field.
    """
    for name in names:
        value = getattr(config, name)
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (known and math.isfinite(value) and value > 0.0):
            refuse(config, name, f"must be a positive number, got {value!r}")


def share(config: Any, name: str) -> None:
    """Refuses a field of `config` that is no number of at least 0 and below 1.

    Raises:
        InvalidInputError: It is not; the place is the field.
    """
    value = getattr(config, name)
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not 0.0 <= value < 1.0:
        refuse(config, name, f"must be a number of at least 0 and below 1, got {value!r}")


def several(config: Any, name: str, *, least: int) -> None:
    """Refuses a field of `config` that is no tuple of integers of at least `least`.

    Raises:
        InvalidInputError: It is not; the place is the field.
    """
    values = getattr(config, name)
    if not isinstance(values, tuple) or not values:
        refuse(config, name, f"must be a tuple of integers, got {values!r}")
    for value in values:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= _MOST:
            refuse(config, name, f"must hold integers from {least} to {_MOST}, got {value!r}")


def part(config: Any, name: str, kind: type) -> None:
    """Refuses a field of `config` that is neither a `kind` nor None.

    Raises:
        InvalidInputError: It is not; the place is the field.
    """
    value = getattr(config, name)
    if value is not None and not isinstance(value, kind):
        refuse(config, name, f"must be a {kind.__name__} or None, got {value!r}",
               f"write elk.models.{kind.__name__}(...)")  # fmt: skip


def refuse(config: Any, name: str, rule: str, remedy: str | None = None) -> NoReturn:
    """Refuses field `name` of `config` by `rule`.

    Raises:
        InvalidInputError: Always.
    """
    raise InvalidInputError(
        f"{name} {rule}",
        code="model_config",
        place=f"{type(config).__name__}.{name}",
        remedy=remedy or "see the published configuration of the model",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rope:
    """Rotary positions.

    Attributes:
        theta: The base of the frequencies.
        scaling: How they are stretched for long contexts: "none", "linear", "llama3" or "yarn".
        factor: By how much they are stretched.
        original: Positions of the model before it was stretched.
        low: llama3's low frequency factor; yarn's beta_slow.
        high: llama3's high frequency factor; yarn's beta_fast.
        attention_factor: What cos and sin are multiplied by.
        interleaved: Whether neighbours are rotated, not halves.
        truncate: Whether yarn rounds the range of dimensions that it blends.

    Example:
        >>> elk.models.Rope(theta=500000.0, scaling="llama3", factor=8.0).high
        4.0

    Raises:
        InvalidInputError: A value that no rotation has.
    """

    theta: float = 10000.0
    scaling: str = "none"
    factor: float = 1.0
    original: int = 8192
    low: float = 1.0
    high: float = 4.0
    attention_factor: float = 1.0
    interleaved: bool = False
    truncate: bool = True

    def __post_init__(self) -> None:
        one_of("scaling", self.scaling, ROTATIONS)
        positive(self, "original")
        real(self, "theta", "factor", "low", "high", "attention_factor")
        if self.theta <= 1.0:
            refuse(self, "theta", f"must be above 1, got {self.theta!r}")
        if self.low >= self.high:
            refuse(self, "low", f"must be below high, {self.high!r}, got {self.low!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture of experts in the place of the feed-forward network.

    Attributes:
        experts: How many there are.
        topk: How many a token goes through.
        ffn: Inner width of one of them.
        shared: Experts that every token goes through, as one network of `shared * ffn`.
        router: "topk_softmax": a softmax over those that are taken. "softmax_topk": a softmax
            over all, not scaled again. "sigmoid_groups": as DeepSeek-V3, with a bias for choosing.
        groups: Groups of experts; above one only with "sigmoid_groups".
        top_groups: Groups that a token may choose from.
        scale: What the weights of "sigmoid_groups" are multiplied by.
        bias: Whether the router and the experts have biases.
        dense_layers: Layers at the front that have a feed-forward network instead.
        parts: Into how many products each matrix of an expert is cut along `ffn`. An op is
            planned whole, so its weights have to fit the SRAM of all cores.

    Example:
        >>> elk.models.Experts(experts=8, topk=2, ffn=14336).router
        'topk_softmax'

    Raises:
        InvalidInputError: A value that no mixture has.
    """

    experts: int
    topk: int
    ffn: int
    shared: int = 0
    router: str = "topk_softmax"
    groups: int = 1
    top_groups: int = 1
    scale: float = 1.0
    bias: bool = False
    dense_layers: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        positive(self, "experts", "topk", "ffn", "groups", "top_groups")
        positive(self, "parts", most=MOST_LAYERS)
        positive(self, "shared", "dense_layers", least=0)
        real(self, "scale")
        one_of("router", self.router, ROUTERS)
        if self.ffn % self.parts:
            refuse(self, "parts", f"must divide ffn, {self.ffn}, got {self.parts}")
        if self.experts % self.groups:
            refuse(self, "groups", f"must divide the {self.experts} experts, got {self.groups}")
        if self.top_groups > self.groups:
            refuse(self, "top_groups", f"must be at most {self.groups}, got {self.top_groups}")
        if self.topk > self.experts // self.groups * self.top_groups:
            refuse(self, "topk", f"must be at most the experts to choose from, got {self.topk}")
        if self.groups > 1 and self.router != "sigmoid_groups":
            refuse(self, "groups", f"must be 1 with router {self.router!r}, got {self.groups}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention: keys and values are kept as one latent row for all heads.

    Attributes:
        kv_rank: Width of the latent row.
        nope: Width of the part of a head without positions.
        rope: Width of the part with rotary positions, one for all heads.
        value: Width of a value.
        q_rank: Width of the latent query; None where queries are projected at once.

    Example:
        >>> mla = elk.models.LatentAttention(kv_rank=512, nope=128, rope=64, value=128)
        >>> mla.kv_rank + mla.rope  # Elements kept for each token.
        576

    Raises:
        InvalidInputError: A width that is not positive, or an odd `rope`.
    """

    kv_rank: int
    nope: int
    rope: int
    value: int
    q_rank: int | None = None

    def __post_init__(self) -> None:
        positive(self, "kv_rank", "nope", "rope", "value")
        if self.q_rank is not None:
            positive(self, "q_rank")
        if self.rope % 2:
            refuse(self, "rope", f"must be even, got {self.rope}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """A decoder-only transformer.

    Attributes:
        layers: Layers.
        hidden: Width of the residual stream.
        heads: Query heads.
        vocab: Rows of the embedding.
        ffn: Inner width of the feed-forward network; 0 where all layers have experts.
        kv_heads: Heads of keys and values; None: as many as query heads. 1: multi-query.
        head_dim: Width of a head; None: `hidden / heads`.
        activation: "silu", "gelu", "gelu_tanh", "relu", or "clamped_swiglu" (gpt-oss).
        gated: Whether a gate is multiplied with the activation.
        norm: "rmsnorm" or "layernorm"; the scale 1 + w of some models is stored as such.
        epsilon: Of the norms.
        final_norm: Whether the last norm has weights.
        post_norms: Whether attention and feed-forward network are followed by a norm too.
        parallel: Whether both read the same norm and are added at once.
        rope: Rotary positions; None where there are none.
        positions: Rows of a learned table of positions; 0 where there is none.
        position_offset: The row of the first position.
        tied: Whether the head is the embedding.
        head_parts: Into how many products the head is cut along the vocabulary, as `parts` of
            experts.
        qkv_bias: Whether queries, keys and values have biases.
        out_bias: Whether the projection behind attention has a bias.
        ffn_bias: Whether the feed-forward network has biases.
        qk_norm: Whether queries and keys are normalised, each head by itself.
        sinks: Whether each head has a learned share of attention that goes nowhere.
        softcap: Cap of attention scores by tanh; None where there is none.
        final_softcap: The same of the logits.
        query_scale: What scores are multiplied by; None: one over the root of a head's width.
        embedding_scale: What embeddings are multiplied by.
        windows: How many tokens each layer attends to, repeated over the layers; 0: all.
        experts: A mixture of experts; None where there is none.
        mla: Multi-head latent attention; None where keys and values have heads.
        dropout: The share of embeddings, of attention and of what a layer adds that training drops.

    Example:
        >>> config = elk.models.TransformerConfig(
        ...     layers=2, hidden=256, heads=8, kv_heads=2, vocab=1000, ffn=512
        ... )
        >>> config.head_size
        32

    Raises:
        InvalidInputError: A value that no transformer has; the place is the field.
    """

    layers: int
    hidden: int
    heads: int
    vocab: int
    ffn: int = 0
    kv_heads: int | None = None
    head_dim: int | None = None
    activation: str = "silu"
    gated: bool = True
    norm: str = "rmsnorm"
    epsilon: float = 1e-5
    final_norm: bool = True
    post_norms: bool = False
    parallel: bool = False
    rope: Rope | None = Rope()
    positions: int = 0
    position_offset: int = 0
    tied: bool = False
    head_parts: int = 1
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False
    softcap: float | None = None
    final_softcap: float | None = None
    query_scale: float | None = None
    embedding_scale: float = 1.0
    windows: tuple[int, ...] = (0,)
    experts: Experts | None = None
    mla: LatentAttention | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        share(self, "dropout")
        positive(self, "layers", most=MOST_LAYERS)
        positive(self, "hidden", "heads", "vocab", "head_parts")
        positive(self, "ffn", "positions", "position_offset", least=0)
        real(self, "epsilon", "softcap", "final_softcap", "query_scale", "embedding_scale")
        several(self, "windows", least=0)
        for name, kind in (("rope", Rope), ("experts", Experts), ("mla", LatentAttention)):
            part(self, name, kind)
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("norm", self.norm, NORMS)
        self._check_heads()
        self._check_layers()

    def _check_heads(self) -> None:
        for name in ("kv_heads", "head_dim"):
            if getattr(self, name) is not None:
                positive(self, name)
        if self.heads % self.kv:
            refuse(self, "kv_heads", f"must divide the {self.heads} heads, got {self.kv}")
        if self.head_dim is None and self.mla is None and self.hidden % self.heads:
            refuse(self, "hidden", f"must be a multiple of the {self.heads} heads",
                   "give head_dim")  # fmt: skip
        if self.rope is not None and self.mla is None and self.head_size % 2:
            refuse(self, "head_dim", f"must be even to be rotated, got {self.head_size}")
        plain = self.kv_heads is None and self.head_dim is None and not self.qk_norm
        if self.mla is not None and not (plain and not self.sinks and self.rope is not None):
            refuse(self, "mla", "has neither kv_heads, head_dim, qk_norm nor sinks, but rope")

    def _check_layers(self) -> None:
        if self.vocab % self.head_parts or self.head_parts > MOST_LAYERS:
            refuse(self, "head_parts", f"must divide vocab, {self.vocab}, got {self.head_parts}")
        dense = self.experts is None or self.experts.dense_layers > 0
        if dense and not self.ffn:
            refuse(self, "ffn", "must be positive where layers have no experts")
        if self.activation == "clamped_swiglu" and not self.gated:
            refuse(self, "gated", "must be true with 'clamped_swiglu'")

    @property
    def kv(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def head_size(self) -> int:
        """Width of a head of keys."""
        return self.hidden // self.heads if self.head_dim is None else self.head_dim

    def window(self, layer: int) -> int:
        """How many tokens `layer` attends to; 0: all."""
        return self.windows[layer % len(self.windows)]
