"""What to do with a node of one ONNX type, and the usual ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from elk.frontend.ops import composed, fold, reshaping, rows
from elk.frontend.ops.elementwise import elementwise

if TYPE_CHECKING:
    from elk.frontend.ops.fold import Fold
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.node import Node
    from elk.frontend.views.space import Pattern
    from elk.frontend.views.values import Value

    Compose: TypeAlias = Callable[[Node, Maker], list[Value] | None]


@dataclass(frozen=True, slots=True)
class Kind:
    """What to do with a node of one ONNX type.

    Attributes:
        build: Its tensor expression; None where it never is an op.
        view: The values of its outputs if they are views; None where they never are.
        fold: Its outputs from known inputs; None where it is not folded.
        compose: The values of its outputs, made by nodes of other types; None where it is an op.
    """

    build: Callable[[Node], Pattern] | None = None
    view: Callable[[Node], list[Value] | None] | None = None
    fold: Fold | None = None
    compose: Compose | None = None


def unary(
    function: str, array: Callable[..., Any] | None = None, *, flops: int = 1, **attrs: float
) -> Kind:
    """One input; `attrs` are its attributes with their defaults, the kernel's scalars in order."""

    def build(node: Node) -> Pattern:
        scalars = tuple(float(node.attrs.get(name, default)) for name, default in attrs.items())
        return elementwise(node, function, flops=flops, scalars=scalars)

    return Kind(build=build, fold=fold.by(array) if array else None)


def test(function: str, array: Callable[..., Any]) -> Kind:
    """One input, truth values as the result."""
    return Kind(
        build=lambda node: elementwise(node, function, result="bool"), fold=fold.test(array)
    )


def binary(function: str, array: Callable[..., Any] | None = None) -> Kind:
    """Also of more inputs than two: Min, Max, Sum."""
    return Kind(
        build=lambda node: elementwise(node, function), fold=fold.by(array) if array else None
    )


def comparison(function: str, array: Callable[..., Any], unit: float | None = None) -> Kind:
    """Two inputs, truth values as the result; one that is `unit` everywhere leaves the other."""
    return Kind(
        build=lambda node: elementwise(node, function, result="bool"),
        view=None if unit is None else reshaping.neutral(unit),
        fold=fold.test(array),
    )


def reduction(
    function: str, array: Callable[..., Any] | None = None, *, mean: bool = False
) -> Kind:
    """One input, over some of its dimensions."""
    return Kind(
        build=lambda node: rows.reduction(node, function, mean=mean),
        fold=fold.reduced(array) if array else None,
        compose=composed.reduction,
    )


def viewed(view: Callable[[Node], list[Value] | None]) -> Kind:
    """Never an op."""
    return Kind(view=view)
