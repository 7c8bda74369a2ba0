"""Bytes of the file that hold two numbers each, seen as these; only functions ask for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from elk.frontend.ops.composed import ints
from elk.frontend.ops.kind import Kind
from elk.frontend.runtime.weights import is_stored
from elk.frontend.views.node import Node, require
from elk.frontend.views.values import Stored, Value, whole

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker


def unpacked(node: Node, make: Maker) -> list[Value]:
    """A weight of bytes as numbers of four bits, two of each byte, the low four first.

    It has the sizes that attribute `shape` says: of each row the first elements, as many as its
    last size. The bytes stay what they are, unread, under the name of the weight.
    """
    value = node.input(0)
    require(value.dtype == "u8" and is_stored(value), "it is no weight of bytes")
    tensor = value.pieces[0].tensor
    *lead, columns = (int(n) for n in node.attrs["shape"])
    shape = (*lead, 2 * value.size // math.prod(lead))
    if tensor.nibbles is None:
        tensor.nibbles = Stored(tensor.name, "u4", shape, "weight", tensor.data)
    levels = whole(tensor.nibbles)
    if levels.shape != shape:
        levels = make("Reshape", levels, ints(*shape))
    if columns != shape[-1]:
        levels = make("Slice", levels, ints(0), ints(columns), ints(-1))
    return [levels]


KINDS: Final = {"Unpacked": Kind(compose=unpacked)}
