"""Computes a planned graph op by op with the tile kernels of the core, whole or in tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from elk import _core
from elk.model import Model
from graph_reference import seen
from numpy.typing import NDArray

Array = NDArray[Any]

NUMPY: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
    "f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "bool": "bool",
}  # fmt: skip


def to_bytes(array: Array, dtype: str) -> NDArray[np.uint8]:
    """The elements of `array` as a chip stores them: two of four bits a byte."""
    typed = np.ascontiguousarray(array.astype(NUMPY[dtype], copy=False))
    flat: NDArray[np.uint8] = typed.reshape(-1).view(np.uint8)
    if dtype not in {"i4", "u4"}:
        return flat
    low = flat & 15
    padded = np.append(low, np.zeros(low.size % 2, dtype=np.uint8))
    return np.asarray(padded[0::2] | (padded[1::2] << 4), dtype=np.uint8)


def from_bytes(data: NDArray[np.uint8], dtype: str, shape: list[int]) -> Array:
    """The array that `data` stores."""
    if dtype not in {"i4", "u4"}:
        return data.view(NUMPY[dtype]).reshape(shape)
    pairs = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[: int(np.prod(shape))]
    signed = np.where(pairs >= 8, pairs.astype(np.int8) - 16, pairs) if dtype == "i4" else pairs
    return np.asarray(signed).astype(NUMPY[dtype]).reshape(shape)


def kernel_gaps(graph: _core.Graph) -> list[str]:
    """Why ops of the graph have no kernel."""
    return [why for i in range(len(graph.ops)) if (why := _core.no_kernel(graph, i))]


def emulate_ops(
    model: Model,
    feeds: Mapping[str, Array],
    cut: Callable[[_core.Op], list[int]] = lambda op: [1] * len(op.axes),
) -> list[Array]:
    """The outputs of `model`; axis `i` of each op is cut into `cut(op)[i]` tiles."""
    graph = model.graph
    arrays: dict[str, Array] = {**model.constants, **feeds}
    for number, op in enumerate(graph.ops):
        tensors = [graph.tensors[x.tensor] for x in op.operands]
        given = [
            to_bytes(arrays[t.name], t.dtype.name)
            if x.access == _core.Access.Read
            else np.zeros(0, dtype=np.uint8)
            for x, t in zip(op.operands, tensors, strict=True)
        ]
        writes = [
            t for x, t in zip(op.operands, tensors, strict=True) if x.access != _core.Access.Read
        ]
        found = _core.compute_op(graph, number, given, cut(op))
        for tensor, data in zip(writes, found, strict=True):
            arrays[tensor.name] = from_bytes(data, tensor.dtype.name, tensor.shape)
    return [seen(value, arrays) for value in model.outputs]
