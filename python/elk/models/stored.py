"""Weights of products that are stored in fewer bits, as weight-only quantization exports them."""

from __future__ import annotations

import math
from typing import Final

import onnx
from onnx import helper

from elk.base.choices import one_of

STORED: Final = ("int8", "int4")
_TYPES: Final = {"int8": onnx.TensorProto.INT8, "int4": onnx.TensorProto.INT4}
_BITS: Final = {"int8": 8, "int4": 4}
_BLOCK: Final = 128  # Rows of a matrix of four bits that share a scale, where they fill blocks.
_MATRIX: Final = 2
_PRODUCTS: Final = frozenset(("Gemm", "MatMul"))


def store_weights(model: onnx.ModelProto, weights: str) -> onnx.ModelProto:
    """`model`, changed so that its products read matrices that are stored as `weights`.

    A DequantizeLinear stands in front of each: int8 has a scale for each column, int4 one for each
    column of a block of 128 rows. Embeddings, norms and biases stay as they are.

    Args:
        model: A model without weights, as the functions of `elk.models` write it.
        weights: "int8" or "int4".

    Raises:
        InvalidInputError: There is no such type.
    """
    one_of("weights", weights, STORED)
    graph = model.graph
    absent = {x.name: x for x in graph.initializer if x.external_data}
    products = {x.input[1] for x in graph.node if x.op_type in _PRODUCTS}
    tables = {
        x.input[0]
        for x in graph.node
        if x.op_type == "Gather" and x.output[0] in products and x.input[0] in absent
    }
    matrices = {name for name in products if name in absent and len(absent[name].dims) == _MATRIX}
    nodes: list[onnx.NodeProto] = []
    wide: set[str] = set()
    for node in graph.node:
        slot = {"Gather": 0}.get(node.op_type, 1 if node.op_type in _PRODUCTS else -1)
        name = node.input[slot] if slot >= 0 else ""
        if name in (tables if slot == 0 else matrices):
            if name not in wide:
                nodes.append(_dequantized(graph, absent[name], weights))
                wide.add(name)
            node.input[slot] = f"{name}.wide"
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    _lay_out(graph)
    return model


def _dequantized(graph: onnx.GraphProto, tensor: onnx.TensorProto, weights: str) -> onnx.NodeProto:
    """The node that makes a wide tensor of `tensor`, which becomes a stored one with scales."""
    rows, columns = tensor.dims[-2:]
    block = math.gcd(rows, _BLOCK) if weights == "int4" else rows
    scales = graph.initializer.add()
    scales.CopyFrom(tensor)
    scales.name = f"{tensor.name}.scales"
    del scales.dims[:]
    scales.dims.extend([*tensor.dims[:-2], rows // block, columns])
    tensor.data_type = _TYPES[weights]
    name = f"{tensor.name}.wide"
    return helper.make_node(
        "DequantizeLinear", [tensor.name, scales.name], [name], f"{name}/node",
        axis=len(tensor.dims) - 2, block_size=block,
    )  # fmt: skip


def _lay_out(graph: onnx.GraphProto) -> None:
    """Lets absent tensors lie one behind the other in their file, in their order."""
    offset = 0
    names = {number: name for name, number in _TYPES.items()}
    for tensor in graph.initializer:
        if not tensor.external_data:
            continue
        bits = _BITS.get(names.get(tensor.data_type, ""), 0)
        bits = bits or 8 * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        size = -(-math.prod(tensor.dims) * bits // 8)
        for entry in tensor.external_data:
            if entry.key in {"offset", "length"}:
                entry.value = str(offset if entry.key == "offset" else size)
        offset += size
