"""A writer of ONNX graphs: nodes and weights get names, and weights get no data."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from elk.base.choices import one_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

# RMSNormalization came with opset 23, Swish with 24.
OPSET = 24
_IR_VERSION = 11
_FILE = "weights.bin"
_TYPES = {
    "f16": onnx.TensorProto.FLOAT16,
    "bf16": onnx.TensorProto.BFLOAT16,
    "f32": onnx.TensorProto.FLOAT,
}
FLOAT = onnx.TensorProto.FLOAT
INT64 = onnx.TensorProto.INT64
BOOL = onnx.TensorProto.BOOL


class GraphBuilder:
    """Writes one graph.

    A value is the name of what a node makes. Weights are external initializers whose file does
    not exist, one behind the other; constants are in the model, equal ones once.

    Example:
        >>> g = GraphBuilder("twice", "f16")
        >>> x = g.input("x", ["batch", 4])
        >>> w = g.weight("w", (4, 8))
        >>> y = g.node("MatMul", x, w, out="y")
        >>> g.output(y, ["batch", 8])
        >>> g.model().graph.initializer[0].name
        'w'
    """

    def __init__(self, name: str, dtype: str) -> None:
        """An empty graph called `name`; `dtype` is what weights and activations hold.

        Raises:
            InvalidInputError: `dtype` is not "f16", "bf16" or "f32".
        """
        self.dtype = _TYPES[one_of("dtype", dtype, tuple(_TYPES))]
        self.lowest = {"f16": -65504.0}.get(dtype, -1e38)
        self._numpy = helper.tensor_dtype_to_np_dtype(self.dtype)
        self._bytes = 4 if dtype == "f32" else 2
        self._proto = onnx.ModelProto(
            ir_version=_IR_VERSION, opset_import=[helper.make_opsetid("", OPSET)]
        )
        self._proto.producer_name = "elk.models"
        self._graph = self._proto.graph
        self._graph.name = name
        self._prefix = ""
        self._offset = 0
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._counts: dict[str, int] = {}

    @contextmanager
    def scope(self, name: object) -> Iterator[None]:
        """Puts `name` and a dot before the names of what is written inside."""
        before = self._prefix
        self._prefix = f"{before}{name}."
        yield
        self._prefix = before

    def input(self, name: str, dims: Sequence[int | str], dtype: int | None = None) -> str:
        """A graph input; a dimension is a number, a name or an expression of names."""
        value = helper.make_tensor_value_info(name, dtype or self.dtype, list(dims))
        self._graph.input.append(value)
        return name

    def output(self, value: str, dims: Sequence[int | str]) -> None:
        """Makes `value` an output of the graph, of the graph's element type."""
        self._graph.output.append(helper.make_tensor_value_info(value, self.dtype, list(dims)))

    def weight(self, name: str, shape: Sequence[int]) -> str:
        """A weight of the graph's element type."""
        size = math.prod(shape) * self._bytes
        full = self._prefix + name
        tensor = self._graph.initializer.add()
        tensor.name = full
        tensor.data_type = self.dtype
        tensor.dims.extend(shape)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", _FILE), ("offset", self._offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(text))
        self._offset += size
        return full

    def floats(self, numbers: ArrayLike) -> str:
        """A constant of the graph's element type."""
        return self._constant(np.asarray(numbers, dtype=self._numpy))

    def singles(self, numbers: ArrayLike) -> str:
        """A constant of single precision."""
        return self._constant(np.asarray(numbers, dtype=np.float32))

    def ints(self, *numbers: int) -> str:
        """A vector of integers: axes, sizes or bounds."""
        return self._constant(np.asarray(numbers, dtype=np.int64))

    def integer(self, number: int) -> str:
        """An integer without dimensions."""
        return self._constant(np.asarray(number, dtype=np.int64))

    def truth(self, *, value: bool) -> str:
        """A truth value without dimensions."""
        return self._constant(np.asarray(value))

    def _constant(self, array: np.ndarray[Any, Any]) -> str:
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._graph.initializer.append(numpy_helper.from_array(array, name))
            self._constants[key] = name
        return self._constants[key]

    def node(self, kind: str, *inputs: str, out: str = "", **attrs: Any) -> str:
        """A node with one output, which it returns; `out` names it."""
        return self._node(kind, inputs, [out or self._fresh(kind)], attrs)[0]

    def nodes(self, kind: str, *inputs: str, count: int, **attrs: Any) -> list[str]:
        """A node with `count` outputs."""
        first = self._fresh(kind)
        return self._node(kind, inputs, [first, *(f"{first}.{i}" for i in range(1, count))], attrs)

    def _fresh(self, kind: str) -> str:
        stem = self._prefix + kind
        self._counts[stem] = number = self._counts.get(stem, 0) + 1
        return stem if number == 1 else f"{stem}_{number}"

    def _node(
        self, kind: str, inputs: Sequence[str], outputs: list[str], attrs: dict[str, Any]
    ) -> list[str]:
        node = self._graph.node.add()
        node.op_type = kind
        node.name = f"{outputs[0]}/node"
        node.input.extend(inputs)
        node.output.extend(outputs)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attrs.items())
        return outputs

    def model(self) -> onnx.ModelProto:
        """The model."""
        return self._proto


