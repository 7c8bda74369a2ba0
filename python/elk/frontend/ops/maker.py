"""How a composed node asks for the nodes that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from elk.frontend.views.node import Node
from elk.frontend.views.values import Value, constant

if TYPE_CHECKING:
    from elk.frontend.views.values import Array

NEWEST = 23  # The version of the operator set in which parts of composed nodes are written.
# The results of one of the nodes that the first stands for: of its type, inputs and attributes.
Make: TypeAlias = Callable[[Node, str, list[Value | None], dict[str, Any]], list[Value]]


class Maker:
    """Makes the nodes that a composed one stands for: values in, values out.

    Example: `make("MatMul", a, b)`, `make("Split", x, axis=0, outputs=2)`.
    """

    def __init__(self, make: Make, node: Node) -> None:
        self._make = make
        self._node = node

    def all(self, kind: str, *inputs: Value | Array | None, **attrs: Any) -> list[Value]:
        """The results of a node of type `kind`, `outputs` of them; arrays become constants."""
        values = [
            x if x is None or isinstance(x, Value) else constant(f"{self._node.name}/number", x)
            for x in inputs
        ]
        return self._make(self._node, kind, values, attrs)

    def check_folded(self, count: int, what: str) -> None:
        """Refuses the node where `count` elements of `what` are more than may be computed here."""
        self._node.check_folded(count, what)

    def __call__(self, kind: str, *inputs: Value | Array | None, **attrs: Any) -> Value:
        """The one result of a node of type `kind`."""
        return self.all(kind, *inputs, **attrs)[0]
