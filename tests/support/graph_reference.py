"""Computes a planned graph with numpy, point by point of each op's axes: slow and plain.

It reads nothing but the graph: index maps, kernel names and scalars. So it shows that they say
what the ONNX model says. Of opaque ops it shows that they read and write whole tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from elk import _core
from elk.model.model import Model
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from reference_kernels import ELEMENTWISE, REDUCTIONS

Array = NDArray[Any]
Inputs = dict[int, tuple[Array, Array]]  # Of each ONNX input: values, and where they are.

_READ = _core.Access.Read
_NUMPY: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
    "f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "bool": "bool",
}  # fmt: skip


class _Run:
    """One op over arrays of all tensors."""

    def __init__(self, graph: _core.Graph, op: _core.Op, arrays: dict[str, Array]) -> None:
        self.graph, self.op, self.arrays = graph, op, arrays
        self.sizes = [axis.size for axis in op.axes]
        self.rank = len(self.sizes)
        self.reads = [x for x in op.operands if x.access == _READ]

    def axis(self, i: int) -> Array:
        return np.arange(self.sizes[i]).reshape([-1 if j == i else 1 for j in range(self.rank)])

    def index(self, operand: _core.Operand) -> tuple[list[Array], Array]:
        """The index of each stored dimension over the axes, and where all are in range."""
        shape = self.graph.tensors[operand.tensor].shape
        inside: Array = np.ones((1,) * self.rank, dtype=bool)
        out = []
        for dim, size in zip(operand.dims, shape, strict=True):
            index: Array = np.full((1,) * self.rank, dim.offset)
            for axis, coef in zip(dim.axes, dim.coef, strict=True):
                index = index + coef * self.axis(axis)
            inside = inside & (index >= 0) & (index < size)
            out.append(np.clip(index, 0, size - 1))
        return out, inside

    def part(self, operand: _core.Operand) -> tuple[Array, Array]:
        """What one operand holds at each point, and where that is inside its tensor."""
        tensor = self.graph.tensors[operand.tensor]
        index, inside = self.index(operand)
        if operand.indirect is not None:
            number = operand.indirect.index
            source = next(x for x in self.reads if x.tensor == number and x is not operand)
            picks = self.part(source)[0].astype(np.int64)
            rows = tensor.shape[operand.indirect.dim]
            index[operand.indirect.dim] = np.where(picks < 0, picks + rows, picks)
        array = self.arrays[tensor.name]
        return (array[tuple(index)] if index else array.reshape((1,) * self.rank)), inside

    def inputs(self) -> Inputs:
        """By ONNX input: values and where there are any. Parts of one value never overlap."""
        out: Inputs = {}
        for i, operand in enumerate(self.reads):
            if operand.input < 0:  # Such an operand only says where another one is read.
                continue
            value, inside = self.part(operand)
            if operand.covers:
                inside = inside & self.part(self.reads[i + 1])[0]
            if operand.input in out:
                other, taken = out[operand.input]
                assert operand.covers or not (inside & taken).any(), "parts overlap"
                value, inside = np.where(inside, value, other), inside | taken
            out[operand.input] = value, inside
        return out

    def over(self, role: _core.AxisRole) -> tuple[int, ...]:
        return tuple(i for i, axis in enumerate(self.op.axes) if axis.role == role)

    def write(self, operand: _core.Operand, value: Array) -> None:
        tensor = self.graph.tensors[operand.tensor]
        result = np.zeros(tensor.shape, dtype=_NUMPY[tensor.dtype.name])
        index, inside = self.index(operand)
        assert inside.all(), "a write outside its tensor"
        where = np.broadcast_arrays(*index) if index else []
        shape = where[0].shape if where else (1,) * self.rank
        with np.errstate(all="ignore"):
            full = np.broadcast_to(value, shape).astype(result.dtype)
        if where:
            result[tuple(where)] = full
        else:
            result[...] = full.reshape(())
        self.arrays[tensor.name] = result


def evaluate(
    model: Model, feeds: Mapping[str, Array], proto: onnx.ModelProto | None = None
) -> list[Array]:
    """The outputs of `model` in the order of the graph's outputs.

    What an opaque op computes is not in the graph: ONNX's own reference computes the node of
    `proto` that it stands for, from what its index maps read.
    """
    graph = model.graph
    arrays: dict[str, Array] = {**model.constants, **feeds}
    for op in graph.ops:
        run = _Run(graph, op, arrays)
        writes = [x for x in op.operands if x.access != _READ]
        results: tuple[Array, ...]
        with np.errstate(all="ignore"):
            if op.function == "topk":
                results = _top_k(run)
            elif op.kind.name == "Opaque" and op.function not in _SCANS:
                results = _by_onnx(run, proto)
            else:
                results = (_result(run),)
        for operand, result in zip(writes, results, strict=True):
            run.write(operand, result)
    return [seen(value, arrays) for value in model.outputs]


def seen(value: Any, arrays: Mapping[str, Array]) -> Array:
    """A graph output: views of tensors put together."""
    out: Array | None = None
    for piece in value.pieces:
        full, inside = _viewed(piece, arrays, value.shape)
        if piece.mask is not None:
            inside, _ = _viewed(piece.mask, arrays, value.shape)
        out = full if out is None else np.where(inside, full, out)
    assert out is not None
    return out


def _viewed(part: Any, arrays: Mapping[str, Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """What a view of a tensor shows, and where that is inside of the tensor."""
    atoms = [atom for dim in part.view.dims for atom in dim]
    inside: Array = np.ones((1,) * len(atoms), dtype=bool)
    index = []
    for d, size in enumerate(part.tensor.shape):
        at: Array = np.full((1,) * len(atoms), part.view.offsets[d])
        for i, atom in enumerate(atoms):
            line = np.arange(atom.size) * atom.coefs[d]
            at = at + line.reshape([-1 if j == i else 1 for j in range(len(atoms))])
        inside = inside & (at >= 0) & (at < size)
        index.append(np.clip(at, 0, size - 1))
    array = arrays[part.tensor.name]
    found = array[tuple(index)] if index else array
    whole = [a.size for a in atoms]
    return (
        np.broadcast_to(found, whole).reshape(shape),
        np.broadcast_to(inside, whole).reshape(shape),
    )


def _result(run: _Run) -> Array:
    wide = {i: (_wide(value), inside) for i, (value, inside) in run.inputs().items()}
    return _KINDS[run.op.kind.name](run, wide)


def _elementwise(run: _Run, wide: Inputs) -> Array:
    if run.op.function == "batchnorm":
        x, scale, bias, mean, variance = (wide[i][0] for i in range(5))
        return np.asarray((x - mean) / np.sqrt(variance + run.op.scalars[0]) * scale + bias)
    function = ELEMENTWISE[run.op.function.partition("/")[0]]
    return np.asarray(function(*_arguments(run, wide)))


def _reduced(run: _Run, wide: Inputs) -> Array:
    if run.op.function.startswith("arg"):
        return _position(run, wide[0][0])
    over = run.over(_core.AxisRole.Reduction)
    values = np.broadcast_to(wide[0][0], run.sizes)
    function = REDUCTIONS[run.op.function.partition("/")[0]]
    result = np.asarray(function(values, axis=over, keepdims=True))
    return np.asarray(result * run.op.scalars[0]) if run.op.scalars else result


def _softmax(run: _Run, wide: Inputs) -> Array:
    row = run.over(_core.AxisRole.Row)
    e = np.exp(wide[0][0] - wide[0][0].max(axis=row, keepdims=True))
    shares = np.asarray(e / e.sum(axis=row, keepdims=True))
    return np.asarray(np.log(shares)) if run.op.function == "log_softmax" else shares


def _gathered(run: _Run, _: Inputs) -> Array:
    return run.inputs()[0][0]


def _copied(run: _Run, _: Inputs) -> Array:
    value, inside = _together(run)
    result = next(x for x in run.op.operands if x.access != _READ)
    dtype = np.dtype(_NUMPY[run.graph.tensors[result.tensor].dtype.name])
    if run.op.onnx_type == "BitCast":
        bits: Array = np.ascontiguousarray(value).view(dtype)
        return bits.reshape(value.shape)
    fill = run.op.scalars[0] if run.op.scalars else 0
    return np.where(inside, value, np.asarray(fill).astype(value.dtype))


def _position(run: _Run, array: Array) -> Array:
    """Positions of the largest or least elements; several axes count as one."""
    over = run.over(_core.AxisRole.Reduction)
    values = np.broadcast_to(array, run.sizes)
    if not run.sizes:
        return np.zeros(())
    over = over or (0,)
    kept = [1 if i in over else n for i, n in enumerate(run.sizes)]
    values = np.moveaxis(values, over, range(-len(over), 0)).reshape(
        -1, values.size // math.prod(kept)
    )
    find = np.argmax if run.op.function.startswith("argmax") else np.argmin
    if run.op.scalars[0]:  # The last of equals: the first one from behind.
        last = find(np.flip(values, 1), axis=1)
        return np.asarray(values.shape[1] - 1 - last).reshape(kept)
    return np.asarray(find(values, axis=1)).reshape(kept)


def _wide(value: Array) -> Array:
    if value.dtype.kind in "iub":
        return value
    return value.astype(np.int64 if "int" in value.dtype.name else np.float64)


def _together(run: _Run) -> tuple[Array, Array]:
    """The inputs of a concatenation: each point has exactly one."""
    value, inside = np.zeros(()), np.zeros((1,) * run.rank, dtype=bool)
    for part, here in run.inputs().values():
        assert not (here & inside).any(), "inputs overlap"
        value, inside = np.where(here, part, value).astype(part.dtype), here | inside
    return value, inside


def _arguments(run: _Run, wide: Inputs) -> list[Any]:
    """Operands and scalars in the order of the ONNX inputs, attributes in front of none."""
    constants = run.op.scalars[len(run.op.scalars) - len(run.op.constants) :]
    places = dict(zip(run.op.constants, constants, strict=True))
    extra = list(run.op.scalars[: len(run.op.scalars) - len(places)])
    slots = sorted({*wide, *places})
    return [places[i] if i in places else wide[i][0] for i in slots] + extra


def _product(run: _Run, wide: Inputs) -> Array:
    op = run.op
    over = run.over(_core.AxisRole.Reduction)
    scalars = list(op.scalars)
    zeros = [0, 0]
    if op.onnx_type.startswith("Integer"):  # Zero points come off before padding is added.
        wide = {i: (x.astype(np.int64), inside) for i, (x, inside) in wide.items()}
        zeros = [int(scalars.pop(0)), int(scalars.pop(0))]
    constants = [scalars.pop() for _ in op.constants][::-1]
    by = {i: x[0] for i, x in wide.items()} | dict(zip(op.constants, constants, strict=True))
    terms = [  # As stored, with zero points and scales behind the bias.
        np.where(wide[i][1], (by[i] - zeros[i] - by.get(4 + 2 * i, 0)) * by.get(3 + 2 * i, 1), 0)
        for i in (0, 1)
    ]
    result = np.broadcast_to(terms[0] * terms[1], run.sizes).sum(axis=over, keepdims=True)
    alpha, beta = (scalars.pop(0), scalars.pop(0)) if op.onnx_type == "Gemm" else (1.0, 1.0)
    bias = wide[2][0] if 2 in wide else scalars[0] if scalars else 0.0
    return np.asarray(alpha * result + beta * bias)


def _pooled(run: _Run, wide: Inputs) -> Array:
    array, inside = (np.broadcast_to(x, run.sizes) for x in wide[0])
    over = run.over(_core.AxisRole.Reduction)
    if run.op.function == "maxpool2d":
        low = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        return np.asarray(np.where(inside, array, low).max(axis=over, keepdims=True))
    total = np.where(inside, array, 0).sum(axis=over, keepdims=True)
    factor = run.op.scalars[0] if run.op.scalars else 1.0
    return np.asarray(total * factor if factor else total / inside.sum(axis=over, keepdims=True))


def _normed(run: _Run, wide: Inputs) -> Array:
    row = run.over(_core.AxisRole.Row)
    x = np.broadcast_to(wide[0][0], run.sizes)
    centre = 0 if run.op.function == "rmsnorm" else x.mean(axis=row, keepdims=True)
    spread = np.sqrt(((x - centre) ** 2).mean(axis=row, keepdims=True) + run.op.scalars[0])
    places = dict(zip(run.op.constants, run.op.scalars[1:], strict=True))
    scale = places.get(1, wide[1][0] if 1 in wide else 1.0)
    bias = places.get(2, wide[2][0] if 2 in wide else 0.0)
    return np.asarray((x - centre) / spread * scale + bias)


def _top_k(run: _Run) -> tuple[Array, Array]:
    k, largest, _ = map(int, run.op.scalars)
    rows = [i for i, axis in enumerate(run.op.axes) if axis.role == _core.AxisRole.Row]
    values = np.take(np.broadcast_to(run.inputs()[0][0], run.sizes), 0, axis=rows[-1])
    values = values if k > 1 else np.broadcast_to(run.inputs()[0][0], run.sizes)
    wide = _wide(values)
    if largest:
        wide = -wide if wide.dtype.kind == "f" else np.invert(wide)
    order = np.argsort(wide, axis=rows[0], kind="stable")
    first = np.take(order, range(k), axis=rows[0])
    found = np.take_along_axis(values, first, axis=rows[0])
    if k == 1:
        return found, first
    # The axis of the result stands last among the axes of the op.
    return (
        np.expand_dims(np.moveaxis(found, rows[0], -1), rows[0]),
        np.expand_dims(np.moveaxis(first, rows[0], -1), rows[0]),
    )


_SCANS: dict[str, tuple[Callable[..., Any], int]] = {
    "cumsum": (np.cumsum, 0),
    "cumprod": (np.cumprod, 1),
}


def _scanned(run: _Run, wide: Inputs) -> Array:
    row = run.over(_core.AxisRole.Row)
    exclusive, backwards = run.op.scalars
    function, unit = _SCANS[run.op.function]
    x = np.broadcast_to(wide[0][0], run.sizes)
    x = np.flip(x, row) if backwards else x
    total = np.asarray(function(x, axis=row[0]))
    if exclusive:
        total = np.roll(total, 1, axis=row[0])
        np.moveaxis(total, row[0], 0)[0] = unit
    return np.flip(total, row) if backwards else total


def _given(run: _Run, operand: _core.Operand) -> Array:
    """The tensor of an operand, rebuilt from what the op reads of it: all of it, or it fails."""
    tensor = run.graph.tensors[operand.tensor]
    index, inside = run.index(operand)
    array = run.arrays[tensor.name]
    if not index:
        return array
    at = tuple(
        np.broadcast_to(x, np.broadcast_shapes(*(i.shape for i in index)))[
            np.broadcast_to(inside, np.broadcast_shapes(*(i.shape for i in index)))
        ]
        for x in index
    )
    seen: Array = np.zeros(tensor.shape, dtype=bool)
    seen[at] = True
    assert seen.all(), "an opaque op reads a part of its operand"
    return array


def _by_onnx(run: _Run, proto: onnx.ModelProto | None) -> tuple[Array, ...]:
    """What ONNX's reference computes for the node that an opaque op stands for."""
    if run.op.function in {"random", "multinomial"} or proto is None:
        raise NotImplementedError(run.op.function)
    names = {node.name or f"{node.op_type}_{i}": node for i, node in enumerate(proto.graph.node)}
    if run.op.name not in names:
        raise NotImplementedError(run.op.function)
    node = onnx.NodeProto()
    node.CopyFrom(names[run.op.name])
    inline = {x.name: numpy_helper.to_array(x) for x in proto.graph.initializer}
    given = {node.input[x.input]: _given(run, x) for x in run.reads}
    for name in node.input:
        if name and name not in given:
            given[name] = inline[name] if name in inline else run.arrays[name]
    inputs = [onnx.helper.make_tensor_value_info(n, 1, None) for n in given]
    outputs = [onnx.helper.make_tensor_value_info(n, 1, None) for n in node.output]
    if node.op_type == "Scatter":  # The old name.
        node.op_type = "ScatterElements"
    graph = onnx.helper.make_graph([node], "one", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=proto.opset_import)
    found = ReferenceEvaluator(model).run(None, given)
    writes = [x for x in run.op.operands if x.access != _READ]
    return tuple(
        np.asarray(array)[tuple(run.index(operand)[0])] if np.ndim(array) else np.asarray(array)
        for array, operand in zip(found, writes, strict=True)
    )


_KINDS: dict[str, Callable[[_Run, Inputs], Array]] = {
    "MatMul": _product,
    "Conv": _product,
    "DepthwiseConv": _product,
    "Elementwise": _elementwise,
    "Reduce": _reduced,
    "Pool": _pooled,
    "Softmax": _softmax,
    "Norm": _normed,
    "Gather": _gathered,
    "Copy": _copied,
    "Opaque": _scanned,
}
