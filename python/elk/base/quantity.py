"""Quantities with a unit, as people write them: `"624 KiB"`, `"5.5 GB/s"`, `"89 ns"`."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real

from elk.errors import InvalidInputError

_PATTERN = re.compile(r"([+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*([^\d\s].*)?", re.ASCII)
_LONGEST = 64  # characters of a quantity; a longer text is no quantity
_FOUR_DIGITS = 9999.5  # from here on a number has more than four digits before the point
_LONG_NUMBER = 100_000  # from here on a larger unit is handier
_MOST_BYTES = (1 << 63) - 1
_MOST_COUNTED = 1 << 31  # The product of two counts fits 64 bits.

_SIZES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A kind of quantity.

    Attributes:
        noun: What such a quantity is called in a message.
        factors: Symbols, and the SI value of one of each.
        example: A quantity of this kind.
        whole: Whether it is counted in integers.
    """

    noun: str
    factors: dict[str, Fraction]
    example: str
    whole: bool = False


def _powers(symbols: str) -> dict[str, Fraction]:
    """Factors of `symbols`, written as "ns:-9 us:-6": a symbol and a power of ten."""
    pairs = [entry.split(":") for entry in symbols.split()]
    return {symbol: Fraction(10) ** int(power) for symbol, power in pairs}


BYTES = Unit(
    noun="a size",
    factors={symbol: Fraction(size) for symbol, size in _SIZES.items()},
    example="624 KiB",
    whole=True,
)
BYTES_PER_S = Unit(
    noun="a bandwidth",
    factors={f"{symbol}/s": Fraction(size) for symbol, size in _SIZES.items()},
    example="5.5 GB/s",
)
FLOPS_PER_S = Unit(
    noun="a rate of operations",
    factors=_powers("FLOP/s:0 GFLOP/s:9 TFLOP/s:12 PFLOP/s:15"),
    example="312 TFLOP/s",
)
SECONDS = Unit(
    noun="a time",
    factors=_powers(
        "ps:-12 ns:-9 us:-6 \N{MICRO SIGN}s:-6 \N{GREEK SMALL LETTER MU}s:-6 ms:-3 s:0"
    ),
    example="89 ns",
)
HERTZ = Unit(
    noun="a frequency", factors=_powers("Hz:0 kHz:3 MHz:6 GHz:9 THz:12"), example="1.33 GHz"
)
PICOJOULES = Unit(noun="an energy", factors=_powers("fJ:-3 pJ:0 nJ:3 uJ:6"), example="0.5 pJ")
WATTS = Unit(noun="a power", factors=_powers("mW:-3 W:0 kW:3"), example="150 W")


def parse(value: object, unit: Unit) -> int | float:
    """The SI value of `value`: a text with a unit, or a number that is one already.

    Example:
        >>> parse("624 KiB", BYTES)
        638976
        >>> parse("5.5 GB/s", BYTES_PER_S)
        5500000000.0

    Raises:
        InvalidInputError: `value` is no quantity of this kind, or a size that is no whole number
            of bytes. Signs and ranges are not looked at.
    """
    if isinstance(value, str):
        return _to_number(_exact(value, unit), value, unit)
    if isinstance(value, bool):
        raise _error(value, f"{unit.noun} with its unit", unit)
    if isinstance(value, Integral):
        return _to_number(Fraction(int(value)), value, unit)
    if isinstance(value, Real):
        if not unit.whole:
            return float(value)
        if float(value).is_integer():
            return _to_number(Fraction(float(value)), value, unit)
        raise _error(value, f"{unit.noun} of a whole number of bytes", unit)
    raise _error(value, f"{unit.noun} with its unit", unit)


