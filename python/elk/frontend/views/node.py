"""An ONNX node as the table of kinds sees it: attributes unpacked, inputs known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper

from elk.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import onnx

    from elk.frontend.views.values import Array, Value
    from elk.frontend.views.views import Shape


class UnplannableError(Exception):
    """The node cannot be planned; the message is the reason."""


# Why the elements of a value are not known.
OUTSIDE = "lies outside the file"
RUNNING = "computed while the model runs"


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
        computes: The element type of a product whose operands are stored in others, else empty.
        promised: What the file says of the shapes of its outputs; None where it says nothing.
    """

    name: str
    type: str
    attrs: dict[str, Any]
    inputs: list[Value | None]
    outputs: list[str]
    opset: int
    readers: tuple[str, ...] = ()
    folded_elements: int = DEFAULT.folded_elements
    computes: str = ""
    promised: tuple[Shape | None, ...] = ()

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
            raise UnplannableError(f"input {slot}, its {what}, {self._unknown(value)}")
        return value.known

    def _unknown(self, value: Value) -> str:
        """Why the elements of `value` are not known."""
        tensor = value.pieces[0].tensor
        if tensor.data is not None:
            most = f"{self.folded_elements:,}"
            return f"has more than the {most} elements that are read (limit 'folded_elements')"
        absent = tensor.home == "weight"
        return OUTSIDE if absent else f"is {RUNNING}"

    def ints(self, slot: int, attr: str) -> tuple[int, ...] | None:
        """Integers that older versions keep in attribute `attr`, newer ones in input `slot`."""
        if self.attrs.get(attr) is not None:
            return tuple(self.attrs[attr])
        if self.get(slot) is None:
            return None
        return tuple(int(i) for i in self.known(slot, attr).ravel())

    def check_folded(self, count: int, what: str) -> None:
        """Refuses the node where `count` elements of `what` are more than may be computed here."""
        if count > self.folded_elements:
            raise UnplannableError(
                f"{count:,} {what}: at most {self.folded_elements:,} are computed while the model "
                "is read (limit 'folded_elements')"
            )

    def axis(self, default: int, rank: int | None = None) -> int:
        """Attribute `axis`, counted from the front."""
        rank = len(self.input(0).shape) if rank is None else rank
        return wrapped(int(self.attrs.get("axis", default)), rank)


def wrapped(axis: int, rank: int) -> int:
    """`axis` counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise UnplannableError(f"axis {axis} of a value with {rank} dimensions")
    return axis + rank if axis < 0 else axis


def require(holds: bool, rule: str) -> None:
    """Refuses a node where `rule` does not hold."""
    if not holds:
        raise UnplannableError(rule)


def check_input(node: Node, slot: int, wanted: tuple[int | None, ...], what: str) -> Shape | None:
    """The shape of input `slot`, which must be `wanted` where that is not None; None: left out."""
    value = node.get(slot)
    if value is None:
        return None
    shape = value.shape
    fits = len(shape) == len(wanted) and all(
        n in {None, size} for n, size in zip(wanted, shape, strict=True)
    )
    shown = ", ".join("any" if n is None else str(n) for n in wanted)
    require(fits, f"input {slot}, its {what}, must have shape [{shown}], got {list(shape)}")
    return shape


def attributes(
    proto: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]
) -> tuple[dict[str, Any], Hashable]:
    """The attributes of a node, and what equal ones share.

    Args:
        proto: The node.
        given: In a function, the attributes of the node that stands for it.
    """
    if not proto.attribute:
        return {}, ()
    attrs: dict[str, Any] = {}
    for a in proto.attribute:
        found = given.get(a.ref_attr_name) if a.ref_attr_name else a
        if found is not None:
            attrs[a.name] = _plain(found)
    return attrs, content(attrs)


def _plain(a: onnx.AttributeProto) -> Any:
    """The value of an attribute."""
    value: Any
    match a.type:
        case 1:
            value = a.f
        case 2:
            value = a.i
        case 3:
            value = a.s.decode("utf-8", "replace")
        case 4:
            value = numpy_helper.to_array(a.t)
        case 6:
            value = tuple(a.floats)
        case 7:
            value = tuple(a.ints)
        case 8:
            value = tuple(s.decode("utf-8", "replace") for s in a.strings)
        case _:
            raise UnplannableError(f"its attribute '{a.name}' holds more than numbers")
    return value


def content(attrs: Mapping[str, Any]) -> Hashable:
    """What equal attributes share."""
    return tuple(
        (name, (value.dtype.str, value.shape, value.tobytes()))
        if isinstance(value, np.ndarray)
        else (name, value)
        for name, value in sorted(attrs.items())
    )
