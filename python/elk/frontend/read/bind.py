"""Symbolic dimensions: bound by the caller, evaluated where they are expressions."""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, SupportsIndex, cast

from elk.errors import InvalidInputError, UnboundSymbolsError
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import onnx

    from elk.frontend.views.views import Shape

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


# How many arguments a function may have.
_ARGUMENTS = {"max": (2, 64), "min": (2, 64), "floor": (1, 1), "ceil": (1, 1)}
# Numbers, names and operators; no number runs into a name.
_ARITHMETIC = re.compile(r"(?:(?<![\w.])\d{1,18}(?!\w)|[^\W\d]\w*|[-+*/%(), ])+")
_SHOWN = 50  # Names in a message.


class Symbols:
    """The dimensions of a model, read with the caller's bindings.

    Collects what has no number while shapes are read; `finish` reports all of it at once.
    """

    def __init__(self, bindings: Mapping[str, int] | None, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._bindings = {name: _size(name, size) for name, size in (bindings or {}).items()}
        for name, size in self._bindings.items():
            limits.check("dimension", size, f"binding '{name}'", f"bindings['{name}']")
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
            raise InvalidInputError(
                f"dimension '{text}' must be positive, got {size}",
                place=place,
                remedy="bind its symbols to other sizes",
            )
        self._limits.check("dimension", size, f"dimension '{text}'", place)
        return size

    def finish(self) -> dict[str, int]:
        """The bindings that the model uses.

        Raises:
            UnboundSymbolsError: Dimensions without a number, all of them.
            InvalidInputError: Bindings that no dimension has asked for.
        """
        if self._unbound:
            example = ", ".join(f'"{name}": ...' for name in islice(self._unbound, _SHOWN))
            raise UnboundSymbolsError(
                "dimensions without a number: " + _few(self._unbound),
                place="bindings",
                remedy="pass bindings={" + example + "}",
            )
        stray = [name for name in self._bindings if name not in self._seen]
        if stray:
            close = difflib.get_close_matches(stray[0], list(islice(self._seen, _SHOWN)), n=1)
            meant = f"did you mean '{close[0]}'? " if close else ""
            raise InvalidInputError(
                f"the model has no dimension {_listed(stray)}",
                code="unknown_symbol",
                place="bindings",
                remedy=f"{meant}its symbolic dimensions are: {_few(self._seen) or 'none'}",
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
            remedy="give it a whole number of positions, at least 1",
        )
    return number


def _listed(names: Sequence[str]) -> str:
    return _few([f"'{name}'" for name in names])


def _few(names: Collection[str]) -> str:
    """The first of `names`, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(islice(names, _SHOWN)) + (f" and {more} more" if more > 0 else "")


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr | None:
    """`text` as arithmetic over names; None where it is a name that looks like nothing else."""
    if not _ARITHMETIC.fullmatch(text):  # Python's parser may warn of what else there is.
        return None
    try:
        tree = ast.parse(text, mode="eval").body
        return tree if _is_arithmetic(tree) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Too deep for a dimension.
        return None


def _is_arithmetic(tree: ast.expr) -> bool:
    match tree:
        case ast.Name():
            return True
        case ast.Constant(value=int(number)):
            return not isinstance(number, bool)
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in _OPERATORS and _is_arithmetic(left) and _is_arithmetic(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_arithmetic(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            least, most = _ARGUMENTS.get(name.lower(), (1, 0))
            return least <= len(args) <= most and all(map(_is_arithmetic, args))
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
                raise InvalidInputError(
                    f"dimension '{ast.unparse(tree)}' must not divide by zero",
                    place="bindings",
                    remedy="bind its symbols to other sizes",
                )
            return _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, bindings)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name.lower()](*(_value(arg, bindings) for arg in args))
    raise AssertionError(tree)
