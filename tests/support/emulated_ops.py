"""Computes a planned graph op by op with the tile kernels of the core, whole or in tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from elk import _core
from elk.emulation.elements import from_bytes, to_bytes
from elk.model.model import Model
from graph_reference import seen
from numpy.typing import NDArray

Array = NDArray[Any]


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