def hidden_states(g: GraphBuilder, rows: int | str, hidden: int) -> str:
    """What blocks alone take in the place of what a model embeds: [batch, rows, hidden]."""
    return g.input("hidden_states", ["batch", rows, hidden])


def last_hidden_state(g: GraphBuilder, x: str, rows: int | str, hidden: int) -> None:
    """Makes `x` [batch, rows, hidden] the output of that name."""
    g.output(g.node("Identity", x, out="last_hidden_state"), ["batch", rows, hidden])


def linear(g: GraphBuilder, x: str, name: str, sizes: tuple[int, int], *, bias: bool) -> str:
    """`x` of [..., n] times a weight [n, m], and a bias [m]; `sizes` are n and m."""
    with g.scope(name):
        product = g.node("MatMul", x, g.weight("weight", sizes))
        return g.node("Add", product, g.weight("bias", sizes[1:])) if bias else product


def norm(g: GraphBuilder, x: str, name: str, size: int, kind: str, epsilon: float) -> str:
    """`x` normalised along its last dimension of `size`: "layernorm" has a bias, "rmsnorm" none."""
    with g.scope(name):
        scale = g.weight("weight", (size,))
        if kind == "rmsnorm":
            return g.node("RMSNormalization", x, scale, axis=-1, epsilon=epsilon)
        bias = g.weight("bias", (size,))
        return g.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def plain_norm(g: GraphBuilder, x: str, size: int, kind: str, epsilon: float) -> str:
    """A norm without weights."""
    ones = g.floats(np.ones(size))
    type_ = "RMSNormalization" if kind == "rmsnorm" else "LayerNormalization"
    return g.node(type_, x, ones, axis=-1, epsilon=epsilon)


def reshape(g: GraphBuilder, x: str, *shape: int) -> str:
    """`x` in `shape`: a 0 keeps the size of its place, a -1 takes what is left."""
    return g.node("Reshape", x, g.ints(*shape))


def transpose(g: GraphBuilder, x: str, *perm: int) -> str:
    """`x` with its dimensions in the order `perm`."""
    return g.node("Transpose", x, perm=list(perm))


def unsqueeze(g: GraphBuilder, x: str, *axes: int) -> str:
    """`x` with dimensions of size one at `axes`."""
    return g.node("Unsqueeze", x, g.ints(*axes))


def scaled(g: GraphBuilder, x: str, factor: float) -> str:
    """`x` times a number; `x` itself where that is one."""
    return x if factor == 1.0 else g.node("Mul", x, g.floats(factor))


def split(g: GraphBuilder, x: str, axis: int, *sizes: int) -> list[str]:
    """Parts of `x` along `axis`."""
    return g.nodes("Split", x, g.ints(*sizes), count=len(sizes), axis=axis)


def softcapped(g: GraphBuilder, x: str, cap: float | None) -> str:
    """`cap * tanh(x / cap)`; `x` itself where there is no cap."""
    if cap is None:
        return x
    return scaled(g, g.node("Tanh", scaled(g, x, 1.0 / cap)), cap)


def dropped(g: GraphBuilder, x: str, share: float) -> str:
    """`x` as training sees it, a share of it dropped; `x` itself where that is none."""
    return x if not share else g.node("Dropout", x, g.singles(share), g.truth(value=True))


def activated(g: GraphBuilder, x: str, kind: str) -> str:
    """`x` through the activation `kind`."""
    if kind == "silu":
        return g.node("Swish", x)
    if kind == "relu":
        return g.node("Relu", x)
    return g.node("Gelu", x, approximate="tanh" if kind == "gelu_tanh" else "none")


def embedded(g: GraphBuilder, ids: str, table: str) -> str:
    """The rows of `table` that `ids` name."""
    return g.node("Gather", table, ids, axis=0)


def size_of(g: GraphBuilder, value: str, axis: int) -> str:
    """The size of `value` along `axis`, as a vector of one integer."""
    return g.node("Shape", value, start=axis, end=axis + 1)


def count_up(g: GraphBuilder, size: str) -> str:
    """0, 1, ... below `size`, a vector of one integer."""
    return g.node("Range", g.integer(0), g.node("Squeeze", size), g.integer(1))
