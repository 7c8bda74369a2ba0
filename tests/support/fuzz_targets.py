"""What the fuzzers feed, and how they change it; the test of their corpus feeds the same."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import elk
import onnx
from elk.chip import Chip
from elk.chips import load_chip
from elk.model import load_model
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # It has no stubs.
from malformed_models import mutate

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
_SUFFIXES = (".toml", ".yaml", ".json")


def read_model(data: bytes) -> None:
    """Loads `data` as a model; only an error of ELK that says everything may come of it."""
    try:
        try:
            load_model(data)
        except elk.UnboundSymbolsError as error:
            names = error.message.partition(": ")[2].split(", ")
            load_model(data, bindings=dict.fromkeys(names, 2))
    except elk.ElkError as error:
        _check(error)


def read_chip(data: bytes) -> None:
    """Reads `data` as a chip file; the first byte chooses the format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"c{_SUFFIXES[data[0] % 3] if data else '.toml'}"
        path.write_bytes(data[1:])
        try:
            chip = load_chip(path)
        except elk.ElkError as error:
            _check(error)
        else:
            assert Chip.from_dict(chip.to_dict()) == chip


def changed_model(data: bytes, seed: int) -> bytes | None:
    """`data` with one field of its messages changed; None if it is no model."""
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        return None
    if not proto.ListFields():
        return None
    mutate(random.Random(seed), proto)
    return bytes(proto.SerializeToString())


def _check(error: elk.ElkError) -> None:
    assert not isinstance(error, elk.InternalError), error
    assert all(error.to_dict().values()), error.to_dict()
