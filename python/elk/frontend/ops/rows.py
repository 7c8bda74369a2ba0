"""Ops along rows: reductions, softmax, norms, and those planned whole a row (scans, sorts)."""

from __future__ import annotations

import math

from elk.frontend.ops.elementwise import aligned, scalar
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.space import LoopSpace, Nest, Pattern

# Operations for each element of a row op, as the tile profile counts them.
_SOFTMAX_FLOPS = 5
_LAYERNORM_FLOPS = 7
_RMSNORM_FLOPS = 4
_BATCHNORM_FLOPS = 4
_FIRST_SPATIAL = 2
_SORT = (0, 1)  # What the kernel of an opaque op is told of a sort.
# From this opset on, Softmax normalises along one axis.
_ONE_AXIS_SOFTMAX = 13


def reduction(node: Node, function: str, *, mean: bool = False, result: str = "") -> Pattern:
    """`function` over some dimensions. A mean is a sum whose result is scaled by `scalars[0]`."""
    value = node.input(0)
    rank = len(value.shape)
    if "axis" in node.attrs or function.startswith("arg"):
        axes: set[int] = {node.axis(0)}
    else:
        given = node.ints(1, "axes")
        if not given and node.attrs.get("noop_with_empty_axes", 0):
            raise UnplannableError("a reduction over no dimension")
        axes = {wrapped(a, rank) for a in given} if given else set(range(rank))
    return _reduced(node, function, axes, mean=mean, result=result)


def global_pool(node: Node, function: str, *, mean: bool = False) -> Pattern:
    """A reduction over all dimensions behind the channels."""
    return _reduced(node, function, set(range(2, len(node.input(0).shape))), mean=mean)


def _reduced(
    node: Node, function: str, axes: set[int], *, mean: bool = False, result: str = ""
) -> Pattern:
    value = node.input(0)
    keep = node.attrs.get("keepdims", 1) == 1
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Reduction" if i in axes else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    space.read(0, value, loops)
    kept = [i for i in range(len(loops)) if keep or i not in axes]
    shape = tuple(1 if i in axes else value.shape[i] for i in kept)
    space.write(result or value.dtype, shape, [None if i in axes else loops[i] for i in kept])
    scalars: tuple[float, ...] = (math.prod(shape) / value.size,) if mean else ()
    if function.startswith("arg"):
        scalars = (float(node.attrs.get("select_last_index", 0)),)
    nest = space.nest()
    inner = bool(nest.axes) and nest.axes[-1].role == "Reduction"
    tiles = {"Reduction": "Cols" if inner else "Rows", "Parallel": "Rows" if inner else "Cols"}
    return Pattern(
        kind="Reduce",
        function=f"{function}/{'inner' if inner else 'outer'}",
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(lambda i: tiles[nest.axes[i].role]),
        reads=nest.reads,
        writes=nest.writes,
        flops=value.size,
        scalars=scalars,
    )


def _row_tiles(nest: Nest) -> tuple[str, ...]:
    return tuple("Cols" if axis.role == "Row" else "Rows" for axis in nest.axes)


