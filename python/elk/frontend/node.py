"""An ONNX node as the table of kinds sees it: attributes unpacked, inputs known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elk.limits import DEFAULT

if TYPE_CHECKING:
    from elk.frontend.values import Array, Value


class UnplannableError(Exception):
    """The node cannot be planned; the message is the reason."""


@dataclass(slots=True, eq=False)
class Node:
    """One node.

    Attributes:
        name: Its name, never empty.
        type: Its operator type, with the domain in front where that is not ONNX's own.
        attrs: Its attributes as Python numbers, strings, tuples and arrays.
        inputs: Its inputs; None where an optional one is left out.
        outputs: The names of its outputs; empty where one is left out.
        opset: The version of the operator set that gives it its meaning.
        readers: The types of the nodes that read its first output.
        folded_elements: Elements that a result may have to be computed here.
    """

    name: str
    type: str
    attrs: dict[str, Any]
    inputs: list[Value | None]
    outputs: list[str]
    opset: int
    readers: tuple[str, ...] = ()
    folded_elements: int = DEFAULT.folded_elements

    def input(self, slot: int) -> Value:
        """Input number `slot`, which has to be there."""
        value = self.get(slot)
        if value is None:
            raise UnplannableError(f"input {slot} is missing")
        return value

    def get(self, slot: int) -> Value | None:
        """Input number `slot`, or None."""
        return self.inputs[slot] if slot < len(self.inputs) else None

    def known(self, slot: int, what: str) -> Array:
        """The elements of input number `slot`, which says `what` and has to be a constant."""
        value = self.input(slot)
        if value.known is None:
            absent = value.pieces[0].tensor.home == "weight"
            why = "lies outside the file" if absent else "is computed while the model runs"
            raise UnplannableError(f"its {what} {why}")
        return value.known

    def ints(self, slot: int, attr: str) -> tuple[int, ...] | None:
        """Integers that older versions keep in attribute `attr`, newer ones in input `slot`."""
        if self.attrs.get(attr) is not None:
            return tuple(self.attrs[attr])
        if self.get(slot) is None:
            return None
        return tuple(int(i) for i in self.known(slot, attr).ravel())

    def axis(self, default: int, rank: int | None = None) -> int:
        """Attribute `axis`, counted from the front."""
        rank = len(self.input(0).shape) if rank is None else rank
        return wrapped(int(self.attrs.get("axis", default)), rank)


def wrapped(axis: int, rank: int) -> int:
    """`axis` counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise UnplannableError(f"axis {axis} of a value with {rank} dimensions")
    return axis + rank if axis < 0 else axis
