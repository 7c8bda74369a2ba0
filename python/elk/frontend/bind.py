"""Symbolic dimensions: bound by the caller, evaluated where they are expressions."""

from __future__ import annotations

import ast
import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, SupportsIndex, cast

from elk.errors import InvalidInputError, UnboundSymbolsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from elk.frontend.views import Shape

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "max": max,
    "min": min,
    "floor": math.floor,
    "ceil": math.ceil,
}


class Symbols:
    """The dimensions of a model, read with the caller's bindings.

    Collects what has no number while shapes are read; `finish` reports all of it at once.
    """

    def __init__(self, bindings: Mapping[str, int] | None) -> None:
        self._bindings = {name: _size(name, size) for name, size in (bindings or {}).items()}
        self._seen: dict[str, None] = {}
        self._unbound: dict[str, None] = {}

    def shape(self, value: onnx.ValueInfoProto) -> Shape:
        """The shape of a graph input. A dimension without a number counts as 1 until `finish`."""
        tensor = value.type.tensor_type
        return tuple(
            self._size(f"{value.name}[{i}]", dim) for i, dim in enumerate(tensor.shape.dim)
        )

    def _size(self, place: str, dim: onnx.TensorShapeProto.Dimension) -> int:
        if dim.HasField("dim_value"):
            return int(dim.dim_value)
        text = dim.dim_param.strip()
        names = symbols(text) if text else (place,)
        for name in names:
            self._seen[name] = None
        if text in self._bindings:
            self._seen[text] = None
            return self._bindings[text]
        missing = [name for name in names if name not in self._bindings]
        for name in missing:
            self._unbound[name] = None
        if missing:
            return 1
        if not text:
            return self._bindings[place]
        size = evaluate(text, self._bindings)
        if size < 1:
            raise InvalidInputError(f"dimension '{text}' must be positive, got {size}", place=place)
        return size

    def finish(self) -> dict[str, int]:
        """The bindings that the model uses.

        Raises:
            UnboundSymbolsError: Dimensions without a number, all of them.
            InvalidInputError: Bindings that no dimension has asked for.
        """
        if self._unbound:
            example = ", ".join(f'"{name}": ...' for name in self._unbound)
            raise UnboundSymbolsError(
                "dimensions without a number: " + ", ".join(self._unbound),
                remedy="pass bindings={" + example + "}",
            )
        stray = [name for name in self._bindings if name not in self._seen]
        if stray:
            known = ", ".join(self._seen) or "none"
            raise InvalidInputError(
                f"the model has no dimension {_listed(stray)}",
                code="unknown_symbol",
                place="bindings",
                remedy=f"its symbolic dimensions are: {known}",
            )
        return self._bindings


def _size(name: str, size: object) -> int:
    try:
        number = operator.index(cast("SupportsIndex", size)) if not isinstance(size, bool) else -1
    except TypeError:
        number = -1
    if number < 1:
        raise InvalidInputError(
            f"binding '{name}' must be a positive integer, got {size!r}",
            place=f"bindings['{name}']",
        )
    return number


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr | None:
    """`text` as arithmetic over names; None where it is a name that looks like nothing else."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if _is_arithmetic(tree) else None


def _is_arithmetic(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.Constant(value=int()):
            return True
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in _OPERATORS and _is_arithmetic(left) and _is_arithmetic(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_arithmetic(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name.lower() in _FUNCTIONS and bool(args) and all(map(_is_arithmetic, args))
    return False


def symbols(text: str) -> tuple[str, ...]:
    """The names in a dimension expression, in order; the text itself if it is no arithmetic."""
    tree = _parsed(text)
    if tree is None:
        return (text,)
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called]
    return tuple(dict.fromkeys(names))


def evaluate(text: str, bindings: Mapping[str, int]) -> int:
    """The value of a dimension expression whose names are all bound."""
    tree = _parsed(text)
    return bindings[text] if tree is None else _value(tree, bindings)


def _value(tree: ast.expr, bindings: Mapping[str, int]) -> int:
    match tree:
        case ast.Name(id=name):
            return bindings[name]
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, bindings), _value(right, bindings)
            if b == 0 and isinstance(op, (ast.FloorDiv, ast.Div, ast.Mod)):
                raise InvalidInputError("a dimension expression divides by zero")
            return _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, bindings)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name.lower()](*(_value(arg, bindings) for arg in args))
    raise AssertionError(tree)
