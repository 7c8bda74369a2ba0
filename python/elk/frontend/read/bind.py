"""What the caller binds: symbolic dimensions, evaluated where they are expressions, and numbers."""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from elk.errors import InvalidInputError, UnboundSymbolsError
from elk.frontend.views.values import DTYPES, numpy_dtype
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import onnx

    from elk.frontend.views.values import Array
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
_LOOKED_AT = 100_000  # Values of which a message names dimensions.


class Symbols:
    """The dimensions of a model, read with the caller's bindings.

    Collects what has no number while shapes are read; `finish` reports all of it at once. `numbers`
    are inputs of one element, of which the caller may bind the value.
    """

    def __init__(
        self,
        bindings: Mapping[str, int] | None,
        limits: Limits = DEFAULT,
        numbers: Collection[str] = (),
    ) -> None:
        self._limits = limits
        self._numbers = [name for name in numbers if name in (bindings or {})]
        self._bindings = {
            name: _whole_number(name, given, is_size=name not in self._numbers)
            for name, given in (bindings or {}).items()
        }
        for name, size in self._bindings.items():
            limits.check("dimension", size, f"binding '{name}'", f"bindings['{name}']")
        self._seen: dict[str, None] = dict.fromkeys(self._numbers)
        self._unbound: dict[str, None] = {}

    def shape(self, value: onnx.ValueInfoProto) -> Shape:
        """The shape of a graph input. A dimension without a number counts as 1 until `finish`."""
        tensor = value.type.tensor_type
        return tuple(
            self._size(f"{value.name}[{i}]", dim) for i, dim in enumerate(tensor.shape.dim)
        )

    def declared(self, values: Iterable[onnx.ValueInfoProto]) -> dict[str, Shape]:
        """The shapes of values with dimensions that no input names, where all are bound.

        Exporters name so what depends on values, such as how many elements are not zero.
        """
        asked = self._bindings.keys() - self._seen.keys()
        found = {}
        for value in values if asked else ():
            names, dims = _names(value), value.type.tensor_type.shape.dim
            whole = all(dim.dim_param or dim.HasField("dim_value") for dim in dims)
            if whole and names & asked and names <= self._bindings.keys():
                found[value.name] = self.shape(value)
        return found

    def known(self, values: Iterable[onnx.ValueInfoProto]) -> dict[str, Shape]:
        """The shapes of values whose dimensions are numbers, or expressions of bound names."""
        found = {}
        for value in values:
            dims = value.type.tensor_type.shape.dim
            whole = bool(dims) and all(d.dim_param or d.HasField("dim_value") for d in dims)
            if whole and _names(value) <= self._bindings.keys():
                found[value.name] = tuple(
                    int(d.dim_value)
                    if d.HasField("dim_value")
                    else evaluate(d.dim_param.strip(), self._bindings)
                    for d in dims
                )
        return found

    def unbound(self, values: Iterable[onnx.ValueInfoProto]) -> list[str]:
        """Names of dimensions of `values` that no input has and nobody bound."""
        named = {name for value in islice(values, _LOOKED_AT) for name in _names(value)}
        return sorted(named - self._seen.keys())

    def numbers(self) -> dict[str, int]:
        """The values of inputs of one element that the caller binds."""
        return {name: self._bindings[name] for name in self._numbers}

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
        if size < 0:
            raise InvalidInputError(
                f"dimension '{text}' must not be negative, got {size}",
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
                f"no dimension and no input of one element is called {_listed(stray)}",
                code="unknown_symbol",
                place="bindings",
                remedy=f"{meant}its symbolic dimensions are: {_few(self._seen) or 'none'}",
            )
        return self._bindings


def _names(value: onnx.ValueInfoProto) -> set[str]:
    """The names in the dimensions of a value."""
    texts = (dim.dim_param.strip() for dim in value.type.tensor_type.shape.dim)
    return {name for text in texts if text for name in symbols(text)}


def inputs_of_one_element(graph: onnx.GraphProto) -> dict[str, Array]:
    """The inputs whose value a caller may bind, by name: an array of its type and shape each."""
    held = {x.name for x in graph.initializer}
    found = {}
    for x in graph.input:
        kind, sizes = x.type.tensor_type, x.type.tensor_type.shape.dim
        one = kind.HasField("shape") and all(dim.dim_value == 1 for dim in sizes)
        if one and kind.elem_type in DTYPES and x.name not in held:
            found[x.name] = np.zeros((1,) * len(sizes), numpy_dtype(DTYPES[kind.elem_type]))
    return found


def _whole_number(name: str, given: object, *, is_size: bool) -> int:
    number = -1
    if not (is_size and isinstance(given, bool)):
        with suppress(TypeError):
            number = operator.index(cast("SupportsIndex", given))
    if number < 0:
        raise InvalidInputError(
            f"binding '{name}' must be a whole number, 0 or more, got {given!r}",
            place=f"bindings['{name}']",
            remedy="give it a number of positions, or the value of the input of this name",
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
