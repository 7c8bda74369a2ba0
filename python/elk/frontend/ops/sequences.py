"""Sequences of tensors: bookkeeping of values, where positions and lengths are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elk.frontend.ops.control import MAX_TURNS, known_number
from elk.frontend.views.node import UnplannableError, attributes, wrapped
from elk.frontend.views.values import Sequence, Value, constant

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from elk.frontend.ops.taker import Taker


def _inputs(taker: Taker, proto: onnx.NodeProto) -> list[Any]:
    return [taker.found(x) if x else None for x in proto.input]


def _items(found: object) -> tuple[Value, ...]:
    if not isinstance(found, Sequence):
        raise UnplannableError("its input is no sequence of tensors")
    return found.items


def _place(inputs: list[Any], slot: int, count: int, default: int) -> int:
    """The position that input `slot` says, counted from the front."""
    if len(inputs) <= slot or inputs[slot] is None:
        return default
    position = int(known_number(inputs[slot], "its position"))
    if not -count <= position <= count:
        raise UnplannableError(f"position {position} in a sequence of {count}")
    return position + count if position < 0 else position


def _bind(taker: Taker, proto: onnx.NodeProto, result: Value | Sequence) -> None:
    taker.bind(proto.output[0], result)


def _construct(taker: Taker, proto: onnx.NodeProto, _: str) -> None:
    """SequenceConstruct and SequenceEmpty."""
    _bind(taker, proto, Sequence(tuple(_inputs(taker, proto))))


def _insert(taker: Taker, proto: onnx.NodeProto, _: str) -> None:
    inputs = _inputs(taker, proto)
    items = list(_items(inputs[0]))
    items.insert(_place(inputs, 2, len(items), len(items)), inputs[1])
    _bind(taker, proto, Sequence(tuple(items)))


def _erase(taker: Taker, proto: onnx.NodeProto, _: str) -> None:
    inputs = _inputs(taker, proto)
    items = list(_items(inputs[0]))
    del items[_place(inputs, 1, len(items), len(items) - 1)]
    _bind(taker, proto, Sequence(tuple(items)))


def _at(taker: Taker, proto: onnx.NodeProto, _: str) -> None:
    inputs = _inputs(taker, proto)
    items = _items(inputs[0])
    _bind(taker, proto, items[_place(inputs, 1, len(items), 0)])


def _length(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    count = len(_items(_inputs(taker, proto)[0]))
    _bind(taker, proto, constant(name, np.asarray(count, dtype=np.int64)))


def _concat(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    attrs, _ = attributes(proto, taker.scope.attrs)
    items: tuple[Value, ...] = _items(_inputs(taker, proto)[0])
    make = taker.maker(name, proto.op_type)
    axis = int(attrs["axis"])
    if attrs.get("new_axis", 0):
        items = tuple(make("Unsqueeze", value, np.asarray([axis])) for value in items)
    _bind(taker, proto, make("Concat", *items, axis=axis))


def _split(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    attrs, _ = attributes(proto, taker.scope.attrs)
    value, *rest = _inputs(taker, proto)
    axis = wrapped(int(attrs.get("axis", 0)), len(value.shape))
    size = value.shape[axis]
    each = None if not rest or rest[0] is None else rest[0]
    if each is not None and each.known is None:
        raise UnplannableError("the sizes of its parts are computed while the model runs")
    if each is None or each.known.ndim == 0:
        chunk = 1 if each is None else int(each.known.item())
        if chunk < 1 or size > chunk * MAX_TURNS:
            raise UnplannableError(f"{size} positions in parts of {chunk}, at most {MAX_TURNS}")
        sizes = [min(chunk, size - start) for start in range(0, size, chunk)]
    else:
        sizes = [int(n) for n in each.known]
    make = taker.maker(name, proto.op_type)
    parts = make.all("Split", value, np.asarray(sizes), axis=axis, outputs=len(sizes))
    if each is None and not attrs.get("keepdims", 1):
        parts = [make("Squeeze", part, np.asarray([axis])) for part in parts]
    _bind(taker, proto, Sequence(tuple(parts)))


# What happens to nodes that make or read sequences.
SEQUENCES: dict[str, Callable[[Taker, onnx.NodeProto, str], None]] = {
    "ConcatFromSequence": _concat,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _construct,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