def softmax(node: Node, function: str = "softmax") -> Pattern:
    """Softmax along one axis; before opset 13, along it and all behind it."""
    value = node.input(0)
    old = node.opset < _ONE_AXIS_SOFTMAX
    axis = node.axis(1 if old else -1)
    rows = range(axis, len(value.shape)) if old else range(axis, axis + 1)
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Row" if i in rows else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    space.read(0, value, loops)
    space.write(value.dtype, value.shape, loops)
    nest = space.nest()
    return Pattern(
        kind="Softmax",
        function=function,
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(_row_tiles(nest).__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=_SOFTMAX_FLOPS * value.size,
    )


def norm(node: Node, function: str) -> Pattern:
    """A norm over the dimensions from `axis` on, then scale and bias. `scalars[0]` is epsilon."""
    value = node.input(0)
    if any(node.outputs[1:]):
        raise UnplannableError("its statistics are used as outputs")
    axis = node.axis(-1)
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Row" if i >= axis else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    space.read(0, value, loops)
    scalars = [float(node.attrs.get("epsilon", 1e-5))]
    places = []
    for slot in (1, 2):
        vector = node.get(slot)
        if vector is None:
            continue
        number = scalar(vector)
        if number is None:
            space.read(slot, vector, aligned(vector.shape, loops))
        else:
            scalars.append(number)
            places.append(slot)
    space.write(value.dtype, value.shape, loops)
    nest = space.nest()
    each = _LAYERNORM_FLOPS if function == "layernorm" else _RMSNORM_FLOPS
    return Pattern(
        kind="Norm",
        function=function,
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(_row_tiles(nest).__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=each * value.size,
        scalars=tuple(scalars),
        constants=tuple(places),
    )


def scan(node: Node, function: str) -> Pattern:
    """An opaque op along one axis: CumSum. `scalars`: exclusive, reverse."""
    value = node.input(0)
    axis = wrapped(int(node.known(1, "axis").item()), len(value.shape))
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Row" if i == axis else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    space.read(0, value, loops)
    space.write(value.dtype, value.shape, loops)
    nest = space.nest()
    return Pattern(
        kind="Opaque",
        function=function,
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(lambda _: "Elements"),
        reads=nest.reads,
        writes=nest.writes,
        flops=value.size,
        scalars=tuple(float(node.attrs.get(name, 0)) for name in ("exclusive", "reverse")),
    )


def batch_norm(node: Node) -> Pattern:
    """BatchNormalization in inference: scale and shift of each channel. `scalars[0]`: epsilon."""
    value = node.input(0)
    if any(node.outputs[1:]):
        raise UnplannableError("its statistics are used as outputs outside training")
    space = LoopSpace()
    loops = [space.loop(f"d{i}", size) for i, size in enumerate(value.shape)]
    space.read(0, value, loops)
    for slot in range(1, 5):
        space.read(slot, node.input(slot), [loops[1]])
    space.write(value.dtype, value.shape, loops)
    nest = space.nest()
    return Pattern(
        kind="Elementwise",
        function="batchnorm",
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(lambda i: "Rows" if nest.loop_of[i] < _FIRST_SPATIAL else "Cols"),
        reads=nest.reads,
        writes=nest.writes,
        flops=_BATCHNORM_FLOPS * value.size,
        scalars=(float(node.attrs.get("epsilon", 1e-5)),),
    )


def instance_norm(node: Node) -> Pattern:
    """InstanceNormalization: a norm over positions, a scale and a bias for each channel."""
    value = node.input(0)
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Row" if i >= _FIRST_SPATIAL else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    space.read(0, value, loops)
    for slot in (1, 2):
        space.read(slot, node.input(slot), [loops[1]])
    space.write(value.dtype, value.shape, loops)
    nest = space.nest()
    return Pattern(
        kind="Norm",
        function="layernorm",
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(_row_tiles(nest).__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=_LAYERNORM_FLOPS * value.size,
        scalars=(float(node.attrs.get("epsilon", 1e-5)),),
    )


def top_k(node: Node) -> Pattern:
    """The first k of each sorted row, and where they were. `scalars`: k, largest, sorted."""
    value = node.input(0)
    axis = node.axis(-1)
    k = int(node.attrs["k"]) if "k" in node.attrs else int(node.known(1, "k").item())
    space = LoopSpace()
    loops = [
        space.loop(f"d{i}", size, "Row" if i == axis else "Parallel")
        for i, size in enumerate(value.shape)
    ]
    first = space.loop("k", k, "Row")
    space.read(0, value, loops)
    kept = [first if i == axis else loop for i, loop in enumerate(loops)]
    shape = tuple(k if i == axis else n for i, n in enumerate(value.shape))
    for dtype in (value.dtype, "i64"):
        space.write(dtype, shape, kept)
    nest = space.nest()
    rows = value.size // value.shape[axis]
    return Pattern(
        kind="Opaque",
        function="topk",
        compute=value.dtype,
        accumulate=value.dtype,
        axes=nest.tagged(lambda i: "None" if nest.loop_of[i] == first else "Elements"),
        reads=nest.reads,
        writes=nest.writes,
        flops=rows * sort_flops(value.shape[axis]),
        params=_SORT,
        scalars=(float(k), *(float(node.attrs.get(name, 1)) for name in ("largest", "sorted"))),
    )


def sort_flops(count: int) -> int:
    """Comparisons of a sort of `count` elements: n log2 n, rounded up."""
    return count * max((count - 1).bit_length(), 1)
