"""Reading an ONNX model: names, shapes and types. External data is never opened."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from elk.errors import ModelFileError

if TYPE_CHECKING:
    import onnx

    Source: TypeAlias = str | Path | bytes | onnx.ModelProto

# Files above this size hold weights; protobuf itself stops at 2 GiB.
MAX_FILE_BYTES = 2_000_000_000
_EXTERNAL = 1  # onnx.TensorProto.EXTERNAL


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
    import onnx  # Takes a quarter of a second, so it waits until a model is read.
    from google.protobuf.message import DecodeError

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
        proto = onnx.inliner.inline_local_functions(proto)
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
    import onnx

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


def check(proto: onnx.ModelProto, place: str) -> None:
    """Runs ONNX's own checker on a model without external data.

    Raises:
        ModelFileError: The checker refuses it.
    """
    import onnx

    try:
        onnx.checker.check_model(proto)
    except (onnx.checker.ValidationError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise ModelFileError(f"the model is not valid ONNX: {first}", place=place) from None
