"""Attention of queries to keys, and positions: text that all kinds of attention share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.texts import ints, number
from elk.frontend.views.node import require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node
    from elk.frontend.views.views import Shape

LOWEST: Final = -3.4028234663852886e38  # What scores become where nothing is attended to.


@dataclass(frozen=True, slots=True)
class Heads:
    """The sizes of an attention.

    Attributes:
        batch: Rows of the batch.
        count: Heads of queries.
        kept: Heads of keys and values.
        queries: Positions of queries.
        keys: Positions of keys.
        size: Elements of a key.
        value_size: Elements of a value.
    """

    batch: int
    count: int
    kept: int
    queries: int
    keys: int
    size: int
    value_size: int

    @property
    def lead(self) -> Shape:
        """The dimensions of scores in front of queries and keys."""
        if self.count == self.kept:
            return (self.batch, self.count)
        return (self.batch, self.kept, self.count // self.kept)

    def spread(self, *sizes: int) -> Shape:
        """Sizes of something for each row of the batch, of the rank of scores."""
        return (self.batch, *(1,) * (len(self.lead) - 1), *sizes)


def split_heads(name: str, result: str, size: tuple[int, int, int, int]) -> str:
    """Rows as heads: batch, positions, heads and elements become batch, heads, positions, ...."""
    return (
        ints(**{f"{result}_shape": size})
        + f"""
        {result}_rows = Reshape ({name}, {result}_shape)
        {result} = Transpose <perm: ints = [0, 2, 1, 3]> ({result}_rows)
    """
    )


@dataclass(frozen=True, slots=True)
class Style:
    """How scores become weights.

    Attributes:
        scale: What multiplies a product of query and key.
        softcap: The bound of scores, by tanh; 0 for none.
        bias: The value that is added to scores, if there is one.
        mask: The value that says where a query attends, if not everywhere.
        sink: The value that stands for a further key of each head, if there is one.
    """

    scale: float
    softcap: float = 0.0
    bias: str | None = None
    mask: str | None = None
    sink: str | None = None


def attended(heads: Heads, style: Style, result: str) -> str:
    """`result` of values `q`, `k` and `v`, whose dimensions are batch, heads, positions, elements.

    It has the dimensions batch, positions, and elements of all heads.
    """
    grouped = len(heads.lead) > 2  # noqa: PLR2004 batch and heads
    text = number("scale", style.scale, "q")
    if grouped:
        text += ints(
            q_lead=(*heads.lead, heads.queries, heads.size),
            k_lead=(heads.batch, heads.kept, 1, heads.keys, heads.size),
            v_lead=(heads.batch, heads.kept, 1, heads.keys, heads.value_size),
        )
        text += "".join(f"{x}_heads = Reshape ({x}, {x}_lead)\n" for x in "qkv")
    else:
        text += "".join(f"{x}_heads = Identity ({x})\n" for x in "qkv")
    perm = [*range(len(heads.lead)), len(heads.lead) + 1, len(heads.lead)]
    text += f"""
        k_turned = Transpose <perm: ints = {perm}> (k_heads)
        q_scaled = Mul (q_heads, scale)
        products = MatMul (q_scaled, k_turned)
    """
    text += _weights(style)
    order = [0, len(heads.lead), *range(1, len(heads.lead)), len(heads.lead) + 1]
    flat = (heads.batch, heads.queries, heads.count * heads.value_size)
    return (
        text
        + ints(flat=flat)
        + f"""
        mixed = MatMul (shares, v_heads)
        mixed_rows = Transpose <perm: ints = {order}> (mixed)
        {result} = Reshape (mixed_rows, flat)
    """
    )


def _weights(style: Style) -> str:
    """`shares` of `products`: the weight of each key."""
    text, name = "", "products"
    if style.softcap:
        text += (
            number("cap", style.softcap, "q")
            + f"""
            below = Div ({name}, cap)
            bent = Tanh (below)
            capped = Mul (bent, cap)
        """
        )
        name = "capped"
    if style.bias is not None:
        text += f"biased = Add ({name}, {style.bias})\n"
        name = "biased"
    if style.mask is not None:
        text += number("lowest", LOWEST, "q") + f"masked = Where ({style.mask}, {name}, lowest)\n"
        name = "masked"
    if style.sink is None:
        return text + f"shares = Softmax <axis: int = -1> ({name})\n"
    return (
        text
        + ints(inner=(-1,))
        + f"""
        largest = ReduceMax ({name}, inner)
        peak = Max (largest, {style.sink})
        apart = Sub ({name}, peak)
        powers = Exp (apart)
        total = ReduceSum (powers, inner)
        sink_apart = Sub ({style.sink}, peak)
        sink_power = Exp (sink_apart)
        whole = Add (total, sink_power)
        shares = Div (powers, whole)
    """
    )


def scale_of(node: Node, size: int) -> float:
    """The factor of scores that a node asks for."""
    return float(node.attrs["scale"]) or 1.0 / math.sqrt(size)


def added_scores(node: Node, slot: int, heads: Heads, result: str) -> str:
    """`result`: an input of the node that is added to scores, in their rank."""
    shape = node.input(slot).shape
    fits = (
        len(shape) == 4  # noqa: PLR2004 batch, heads, queries, keys
        and shape[0] in {1, heads.batch}
        and shape[1] in {1, heads.count}
        and shape[2] in {1, heads.queries}
        and shape[3] >= heads.keys
    )
    wanted = [heads.batch, heads.count, heads.queries, heads.keys]
    require(fits, f"input {slot}, its bias, must have shape {wanted}, got {list(shape)}")
    text, name = "", "attention_bias"
    if shape[3] > heads.keys:
        text += ints(bias_first=(0,), bias_end=(heads.keys,), bias_along=(3,))
        text += f"cut_bias = Slice ({name}, bias_first, bias_end, bias_along)\n"
        name = "cut_bias"
    lead = heads.lead[1:] if shape[1] > 1 else (1,) * (len(heads.lead) - 1)
    text += ints(bias_shape=(shape[0], *lead, shape[2], heads.keys))
    return f"{text}{result} = Reshape ({name}, bias_shape)\n"


def numbered(result: str, count: int) -> str:
    """`result`: the numbers from 0 on, `count` of them."""
    return (
        ints(**{f"{result}_from": 0, f"{result}_to": count, f"{result}_by": 1})
        + f"{result} = Range ({result}_from, {result}_to, {result}_by)\n"
    )


def causal(heads: Heads, result: str) -> str:
    """`result`: whether a query attends to a key that is not behind it, both at their ends."""
    return (
        numbered("key_places", heads.keys)
        + numbered("query_order", heads.queries)
        + ints(column=(-1, 1), moved=heads.keys - heads.queries)
        + f"""
        query_column = Reshape (query_order, column)
        query_places = Add (query_column, moved)
        {result} = LessOrEqual (key_places, query_places)
    """
    )
