"""A walk over a parsed model that counts and names what no later step could take.

It runs before ONNX's own code sees the model, follows no recursion and opens nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import onnx

from elk.errors import ModelFileError, UnsupportedModelError
from elk.frontend.views.bounds import check_shape
from elk.frontend.views.node import UnplannableError
from elk.frontend.views.values import DTYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from elk.limits import Limits

EXTERNAL = 1  # onnx.TensorProto.EXTERNAL
_WIDEST = "f64"  # Stands for element types that hold no numbers; they are refused later.
_INLINE_CONSTANT = "Constant"
# Node types whose graphs are taken node by node; those of others stand for functions.
FLOWS = frozenset({"If", "Loop", "Scan"})


def take_census(proto: onnx.ModelProto, limits: Limits, place: str) -> None:
    """Refuses a model with more than `limits` of anything, or with parts that make no sense.

    Raises:
        LimitError: It has more nodes, values, operands, nesting or sizes than `limits`.
        ModelFileError: A name is no text, a size is negative, an operator set does not exist.
        UnsupportedModelError: A tensor inside a node or a function lies outside the file.
    """
    _Census(limits, place).take(proto)


class _Census:
    def __init__(self, limits: Limits, place: str) -> None:
        self._limits = limits
        self._place = place
        self._nodes = 0
        self._values = 0
        # Graphs, how deep they stand in others, and whether they belong to a function.
        self._waiting: list[tuple[onnx.GraphProto, int, bool]] = []

    def take(self, proto: onnx.ModelProto) -> None:
        limits, place = self._limits, self._place
        limits.check("operands", len(proto.opset_import), "the operator sets of a model", place)
        limits.check("nodes", len(proto.functions), "the functions of a model", place)
        for entry in proto.opset_import:
            self._opset(entry)
        self._waiting.append((proto.graph, 1, False))
        for function in proto.functions:
            name = self._name(function.name, "a function's name", self._place)
            self._names((function.domain, *function.input, *function.output), f"function '{name}'")
            for entry in function.opset_import:
                self._opset(entry)
            self._take_nodes(function.node, 1, shared=True)
        while self._waiting:
            graph, depth, shared = self._waiting.pop()
            self._limits.check("subgraph_depth", depth, "graphs within graphs", self._place)
            self._take_graph(graph, depth, shared=shared)

    def _opset(self, entry: onnx.OperatorSetIdProto) -> None:
        domain = self._name(entry.domain, "the domain of an operator set", self._place)
        newest = onnx.defs.onnx_opset_version() if domain in {"", "ai.onnx"} else 1 << 31
        if not 1 <= entry.version <= newest:
            raise ModelFileError(
                f"operator set '{domain or 'ai.onnx'}' must be from 1 to {newest}, "
                f"got {entry.version}",
                code="unknown_opset",
                place=self._place,
                remedy="convert the model with onnx.version_converter, or install a newer onnx",
            )

    def _take_graph(self, graph: onnx.GraphProto, depth: int, *, shared: bool) -> None:
        given = len(graph.initializer) + len(graph.sparse_initializer)
        self._values += given + len(graph.input) + len(graph.output)
        self._limits.check("initializers", self._values, "initializers and inputs", self._place)
        self._name(graph.name, "a graph's name", self._place)
        for tensor in graph.initializer:
            name = self._name(tensor.name, "an initializer's name", self._place)
            self._tensor(tensor, f"initializer '{name}'", inside=shared)
        for value in (*graph.input, *graph.output):
            self._value(value)
        self._take_nodes(graph.node, depth, shared=shared)

    def _take_nodes(self, nodes: Collection[onnx.NodeProto], depth: int, *, shared: bool) -> None:
        """Counts nodes; those of a function are `shared` by the nodes that call it."""
        self._nodes += len(nodes)
        self._limits.check("nodes", self._nodes, "the nodes of a model", self._place)
        most = self._limits.operands
        for number, node in enumerate(nodes):
            place = self._node_place(node, number)
            for count in (len(node.input), len(node.output), len(node.attribute)):
                if count > most:
                    self._limits.check("operands", count, "the operands of a node", place)
            self._names((node.op_type, node.domain, *node.input, *node.output), place)
            for attribute in node.attribute:
                inside = shared or node.op_type != _INLINE_CONSTANT
                self._attribute(attribute, place, inside=inside)
                for inner in (*((attribute.g,) if attribute.HasField("g") else ()),
                              *attribute.graphs):  # fmt: skip
                    own = shared or node.op_type not in FLOWS
                    self._waiting.append((inner, depth + 1, own))

    def _node_place(self, node: onnx.NodeProto, number: int) -> str:
        name = node.name
        if type(name) is not str or len(name) > self._limits.name_length:
            self._name(name, "a node's name", f"{self._place}: node {number}")
        return f"node '{name}'" if name else f"node {number}"

    def _attribute(self, attribute: Any, place: str, *, inside: bool) -> None:
        self._name(attribute.name, "an attribute's name", place)
        number = attribute.f
        if math.isnan(number) and inside:
            raise ModelFileError(
                f"attribute '{attribute.name}' must be a number, got NaN",
                code="not_a_number",
                place=place,
                remedy="leave the attribute out for its default, or write a number",
            )
        if attribute.HasField("t"):
            self._tensor(attribute.t, place, inside=inside)
        for tensor in attribute.tensors:
            self._tensor(tensor, place, inside=True)

    def _value(self, value: onnx.ValueInfoProto) -> None:
        place = f"value '{self._name(value.name, 'the name of an input or output', self._place)}'"
        if not value.type.HasField("tensor_type"):
            return
        sizes = []
        for dim in value.type.tensor_type.shape.dim:
            self._name(dim.dim_param, "a dimension's name", place)
            sizes.append(dim.dim_value)
        self._shape(value.type.tensor_type.elem_type, sizes, place)

    def _tensor(self, tensor: onnx.TensorProto, place: str, *, inside: bool) -> None:
        self._shape(tensor.data_type, list(tensor.dims), place)
        if inside and tensor.data_location == EXTERNAL:
            raise UnsupportedModelError(
                "a tensor inside a node or a function lies outside the file, which is not opened",
                code="external_data",
                place=place,
                remedy="make it an initializer of a graph, or store it in the file",
            )

    def _shape(self, number: int, sizes: list[int], place: str) -> None:
        try:
            check_shape(self._limits, DTYPES.get(number, _WIDEST), sizes, place)
        except UnplannableError as error:
            raise ModelFileError(
                str(error),
                code="invalid_shape",
                place=place,
                remedy="give the dimension its size, or a name that is bound when it is read",
            ) from None

    def _names(self, names: Iterable[str], place: str) -> None:
        most = self._limits.name_length
        for name in names:
            if type(name) is not str or len(name) > most:
                self._name(name, "a name", place)

    def _name(self, name: str | bytes, what: str, place: str) -> str:
        if isinstance(name, bytes):  # What protobuf makes of a text that is no UTF-8.
            raise ModelFileError(
                f"{what} must be UTF-8 text, got {name[:40]!r}",
                code="not_text",
                place=place,
                remedy="export the model again; the file may be damaged",
            )
        self._limits.check("name_length", len(name), f"the length of {what}", place)
        return name