def count(value: object) -> int:
    """`value` as an integer, which it must be: neither a truth value nor 3.0 is one.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(value, bool) and isinstance(value, Integral):
        if abs(int(value)) <= _MOST_COUNTED:
            return int(value)
        raise InvalidInputError(
            f"must be a count up to 2^31, got {_shown(int(value))}",
            code="invalid_quantity",
            remedy="write how many there are, as in 4",
        )
    raise InvalidInputError(
        f"must be a whole number, got {_shown(value)}",
        code="invalid_quantity",
        remedy="write it without quotes, unit or decimal point, as in 4",
    )


def show(value: float, unit: Unit) -> str:
    """`value` in its handiest unit, to four digits; what has more before the point keeps them.

    Example:
        >>> show(5.5e9, BYTES_PER_S)
        '5.5 GB/s'
        >>> show(95_944_704, BYTES)
        '93696 KiB'
    """
    factor, symbol = _handiest(value, unit)
    number = float(value / factor)
    digits = ".4g" if abs(number) < _FOUR_DIGITS else ".0f"
    return f"{number:{digits}} {symbol}"


def show_exactly(value: float, unit: Unit) -> str:
    """`value` in a unit, such that `parse` reads the same number back where that can be.

    Example:
        >>> show_exactly(638976, BYTES)
        '624 KiB'
    """
    factor, symbol = _handiest(value, unit)
    for digits in (4, 15, 16, 17):
        text = f"{float(value / factor):.{digits}g} {symbol}"
        if _reads_back(text, value, unit):
            return text
    return f"{value!r} {_base(unit)}"


def _reads_back(text: str, value: float, unit: Unit) -> bool:
    try:
        return parse(text, unit) == value
    except InvalidInputError:
        return False


def _base(unit: Unit) -> str:
    return next(symbol for symbol, factor in unit.factors.items() if factor == 1)


def _handiest(value: float, unit: Unit) -> tuple[Fraction | int, str]:
    """The factor and symbol in which `value` is at least 1 and, if a size, short."""
    if value == 0 or not math.isfinite(value):
        return 1, _base(unit)
    entries = [(factor, symbol) for symbol, factor in unit.factors.items()]
    if not unit.whole:
        entries = [(factor, symbol) for factor, symbol in entries if "i" not in symbol]
        return max((e for e in entries if e[0] <= abs(value)), default=min(entries))
    fits = [entry for entry in entries if entry[0] <= abs(value)]
    exact = max(entry for entry in fits if value % entry[0] == 0)
    # 638,976 B are 624 KiB; a size that no large unit divides is shown to four digits.
    return exact if abs(value) / exact[0] < _LONG_NUMBER else max(fits)


def _exact(text: str, unit: Unit) -> Fraction:
    match = _PATTERN.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise _error(text, f"{unit.noun}: a number and a unit", unit)
    number, symbol = match[1], (match[2] or "").strip()
    if symbol not in unit.factors:
        wanted = f"{unit.noun} in {_listed(unit)}"
        remedy = " or ".join(f'write "{number} {close}"' for close in _closest(symbol, unit))
        raise _error(text, wanted, unit, remedy)
    return Fraction(number) * unit.factors[symbol]


def _to_number(exact: Fraction, written: object, unit: Unit) -> int | float:
    if not unit.whole:
        try:
            return float(exact)
        except OverflowError:
            raise _error(written, f"{unit.noun} that a double holds", unit) from None
    if exact.denominator != 1:
        rule = f"{unit.noun} of a whole number of bytes, not of {float(exact):g}"
        raise _error(written, rule, unit)
    if abs(exact) > _MOST_BYTES:
        raise _error(written, f"{unit.noun} below 2^63 bytes", unit)
    return int(exact)


def _closest(symbol: str, unit: Unit) -> list[str]:
    """The symbols that `symbol` may stand for; none for bits, which are not counted here."""
    if symbol.upper() in {"KB", "KB/S"}:
        return [known for known in unit.factors if known.lower().startswith(("kib", "kb"))]
    if re.fullmatch(r"[kKMGT]?i?b(it)?(/s|ps)?", symbol):
        return []
    same = [known for known in unit.factors if known.lower() == symbol.lower()]
    per_second = {symbol.removesuffix("/s"), f"{symbol}/s"} & unit.factors.keys()
    return same or sorted(per_second) or difflib.get_close_matches(symbol, list(unit.factors), n=1)


def _listed(unit: Unit) -> str:
    symbols = [symbol for symbol in unit.factors if symbol.isascii()]
    return ", ".join(symbols[:-1]) + " or " + symbols[-1]


def _error(value: object, rule: str, unit: Unit, remedy: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"must be {rule}, got {_shown(value)}",
        code="invalid_quantity",
        remedy=remedy or f'write it as in "{unit.example}"',
    )


def _shown(value: object) -> str:
    if isinstance(value, int) and abs(value) > _MOST_BYTES:
        return f"a number of {value.bit_length()} bits"
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return shown if len(shown) <= _LONGEST + 2 else shown[:_LONGEST] + "..."
