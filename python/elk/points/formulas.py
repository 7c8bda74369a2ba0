"""Products and comparisons of axes, as sweep files write them: no code is run."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from elk.base import quantity
from elk.chip.check import nearest
from elk.errors import InvalidInputError
from elk.points.scales import read

_RELATIONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_RELATION: Final = re.compile(r"(.+?)\s*(<=|>=|==|!=|<|>)\s*([^<>=!]+)")
_PLAIN: Final = re.compile(r"[+-]?\d[\d_]*(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Product:
    """A number times axes of a point, in SI units.

    Attributes:
        factor: The number.
        axes: The axes.
        unit: The kind of quantity of the number; None: none, or several.
    """

    factor: float
    axes: tuple[str, ...]
    unit: quantity.Unit | None

    def __call__(self, point: Mapping[str, Any]) -> Any:
        """The value of a point."""
        value = self.factor
        for name in self.axes:
            value *= point[name]
        return value


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two products of a point."""

    left: Product
    relation: str
    right: Product

    def __call__(self, point: Mapping[str, Any]) -> bool:
        """Whether the point meets it."""
        return _RELATIONS[self.relation](self.left(point), self.right(point))


def product(text: object, axes: Sequence[str]) -> Product:
    """The product that a text writes, of numbers, quantities and names of axes.

    Args:
        text: Factors with `*` between them.
        axes: The names that there are.

    Raises:
        InvalidInputError: a factor is none of these.

    Example:
        >>> product("2.7 GB/s * cores", ["cores"])({"cores": 10})
        27000000000.0
    """
    if not isinstance(text, str):
        raise InvalidInputError(
            f"must be a text, got {text!r}", remedy='write it as in "2.7 GB/s * cores"'
        )
    factor: float = 1
    names, units = [], []
    for term in (part.strip() for part in text.split("*")):
        if term in axes:
            names.append(term)
            continue
        number, unit = _number(term, axes)
        factor *= number
        units += [] if unit is None else [unit]
    return Product(factor, tuple(names), units[0] if len(units) == 1 else None)


def comparison(text: str, axes: Sequence[str]) -> Relation:
    """The comparison that a text writes: products with `<`, `<=`, `==`, `!=`, `>=` or `>` between.

    Raises:
        InvalidInputError: it writes none.

    Example:
        >>> comparison("batch <= 32", ["batch"])({"batch": 64})
        False
    """
    match = _RELATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(
            f"must be a comparison, got {text!r}",
            remedy='write it as in "hbm_bandwidth <= total_link_bandwidth"',
        )
    return Relation(product(match[1], axes), match[2], product(match[3], axes))


def _number(term: str, axes: Sequence[str]) -> tuple[float, quantity.Unit | None]:
    if _PLAIN.fullmatch(term):
        return (int(term) if re.fullmatch(r"[+-]?[\d_]+", term) else float(term)), None
    try:
        return read(term)
    except InvalidInputError:
        raise InvalidInputError(
            f"has the factor {term!r}, which is no axis of the file, no number and no quantity",
            remedy=nearest(term, axes),
        ) from None
