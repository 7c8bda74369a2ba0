"""Norms, and what ONNX Runtime's optimiser puts into one operator with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.entry import DOMAIN, Entry
from elk.frontend.runtime.texts import ints, ranked, wants
from elk.frontend.views.node import check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node


def _epsilon(node: Node) -> float:
    value = float(node.attrs["epsilon"])
    require(value >= 0.0, f"attribute 'epsilon' must not be negative, got {value}")
    return value


def _rms(node: Node, x: str, scale: str, y: str, statistic: str | None, axis: int = -1) -> str:
    """A norm without a mean, and one over the root where that is an output."""
    epsilon = _epsilon(node)
    text = f"{y} = RMSNormalization <axis: int = {axis}, epsilon: float = {epsilon!r}>"
    text += f" ({x}, {scale})\n"
    if statistic is None:
        return text
    rank = len(node.input(0).shape)
    first = axis % max(rank, 1)
    text += ints(rows=tuple(range(first, rank)))
    return (
        text
        + f"""
        wide = Cast <to: int = 1> ({x})
        squares = Mul (wide, wide)
        spread = ReduceMean (squares, rows)
        epsilon = Constant <value_float: float = {epsilon!r}> ()
        above = Add (spread, epsilon)
        root = Sqrt (above)
        {statistic} = Reciprocal (root)
    """
    )


def _simplified(node: Node) -> str:
    axis = node.axis(-1)
    return _rms(node, "X", "scale", "Y", "inv_std_var" if wants(node, 1) else None, axis)


def _sum(node: Node, bias: int) -> str:
    """What a skip norm works on: the input, the skip and a bias."""
    x = ranked(node, 0, "input", 2, 3)
    skip = node.input(1).shape
    require(
        skip in {x, (1, *x[1:]), x[1:]},
        f"input 1, its skip, must be {list(x)}, or that of each row of the batch, got {list(skip)}",
    )
    for slot in range(2, len(node.inputs)):
        check_input(node, slot, (x[-1],), "vector")
    if node.get(bias) is None:
        return "input_skip_bias_sum = Add (input, skip)\n"
    return "joined = Add (input, skip)\ninput_skip_bias_sum = Add (joined, bias)\n"


def _skip_simplified(node: Node) -> str:
    statistic = "inv_std_var" if wants(node, 2) else None
    text = _sum(node, 3) + _rms(node, "input_skip_bias_sum", "gamma", "output", statistic)
    if wants(node, 1):
        text += (
            ints(last=(-1,))
            + """
            single = Cast <to: int = 1> (input_skip_bias_sum)
            mean = ReduceMean (single, last)
        """
        )
    return text


def _skip(node: Node) -> str:
    results = "output, mean, inv_std_var" if wants(node, 1) or wants(node, 2) else "output"
    beta = "" if node.get(3) is None else ", beta"
    return (
        _sum(node, 4)
        + f"""
        {results} = LayerNormalization <axis: int = -1, epsilon: float = {_epsilon(node)!r}>
            (input_skip_bias_sum, gamma{beta})
    """
    )


def _embedded(node: Node) -> str:
    batch, rows = ranked(node, 0, "identifiers", 2)
    places, width = ranked(node, 3, "positions", 2)
    words = check_input(node, 2, (None, width), "words")
    require(words is not None and rows <= places, f"{rows} positions of a table of {places}")
    for slot in (5, 6):
        check_input(node, slot, (width,), "vector")
    for slot in (1, 7, 8):
        value = node.get(slot)
        fits = value is None or value.shape in {(batch, rows), (1, rows)}
        require(fits, f"input {slot} must be [{batch}, {rows}]")
    text = "word = Gather <axis: int = 0> (word_embedding, input_ids)\n"
    if node.get(8) is not None:
        text += "place = Gather <axis: int = 0> (position_embedding, position_ids)\n"
    else:
        text += ints(first=(0,), end=(rows,), front=(0,))
        text += "place = Slice (position_embedding, first, end, front)\n"
    total = "embedding_sum"
    if node.get(1) is not None:
        node.input(4)
        text += f"""
            both = Add (word, place)
            segment = Gather <axis: int = 0> (segment_embedding, segment_ids)
            {total} = Add (both, segment)
        """
    else:
        text += f"{total} = Add (word, place)\n"
    text += f"""
        output = LayerNormalization <axis: int = -1, epsilon: float = {_epsilon(node)!r}>
            ({total}, gamma, beta)
    """
    if not wants(node, 1):
        return text
    if node.get(7) is None:
        return (
            text
            + ints(size=(batch,))
            + """
            mask_index = ConstantOfShape <value: tensor = int32[1] {0}> (size)
        """
        )
    return (
        text
        + ints(last=(1,))
        + """
        mask_index = ReduceSum <keepdims: int = 0> (mask, last)
    """
    )


def _group(node: Node) -> str:
    x = ranked(node, 0, "input", 4)
    require(bool(node.attrs["channels_last"]), "channels that are not the last dimension")
    for slot in (1, 2):
        check_input(node, slot, (x[3],), "vector")
    groups = int(node.attrs["groups"])
    epsilon = _epsilon(node)
    require(groups > 0 and x[3] % groups == 0, f"{x[3]} channels do not make {groups} groups")
    text = f"""
        turned = Transpose <perm: ints = [0, 3, 1, 2]> (X)
        plain = CastLike (turned, gamma)
        normed = GroupNormalization <num_groups: int = {groups}, epsilon: float = {epsilon!r}>
            (plain, gamma, beta)
        back = Transpose <perm: ints = [0, 2, 3, 1]> (normed)
    """
    if not node.attrs["activation"]:
        return text + "Y = CastLike (back, X)\n"
    return text + "active = Swish (back)\nY = CastLike (active, X)\n"


_SIMPLE: Final = "axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1"
ENTRIES: Final = (
    Entry(
        f"SimplifiedLayerNormalization <{_SIMPLE}> (X, scale) => (Y, inv_std_var)",
        "T V",
        "RMSNormalization",
        _simplified,
        ("", DOMAIN),
    ),
    Entry(
        f"LayerNormalization <{_SIMPLE}> (X, Scale, B) => (Y, Mean, InvStdDev)",
        "T V V?",
        "LayerNormalization, also below opset 17",
        """
        Y, Mean, InvStdDev = LayerNormalization <axis: int = @axis, epsilon: float = @epsilon>
            (X, Scale, B)
        """,
        ("",),
    ),
    Entry(
        "SkipSimplifiedLayerNormalization <epsilon: float = 1e-12> (input, skip, gamma, bias)"
        " => (output, mean, inv_std_var, input_skip_bias_sum)",
        "T T T T?",
        "Add, Add, RMSNormalization",
        _skip_simplified,
    ),
    Entry(
        "SkipLayerNormalization <epsilon: float = 1e-12> (input, skip, gamma, beta, bias)"
        " => (output, mean, inv_std_var, input_skip_bias_sum)",
        "T T T T? T?",
        "Add, Add, LayerNormalization",
        _skip,
    ),
    Entry(
        "EmbedLayerNormalization <epsilon: float = 1e-12, mask_index_type: int = 0>"
        " (input_ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma,"
        " beta, mask, position_ids) => (output, mask_index, embedding_sum)",
        "i32 i32? T T T? T T i32? i32?",
        "rows of the tables, their sum, LayerNormalization",
        _embedded,
    ),
    Entry(
        "GroupNorm <epsilon: float = 1e-05, groups, activation, channels_last: int = 1>"
        " (X, gamma, beta) => (Y)",
        "T V V",
        "GroupNormalization of what is transposed, Swish",
        _group,
    ),
)
