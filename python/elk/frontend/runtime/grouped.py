"""GroupQueryAttention: its cache, its rotary positions, and where its queries attend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from elk.frontend.runtime import scores
from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.scores import Heads, Style
from elk.frontend.runtime.texts import absent, attribute, ints, ranked, sized, wants
from elk.frontend.views.node import UnplannableError, check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node

_KEY, _VALUE, _PAST, _LENGTHS, _TOTAL = 1, 2, 3, 5, 6
_COS, _SIN, _PLACES, _BIAS, _SINK = 7, 8, 9, 10, 11


@dataclass(frozen=True, slots=True)
class Cache:
    """What becomes of a cache.

    Attributes:
        past: How many rows it has before.
        new: How many rows are added.
        keys: How many rows queries see.
        grows: Whether the new rows stand behind it; else they are written into it.
        start: Behind how many rows the new ones come; None where each row of the batch has its own
            number, which is computed while the model runs.
    """

    past: int
    new: int
    keys: int
    grows: bool
    start: int | None

    @property
    def is_fresh(self) -> bool:
        """Whether queries see new rows alone."""
        return self.start == 0 and self.keys == self.new


def cache_of(node: Node, batch: int, new: int) -> Cache:
    """What becomes of the cache of a node.

    Its rows are as many as its inputs say, or the shape that the file declares of its output; else
    it grows by the new rows.
    """
    past = node.input(_PAST).shape[2] if node.get(_PAST) is not None else 0
    total = node.input(_TOTAL).known
    promised = node.promised[1] if len(node.promised) > 1 else None
    if total is not None:
        keys = int(total.ravel()[0])
        require(keys >= new, f"its total length is {keys}, it has {new} new rows")
    else:
        stays = promised is not None and len(promised) == 4 and promised[2] == past  # noqa: PLR2004 a cache
        keys = past if stays and past else past + new
    if not past:
        require(keys == new, f"it has no past, {new} new rows, and a total length of {keys}")
        return Cache(0, new, new, True, 0)
    if keys > past and keys not in {new, past + new}:
        raise UnplannableError(
            f"a cache of {past} rows holds {keys - new} of them, and is no place for {new} new ones"
        )
    lengths = node.input(_LENGTHS).known
    behind = None if lengths is None else {max(int(n) + 1 - new, 0) for n in lengths.ravel()}
    if total is not None and keys == new:
        return Cache(past, new, new, past < new, 0)
    if total is not None and batch == 1:
        behind = {keys - new}
    grows = keys == past + new
    if grows and (batch == 1 or behind == {past}):
        return Cache(past, new, keys, True, past)
    start = behind.pop() if behind is not None and len(behind) == 1 and not grows else None
    return Cache(past, new, keys, grows, start)


def _keep(cache: Cache, part: str) -> str:
    """`present` of one part, and `k` or `v`: what queries see of it. `new` is what is added."""
    short, past, present = part[0], f"past_{part}", f"present_{part}"
    if cache.past == 0 or (cache.grows and cache.is_fresh):
        return f"{present} = Identity (new_{short})\n{short} = Identity (new_{short})\n"
    if cache.grows:
        return f"""
            {present} = Concat <axis: int = 2> ({past}, new_{short})
            {short} = Identity ({present})
        """
    text = f"{present} = TensorScatter <axis: int = 2> ({past}, new_{short}, written)\n"
    if cache.is_fresh:
        return f"{text}{short} = Identity (new_{short})\n"
    if cache.keys == cache.past:
        return f"{text}{short} = Identity ({present})\n"
    text += ints(**{f"{short}_from": (0,), f"{short}_to": (cache.keys,), f"{short}_on": (2,)})
    return f"{text}{short} = Slice ({present}, {short}_from, {short}_to, {short}_on)\n"


def _starts(cache: Cache, batch: int) -> str:
    """`written`: behind how many rows the new ones come, for each row of the batch."""
    if cache.start is not None:
        return ints(written=(cache.start,) * batch)
    return (
        ints(less=1 - cache.new, least=0, flat_shape=(-1,))
        + """
        flat_lengths = Reshape (seqlens_k, flat_shape)
        lengths = Cast <to: int = 7> (flat_lengths)
        behind = Add (lengths, less)
        written = Max (behind, least)
    """
    )


def _mask(node: Node, cache: Cache, heads: Heads) -> str | None:
    """`allowed`: which keys each query attends to. None where it is every one."""
    window, is_causal = int(node.attrs["local_window_size"]), bool(node.attrs["causal"])
    require(window == -1 or window > 0, f"attribute 'local_window_size' must be -1, or positive, "
            f"got {window}")  # fmt: skip
    require(is_causal or window == -1, "a window of an attention that is not causal")
    known = cache.start is not None
    narrow = 0 < window < cache.keys
    if (
        known
        and not narrow
        and (not is_causal or cache.new == 1)
        and (cache.keys == (cache.start or 0) + cache.new)
    ):
        return None
    text = scores.numbered("slots", cache.keys) + scores.numbered("order", cache.new)
    text += (
        ints(column=(-1, 1), batch_shape=heads.spread(1, 1))
        + """
        line = Reshape (order, column)
        starts = Reshape (written, batch_shape)
    """
    )
    if known:
        text += ints(first_query=cache.start or 0) + "queries = Add (line, first_query)\n"
    else:
        text += "queries = Add (line, starts)\n"
    if cache.grows and not known:
        text += (
            ints(old=cache.past)
            + """
            is_old = Less (slots, old)
            beyond = Sub (slots, old)
            placed = Add (starts, beyond)
            keys = Where (is_old, slots, placed)
            is_new = GreaterOrEqual (slots, old)
            is_held = Less (slots, starts)
            counts = Or (is_new, is_held)
        """
        )
    else:
        text += "keys = Identity (slots)\n"
    return text + _compared(cache, window if narrow else 0, is_causal)


def _compared(cache: Cache, window: int, is_causal: bool) -> str:
    """`allowed`, of the positions of `keys` and `queries`, and of whether a row `counts`."""
    text, parts = "", []
    if is_causal:
        text += "before = LessOrEqual (keys, queries)\n"
    else:
        text += (
            ints(rows=cache.new)
            + """
            stops = Add (starts, rows)
            before = Less (keys, stops)
        """
        )
    parts.append("before")
    if window:
        text += (
            ints(window=window)
            + """
            ends = Sub (queries, window)
            near = Greater (keys, ends)
        """
        )
        parts.append("near")
    if cache.grows and cache.start is None:
        parts.append("counts")
    for i, part in enumerate(parts[1:]):
        text += f"both_{i} = And ({parts[0]}, {part})\n"
        parts[0] = f"both_{i}"
    return f"{text}allowed = Identity ({parts[0]})\n"


def _turn(node: Node, cache: Cache, heads: Heads) -> str:
    """Queries and new keys at their positions: `plain_q` and `plain_k` become `q` and `new_k`."""
    if not node.attrs["do_rotary"]:
        return "q = Identity (plain_q)\nnew_k = Identity (plain_k)\n"
    longest, half = ranked(node, _COS, "cosines", 2)
    check_input(node, _SIN, (longest, half), "sines")
    node.input(_SIN)
    require(2 * half <= heads.size, f"{2 * half} elements are turned, a head has {heads.size}")
    dim = 2 * half if 2 * half < heads.size else 0
    attrs = f"interleaved: int = {int(node.attrs['rotary_interleaved'])}"
    attrs += f", rotary_embedding_dim: int = {dim}"
    batch, new = heads.batch, cache.new
    if node.get(_PLACES) is not None:
        check_input(node, _PLACES, (batch, new), "positions")
        text, given = "", "cos_cache, sin_cache, position_ids"
    elif cache.start is not None:
        end = cache.start + new
        require(end <= longest, f"{end} positions, of which {longest} have cosines")
        text = ints(
            turn_from=(cache.start,), turn_to=(end,), turn_on=(0,), turn_shape=(batch, new, half)
        )
        for name in ("cos", "sin"):
            text += f"""
                {name}_rows = Slice ({name}_cache, turn_from, turn_to, turn_on)
                {name} = Expand ({name}_rows, turn_shape)
            """
        given = "cos, sin"
    else:
        text = (
            scores.numbered("turn_order", new)
            + ints(turn_column=(-1, 1))
            + """
            turn_starts = Reshape (written, turn_column)
            places = Add (turn_starts, turn_order)
        """
        )
        given = "cos_cache, sin_cache, places"
    return (
        text
        + f"""
        q = RotaryEmbedding <{attrs}> (plain_q, {given})
        new_k = RotaryEmbedding <{attrs}> (plain_k, {given})
    """
    )


def _parts(node: Node, count: int, kept: int) -> tuple[str, int]:
    """Queries, keys and values as heads, and the size of one."""
    batch, new, width = ranked(node, 0, "queries", 3)
    if node.get(_KEY) is None:
        absent(node, _VALUE, "values without keys")
        size = width // (count + 2 * kept)
        require(size * (count + 2 * kept) == width, f"{width} elements do not make "
                f"{count} heads of queries and {kept} of keys and of values")  # fmt: skip
        text = ints(parts=(count * size, kept * size, kept * size))
        text += "flat_q, flat_k, flat_v = Split <axis: int = -1> (query, parts)\n"
    else:
        size = width // count
        require(size * count == width, f"{width} elements do not make {count} heads")
        for slot, what in ((_KEY, "keys"), (_VALUE, "values")):
            node.input(slot)
            check_input(node, slot, (batch, new, kept * size), what)
        text = "flat_q = Identity (query)\nflat_k = Identity (key)\nflat_v = Identity (value)\n"
    heads = (("q", "split_q", count), ("k", "split_k", kept), ("v", "new_v", kept))
    for name, result, some in heads:
        text += scores.split_heads(f"flat_{name}", result, (batch, new, some, size))
    return text, size


def _normed(node: Node, size: int) -> str:
    """`plain_q` and `plain_k`: heads with a norm of their own, where the node has weights of it."""
    if node.get(14) is None and node.get(15) is None:
        return "plain_q = Identity (split_q)\nplain_k = Identity (split_k)\n"
    text = ""
    for slot, name in ((14, "q"), (15, "k")):
        node.input(slot)
        check_input(node, slot, (size,), "norm")
        own = float(node.attrs[f"{name}_norm_epsilon"])
        epsilon = own or float(node.attrs["qk_norm_epsilon"])
        text += f"plain_{name} = RMSNormalization <axis: int = -1, epsilon: float = {epsilon!r}>"
        text += f" (split_{name}, {name}_norm_weight)\n"
    return text


def _grouped(node: Node) -> str:
    count, kept = attribute(node, "num_heads"), attribute(node, "kv_num_heads")
    require(count % kept == 0, f"{count} heads of queries do not share {kept} of keys")
    for name in ("k_quant_type", "v_quant_type"):
        require(node.attrs[name] == "NONE", f"attribute '{name}': caches of quantized numbers")
    require(not node.attrs["sliding_window_cache"], "a cache that holds a window alone")
    require(not wants(node, 3), "its scores are an output")
    absent(node, 16, "a number of valid rows for each row of the batch")
    text, size = _parts(node, count, kept)
    batch, new = node.input(0).shape[:2]
    sized(node, _LENGTHS, (batch,), "lengths")
    require(node.input(_TOTAL).size == 1, "input 6, its total length, must be one number")
    for slot in (_PAST, _PAST + 1):
        check_input(node, slot, (batch, kept, None, size), "past")
    pasts = [node.get(slot) for slot in (_PAST, _PAST + 1)]
    require(
        len({None if x is None else (x.shape, x.dtype) for x in pasts}) == 1
        and all(x is None or x.dtype == node.input(0).dtype for x in pasts),
        "its past keys, its past values and its queries differ in length or type",
    )
    cache = cache_of(node, batch, new)
    heads = Heads(batch, count, kept, new, cache.keys, size, size)
    text += _starts(cache, batch) + _normed(node, size) + _turn(node, cache, heads)
    text += _keep(cache, "key") + _keep(cache, "value")
    mask = _mask(node, cache, heads)
    text += mask or ""
    bias = sink = None
    if node.get(_BIAS) is not None:
        text, bias = text + scores.added_scores(node, _BIAS, heads, "added"), "added"
    if node.get(_SINK) is not None or int(node.attrs["smooth_softmax"]) == 1:
        text, sink = text + _sink(node, heads), "sink"
    style = Style(
        scale=scores.scale_of(node, size),
        softcap=float(node.attrs["softcap"]),
        bias=bias,
        mask=None if mask is None else "allowed",
        sink=sink,
    )
    return text + scores.attended(heads, style, "output")


def _sink(node: Node, heads: Heads) -> str:
    """`sink`: the score of a key of each head that has no value."""
    if node.get(_SINK) is None:
        return "no_sink = Constant <value_float: float = 0.0> ()\nsink = CastLike (no_sink, q)\n"
    check_input(node, _SINK, (heads.count,), "sinks")
    return ints(sink_shape=(1, *heads.lead[1:], 1, 1)) + "sink = Reshape (head_sink, sink_shape)\n"


ENTRIES: Final = (
    Entry(
        "GroupQueryAttention <num_heads, kv_num_heads, scale: float = 0.0, softcap: float = 0.0,"
        " local_window_size: int = -1, do_rotary: int = 0, rotary_interleaved: int = 0,"
        " smooth_softmax: int = -1, qk_output: int = 0, causal: int = 1,"
        ' sliding_window_cache: int = 0, k_quant_type: string = "NONE",'
        ' v_quant_type: string = "NONE", kv_cache_bit_width: int = 0,'
        " qk_norm_epsilon: float = 1e-06, q_norm_epsilon: float = 0.0, k_norm_epsilon: float = 0.0>"
        " (query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache,"
        " sin_cache, position_ids, attention_bias, head_sink, k_scale, v_scale, q_norm_weight,"
        " k_norm_weight, query_seqlens) => (output, present_key, present_value, output_qk)",
        "T T? T? T|u8|i8|f8? T|u8|i8|f8? i32 i32 T? T? i64? T? T? f32? f32? T? T? i32?",
        "RotaryEmbedding, Concat (TensorScatter where the cache has one size before and after), "
        "MatMul, Softmax, MatMul; short rows of the batch are masked",
        _grouped,
    ),
)
