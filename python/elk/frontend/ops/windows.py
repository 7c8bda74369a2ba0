"""Convolutions and pools: each window position is a loop over the result and one over the kernel.

Along a spatial dimension the input is read at `stride * o + dilation * k - pad`; what falls outside
is padding and is not read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elk.frontend.ops import fold
from elk.frontend.ops.conversions import Conversion
from elk.frontend.ops.elementwise import scalar
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.space import Affine, Along, LoopSpace, MisalignedError, Pattern, Term
from elk.frontend.views.values import Piece, Value, constant, numpy_dtype
from elk.frontend.views.views import Shape, covers, guarded

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker

# Loops and kernel tags of one, two and three spatial dimensions.
_AXES = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
_TILES = {
    "b": "Batch", "g": "Group", "co": "OutCh", "c": "OutCh", "ci": "InCh",
    "od": "OutH", "oh": "OutH", "ow": "OutW", "kd": "KernelH", "kh": "KernelH", "kw": "KernelW",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """Where windows lie, for each spatial dimension.

    Attributes:
        out: Window positions.
        kernel: Positions in a window.
        stride: Steps between windows.
        dilation: Steps inside a window.
        pad: Positions in front of the input.
        end: Positions behind the input.
        overhang: Whether some window reads outside the input.
    """

    out: Shape
    kernel: Shape
    stride: Shape
    dilation: Shape
    pad: Shape
    end: Shape
    overhang: bool

    @property
    def misses(self) -> bool:
        """Whether all windows end in front of the input along some dimension."""
        lines = zip(self.out, self.kernel, self.stride, self.dilation, self.pad, strict=True)
        return any((o - 1) * s + (k - 1) * d < a for o, k, s, d, a in lines)

    @property
    def params(self) -> Shape:
        """Strides along height and width, as kernels take them."""
        return (1, 1, *self.stride)[-2:]


def window(node: Node, kernel: Shape) -> Window:
    """The windows of a node with the attributes of Conv and of pools."""
    size = node.input(0).shape[2:]
    rank = len(size)
    if rank not in _AXES:
        raise UnplannableError(f"{rank} spatial dimensions")
    stride = tuple(node.attrs.get("strides", (1,) * rank))
    dilation = tuple(node.attrs.get("dilations", (1,) * rank))
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    low, high = _pads(node, size, stride, reach)
    lines = zip(size, low, high, reach, stride, strict=True)
    ceil = bool(node.attrs.get("ceil_mode", 0))
    out = [_count(n + a, b, r, s, ceil=ceil) for n, a, b, r, s in lines]
    if min(out) < 1:
        raise UnplannableError("its windows are larger than its input")
    last = [(o - 1) * s + r - a for o, s, r, a in zip(out, stride, reach, low, strict=True)]
    overhang = any(low) or any(end > n for end, n in zip(last, size, strict=True))
    return Window(tuple(out), kernel, stride, dilation, low, high, overhang)


def _count(front: int, end: int, reach: int, stride: int, *, ceil: bool) -> int:
    """Windows along a dimension of `front` positions and `end` of padding behind them.

    With `ceil` the last window may reach behind the padding, but not begin in it.
    """
    gap = front + end - reach
    if not ceil:
        return gap // stride + 1
    count = -(-gap // stride) + 1
    return count - 1 if (count - 1) * stride >= front else count


def _pads(node: Node, size: Shape, stride: Shape, reach: Shape) -> tuple[Shape, Shape]:
    rank = len(size)
    auto = node.attrs.get("auto_pad", "NOTSET")
    if auto == "NOTSET":
        pads = tuple(node.attrs.get("pads", (0,) * (2 * rank)))
        return pads[:rank], pads[rank:]
    if auto == "VALID":
        return (0,) * rank, (0,) * rank
    total = [
        max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(size, stride, reach, strict=True)
    ]
    small = tuple(t // 2 for t in total)
    large = tuple(t - t // 2 for t in total)
    return (small, large) if auto == "SAME_UPPER" else (large, small)


def padding_only(node: Node, make: Maker) -> list[Value] | None:
    """A node none of whose windows reaches its input: its bias, or what it makes of nothing."""
    value = node.input(0)
    weight = None if node.type.endswith("Pool") else node.input(1)
    at = window(node, tuple(node.attrs["kernel_shape"]) if weight is None else weight.shape[2:])
    if not at.misses or any(node.outputs[1:]):
        return None
    dtype = numpy_dtype("i32" if node.type == "IntegerConv" else value.dtype)
    channels = value.shape[1] if weight is None else weight.shape[0]
    least = fold.lowest(dtype) if node.type == "MaxPool" else 0
    made = constant(f"{node.name}/nothing", np.asarray(least, dtype))
    if weight is not None and node.get(2) is not None:
        shape = np.asarray((-1, *(1,) * len(at.out)), dtype=np.int64)
        made = make("Reshape", node.input(2), shape)
    return [make("Expand", made, np.asarray((value.shape[0], channels, *at.out), dtype=np.int64))]


def _spatial(
    space: LoopSpace, value: Value, at: Window
) -> tuple[Value, list[int], list[int], list[Along]]:
    """The input as windows can index it, loops over positions and kernel, what runs along it."""
    names = _AXES[len(at.out)]
    outs = [space.loop(f"o{x}", n) for x, n in zip(names, at.out, strict=True)]
    kernels = [space.loop(f"k{x}", n, "Reduction") for x, n in zip(names, at.kernel, strict=True)]
    along: list[Along] = []
    for i, (o, k) in enumerate(zip(outs, kernels, strict=True)):
        if value.shape[i + 2] == 1 and at.overhang:
            value = guarded_at(value, i + 2)
        along.append(Affine((Term(o, at.stride[i]), Term(k, at.dilation[i])), -at.pad[i]))
        if at.overhang and not all(covers(p.view, p.tensor.shape, i + 2) for p in value.pieces):
            raise MisalignedError(0)
    return value, outs, kernels, along


def guarded_at(value: Value, dim: int) -> Value:
    """`value` whose dimension `dim`, of size one, may be indexed outside."""
    pieces = []
    for piece in value.pieces:
        view = guarded(piece.view, piece.tensor.shape, dim)
        if view is None or not piece.is_plain:
            raise MisalignedError(0)
        pieces.append(Piece(piece.tensor, view))
    return Value(value.name, value.dtype, value.shape, tuple(pieces), value.known)


def conv(node: Node) -> Pattern:
    """Conv of any rank, with groups; depthwise where each group reads one channel."""
    value, weight = node.input(0), node.input(1)
    groups = int(node.attrs.get("group", 1))
    channels, per_group = weight.shape[0], weight.shape[1]
    at = window(node, weight.shape[2:])
    depthwise = groups > 1 and per_group == 1
    space = LoopSpace()
    batch = space.loop("b", value.shape[0])
    group = space.loop("c" if depthwise else "g", groups)
    out = space.loop("co", channels // groups)
    inner = space.loop("ci", per_group, "Reduction")
    value, outs, kernels, along = _spatial(space, value, at)
    result: Along = _both(group, out, groups, channels // groups)
    dtype = node.computes or value.dtype
    conversion = Conversion()
    reads: tuple[list[Along], list[Along]] = (
        [batch, _both(group, inner, groups, per_group), *along],
        [result, inner, *kernels],
    )
    for slot, operand in enumerate((value, weight)):
        space.read(slot, operand, reads[slot])
        conversion.read(space, node, slot, reads[slot])
    scalars = _bias(space, node, result)
    shape = (value.shape[0], channels, *at.out)
    space.write(dtype, shape, [batch, result, *outs])
    nest = space.nest()
    products = 2 * math.prod(shape) * per_group * math.prod(at.kernel)
    bias = math.prod(shape) if node.get(2) is not None else 0
    return Pattern(
        kind="DepthwiseConv" if depthwise else "Conv",
        function="depthwise_conv2d" if depthwise else "conv2d",
        compute=dtype,
        accumulate=dtype,
        axes=nest.tagged(lambda i: _TILES[nest.axes[i].name.partition("_")[0]]),
        reads=nest.reads,
        writes=nest.writes,
        flops=products + bias + conversion.flops,
        params=at.params,
        scalars=(*scalars, *conversion.scalars),
        constants=conversion.constants,
    )


def _both(outer: int, inner: int, outer_size: int, inner_size: int) -> Along:
    """What runs along channels that groups and channels of a group make up."""
    if outer_size == 1:
        return inner
    return outer if inner_size == 1 else Affine((Term(outer, inner_size), Term(inner, 1)), 0)


def _bias(space: LoopSpace, node: Node, along: Along) -> tuple[float, ...]:
    bias = node.get(2)
    if bias is None:
        return ()
    number = scalar(bias)
    if number is not None:
        return (number,)
    space.read(2, bias, [along])
    return ()


def pool(node: Node, function: str, *, mean: bool = False) -> Pattern:
    """A pool. `scalars[0]` of a mean is its factor, or 0 where padding does not count."""
    value = node.input(0)
    if any(node.outputs[1:]):
        raise UnplannableError("its indices are used as an output")
    at = window(node, tuple(node.attrs["kernel_shape"]))
    space = LoopSpace()
    front = [space.loop("b", value.shape[0]), space.loop("c", value.shape[1])]
    value, outs, _, along = _spatial(space, value, at)
    space.read(0, value, [*front, *along])
    shape = (*value.shape[:2], *at.out)
    space.write(value.dtype, shape, [*front, *outs])
    nest = space.nest()
    return Pattern(
        kind="Pool",
        function=function,
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(lambda i: _TILES[nest.axes[i].name.partition("_")[0]]),
        reads=nest.reads,
        writes=nest.writes,
        flops=math.prod(shape) * math.prod(at.kernel),
        params=at.params,
        scalars=_factor(node, at) if mean else (),
    )


def counted_mean(node: Node, make: Maker) -> list[Value] | None:
    """AveragePool whose padding counts, with windows that reach behind it: sums over counts."""
    x, at = node.input(0), window(node, tuple(node.attrs["kernel_shape"]))
    ends = [n + a + b for n, a, b in zip(x.shape[2:], at.pad, at.end, strict=True)]
    lines = list(zip(at.out, at.kernel, at.stride, at.dilation, ends, strict=True))
    behind = any((o - 1) * s + (k - 1) * d >= end for o, k, s, d, end in lines)
    if not node.attrs.get("count_include_pad", 0) or not behind:
        return padding_only(node, make)
    counts = np.ones((), dtype=np.float64)
    for out, kernel, stride, dilation, end in lines:
        make.check_folded(out * max(kernel, counts.size), "windows whose padding counts")
        first = np.arange(out)[:, None] * stride + np.arange(kernel) * dilation
        counts = counts[..., None] * (first < end).sum(1)
    names = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")
    attrs = {name: node.attrs[name] for name in names if name in node.attrs}
    total = make("SumPool", x, **attrs)
    return [make("Mul", total, (1.0 / counts).astype(numpy_dtype(x.dtype)))]


def _factor(node: Node, at: Window) -> tuple[float]:
    everywhere = not at.overhang or bool(node.attrs.get("count_include_pad", 0))
    return (1.0 / math.prod(at.kernel) if everywhere else 0.0,)
