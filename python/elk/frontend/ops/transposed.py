"""ConvTranspose as a convolution of its input: no zeros between positions, no scattered sums.

A result position `stride * q + r` gets the kernel positions `stride * t + r` times the input
positions `q - t`. So `q` and `r` are loops of the result, `t` is summed over, and with the blocks
of the kernel in backward order (`t' = T - 1 - t`) every index is a sum of loops:

    result[s q + r] = sum over t', channels of input[q + t' - (T - 1)] * kernel[T - 1 - t'][r]

What `pads` cut off is a view of this result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elk.frontend.ops.composed import ints, positions
from elk.frontend.ops.windows import guarded_at
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.space import Affine, Along, LoopSpace, MisalignedError, Pattern, Term
from elk.frontend.views.values import Stored, Value, whole
from elk.frontend.views.views import Shape, covers, identity

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker

_AXES = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
_TILES = {
    "b": "Batch", "g": "Group", "co": "OutCh", "ci": "InCh",
    "qd": "OutH", "qh": "OutH", "qw": "OutW", "rd": "OutH", "rh": "OutH", "rw": "OutW",
    "td": "KernelH", "th": "KernelH", "tw": "KernelW",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Phases:
    """Of each spatial dimension: stride, blocks of the kernel, positions and phases of the result.

    `cut` is where the result begins, `out` how long it is.
    """

    stride: Shape
    dilation: Shape
    blocks: Shape
    counts: Shape
    cut: Shape
    out: Shape


def conv_transpose(node: Node, make: Maker) -> list[Value]:
    """ConvTranspose: the kernel in blocks, the product, the bias, and the part that is wanted."""
    x, weight = node.input(0), node.input(1)
    if len(x.shape) - 2 not in _AXES:
        raise UnplannableError(f"{len(x.shape) - 2} spatial dimensions")
    kernel = _undilated(node, make, weight)
    at = _phases(node, x.shape[2:], kernel.shape[2:])
    blocks = _blocked(make, kernel, at)
    group = int(node.attrs.get("group", 1))
    full = make("PhasedConv", x, blocks, group=group, stride=at.stride, counts=at.counts)
    rank = len(at.out)
    ends = ints(*(cut + out for cut, out in zip(at.cut, at.out, strict=True)))
    result = make("Slice", full, ints(*at.cut), ends, ints(*range(2, rank + 2)))
    bias = node.get(2)
    if bias is not None:
        result = make("Add", result, make("Reshape", bias, ints(-1, *(1,) * rank)))
    return [result]


def _undilated(node: Node, make: Maker, weight: Value) -> Value:
    """The kernel with zeros between its positions where it is dilated."""
    rank = len(weight.shape) - 2
    for i, step in enumerate(node.attrs.get("dilations", (1,) * rank)):
        axis, size = i + 2, weight.shape[i + 2]
        if step == 1 or size == 1:
            continue
        apart = make("Unsqueeze", weight, ints(axis + 1))
        pads = [0] * (2 * (rank + 3))
        pads[rank + 3 + axis + 1] = step - 1
        spread = make("Pad", apart, ints(*pads))
        flat = (*weight.shape[:axis], size * step, *weight.shape[axis + 1 :])
        whole_kernel = make("Reshape", spread, ints(*flat))
        weight = make("Slice", whole_kernel, ints(0), ints((size - 1) * step + 1), ints(axis))
    return weight


def _phases(node: Node, size: Shape, kernel: Shape) -> Phases:
    rank = len(size)
    stride = tuple(node.attrs.get("strides", (1,) * rank))
    extra = tuple(node.attrs.get("output_padding", (0,) * rank))
    full = [s * (n - 1) + k + e for s, n, k, e in zip(stride, size, kernel, extra, strict=True)]
    low, out = _ends(node, size, stride, full)
    counts = [max(-(-(cut + n) // s), 1) for cut, n, s in zip(low, out, stride, strict=True)]
    blocks = tuple(-(-k // s) for k, s in zip(kernel, stride, strict=True))
    if min(out) < 1 or min(low) < 0:
        raise UnplannableError("its result has no elements, or begins before its input")
    return Phases(stride, (1,) * rank, blocks, tuple(counts), low, out)


def _ends(node: Node, size: Shape, stride: Shape, full: list[int]) -> tuple[Shape, Shape]:
    """What is cut off in front, and how many positions are wanted."""
    rank = len(size)
    auto = node.attrs.get("auto_pad", "NOTSET")
    wanted = node.attrs.get("output_shape")
    if wanted is None and auto in {"SAME_UPPER", "SAME_LOWER"}:
        wanted = tuple(min(n * s, f) for n, s, f in zip(size, stride, full, strict=True))
    if wanted is not None:
        wanted = tuple(wanted)[-rank:]
        totals = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
        upper = auto == "SAME_UPPER"
        low = tuple(t // 2 if upper else t - t // 2 for t in totals)
        return low, tuple(wanted)
    pads = tuple(node.attrs.get("pads", (0,) * (2 * rank))) if auto == "NOTSET" else (0,) * 2 * rank
    low, high = pads[:rank], pads[rank:]
    return low, tuple(f - a - b for f, a, b in zip(full, low, high, strict=True))


def _blocked(make: Maker, weight: Value, at: Phases) -> Value:
    """The kernel `[in, out, T, s, ...]`: blocks in backward order, then phases.

    A weight lies so in HBM: what writes it there writes it in this order.
    """
    ready = _stored(weight, at)
    if ready is not None:
        return ready
    rank = len(at.stride)
    behind = [t * s - k for t, s, k in zip(at.blocks, at.stride, weight.shape[2:], strict=True)]
    if any(behind):
        weight = make("Pad", weight, ints(*(0,) * (rank + 4), *behind))
    shape = [n for pair in zip(at.blocks, at.stride, strict=True) for n in pair]
    weight = make("Reshape", weight, ints(*weight.shape[:2], *shape))
    for i, blocks in enumerate(at.blocks):
        if blocks > 1:
            weight = make("Gather", weight, positions(make, blocks)[::-1], axis=2 + 2 * i)
    return weight


def _stored(weight: Value, at: Phases) -> Value | None:
    """A weight of the file in the order in which it is read; None for anything else."""
    piece = weight.pieces[0] if len(weight.pieces) == 1 else None
    if (
        piece is None
        or weight.known is not None
        or piece.tensor.home != "weight"
        or not piece.is_plain
        or piece.view != identity(piece.tensor.shape)
    ):
        return None
    pairs = [n for pair in zip(at.blocks, at.stride, strict=True) for n in pair]
    shape = (*weight.shape[:2], *pairs)
    return whole(Stored(piece.tensor.name, weight.dtype, shape, "weight"))


def phased_conv(node: Node) -> Pattern:
    """The product: loops over positions, phases and blocks, channels and groups."""
    x, weight = node.input(0), node.input(1)
    stride, counts = node.attrs["stride"], node.attrs["counts"]
    groups = int(node.attrs["group"])
    rank = len(stride)
    per_group, channels = x.shape[1] // groups, weight.shape[1]
    space = LoopSpace()
    batch, group = space.loop("b", x.shape[0]), space.loop("g", groups)
    out, inner = space.loop("co", channels), space.loop("ci", per_group, "Reduction")
    names = _AXES[rank]
    q = [space.loop(f"q{n}", count) for n, count in zip(names, counts, strict=True)]
    r = [space.loop(f"r{n}", s) for n, s in zip(names, stride, strict=True)]
    blocks = weight.shape[2::2]
    t = [space.loop(f"t{n}", size, "Reduction") for n, size in zip(names, blocks, strict=True)]
    along: list[Along] = []
    for i in range(rank):
        if x.shape[i + 2] == 1:
            x = guarded_at(x, i + 2)
        if not all(covers(p.view, p.tensor.shape, i + 2) for p in x.pieces):
            raise MisalignedError(0)
        along.append(Affine((Term(q[i], 1), Term(t[i], 1)), 1 - blocks[i]))
    space.read(0, x, [batch, _both(group, inner, per_group), *along])
    pairs: list[Along] = [loop for pair in zip(t, r, strict=True) for loop in pair]
    space.read(1, weight, [_both(group, inner, per_group), out, *pairs])
    shape = (x.shape[0], groups * channels, *(c * s for c, s in zip(counts, stride, strict=True)))
    results: list[Along] = [
        Affine((Term(a, s), Term(b, 1)), 0) for a, b, s in zip(q, r, stride, strict=True)
    ]
    space.write(x.dtype, shape, [batch, _both(group, out, channels), *results])
    nest = space.nest()
    return Pattern(
        kind="Conv",
        function="conv2d",
        compute=x.dtype,
        accumulate=x.dtype,
        axes=nest.tagged(lambda i: _TILES[nest.axes[i].name.partition("_")[0]]),
        reads=nest.reads,
        writes=nest.writes,
        flops=2 * math.prod(shape) * per_group * math.prod(blocks),
        params=(1, 1),
    )


def _both(outer: int, inner: int, inner_size: int) -> Along:
    return Affine((Term(outer, inner_size), Term(inner, 1)), 0)
