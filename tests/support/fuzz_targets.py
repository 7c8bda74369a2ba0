"""What the fuzzers feed, and how they change it; the test of their corpus feeds the same."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
import zlib
from pathlib import Path

import elk
import onnx
from elk.chip.chip import Chip
from elk.chip.presets import load_chip
from elk.model.model import load_model
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # It has no stubs.
from malformed_models import mutate
from plan_tampers import DELETED, VALUES, tampered

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


def read_plan(data: bytes) -> None:
    """Loads `data` as a plan file, simulates and lists what is accepted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.elkplan"
        path.write_bytes(data)
        try:
            plan = elk.load_plan(path)
            if plan.policy != "ideal":
                plan.simulate(fidelity="symmetric")
                plan.listing(core=0)
            plan.summary()
            plan.timeline()
        except elk.ElkError as error:
            _check(error)


def changed_plan(data: bytes, seed: int) -> bytes | None:
    """`data` with one to three values of its document changed; None if it is no document."""
    chosen = random.Random(seed)
    try:
        document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (ValueError, OSError, EOFError, zlib.error, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    document.pop("digest", None)
    for _ in range(chosen.choice((1, 1, 2, 3))):
        path: list[str | int] = []
        inner = document
        while isinstance(inner, dict | list) and inner and (not path or chosen.random() < 0.95):
            key: str | int = (
                chosen.choice(list(inner))
                if isinstance(inner, dict)
                else chosen.randrange(len(inner))
            )
            path.append(key)
            inner = inner[key]  # type: ignore[index]
        document = tampered(document, tuple(path), _other(inner, chosen))
    return json.dumps(document).encode()


def _other(value: object, chosen: random.Random) -> object:
    """Another value: mostly a number near the old one, or one that a rule may forget."""
    if isinstance(value, int) and not isinstance(value, bool) and chosen.random() < 0.6:
        return chosen.choice((value + 1, value - 1, 2 * value, value // 2, value + 8, -value))
    if isinstance(value, float) and chosen.random() < 0.6:
        return value * chosen.choice((0.5, 0.999, 1.001, 2.0, 1e6))
    if isinstance(value, list) and value and chosen.random() < 0.6:
        return chosen.sample(value, chosen.randrange(len(value) + 1))
    return chosen.choice((*VALUES, DELETED))


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
