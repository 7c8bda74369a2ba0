"""Attention of several heads: MultiHeadAttention, Attention, QAttention, and RotaryEmbedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.frontend.runtime import scores
from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.scores import Heads, Style
from elk.frontend.runtime.texts import absent, attribute, ints, number, ranked, wants
from elk.frontend.views.node import UnplannableError, check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node
    from elk.frontend.views.views import Shape

_BUFFER: Final = "a cache of one size whose length is an input"


def _rows(node: Node, count: int) -> tuple[str, tuple[Shape, Shape, Shape]]:
    """`q_rows`, `k_rows` and `v_rows`, and their batch, positions, heads and elements."""
    first = ranked(node, 0, "queries", 3, 5)
    if len(first) == 5:  # noqa: PLR2004 batch, positions, heads, three, elements
        batch, new, heads, three, size = first
        require((heads, three) == (count, 3), f"its queries are {list(first)}")
        for slot in (1, 2):
            absent(node, slot, "the queries hold keys and values too")
        text = "q_part, k_part, v_part = Split <axis: int = 3, num_outputs: int = 3> (query)\n"
        text += ints(part=(3,)) + "".join(f"{x}_rows = Squeeze ({x}_part, part)\n" for x in "qkv")
        shape = (batch, new, count, size)
        return text, (shape, shape, shape)
    batch, new, width = first
    size = width // count
    require(size * count == width, f"{width} elements do not make {count} heads")
    queries = (batch, new, count, size)
    text = ints(q_shape=queries) + "q_rows = Reshape (query, q_shape)\n"
    key = ranked(node, 1, "keys", 3, 4, 5)
    if len(key) == 5:  # noqa: PLR2004 batch, positions, heads, two, elements
        check_input(node, 1, (batch, None, count, 2, size), "keys and values")
        absent(node, 2, "the keys hold values too")
        text += "k_part, v_part = Split <axis: int = 3, num_outputs: int = 2> (key)\n"
        text += ints(part=(3,)) + "".join(f"{x}_rows = Squeeze ({x}_part, part)\n" for x in "kv")
        shape = (batch, key[1], count, size)
        return text, (queries, shape, shape)
    value = ranked(node, 2, "values", len(key))
    if len(key) == 4:  # noqa: PLR2004 batch, heads, positions, elements
        check_input(node, 1, (batch, count, None, size), "keys")
        check_input(node, 2, (batch, count, key[2], None), "values")
        for x, name in (("k", "key"), ("v", "value")):
            text += f"{x}_rows = Transpose <perm: ints = [0, 2, 1, 3]> ({name})\n"
        absent(node, 3, "a bias of keys that are heads already")
        return text, (queries, (batch, key[2], count, size), (batch, key[2], count, value[3]))
    check_input(node, 1, (batch, None, width), "keys")
    check_input(node, 2, (batch, key[1], None), "values")
    require(value[2] % count == 0, f"{value[2]} elements do not make {count} heads")
    keys, values = (batch, key[1], count, size), (batch, key[1], count, value[2] // count)
    text += ints(k_shape=keys, v_shape=values)
    text += "k_rows = Reshape (key, k_shape)\nv_rows = Reshape (value, v_shape)\n"
    return text, (queries, keys, values)


def _biased(shapes: tuple[Shape, Shape, Shape], bias: bool) -> str:
    """`new_q`, `new_k` and `new_v`: rows with their bias, as heads."""
    text = ""
    if bias:
        widths = tuple(shape[2] * shape[3] for shape in shapes)
        text += ints(widths=widths)
        text += "bias_q, bias_k, bias_v = Split <axis: int = 0> (bias, widths)\n"
    for x, shape in zip("qkv", shapes, strict=True):
        name = f"{x}_rows"
        if bias:
            text += ints(**{f"{x}_box": shape[2:]})
            text += f"{x}_bias = Reshape (bias_{x}, {x}_box)\n{x}_sum = Add ({x}_rows, {x}_bias)\n"
            name = f"{x}_sum"
        text += f"new_{x} = Transpose <perm: ints = [0, 2, 1, 3]> ({name})\n"
    return text


def _padding(node: Node, slot: int, heads: Heads, name: str) -> str:
    """`padding`: what is added to scores of keys that input `slot` says are none."""
    shape = node.input(slot).shape
    batch, keys, queries = heads.batch, heads.keys, heads.queries
    if shape == (batch,) or (shape == (2 * batch,) and node.type.endswith("Attention")):
        text = scores.numbered("slots", keys) + ints(long=heads.spread(1, 1), none=(0,),
                                                     many=(batch,), twice=(2 * batch,))  # fmt: skip
        text += f"""
            ends = Slice ({name}, none, many)
            long_ends = Cast <to: int = 7> (ends)
            stops = Reshape (long_ends, long)
            is_before = Less (slots, stops)
        """
        if shape == (batch,):
            text += "seen = Identity (is_before)\n"
        else:
            text += f"""
                begins = Slice ({name}, many, twice)
                long_begins = Cast <to: int = 7> (begins)
                starts = Reshape (long_begins, long)
                is_behind = GreaterOrEqual (slots, starts)
                seen = And (is_before, is_behind)
            """
    elif shape in {(batch, keys), (batch, queries, keys)}:
        rows = 1 if len(shape) == 2 else queries  # noqa: PLR2004 batch and keys
        text = (
            ints(mask_shape=heads.spread(rows, keys), zero_mask=0)
            + f"""
            long_mask = Cast <to: int = 7> ({name})
            boxed = Reshape (long_mask, mask_shape)
            seen = Greater (boxed, zero_mask)
        """
        )
    else:
        wanted = f"[{batch}], [{batch}, {keys}] or [{batch}, {queries}, {keys}]"
        raise UnplannableError(f"input {slot}, its mask, must be {wanted}, got {list(shape)}")
    text += number("hidden", float(node.attrs["mask_filter_value"]), "q")
    return text + number("plain", 0.0, "q") + "padding = Where (seen, plain, hidden)\n"


def _added(node: Node, heads: Heads, slots: tuple[int, int], name: str) -> tuple[str, str | None]:
    """What is added to scores: a mask, a bias, or both; `slots` are their inputs."""
    mask, bias = (node.get(slot) is not None for slot in slots)
    text = _padding(node, slots[0], heads, name) if mask else ""
    if not bias:
        return text, "padding" if mask else None
    text += scores.added_scores(node, slots[1], heads, "extra")
    if not mask:
        return text, "extra"
    return f"{text}all_added = Add (padding, extra)\n", "all_added"


def _attended(node: Node, heads: Heads, slots: tuple[int, int], name: str) -> str:
    text, bias = _added(node, heads, slots, name)
    one_way = bool(node.attrs["unidirectional"]) and heads.queries > 1
    if one_way:
        text += scores.causal(heads, "allowed")
    scale = scores.scale_of(node, heads.size)
    style = Style(scale=scale, bias=bias, mask="allowed" if one_way else None)
    return text + scores.attended(heads, style, "output")


def _several(node: Node) -> str:
    count = attribute(node, "num_heads")
    absent(node, 8, _BUFFER)
    absent(node, 9, "beams")
    require(not wants(node, 3), "its scores are an output")
    text, shapes = _rows(node, count)
    (batch, new, _, size), keys, values = shapes
    total = sum(shape[2] * shape[3] for shape in shapes)
    check_input(node, 3, (total,), "bias")
    text += _biased(shapes, node.get(3) is not None) + "q = Identity (new_q)\n"
    past = 0
    if node.get(6) is not None or node.get(7) is not None:
        _, _, past, _ = ranked(node, 6, "past keys", 4)
        check_input(node, 6, (batch, count, None, size), "past keys")
        node.input(7)
        check_input(node, 7, (batch, count, past, values[3]), "past values")
    for x, name in (("k", "key"), ("v", "value")):
        if past:
            text += f"present_{name} = Concat <axis: int = 2> (past_{name}, new_{x})\n"
        else:
            text += f"present_{name} = Identity (new_{x})\n"
        text += f"{x} = Identity (present_{name})\n"
    heads = Heads(batch, count, count, new, past + keys[1], size, values[3])
    return text + _attended(node, heads, (4, 5), "key_padding_mask")


def _packed(node: Node) -> str:
    count = attribute(node, "num_heads")
    batch, new, width = ranked(node, 0, "input", 3)
    columns = ranked(node, 1, "weights", 2)[1]
    check_input(node, 1, (width, None), "weights")
    check_input(node, 2, (columns,), "bias")
    absent(node, 6, _BUFFER)
    require(not node.attrs["past_present_share_buffer"], _BUFFER)
    require(not node.attrs["do_rotary"], "rotary positions, which it does not say")
    sizes = tuple(node.attrs["qkv_hidden_sizes"]) or (columns // 3,) * 3
    fits = len(sizes) == 3 and sum(sizes) == columns and not any(n % count for n in sizes)  # noqa: PLR2004 queries, keys, values
    require(fits and sizes[0] == sizes[1], f"{columns} columns of weights do not make queries, "
            f"keys and values of {count} heads")  # fmt: skip
    size, value_size = sizes[0] // count, sizes[2] // count
    shapes = tuple((batch, new, count, n // count) for n in sizes)
    text = "plain_rows = MatMul (input, weights)\n"
    text += "all_rows = Add (plain_rows, bias)\n" if node.get(2) is not None else (
        "all_rows = Identity (plain_rows)\n"
    )  # fmt: skip
    text += ints(parts=sizes, q_shape=shapes[0], k_shape=shapes[1], v_shape=shapes[2])
    text += "flat_q, flat_k, flat_v = Split <axis: int = -1> (all_rows, parts)\n"
    text += "".join(f"{x}_rows = Reshape (flat_{x}, {x}_shape)\n" for x in "qkv")
    text += _biased((shapes[0], shapes[1], shapes[2]), bias=False) + "q = Identity (new_q)\n"
    past = 0
    if node.get(4) is not None:
        past = ranked(node, 4, "past", 5)[3]
        check_input(node, 4, (2, batch, count, None, size), "past")
    if past or wants(node, 1):
        require(size == value_size, "a cache of keys and values of different sizes")
        text += _joined(past)
    else:
        text += "k = Identity (new_k)\nv = Identity (new_v)\n"
    heads = Heads(batch, count, count, new, past + new, size, value_size)
    return text + _attended(node, heads, (3, 5), "mask_index")


def _joined(past: int) -> str:
    """`present`, one tensor of keys and values, and `k` and `v` of it."""
    text = (
        ints(outer=(0,), first=0, second=1)
        + """
        k_apart = Unsqueeze (new_k, outer)
        v_apart = Unsqueeze (new_v, outer)
        both = Concat <axis: int = 0> (k_apart, v_apart)
    """
    )
    if not past:
        return text + "present = Identity (both)\nk = Identity (new_k)\nv = Identity (new_v)\n"
    return (
        text
        + """
        present = Concat <axis: int = 3> (past, both)
        k = Gather <axis: int = 0> (present, first)
        v = Gather <axis: int = 0> (present, second)
    """
    )


def _quantized(node: Node) -> str:
    columns = ranked(node, 1, "weights", 2)[1]
    require(node.input(3).size == 1, "input 3, its scale, must be one number")
    for slot in (4, 7):
        value = node.get(slot)
        fits = value is None or value.size == 1 or value.shape == (columns,)
        require(fits, f"input {slot} must be one number, or {columns}")
    names = ("num_heads", "unidirectional", "do_rotary", "past_present_share_buffer")
    attrs = [f"{name}: int = {int(node.attrs[name])}" for name in names]
    attrs += [
        f"{name}: float = {float(node.attrs[name])!r}" for name in ("scale", "mask_filter_value")
    ]
    zeros = [f", {x}" if node.get(slot) is not None else ""
             for slot, x in ((6, "input_zero_point"), (7, "weight_zero_point"))]  # fmt: skip
    axis = "<axis: int = 1> " if node.input(4).size > 1 else ""
    given = ["x", "w", "bias"] + [
        name if node.get(slot) is not None else '""'
        for slot, name in ((5, "mask_index"), (8, "past"))
    ]
    results = "output, present" if wants(node, 1) else "output"
    return f"""
        x = DequantizeLinear (input, input_scale{zeros[0]})
        w = DequantizeLinear {axis}(weight, weight_scale{zeros[1]})
        {results} = com.microsoft.Attention <{", ".join(attrs)}> ({", ".join(given)})
    """


def _rotary(node: Node) -> str:
    x = ranked(node, 0, "input", 3, 4)
    longest, half = ranked(node, 2, "cosines", 2)
    check_input(node, 3, (longest, half), "sines")
    require(not node.attrs["is_packed_batching"], "a batch that is packed")
    require(float(node.attrs["scale"]) == 1.0, "a scale of positions")
    dim, heads = int(node.attrs["rotary_embedding_dim"]), int(node.attrs["num_heads"])
    require(not dim or dim == 2 * half, f"{dim} elements are turned by {half} cosines")
    batch, rows = x[0], x[-2]
    if len(x) == 3:  # noqa: PLR2004 batch, positions, elements of all heads
        heads = heads or x[-1] // (2 * half)
        require(heads > 0 and x[-1] % heads == 0, f"{x[-1]} elements do not make {heads} heads")
    size = x[-1] if len(x) == 4 else x[-1] // heads  # noqa: PLR2004 batch, heads, positions, elements
    require(2 * half <= size, f"{2 * half} elements are turned, a head has {size}")
    text = ""
    if node.input(1).shape == (1,):
        text = (
            scores.numbered("order", rows)
            + ints(place_shape=(batch, rows))
            + """
            line = Add (order, position_ids)
            places = Expand (line, place_shape)
        """
        )
    else:
        check_input(node, 1, (batch, rows), "positions")
        text = "places = Identity (position_ids)\n"
    attrs = [f"interleaved: int = {int(node.attrs['interleaved'])}"]
    attrs.append(f"rotary_embedding_dim: int = {2 * half if 2 * half < size else 0}")
    if len(x) == 3:  # noqa: PLR2004 batch, positions, elements of all heads
        attrs.append(f"num_heads: int = {heads}")
    return (
        text
        + f"""
        output = RotaryEmbedding <{", ".join(attrs)}> (input, cos_cache, sin_cache, places)
    """
    )


_STYLE: Final = "scale: float = 0.0, mask_filter_value: float = -10000.0, unidirectional: int = 0"
_SHARED: Final = "do_rotary: int = 0, past_present_share_buffer: int = 0"
ENTRIES: Final = (
    Entry(
        f"MultiHeadAttention <num_heads, {_STYLE}> (query, key, value, bias, key_padding_mask,"
        " attention_bias, past_key, past_value, past_sequence_length, cache_indirection)"
        " => (output, present_key, present_value, qk)",
        "T T? T? T? i32? T? T? T? i32? i32?",
        "Add, Concat, MatMul, Softmax, MatMul",
        _several,
    ),
    Entry(
        f"Attention <num_heads, {_STYLE}, {_SHARED}, qkv_hidden_sizes: ints = [],"
        " rotary_embedding_dim: int = 0> (input, weights, bias, mask_index, past, attention_bias,"
        " past_sequence_length) => (output, present)",
        "T T T? i32? T? T? i32?",
        "one MatMul of queries, keys and values, Concat, MatMul, Softmax, MatMul",
        _packed,
    ),
    Entry(
        f"QAttention <num_heads, {_STYLE}, {_SHARED}> (input, weight, bias, input_scale,"
        " weight_scale, mask_index, input_zero_point, weight_zero_point, past)"
        " => (output, present)",
        "Q R T T T i32? Q? R? T?",
        "DequantizeLinear of its input and its weights, Attention",
        _quantized,
    ),
    Entry(
        "RotaryEmbedding <interleaved: int = 0, is_packed_batching: int = 0, num_heads: int = 0,"
        " rotary_embedding_dim: int = 0, scale: float = 1.0> (input, position_ids, cos_cache,"
        " sin_cache) => (output)",
        "T i64 T T",
        "ONNX's RotaryEmbedding",
        _rotary,
    ),
)
