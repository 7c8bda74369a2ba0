"""Lines of ONNX's text form that many functions share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.views.node import UnplannableError, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node
    from elk.frontend.views.views import Shape


def ints(**named: int | tuple[int, ...]) -> str:
    """Constants of integers by name: one of rank 0 for an integer, one of rank 1 for several."""
    lines = []
    for name, value in named.items():
        if isinstance(value, int):
            lines.append(f"{name} = Constant <value_int: int = {value}> ()")
        else:
            lines.append(f"{name} = Constant <value_ints: ints = [{_listed(value)}]> ()")
    return "\n".join(lines) + "\n"


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


def number(name: str, value: float, like: str) -> str:
    """A constant of the element type of value `like`."""
    return (
        f"{name}_wide = Constant <value_float: float = {value!r}> ()\n"
        f"{name} = CastLike ({name}_wide, {like})\n"
    )


def attribute(node: Node, name: str) -> int:
    """A whole number above zero that the node has as an attribute."""
    value = int(node.attrs[name])
    require(value > 0, f"attribute '{name}' must be positive, got {value}")
    return value


def ranked(node: Node, slot: int, what: str, *ranks: int) -> Shape:
    """The shape of an input of one of some ranks."""
    shape = node.input(slot).shape
    if len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise UnplannableError(
            f"input {slot}, its {what}, must have {wanted} dimensions, got {list(shape)}"
        )
    return shape


def sized(node: Node, slot: int, shape: Shape, what: str) -> None:
    """Refuses an input whose elements are not those of `shape`, in whatever dimensions."""
    value = node.input(slot)
    require(
        value.size == math.prod(shape),
        f"input {slot}, its {what}, must have shape {list(shape)}, got {list(value.shape)}",
    )


def absent(node: Node, slot: int, why: str) -> None:
    """Refuses an input that is there."""
    require(node.get(slot) is None, f"input {slot}: {why}")


def wants(node: Node, slot: int) -> bool:
    """Whether something reads output number `slot`."""
    return slot < len(node.outputs) and bool(node.outputs[slot])
