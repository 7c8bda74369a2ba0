"""A look at the bytes of a model before they are parsed: how much memory that would take.

Two bytes can say "an empty node", and a parsed node takes a hundred times as much. Whoever parses
first and counts then has taken the memory already.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import ModelProto

if TYPE_CHECKING:
    from elk.limits import Limits

    # What a field of a message holds: a message of this type, packed numbers, or a text.
    Field: TypeAlias = tuple[Any, int]

# Measured with protobuf 7: nodes take 150 bytes each, attributes 190, texts 24 beside their own.
_MESSAGE_BYTES = 256
_TEXT_BYTES = 32
_WORD_BYTES = {"ints": 8, "int64_data": 8, "uint64_data": 8, "dims": 8, "int32_data": 4}
_VARINT, _FIXED64, _BYTES, _FIXED32, _NONE = 0, 1, 2, 5, 7
_LAST_BYTE = 0x80  # Bytes below this one end a varint.
_LONGEST_VARINT = 70  # Bits, of ten bytes.


def check_parsed_bytes(data: memoryview, limits: Limits, place: str) -> None:
    """Refuses a serialized ModelProto whose messages would take more than `limits.memory_bytes`.

    Looks at each message once, without recursion, and stops at the limit. Tensor data counts as
    far as parsing it makes it longer. Bytes that are no ModelProto pass: the parser refuses them.
    """
    taken = 0
    waiting: list[tuple[int, int, Any]] = [(0, len(data), ModelProto.DESCRIPTOR)]
    while waiting:
        at, end, kind = waiting.pop()
        known = _fields(kind)
        while 0 <= at < end:
            tag = data[at]
            if tag < _LAST_BYTE:
                at += 1
            else:
                tag, at = _varint(data, at, end)
            inner, width = known.get(tag >> 3, (None, 0))
            wire = tag & 7 if tag >> 3 else _NONE
            if wire == _BYTES and at < end and at + data[at] < end and data[at] < _LAST_BYTE:
                start, at = at + 1, at + 1 + data[at]  # As nearly all fields are.
            else:
                start, at = _content(data, at, end, wire)
            if wire == _BYTES and at >= 0:
                taken += _cost(data, start, at, inner, width)
                if inner is not None and start != at:
                    waiting.append((start, at, inner))
            else:
                taken += width
            if taken > limits.memory_bytes:
                limits.check("memory_bytes", taken, "the bytes that the parsed model takes", place)


def message_depth(data: memoryview) -> int:
    """How many messages of a serialized ModelProto lie within one another, at most.

    Looks at each once, without recursion, as far as the bytes are a ModelProto.
    """
    deepest = 0
    waiting: list[tuple[int, int, Any, int]] = [(0, len(data), ModelProto.DESCRIPTOR, 1)]
    while waiting:
        at, end, kind, depth = waiting.pop()
        deepest = max(deepest, depth)
        known = _fields(kind)
        while 0 <= at < end:
            tag, at = _varint(data, at, end)
            inner, _ = known.get(tag >> 3, (None, 0))
            wire = tag & 7 if tag >> 3 else _NONE
            start, at = _content(data, at, end, wire) if at >= 0 else (-1, -1)
            if inner is not None and wire == _BYTES and 0 <= start < at:
                waiting.append((start, at, inner, depth + 1))
    return deepest


def _content(data: memoryview, at: int, end: int, wire: int) -> tuple[int, int]:
    """Where the content of a field begins and ends; -1 where it does not."""
    if wire == _BYTES:
        size, at = _varint(data, at, end)
        stop = at + size
    elif wire == _VARINT:
        _, stop = _varint(data, at, end)
    else:
        stop = at + {_FIXED64: 8, _FIXED32: 4}.get(wire, end + 1)
    return (at, stop) if 0 <= at <= stop <= end else (-1, -1)


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """The number at `at` and where it ends; -1 where it does not."""
    value, shift = 0, 0
    while at < end and shift < _LONGEST_VARINT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _LAST_BYTE:
            return value, at
        shift += 7
    return 0, -1


def _cost(data: memoryview, start: int, end: int, inner: Any, width: int) -> int:
    if inner is not None:
        return _MESSAGE_BYTES
    if width:
        packed = np.frombuffer(data[start:end], dtype=np.uint8)
        return width * int(np.count_nonzero(packed < _LAST_BYTE))
    return _TEXT_BYTES


@lru_cache(maxsize=64)
def _fields(kind: Any) -> dict[int, Field]:
    """By number, what the fields of a message type hold that are not just bytes of their own."""
    return {field.number: (field.message_type, _WORD_BYTES.get(field.name, 0))
            for field in kind.fields}  # fmt: skip
