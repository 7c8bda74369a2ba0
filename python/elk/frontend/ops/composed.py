"""Types that are several ops: each function makes the nodes that one node stands for.

Values in, values out: `make("Add", a, b)` is a node like any other, so what is known is folded and
what is a view costs nothing. A function that gives None leaves the node to its tensor expression.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from elk.frontend.ops.elementwise import scalar
from elk.frontend.ops.move import pads_of
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.values import DTYPES, ONNX_TYPES, Value, constant, numpy_dtype

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Array

_FLAT_SOFTMAX = 13  # Before this opset, Hardmax works on matrices.
_BROADCASTS = 7  # From this opset on, inputs broadcast from the last dimension.
_TRUE_MASKS = 10  # From this opset on, the mask of Dropout holds truth values.
_WIDE = ("f32", "f64")


def number(value: float, like: Value) -> Array:
    """`value` in the element type of `like`."""
    return np.asarray(value, dtype=numpy_dtype(like.dtype))


def ints(*values: int) -> Array:
    """Integers as the shapes, axes and indices of nodes."""
    return np.asarray(values, dtype=np.int64)


def positions(make: Maker, count: int, start: int = 0) -> Array:
    """`count` positions from `start` on, as many as may be folded."""
    make.check_folded(count, "known positions")
    return np.arange(start, start + count, dtype=np.int64)


def cast(make: Maker, value: Value, dtype: str) -> Value:
    """`value` in another element type."""
    return make("Cast", value, to=ONNX_TYPES[dtype])


def filled(make: Maker, name: str, shape: tuple[int, ...], value: Any, dtype: str) -> Value:
    """A constant that is the same everywhere: one number, seen as a box of `shape`."""
    make.check_folded(math.prod(shape), "elements of a constant")
    return constant(name, np.full(shape, value, dtype=numpy_dtype(dtype)))


def layer_norm(node: Node, make: Maker) -> list[Value] | None:
    """LayerNormalization whose statistics are used too."""
    if not any(node.outputs[1:]):
        return None
    x, scale, bias = node.input(0), node.input(1), node.get(2)
    axes = ints(*range(node.axis(-1), len(x.shape)))
    wide = x if x.dtype in _WIDE else cast(make, x, "f32")
    mean = make("ReduceMean", wide, axes)
    apart = make("Sub", wide, mean)
    variance = make("ReduceMean", make("Pow", apart, number(2.0, wide)), axes)
    epsilon = number(float(node.attrs.get("epsilon", 1e-5)), wide)
    inverse = make("Reciprocal", make("Sqrt", make("Add", variance, epsilon)))
    normed = cast(make, make("Mul", apart, inverse), x.dtype)
    result = make("Mul", normed, scale)
    return [result if bias is None else make("Add", result, bias), mean, inverse]


def batch_norm(node: Node, make: Maker) -> list[Value] | None:
    """BatchNormalization in training: mean and variance of this batch, and the running ones."""
    if not node.attrs.get("training_mode", 0):
        return None
    x = node.input(0)
    rank = len(x.shape)
    axes = ints(0, *range(2, rank))
    channels = ints(-1, *(1,) * (rank - 2))
    mean = make("ReduceMean", x, axes)
    apart = make("Sub", x, mean)
    variance = make("ReduceMean", make("Pow", apart, number(2.0, x)), axes)
    epsilon = number(float(node.attrs.get("epsilon", 1e-5)), x)
    normed = make("Div", apart, make("Sqrt", make("Add", variance, epsilon)))
    scale, bias = (make("Reshape", node.input(i), channels) for i in (1, 2))
    momentum = float(node.attrs.get("momentum", 0.9))
    results = [make("Add", make("Mul", normed, scale), bias)]
    for old, new in ((node.input(3), mean), (node.input(4), variance)):
        flat = make("Reshape", new, ints(-1))
        kept = make("Mul", old, number(momentum, old))
        results.append(make("Add", kept, make("Mul", flat, number(1.0 - momentum, flat))))
    return results


def trilu(node: Node, make: Maker) -> list[Value] | None:
    """Trilu: a choice by rows and columns, which need not be known."""
    x = node.input(0)
    height, width = x.shape[-2:]
    shift = node.get(1)
    columns = positions(make, width)
    rows: Value | Array = positions(make, height)[:, None]
    if shift is not None:
        rows = make("Add", rows, make("Reshape", shift, ints()))
    side = "GreaterOrEqual" if node.attrs.get("upper", 1) else "LessOrEqual"
    return [make("Where", make(side, columns, rows), x, number(0, x))]


def hardmax(node: Node, make: Maker) -> list[Value] | None:
    """Hardmax: one at the first largest element, zero elsewhere."""
    x = node.input(0)
    if node.opset < _FLAT_SOFTMAX:
        axis = node.axis(1)
        flat = make("Reshape", x, ints(math.prod(x.shape[:axis]), -1))
        return [make("Reshape", _hardmax(make, flat, 1), ints(*x.shape))]
    return [_hardmax(make, x, node.axis(-1))]


def _hardmax(make: Maker, x: Value, axis: int) -> Value:
    each = positions(make, x.shape[axis]).reshape([-1] + [1] * (len(x.shape) - 1 - axis))
    hit = make("Equal", make("ArgMax", x, axis=axis), each)
    return cast(make, hit, x.dtype)


def channel_slope(node: Node, make: Maker) -> list[Value] | None:
    """PRelu before opset 7, whose slopes are those of channels."""
    x, slope = node.input(0), node.input(1)
    if node.opset >= _BROADCASTS or len(slope.shape) != 1 or slope.size == 1:
        return None
    return [make("PRelu", x, make("Reshape", slope, ints(-1, *(1,) * (len(x.shape) - 2))))]


def lp_norm(node: Node, make: Maker) -> list[Value] | None:
    """LpNormalization: rows divided by their norm; a row of zeros stays one."""
    x = node.input(0)
    axes = ints(node.axis(-1))
    kind = "ReduceL1" if int(node.attrs.get("p", 2)) == 1 else "ReduceL2"
    norm = make(kind, x, axes)
    zero = make("Equal", norm, number(0, norm))
    return [make("Div", x, make("Where", zero, number(1, norm), norm))]


def lp_pool(node: Node, make: Maker) -> list[Value] | None:
    """LpPool: the root of windowed sums of powers."""
    x, p = node.input(0), float(node.attrs.get("p", 2))
    names = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")
    attrs = {name: node.attrs[name] for name in names if name in node.attrs}
    powers = make("Pow", make("Abs", x), number(p, x))
    return [make("Pow", make("SumPool", powers, **attrs), number(1.0 / p, x))]


def global_lp_pool(node: Node, make: Maker) -> list[Value] | None:
    """GlobalLpPool: the root of the sum of powers over all positions."""
    x, p = node.input(0), float(node.attrs.get("p", 2))
    powers = make("Pow", make("Abs", x), number(p, x))
    axes = ints(*range(2, len(x.shape)))
    total = make("ReduceSum", powers, axes) if axes.size else powers
    return [make("Pow", total, number(1.0 / p, x))]


def local_response_norm(node: Node, make: Maker) -> list[Value] | None:
    """LRN: each element over a power of the squares of its neighbours along channels."""
    x, size = node.input(0), int(node.attrs["size"])
    alpha, beta, bias = (
        float(node.attrs.get(name, default))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    batch, channels = x.shape[:2]
    squares = make("Reshape", make("Pow", x, number(2.0, x)), ints(batch, 1, channels, -1))
    low = (size - 1) // 2
    total = make("SumPool", squares, kernel_shape=(size, 1), pads=(low, 0, size - 1 - low, 0))
    scaled = make("Mul", make("Reshape", total, ints(*x.shape)), number(alpha / size, x))
    return [make("Div", x, make("Pow", make("Add", scaled, number(bias, x)), number(beta, x)))]


def one_hot(node: Node, make: Maker) -> list[Value] | None:
    """OneHot: a comparison with all positions, then a choice of two values."""
    index = cast(make, node.input(0), "i64")
    depth = int(node.known(1, "depth").ravel()[0])
    axis = node.axis(-1, len(index.shape) + 1)
    behind = make("Add", index, ints(depth))
    counted = make("Where", make("Less", index, ints(0)), behind, index)
    each = positions(make, depth).reshape([-1] + [1] * (len(index.shape) - axis))
    hit = make("Equal", make("Unsqueeze", counted, ints(axis)), each)
    off, on = (make("Gather", node.input(2), ints(i), axis=0) for i in (0, 1))
    return [make("Where", hit, on, off)]


def eye_like(node: Node, make: Maker) -> list[Value] | None:
    """EyeLike: a constant, whatever its input holds."""
    x = node.input(0)
    dtype = DTYPES[int(node.attrs["dtype"])] if "dtype" in node.attrs else x.dtype
    rows, columns = x.shape
    make.check_folded(x.size, "elements of a constant")
    ones = np.eye(rows, columns, int(node.attrs.get("k", 0)), dtype=numpy_dtype(dtype))
    return [constant(node.outputs[0], ones)]


def dropout(node: Node, make: Maker) -> list[Value] | None:
    """Dropout whose mask is used, or in training; None where it is a view."""
    x, ratio = node.input(0), 0.5 if node.get(1) is None else float(node.known(1, "ratio").item())
    training = node.get(2) is not None and bool(node.known(2, "training mode").item())
    if not training or ratio == 0.0:
        dtype = "bool" if node.opset >= _TRUE_MASKS else x.dtype
        return [x, filled(make, f"{node.name}/mask", x.shape, True, dtype)]
    random = make("RandomUniformLike", x, dtype=1)
    kept = make("GreaterOrEqual", random, np.asarray(ratio, dtype=np.float32))
    scaled = make("Mul", x, number(1.0 / (1.0 - ratio), x))
    return [make("Where", kept, scaled, number(0, x)), kept]


def random_like(node: Node, make: Maker) -> list[Value]:
    """RandomUniformLike and RandomNormalLike: random numbers, which read nothing."""
    like = node.input(0)
    attrs = {"dtype": ONNX_TYPES[like.dtype], **node.attrs, "shape": like.shape}
    return [make(node.type.removesuffix("Like"), **attrs)]


def bernoulli(node: Node, make: Maker) -> list[Value] | None:
    """Bernoulli: a random number below the input."""
    x = node.input(0)
    hit = make("Less", make("RandomUniformLike", x, dtype=ONNX_TYPES[x.dtype]), x)
    return [cast(make, hit, DTYPES[int(node.attrs.get("dtype", ONNX_TYPES[x.dtype]))])]


def gather_nd(node: Node, make: Maker) -> list[Value] | None:
    """GatherND along several dimensions, as one dimension of all of them."""
    data, index = node.input(0), node.input(1)
    batch, depth = int(node.attrs.get("batch_dims", 0)), index.shape[-1]
    if depth == 1 and not batch:
        return None
    picked = data.shape[batch : batch + depth]
    line = _linear(make, index, picked)
    front = data.shape[:batch]
    if batch:
        starts = positions(make, math.prod(front)) * math.prod(picked)
        starts = starts.reshape(front + (1,) * (len(line.shape) - batch))
        line = make("Add", line, starts)
    flat = make(
        "Reshape", data, ints(math.prod(data.shape[: batch + depth]), *_rest(data, batch + depth))
    )
    return [make("Gather", flat, line, axis=0)]


def _rest(value: Value, start: int) -> tuple[int, ...]:
    return value.shape[start:]


def _linear(make: Maker, index: Value, sizes: tuple[int, ...]) -> Value:
    """Positions along several dimensions as positions along all of them in one."""
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    counted = make("Mod", index, ints(*sizes))
    return make("ReduceSum", make("Mul", counted, ints(*steps)), ints(-1), keepdims=0)


def reversed_slice(node: Node, make: Maker) -> list[Value] | None:
    """Slice with backward steps: a gather by known positions."""
    value = node.input(0)
    starts, ends = node.ints(1, "starts") or (), node.ints(2, "ends") or ()
    axes = node.ints(3, "axes") or tuple(range(len(starts)))
    steps = node.ints(4, "steps") or (1,) * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        dim = wrapped(axis, len(value.shape))
        size = value.shape[dim]
        stop = None if step < 0 and end < -size else end
        places = range(size)[slice(start, stop, step)]
        index = positions(make, len(places)) * step + (places.start if places else 0)
        value = make("Gather", value, index, axis=dim)
    return [value]


def pad(node: Node, make: Maker) -> list[Value] | None:
    """Pad that repeats elements, cuts, or surrounds with a value that is not known."""
    value, mode = node.input(0), str(node.attrs.get("mode", "constant"))
    low, high = pads_of(node)
    fill = node.get(2)
    if mode == "constant":
        return _constant_pad(make, value, fill, (low, high))
    for axis, (a, b) in enumerate(zip(low, high, strict=True)):
        if a or b:
            index = _turned(positions(make, value.shape[axis] + a + b, -a), value.shape[axis], mode)
            value = make("Gather", value, index, axis=axis)
    return [value]


def _constant_pad(
    make: Maker, value: Value, fill: Value | None, pads: tuple[list[int], list[int]]
) -> list[Value] | None:
    low, high = pads
    cuts = [min(n, 0) for n in (*low, *high)]
    hidden = fill is not None and fill.known is None
    if not any(cuts) and not hidden:
        return None
    rank = len(low)
    if any(cuts):
        starts = [-n for n in cuts[:rank]]
        ends = [n + c for n, c in zip(value.shape, cuts[rank:], strict=True)]
        value = make("Slice", value, ints(*starts), ints(*ends), ints(*range(rank)))
    around = ints(*(max(n, 0) for n in (*low, *high)))
    if not hidden or fill is None:
        return [make("Pad", value, around, fill)]
    pairs = [(int(a), int(b)) for a, b in zip(around[:rank], around[rank:], strict=True)]
    count = math.prod(n + a + b for n, (a, b) in zip(value.shape, pairs, strict=True))
    make.check_folded(max(count, value.size), "elements of a mask")
    inside = np.ones(value.shape, dtype=bool)
    return [make("Where", np.pad(inside, pairs), make("Pad", value, around), fill)]


def _turned(places: Array, size: int, mode: str) -> Array:
    """Places outside `size` as those that `mode` puts there."""
    if mode == "edge":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return np.mod(places, size)
    if mode != "reflect":
        raise UnplannableError(f"padding by {mode}")
    period = max(2 * (size - 1), 1)
    around = np.mod(places, period)
    return np.minimum(around, period - around) if size > 1 else np.zeros_like(places)


def binarizer(node: Node, make: Maker) -> list[Value]:
    """Binarizer: one above a threshold, zero elsewhere."""
    x = node.input(0)
    threshold = number(float(node.attrs.get("threshold", 0.0)), x)
    return [cast(make, make("Greater", x, threshold), x.dtype)]


def optional_element(node: Node, _: Maker) -> list[Value] | None:
    """OptionalGetElement of a tensor: the tensor."""
    return [node.input(0)]


def optional_has(node: Node, _: Maker) -> list[Value] | None:
    """OptionalHasElement: whether an input is there."""
    return [constant(node.outputs[0], np.asarray(node.get(0) is not None))]


def reduction(node: Node, make: Maker) -> list[Value] | None:
    """A reduction over no dimension: each element by itself."""
    x = node.input(0)
    if node.ints(1, "axes") or not node.attrs.get("noop_with_empty_axes", 0):
        return None
    square = {"ReduceSumSquare"}
    if node.type in square:
        return [make("Mul", x, x)]
    if node.type in {"ReduceL1", "ReduceL2"}:
        return [make("Abs", x)]
    if node.type == "ReduceLogSum":
        return [make("Log", x)]
    return [x]


def is_known_zero(value: Value | None) -> bool:
    """Whether a value is left out or zero everywhere."""
    return value is None or scalar(value) == 0.0
