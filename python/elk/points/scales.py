"""Values of an axis: numbers at even distances or even ratios, and ranges to draw points from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from elk.base import quantity
from elk.errors import InvalidInputError

_UNITS: Final = (
    quantity.BYTES,
    quantity.BYTES_PER_S,
    quantity.FLOPS_PER_S,
    quantity.SECONDS,
    quantity.HERTZ,
    quantity.PICOJOULES,
    quantity.WATTS,
)
_MOST_VALUES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Values(Sequence[float]):
    """Numbers in SI units, with the kind of quantity that they are; None: without a unit."""

    numbers: tuple[float, ...]
    unit: quantity.Unit | None

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> float:  # type: ignore[override]
        return self.numbers[index]

    def __iter__(self) -> Iterator[float]:
        return iter(self.numbers)


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers from `first` to `last`, to draw from: evenly, or evenly in their logarithm."""

    first: float
    last: float
    unit: quantity.Unit | None
    log: bool = False
    whole: bool = False

    def at(self, part: float) -> float:
        """The number that has this part, from 0 to 1, of the range below it."""
        if self.log:
            number: float = self.first * (self.last / self.first) ** part
        else:
            number = self.first + (self.last - self.first) * part
        if self.whole or (self.unit is not None and self.unit.whole):
            return round(number)
        return float(min(max(number, self.first), self.last))


def linspace(first: float | str, last: float | str, count: int) -> Values:
    """`count` values from `first` to `last`, both included, at even distances.

    Args:
        first: A number, or a text with a unit.
        last: As `first`, in the same kind of unit.
        count: How many, at least one; one alone is `first`.

    Raises:
        InvalidInputError: an end is no quantity, or the ends are of different kinds.

    Example:
        >>> list(elk.linspace("4 TB/s", "8 TB/s", 3))
        [4000000000000.0, 6000000000000.0, 8000000000000.0]
    """
    low, high, unit = _ends(first, last)
    steps = max(_count(count) - 1, 1)
    numbers = [low + (high - low) * i / steps for i in range(count)]
    return _values("linspace", _exact_ends(numbers, low, high), unit, (low, high))


def logspace(first: float | str, last: float | str, count: int) -> Values:
    """`count` values from `first` to `last`, both included, at even ratios.

    Sizes and whole numbers are rounded to the nearest whole one.

    Args:
        first: A number above zero, or a text with a unit.
        last: As `first`, in the same kind of unit.
        count: How many, at least one; one alone is `first`.

    Raises:
        InvalidInputError: an end is no quantity above zero, or the ends are of different kinds.

    Example:
        >>> list(elk.logspace("2 GB/s", "8 GB/s", 3))
        [2000000000.0, 4000000000.0, 8000000000.0]
    """
    low, high, unit = _ends(first, last)
    _above_zero("logspace", low, high)
    steps = max(_count(count) - 1, 1)
    numbers = [low * (high / low) ** (i / steps) for i in range(count)]
    if _are_whole(low, high, unit):
        numbers = [round(number) for number in numbers]
    return Values(_exact_ends(numbers, low, high), unit)


def between(first: float | str, last: float | str, *, log: bool = False) -> Range:
    """All values from `first` to `last`, for `elk.sampled` and `elk.search` to draw from.

    Args:
        first: The least: a number, or a text with a unit. Two whole numbers mean whole ones alone.
        last: The greatest, in the same kind of unit.
        log: Whether equal ratios, not equal distances, are equally likely.

    Raises:
        InvalidInputError: an end is no quantity, the ends are of different kinds or in the wrong
            order, or `log` meets an end that is not above zero.

    Example:
        >>> elk.between("2 GB/s", "22 GB/s", log=True).first
        2000000000.0
    """
    low, high, unit = _ends(first, last)
    if not low <= high:
        raise InvalidInputError(
            f"between must get the least value first, got {first!r} and {last!r}",
            remedy="exchange them",
        )
    if log:
        _above_zero("between with log=True", low, high)
    return Range(low, high, unit, log=log, whole=_are_whole(low, high, unit))


def read(value: float | str) -> tuple[float, quantity.Unit | None]:
    """The number that `value` is or says, and its kind of quantity if it says one.

    Raises:
        InvalidInputError: it is no number, and no number with a unit.
    """
    if not isinstance(value, str):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _no_quantity(value)
        if not math.isfinite(value):
            raise _no_quantity(value)
        return value, None
    for unit in _UNITS:
        try:
            return quantity.parse(value, unit), unit
        except InvalidInputError:
            continue
    raise _no_quantity(value)


def _no_quantity(value: object) -> InvalidInputError:
    return InvalidInputError(
        f"must be a finite number, or a text of a number and a unit, got {value!r}",
        code="invalid_quantity",
        remedy='write it as in "4 TB/s", "624 KiB" or 32',
    )


def _ends(first: float | str, last: float | str) -> tuple[float, float, quantity.Unit | None]:
    low, unit = read(first)
    high, other = read(last)
    if unit is not other:
        raise InvalidInputError(
            f"both ends must be of one kind, got {first!r} and {last!r}",
            remedy="give both with the same kind of unit",
        )
    return low, high, unit


def _count(count: object) -> int:
    number = quantity.count(count)
    if not 1 <= number <= _MOST_VALUES:
        raise InvalidInputError(f"count must be from 1 to {_MOST_VALUES:,}, got {number}")
    return number


def _above_zero(what: str, low: float, high: float) -> None:
    if not (low > 0 and high > 0):
        raise InvalidInputError(f"{what} needs ends above zero, got {low:g} and {high:g}")


def _are_whole(low: float, high: float, unit: quantity.Unit | None) -> bool:
    counted = unit is None and isinstance(low, int) and isinstance(high, int)
    return counted or (unit is not None and unit.whole)


def _exact_ends(numbers: list[float], low: float, high: float) -> tuple[float, ...]:
    """`numbers` with the ends as they were given, whatever rounding made of them."""
    numbers[0] = low
    if len(numbers) > 1:
        numbers[-1] = high
    return tuple(numbers)


def _values(
    name: str, numbers: tuple[float, ...], unit: quantity.Unit | None, ends: tuple[float, float]
) -> Values:
    """`numbers`; whole ones as integers, and none of a size between two bytes."""
    if not _are_whole(*ends, unit):
        return Values(numbers, unit)
    broken = [number for number in numbers if not float(number).is_integer()]
    if not broken:
        return Values(tuple(int(number) for number in numbers), unit)
    if unit is None:
        return Values(tuple(float(number) for number in numbers), unit)
    raise InvalidInputError(
        f"{name} would need {broken[0]:g} bytes, which is no whole number",
        remedy="choose ends and a count with whole steps, or logspace, which rounds",
    )
