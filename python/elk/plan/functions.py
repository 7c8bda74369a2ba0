"""Functions that a caller hands in: of the time of kernels, and of the cost of plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from elk import _core
from elk.errors import InvalidInputError

# Cycles of one call of a kernel: `(function, dtype, accumulate)`, the sizes above one by their role
# (`{"m": 32, "n": 16, "k": 64}`), and the kernel's parameters (of a window, its strides).
TileFunction: TypeAlias = Callable[[tuple[str, str, str], dict[str, int], tuple[int, int]], float]

# What a plan costs: of its latency in seconds, its energy in joules and its HBM bytes, all chips'.
Objective: TypeAlias = Callable[[float, float, float], float]

_PRODUCTS = frozenset(("conv2d", "depthwise_conv2d", "matmul"))


def name_of(function: TileFunction) -> str:
    """What a caller's function is called in plans."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def asked_model(graph: _core.Graph, function: TileFunction) -> _core.TileModel:
    """The tile model that a caller's function is, for all kernels that `graph` may call."""
    if not callable(function):
        raise InvalidInputError(
            f"tile_model must be a function, got {function!r}",
            place="tile_model",
            remedy="name tile models in the chip: chip.replace(tile_model=...)",
        )
    dtypes = {op.accumulate.name for op in graph.ops} | {t.dtype.name for t in graph.tensors}
    kernels = [(op.function, op.compute.name, op.accumulate.name) for op in graph.ops]
    kernels += [("partials_reduce", dtype, dtype) for dtype in sorted(dtypes)]
    kernels += [("slice_copy", dtype, dtype) for dtype in sorted(dtypes | {"F16", "F32"})]
    for op in graph.ops:  # What products may call to convert what they read.
        compute = op.compute.name
        stored = {graph.tensors[x.tensor].dtype.name for x in op.operands} - {compute}
        if stored and op.function in _PRODUCTS:
            kernels += [("cast", dtype, compute) for dtype in sorted(stored)]
            kernels += [(name, compute, compute) for name in ("add", "mul", "sub")]
    names = [(name, a.lower(), b.lower()) for name, a, b in dict.fromkeys(kernels)]
    return _core.TileModel.asking(names, function)
