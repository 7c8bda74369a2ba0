"""Reading an ONNX model: names, shapes and types. External data is never opened."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # It has no stubs.
from onnx import inliner

from elk.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    Source: TypeAlias = str | Path | bytes | onnx.ModelProto

# Files above this size hold weights; protobuf itself stops at 2 GiB.
MAX_FILE_BYTES = 2_000_000_000
_EXTERNAL = 1  # onnx.TensorProto.EXTERNAL
# ONNX 1.23 loses the default of its attribute `axes` when it replaces this one.
_MISLED = frozenset({"MeanVarianceNormalization"})
_NESTED_FUNCTIONS = 8  # A composed type may be made of composed ones, at most this deep.


@dataclass(frozen=True, slots=True)
class Loaded:
    """A parsed model.

    Attributes:
        proto: The model, local functions inlined.
        name: The name of its file, else of its graph.
        sha256: The digest of the bytes that it was parsed from.
    """

    proto: onnx.ModelProto
    name: str
    sha256: str


def load(source: Source) -> Loaded:
    """Parses `source`: a path, the bytes of a file, or a ModelProto.

    Raises:
        ModelFileError: It cannot be read, or it is no ONNX model.
    """
    name = ""
    if isinstance(source, onnx.ModelProto):
        proto, data = source, source.SerializeToString(deterministic=True)
    else:
        if isinstance(source, bytes):
            data = source
        else:
            data, name = _read(Path(source)), Path(source).stem
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(data)
        except DecodeError as error:
            raise ModelFileError(
                f"the model is no ONNX file: {error}", place=str(source) if name else None
            ) from None
    if not proto.graph.node and not proto.graph.output:
        raise ModelFileError("the model has no graph", place=name or None)
    if proto.functions:
        proto = inliner.inline_local_functions(proto)
    return Loaded(proto, name or proto.graph.name or "model", hashlib.sha256(data).hexdigest())


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ModelFileError(
                f"the file must have at most {MAX_FILE_BYTES} bytes, got {size}",
                place=str(path),
                remedy="save the weights as external data",
            )
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"the model cannot be read: {error.strerror}", place=str(path)
        ) from None


def weightless(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose external initializers became graph inputs: complete without their data."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    inline = [x for x in graph.initializer if x.data_location != _EXTERNAL]
    given = {x.name for x in graph.input}
    for x in graph.initializer:
        if x.data_location == _EXTERNAL and x.name not in given:
            value = graph.input.add()
            value.name = x.name
            value.type.tensor_type.elem_type = x.data_type
            value.type.tensor_type.shape.SetInParent()
            for n in x.dims:
                value.type.tensor_type.shape.dim.add().dim_value = n
    del graph.initializer[:]
    graph.initializer.extend(inline)
    return copy


def fix_shapes(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Puts numbers in the place of the symbols in input shapes, and drops all other shapes.

    What exporters note as the shape of a result may be an expression that ONNX cannot check.
    """
    for value in proto.graph.input:
        for dim, size in zip(
            value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False
        ):
            dim.dim_value = size
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.Clear()


def without_functions(proto: onnx.ModelProto, known: Container[str]) -> onnx.ModelProto:
    """`proto` with nodes that are not `known`, but that ONNX defines by others, replaced by these.

    What replaces a node may depend on types and shapes, so ONNX infers them here. Elsewhere the
    front end follows shapes itself: ONNX's inference ends the process on some invalid nodes.
    """
    for _ in range(_NESTED_FUNCTIONS):
        composed = _composed(proto, known)
        if not composed:
            break
        proto = onnx.shape_inference.infer_shapes(proto)
        for x in proto.graph.initializer:
            proto.graph.value_info.append(
                onnx.helper.make_tensor_value_info(x.name, x.data_type, list(x.dims))
            )
        try:
            proto = inliner.inline_selected_functions(proto, composed, inline_schema_functions=True)
        except RuntimeError:  # It stops at inputs that are left out: the node will be refused.
            break
    return proto


def _composed(proto: onnx.ModelProto, known: Container[str]) -> list[tuple[str, str]]:
    """The types of nodes that are not `known`, but that ONNX defines by others."""
    versions = {x.domain: x.version for x in proto.opset_import}
    version = versions.get("", versions.get("ai.onnx", 1))
    found = []
    for name in sorted({x.op_type for x in proto.graph.node if x.domain in {"", "ai.onnx"}}):
        if name not in known and name not in _MISLED and onnx.defs.has(name, version, ""):
            schema: Any = onnx.defs.get_schema(name, version, "")
            if schema.has_function or schema.has_context_dependent_function:
                found.append(("", name))
    return found


def check(proto: onnx.ModelProto, place: str) -> None:
    """Runs ONNX's own checker on a model without external data.

    Raises:
        ModelFileError: The checker refuses it.
    """
    try:
        onnx.checker.check_model(proto)
    except (onnx.checker.ValidationError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise ModelFileError(f"the model is not valid ONNX: {first}", place=place) from None
