"""Reading an ONNX model: names, shapes and types. External data is never opened."""

from __future__ import annotations

import hashlib
import math
import mmap
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from elk.errors import LimitError, ModelFileError
from elk.frontend.read.census import EXTERNAL, take_census
from elk.frontend.read.functions import check_functions, inlined
from elk.frontend.read.hoist import hoisted
from elk.frontend.read.lent import lent
from elk.frontend.read.scan import check_parsed_bytes, message_depth
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    Source: TypeAlias = str | Path | bytes | onnx.ModelProto

# Parsed, a file takes at most 100 times its bytes; below this size it is not looked at first.
_SMALL_BYTES = 4 << 20
_PARSED_DEPTH = 100  # Messages within one another that protobuf parses.
_SHOWN_ELEMENTS = 1024  # Larger tensors of the file are no matter for ONNX's checker.
# What a copy of a model and of its graph lacks: what is copied apart, and what only tells.
_LEFT_OUT = frozenset(
    {"graph", "initializer", "value_info", "quantization_annotation", "metadata_props",
     "training_info", "doc_string"}
)  # fmt: skip


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


def load(source: Source, limits: Limits = DEFAULT) -> Loaded:
    """Parses `source`: a path, the bytes of a file, or a ModelProto.

    Raises:
        ModelFileError: It cannot be read, or it is no ONNX model.
        LimitError: It has more of something than `limits` allow.
    """
    name, place = "", "the model"
    if isinstance(source, onnx.ModelProto):
        proto, data = source, _serialized(source)
    else:
        if isinstance(source, bytes):
            data = memoryview(source)
        else:
            name, place = Path(source).stem, str(source)
            data = _read(Path(source), limits)
        proto = _parsed(data, limits, place)
    if not proto.graph.node and not proto.graph.output:
        raise ModelFileError("the model has no graph", place=place, remedy="export the model again")
    take_census(proto, limits, place)
    proto = hoisted(proto)
    if proto.functions:
        check_functions(proto, limits, place)
        check(weightless(proto), place)
        proto = inlined(proto, place)
    return Loaded(proto, name or proto.graph.name or "model", hashlib.sha256(data).hexdigest())


def _serialized(proto: onnx.ModelProto) -> memoryview:
    try:
        return memoryview(proto.SerializeToString(deterministic=True))
    except (EncodeError, ValueError) as error:  # Nested too deep, or over 2 GiB.
        raise ModelFileError(
            f"the model cannot be written as a file: {error}",
            place="the model",
            remedy="keep weights as external data, and graphs less deep in one another",
        ) from None


def _read(path: Path, limits: Limits) -> memoryview:
    """The bytes of a regular file; what is none, such as a FIFO, is not opened."""
    place = str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(
                "the model must be a regular file", place=place, remedy="give the path of a file"
            )
        limits.check("file_bytes", found.st_size, "the bytes of a file", place)
        if found.st_size <= _SMALL_BYTES:
            return memoryview(path.read_bytes())
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte.
        if isinstance(error, ModelFileError | LimitError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(
            f"the model cannot be read: {reason}", place=place, remedy="check the path"
        ) from None


def _parsed(data: memoryview, limits: Limits, place: str) -> onnx.ModelProto:
    if len(data) > _SMALL_BYTES:
        check_parsed_bytes(data, limits, place)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        if message_depth(data) > _PARSED_DEPTH:
            raise LimitError(
                f"graphs within graphs must be at most {limits.subgraph_depth} "
                "(limit 'subgraph_depth'), got more than protobuf reads",
                place=place,
                remedy="export the model with fewer graphs inside one another",
            ) from None
        raise ModelFileError(
            f"the model is no ONNX file: {error}",
            place=place,
            remedy="check that the file is an ONNX model, and whole",
        ) from None
    return proto


def weightless(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose external and large initializers became graph inputs, complete without data."""
    copy = _without_initializers(proto)
    graph = copy.graph
    given = {x.name for x in graph.input}
    for x in proto.graph.initializer:
        if x.data_location != EXTERNAL and math.prod(x.dims) <= _SHOWN_ELEMENTS:
            graph.initializer.add().CopyFrom(x)
        elif x.name not in given:
            value = graph.input.add()
            value.name = x.name
            value.type.tensor_type.elem_type = x.data_type
            value.type.tensor_type.shape.SetInParent()
            for n in x.dims:
                value.type.tensor_type.shape.dim.add().dim_value = n
    for value in graph.output:  # ONNX's checker wants a shape, and the nodes say which.
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return copy


def _without_initializers(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of all but the initializers, which may be most of the file, and of mere notes."""
    copy = onnx.ModelProto()
    pairs: list[tuple[Any, Any]] = [(proto, copy), (proto.graph, copy.graph)]
    for source, target in pairs:
        for field, value in source.ListFields():
            if field.name in _LEFT_OUT:
                continue
            if hasattr(value, "MergeFrom"):  # A message, or several of something.
                getattr(target, field.name).MergeFrom(value)
            elif not isinstance(value, bytes):  # Text that is no UTF-8, in a field that only tells.
                setattr(target, field.name, value)
    return copy


def check(proto: onnx.ModelProto, place: str) -> None:
    """Runs ONNX's own checker on a model without external data.

    Raises:
        ModelFileError: The checker refuses it.
    """
    try:
        onnx.checker.check_model(lent(proto))
    except (onnx.checker.ValidationError, ValueError, RuntimeError, TypeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelFileError(
            f"the model is not valid ONNX: {first}",
            place=place,
            remedy="onnx.checker.check_model says the same; export the model again",
        ) from None
