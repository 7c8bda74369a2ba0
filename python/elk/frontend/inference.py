"""ONNX's inference of one node: what it refuses, and what the results of the node must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import onnx
from onnx import checker, helper, numpy_helper, shape_inference

from elk.errors import InternalError
from elk.frontend.ops.control import domain_of, resolved
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.values import DTYPES, ONNX_TYPES, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elk.frontend.ops.taker import Scope

_SHOWN_ELEMENTS = 1024  # Of a known input; larger ones decide no shape.


class Result(NamedTuple):
    """What one output must be: sizes that are not known are None, as are a type and all sizes."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        sizes = ["any" if n is None else str(n) for n in self.shape or ()]
        shape = "any shape" if self.shape is None else f"[{', '.join(sizes)}]"
        return f"{self.dtype or 'any type'} {shape}"


# Of each output, in their order; None where nothing is known.
Inferred: TypeAlias = tuple[Result | None, ...]


def infer(proto: onnx.NodeProto, node: Node, scope: Scope) -> Inferred:
    """What ONNX says of the outputs of a node; nothing of one that it does not define.

    Raises:
        UnplannableError: ONNX's inference refuses the types or shapes of its inputs.
    """
    domain = domain_of(proto)
    if (
        not onnx.defs.has(proto.op_type, node.opset, domain)
        or any(a.HasField("g") for a in proto.attribute)
        or _is_lenient(node)
    ):
        return ()
    schema = onnx.defs.get_schema(proto.op_type, node.opset, domain)
    types, data = {}, {}
    for name, value in zip(proto.input, node.inputs, strict=True):
        if value is not None:
            types[name] = helper.make_tensor_type_proto(ONNX_TYPES[value.dtype], value.shape)
            if value.known is not None and value.size <= _SHOWN_ELEMENTS:
                data[name] = numpy_helper.from_array(value.known, name)
    imports = [helper.make_opsetid(name, version) for name, version in scope.opsets.items()]
    plain = resolved(proto, scope) if scope.attrs else proto
    try:
        found = shape_inference.infer_node_outputs(
            schema, plain, types, data, opset_imports=imports
        )
    except checker.ValidationError as error:
        raise UnplannableError(f"its types do not fit: {error}".strip()) from None
    except (shape_inference.InferenceError, RuntimeError) as error:
        reason = str(error).strip().rpartition("Error] ")[2].partition("\n")[0]
        raise UnplannableError(f"its shapes do not fit: {reason.strip()}") from None
    return tuple(_result(found[x]) if x in found else None for x in proto.output)


def _is_lenient(node: Node) -> bool:
    """Whether ONNX itself writes a node otherwise than its inference says."""
    return node.type == "Range" and any(value and value.shape for value in node.inputs)


def _result(found: onnx.TypeProto) -> Result | None:
    if not found.HasField("tensor_type"):
        return None
    tensor = found.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
    return Result(DTYPES.get(tensor.elem_type), shape)


def confirm(node: Node, wanted: Inferred, values: Mapping[str, Value]) -> None:
    """Holds the results of a node against what ONNX infers.

    Raises:
        InternalError: One has another element type or shape.
    """
    for name, result in zip(node.outputs, wanted, strict=False):
        value = values.get(name)
        if value is None or result is None:
            continue
        if result.dtype not in {None, value.dtype} or not _fits(value.shape, result.shape):
            raise InternalError(
                f"{node.type} gives {value.dtype} {list(value.shape)} as '{name}', "
                f"ONNX infers {result}",
                place=f"node '{node.name}'",
                remedy="report the model; this is an error of ELK, not of the model",
            )


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...] | None) -> bool:
    return wanted is None or (
        len(shape) == len(wanted)
        and all(n in {None, size} for n, size in zip(wanted, shape, strict=True))
    )
