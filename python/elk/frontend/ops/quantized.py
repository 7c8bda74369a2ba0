"""Quantised types: integers with a scale and a zero point.

Products of integers are one op over the integers as they are stored where the zero points are
known numbers, which the kernel takes off as it reads; else the zero points are taken off before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from elk.frontend.ops import contraction, windows
from elk.frontend.ops.composed import cast, ints, is_known_zero, number
from elk.frontend.ops.elementwise import scalar
from elk.frontend.ops.factors import spread
from elk.frontend.ops.kind import Kind
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.values import DTYPES, Converted, Factored, Value

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.space import Pattern

_RANGES = {
    "i4": (-8, 7), "u4": (0, 15), "i8": (-128, 127), "u8": (0, 255),
    "i16": (-32768, 32767), "u16": (0, 65535),
}  # fmt: skip


def _spread(node: Node, make: Maker, value: Value, x: Value) -> Value:
    """A scale or zero point in a shape that broadcasts to `x`: of all, of an axis, of blocks."""
    block = int(node.attrs.get("block_size", 0))
    if value.size == 1:
        return make("Reshape", value, ints())
    axis = wrapped(int(node.attrs.get("axis", 1)), len(x.shape))
    if not block:
        return make("Reshape", value, ints(-1, *(1,) * (len(x.shape) - 1 - axis)))
    apart = make("Unsqueeze", value, ints(axis + 1))
    shape = (*value.shape[: axis + 1], block, *value.shape[axis + 1 :])
    each = make("Reshape", make("Expand", apart, ints(*shape)),
                ints(*value.shape[:axis], -1, *value.shape[axis + 1 :]))  # fmt: skip
    if each.shape[axis] == x.shape[axis]:
        return each
    return make("Slice", each, ints(0), ints(x.shape[axis]), ints(axis))


def dequantize(node: Node, make: Maker) -> list[Value]:
    """DequantizeLinear: (x - zero) * scale."""
    x, scale, zero = node.input(0), node.input(1), node.get(2)
    target = (
        DTYPES[int(node.attrs.get("output_dtype", 0))]
        if node.attrs.get("output_dtype")
        else scale.dtype
    )
    wide = "f32" if scale.dtype != "f64" else "f64"
    if x.size > 1:  # Weights stay as small as they are stored, wherever their bytes lie.
        x = Value(x.name, x.dtype, x.shape, x.pieces)
    real = cast(make, x, wide)
    offset = None
    if not is_known_zero(zero) and zero is not None:
        offset = _spread(node, make, unread(zero), x)
        real = make("Sub", real, cast(make, offset, wide))
    factor = _spread(node, make, unread(scale), x)
    result = cast(make, make("Mul", real, cast(make, factor, wide)), target)
    if x.known is None:
        _note(make, result, x, (factor, offset))
    return [result]


def unread(value: Value) -> Value:
    """`value` without its elements where it has several: it stays as small as it is stored."""
    return value if value.size == 1 else Value(value.name, value.dtype, value.shape, value.pieces)


def _note(make: Maker, result: Value, x: Value, by: tuple[Value, Value | None]) -> None:
    """Notes that `result` is stored as `x`, with `by` its scale and its zero point."""
    scale, zero = (v if v is None or v.size == 1 else spread(v, x.shape) for v in by)
    result.converted = Converted(x, scale, zero)
    if scale is not None and scale.size == 1:
        base = cast(make, x, result.dtype)
        if zero is not None:
            base = make("Sub", base, cast(make, zero, result.dtype))
            base.converted = Converted(x, None, zero)
        result.factored = Factored(base, cast(make, scale, result.dtype))


def quantize(node: Node, make: Maker) -> list[Value]:
    """QuantizeLinear: x / scale, rounded, moved by the zero point, and cut to the range."""
    x, scale, zero = node.input(0), node.input(1), node.get(2)
    if zero is not None:
        target = zero.dtype
    else:
        given = int(node.attrs.get("output_dtype", 0))
        target = DTYPES[given] if given else "u8"
    wide = (
        scale.dtype if scale.dtype in {"f64", "f16", "bf16"} and x.dtype == scale.dtype else "f32"
    )
    real = make("Div", cast(make, x, wide), _spread(node, make, cast(make, scale, wide), x))
    if target in _RANGES:
        real = make("Round", real)
    if not is_known_zero(zero) and zero is not None:
        real = make("Add", real, _spread(node, make, cast(make, zero, wide), x))
    if target in _RANGES:
        low, high = _RANGES[target]
        real = make("Clip", real, number(low, real), number(high, real))
    return [cast(make, real, target)]


def _zeros(node: Node, slots: tuple[int, int]) -> tuple[float, float] | None:
    """Both zero points as numbers; None where one is not known or is a vector of several."""
    numbers = []
    for slot in slots:
        value = node.get(slot)
        number_ = 0.0 if value is None else scalar(value)
        if number_ is None or np.isnan(number_):
            return None
        numbers.append(number_)
    return numbers[0], numbers[1]


def _lowered(make: Maker, x: Value, zero: Value | None, shape: tuple[int, ...] = ()) -> Value:
    """Integers without their zero point, wide enough."""
    wide = cast(make, x, "i32")
    if zero is None or is_known_zero(zero):
        return wide
    off = cast(make, zero, "i32")
    return make("Sub", wide, make("Reshape", off, ints(*shape)) if shape else off)


def matmul_integer(node: Node, make: Maker) -> list[Value]:
    """MatMulInteger: zero points may differ by row of the first input and column of the second."""
    return [_matmul(node, make, (0, 1), (2, 3))]


def _matmul(node: Node, make: Maker, slots: tuple[int, int], at: tuple[int, int]) -> Value:
    a, b = (node.input(slot) for slot in slots)
    zeros = _zeros(node, at)
    if zeros is not None:
        return make("IntegerMatMul", a, b, zeros=zeros)
    a_zero, b_zero = node.get(at[0]), node.get(at[1])
    rows = (-1, 1) if a_zero is not None and len(a_zero.shape) == 1 and a_zero.size > 1 else ()
    return make("MatMul", _lowered(make, a, a_zero, rows), _lowered(make, b, b_zero))


def conv_integer(node: Node, make: Maker) -> list[Value]:
    """ConvInteger."""
    return [_conv(node, make, (0, 1), (2, 3))]


_CONV = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _conv(
    node: Node, make: Maker, slots: tuple[int, int], at: tuple[int, int], bias: Value | None = None
) -> Value:
    x, w = (node.input(slot) for slot in slots)
    attrs = {name: node.attrs[name] for name in _CONV if name in node.attrs}
    zeros = _zeros(node, at)
    if zeros is not None:
        return make("IntegerConv", x, w, bias, **attrs, zeros=zeros)
    w_zero = node.get(at[1])
    channels = (-1, *(1,) * (len(w.shape) - 1)) if w_zero is not None and w_zero.size > 1 else ()
    plain = _lowered(make, x, node.get(at[0])), _lowered(make, w, w_zero, channels)
    return make("Conv", *plain, bias, **attrs)


def _scaled(
    make: Maker, total: Value, factors: tuple[Value, Value], shape: tuple[int, ...]
) -> Value:
    """An integer result times the scales of what it was made from."""
    a, b = (cast(make, x, "f32") for x in factors)
    if shape and b.size > 1:
        b = make("Reshape", b, ints(*shape))
    if a.size > 1 and len(a.shape) == 1:
        a = make("Reshape", a, ints(-1, 1))
    a, b = (make("Reshape", x, ints()) if x.size == 1 else x for x in (a, b))
    return make("Mul", cast(make, total, "f32"), make("Mul", a, b))


def _requantized(make: Maker, real: Value, scale: Value, zero: Value, axis: int) -> Value:
    return make("QuantizeLinear", real, cast(make, scale, "f32"), zero, axis=axis)


def _is_integer(value: Value) -> bool:
    return value.dtype in _RANGES


def qlinear_matmul(node: Node, make: Maker) -> list[Value]:
    """QLinearMatMul: the product of the integers, scaled and cut to the range of the result."""
    scales = node.input(1), node.input(4)
    if not _is_integer(node.input(0)) or not _is_integer(node.input(3)):
        factors = [
            make("DequantizeLinear", x, cast(make, scale, "f32"), zero)
            for x, scale, zero in (map(node.input, range(i, i + 3)) for i in (0, 3))
        ]
        real = make("MatMul", *factors)
    else:
        real = _scaled(make, _matmul(node, make, (0, 3), (2, 5)), scales, ())
    return [_requantized(make, real, node.input(6), node.input(7), -1)]


def qlinear_conv(node: Node, make: Maker) -> list[Value]:
    """QLinearConv: the same, with scales of each output channel."""
    channels = (-1, *(1,) * (len(node.input(0).shape) - 2))
    total = _conv(node, make, (0, 3), (2, 5), node.get(8))
    real = _scaled(make, total, (node.input(1), node.input(4)), channels)
    return [_requantized(make, real, node.input(6), node.input(7), 1)]


def integer_matmul(node: Node) -> Pattern:
    """A product of integers. `scalars`: the zero points of its operands."""
    a, b = node.attrs["zeros"]
    return _integer(contraction.matmul(node), (a, b))


def integer_conv(node: Node) -> Pattern:
    """A convolution of integers. `scalars`: the zero points of its operands, then the bias."""
    a, b = node.attrs["zeros"]
    return _integer(windows.conv(node), (a, b))


def _integer(pattern: Pattern, zeros: tuple[float, float]) -> Pattern:
    if any(len(write.shape) == 0 and not pattern.axes for write in pattern.writes):
        raise UnplannableError("a product of single numbers")
    writes = tuple(write._replace(dtype="i32") for write in pattern.writes)
    return replace(pattern, accumulate="i32", writes=writes, scalars=(*zeros, *pattern.scalars))


KINDS: Final = {
    "ConvInteger": Kind(compose=conv_integer),
    "DequantizeLinear": Kind(compose=dequantize),
    "IntegerConv": Kind(build=integer_conv, compose=windows.padding_only),
    "IntegerMatMul": Kind(build=integer_matmul),
    "MatMulInteger": Kind(compose=matmul_integer),
    "QLinearConv": Kind(compose=qlinear_conv),
    "QLinearMatMul": Kind(compose=qlinear_matmul),
    "QuantizeLinear": Kind(compose=quantize),
}
