"""Models and chips of a sweep as what crosses to workers and lies in a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk import models
from elk.chip import presets
from elk.errors import InvalidInputError, ModelFileError
from elk.frontend.read.load import load
from elk.limits import DEFAULT, Limits
from elk.model.model import Model, load_model

if TYPE_CHECKING:
    import onnx

    from elk.chip.chip import Chip

_MOST_CARRIED: Final = 64 << 20  # bytes of a model that travel; a larger file is read in place


@dataclass(frozen=True)
class Source:
    """A model that workers load: the bytes of its file, or the path of one too large to carry.

    Attributes:
        label: What tables call it.
        digest: The SHA-256 of its bytes.
        data: Its bytes; None where `path` is read instead.
        path: The file; None where `data` holds it.
    """

    label: str
    digest: str
    data: bytes | None
    path: str | None = None

    def load(
        self, bindings: Mapping[str, int], options: Mapping[str, Any], limits: Limits | None
    ) -> Model:
        """The model with these sizes.

        Raises:
            InvalidInputError: as `elk.load_model`; or the file has changed since.
        """
        given = {**options, **({} if limits is None else {"limits": limits})}
        source = self.path if self.data is None else self.data
        model = load_model(source, bindings=dict(bindings), **given)  # type: ignore[arg-type]
        if self.data is None and model.onnx_sha256 != self.digest:
            raise ModelFileError(
                "the model has changed since the sweep began",
                place=self.path,
                remedy="sweep it into another store",
            )
        return replace(model, name=self.label)

    @cached_property
    def symbols(self) -> list[str]:
        """The names of its symbolic dimensions."""
        return models.symbols(self.proto())

    def proto(self) -> onnx.ModelProto:
        """The model as ONNX."""
        source = self.path if self.data is None else self.data
        return load(source, DEFAULT).proto  # type: ignore[arg-type]


@dataclass(frozen=True)
class Named:
    """A model or a chip by the name that tables call it."""

    label: str
    value: Any


def source_of(given: Any) -> Source:
    """The source that a path, a name of `elk.models`, bytes, a ModelProto or a Model means.

    Raises:
        InvalidInputError: it is nothing of these.
    """
    if isinstance(given, Named):
        given = given.value
    if isinstance(given, str) and given in models.names() and not Path(given).exists():
        given = models.get(given)
    if isinstance(given, Source):
        return given
    if isinstance(given, Model):
        return _of_model(given)
    if isinstance(given, bytes):
        return _carried(_graph_name(given), given)
    serialize = getattr(given, "SerializeToString", None)
    if serialize is not None:
        return _carried(given.graph.name or "model", serialize(deterministic=True))
    if isinstance(given, str | Path):
        return _of_file(Path(given))
    raise InvalidInputError(
        "must be a path, a name of elk.models, bytes, a ModelProto or a Model, got "
        f"{type(given).__name__}",
        remedy='write it as in "models/gpt2.onnx" or "llama2-13b"',
    )


def _carried(label: str, data: bytes) -> Source:
    return Source(label, hashlib.sha256(data).hexdigest(), data)


def _of_model(model: Model) -> Source:
    if model.proto is None or model.proto.ByteSize() > _MOST_CARRIED:
        raise InvalidInputError(
            "is loaded, and its weights are too large to travel",
            code="model_loaded",
            remedy=f"give its file, and bindings={dict(model.bindings)}",
        )
    return _carried(model.name, model.proto.SerializeToString(deterministic=True))


def _of_file(path: Path) -> Source:
    if not path.is_file():
        raise ModelFileError(
            "the file cannot be read: it is no file", place=str(path), remedy="check the path"
        )
    if path.stat().st_size <= _MOST_CARRIED:
        return _carried(path.stem, path.read_bytes())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Source(path.stem, digest, None, str(path.resolve()))


def _graph_name(data: bytes) -> str:
    return load(data, DEFAULT).name


def chip_of(given: Any) -> Chip:
    """The chip that a name, a file or a chip means.

    Raises:
        InvalidInputError: it means none.
    """
    if isinstance(given, Named):
        return chip_of(given.value)
    return presets.find(given)


def digest_of(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document, whatever the order of its keys."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()


def canonical(document: Mapping[str, Any]) -> str:
    """A document as JSON, the same text whatever the order of its keys."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
