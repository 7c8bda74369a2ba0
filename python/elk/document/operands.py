"""What a plan file says of an op's operands, by the names of their tensors.

An op may read one tensor in several ways, as rows and as columns, and treat each on its own. Then
the tensor's name has the largest value, and operands with another have an entry of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Value = TypeVar("Value")


def by_tensor(
    names: Sequence[str | None], values: Sequence[Value], size: Callable[[Value], int]
) -> dict[str, Value]:
    """The values of operands by what identifies them in a plan file.

    Args:
        names: The tensor of each operand; None where it has no value.
        values: One for each operand.
        size: What tells the largest.

    Examples:
        >>> by_tensor(["x", "y", "x"], [1, 2, 4], int)
        {'x': 4, 'x @ operand 0': 1, 'y': 2}
    """
    found: dict[str, Value] = {}
    for name in dict.fromkeys(names):
        if name is None:
            continue
        own = [i for i, other in enumerate(names) if other == name]
        found[name] = max((values[i] for i in own), key=size)
        found |= {_own_key(name, i): values[i] for i in own if values[i] != found[name]}
    return found


def of_operand(found: Mapping[str, Value], name: str, operand: int, default: Value) -> Value:
    """What `by_tensor` wrote for operand number `operand`, which reads tensor `name`.

    Examples:
        >>> of_operand({"x": 4, "x @ operand 0": 1}, "x", 0, 0)
        1
        >>> of_operand({"x": 4}, "y", 0, 0)
        0
    """
    return found.get(_own_key(name, operand), found.get(name, default))


def _own_key(name: str, operand: int) -> str:
    return f"{name} @ operand {operand}"
