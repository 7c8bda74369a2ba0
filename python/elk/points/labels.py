"""Columns as people read them: what they are called, in handy units, evenly or in logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from elk.base import quantity
from elk.errors import InvalidInputError
from elk.points import chip_axes
from elk.points.axes import BINDING_PREFIX, OPTIONS
from elk.points.columns import COLUMNS

Log: TypeAlias = bool | Iterable[str] | None

_SIZES: Final[dict[str, tuple[tuple[float, str], ...]]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "J": ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ")),
    "W": ((1e3, "kW"), (1.0, "W"), (1e-3, "mW")),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")),
    "FLOP/s": ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1.0, "FLOP/s")),
    "B": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1.0, "B")),
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")),
}
_SUFFIXES: Final = (*("_bytes_per_s", "_flops_per_s", "_cpu_s", "_bytes", "_hz", "_s", "_j", "_w"),)
_UPPER: Final = {"hbm", "sram", "cpu"}
_LARGE: Final = 1e6  # whole numbers from here on have a power of ten
_LEAST_LOG_RANGE: Final = 3.0  # largest over least value of an axis that is drawn in logarithms
_LEAST_LOG_RESULTS: Final = 20.0  # of a result


@dataclass(frozen=True, slots=True)
class Measure:
    """A column as it is drawn and told.

    Attributes:
        name: The column.
        unit: The handy unit; "" for counts, shares and words.
        size: What one of that unit is in the column's own.
        words: The values in order where they are no numbers; None where they are.
        log: Whether equal ratios are equally far apart.
    """

    name: str
    unit: str
    size: float
    words: tuple[Any, ...] | None
    log: bool

    @property
    def label(self) -> str:
        """What an axis of a picture says."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def title(self) -> str:
        """The name for people."""
        return title(self.name)

    def place(self, value: Any) -> float:
        """Where a value lies: a number in the handy unit, or the position of a word; or nan."""
        if self.words is not None:
            return float(self.words.index(value)) if value in self.words else math.nan
        return math.nan if value is None else value / self.size

    def told(self, value: Any) -> str:
        """A value without its unit."""
        if self.words is not None or value is None:
            return "none" if value is None else str(value)
        return short(value / self.size, 4)

    def said(self, value: Any) -> str:
        """A value with its unit."""
        return f"{self.told(value)} {self.unit}".rstrip()


def short(number: float, digits: int) -> str:
    """A number to a few digits; whole ones have all of theirs up to a million.

    Example:
        >>> short(16384, 3), short(3.6234, 3)
        ('16384', '3.62')
    """
    is_whole = float(number).is_integer() and abs(number) < _LARGE
    return f"{number:.0f}" if is_whole else f"{number:.{digits}g}"


def title(name: str) -> str:
    """A column's name for people: `hbm_bytes_per_s` is "HBM bandwidth".

    Example:
        >>> title("hbm_bandwidth"), title("latency_s"), title("link_bytes_per_s")
        ('HBM bandwidth', 'latency', 'link bandwidth')
    """
    plain = name.removeprefix(BINDING_PREFIX)
    suffix = next((end for end in _SUFFIXES if plain.endswith(end)), "") if unit_of(name) else ""
    words = plain.removesuffix(suffix).split("_")
    if suffix == "_bytes_per_s":
        words.append("bandwidth")
    if suffix == "_cpu_s":
        words.append("cpu")
    return " ".join(word.upper() if word in _UPPER else word for word in words)


def unit_of(name: str) -> str:
    """The SI unit of a column; "" for counts, shares and words."""
    if name in COLUMNS:
        return COLUMNS[name].unit
    if name == "seconds":
        return "s"
    kind = quantity_of(name)
    return "" if kind is None else next(s for s, factor in kind.factors.items() if factor == 1)


def quantity_of(name: str) -> quantity.Unit | None:
    """The kind of quantity of a chip's field; None for every other column."""
    if name in COLUMNS or name in OPTIONS or name.startswith(BINDING_PREFIX):
        return None
    try:
        return chip_axes.unit(name)
    except InvalidInputError:
        return None  # a dimension of the model


def measure(name: str, values: Iterable[Any], log: Log = None) -> Measure:
    """How a column with these values is drawn.

    Args:
        name: The column.
        values: Its values; None where a point has none.
        log: Whether in logarithms: of all columns, or the names of those; None: where values lie
            evenly in logarithms.
    """
    found = list(dict.fromkeys(value for value in values if value is not None))
    if not all(is_number(value) for value in found):
        return Measure(name, "", 1.0, tuple(found), log=False)
    numbers = sorted(float(value) for value in found if math.isfinite(value))
    is_log = _is_log(name, numbers, log)
    middle = _middle(numbers, log=is_log)
    sizes = _SIZES.get(unit_of(name), ((1.0, unit_of(name)),))
    size, unit = next((s for s in sizes if middle >= s[0] * 0.9999995), sizes[-1])
    if middle == 0:
        size, unit = next(s for s in sizes if s[0] == 1.0) if unit else (1.0, unit)
    return Measure(name, unit, size, None, log=is_log)


def said(name: str, value: Any) -> str:
    """One value of a column with its unit.

    Example:
        >>> said("hbm_bandwidth", 16e12), said("policy", "static")
        ('16 TB/s', 'static')
    """
    return measure(name, [value]).said(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _middle(numbers: Sequence[float], *, log: bool) -> float:
    """The number that should be handy: the largest, or of logarithms the middle one."""
    if not numbers:
        return 0.0
    if log:
        return math.sqrt(numbers[0] * numbers[-1])
    return max(abs(numbers[0]), abs(numbers[-1]))


def _is_log(name: str, numbers: Sequence[float], log: Log) -> bool:
    if not numbers or numbers[0] <= 0 or numbers[0] == numbers[-1]:
        return False
    if log is not None:
        return log if isinstance(log, bool) else name in set(log)
    least, most = numbers[0], numbers[-1]
    if name in COLUMNS:
        return most >= _LEAST_LOG_RESULTS * least
    if len(numbers) < 3 or most < _LEAST_LOG_RANGE * least:  # noqa: PLR2004 - two lie evenly anyway
        return False
    median = numbers[len(numbers) // 2 - 1 + len(numbers) % 2] / 2 + numbers[len(numbers) // 2] / 2
    even = abs(median - (least + most) / 2) / (most - least)
    ratio = abs(math.log(median / math.sqrt(least * most))) / math.log(most / least)
    return ratio < even
