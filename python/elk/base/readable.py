"""Numbers as people read them: `1.63 ms`, `598.1 KiB`, `16.0 TB/s`."""

from __future__ import annotations

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"))


def duration(seconds: float) -> str:
    """A time in seconds, in the unit that leaves one to three digits before the point.

    Example:
        >>> duration(0.00163)
        '1.630 ms'
    """
    # A thousandth of a unit is all that is shown, so 999.9996 ns are 1 us.
    size, unit = next((t for t in _TIMES if abs(seconds) >= 0.9999995 * t[0]), _TIMES[-1])
    return f"{seconds / size:.3f} {unit}" if seconds else "0 s"


def amount(size_bytes: float) -> str:
    """A number of bytes in binary units.

    Example:
        >>> amount(612 * 1024)
        '612.0 KiB'
    """
    for size, unit in _SIZES:
        if abs(size_bytes) >= size:
            return f"{size_bytes / size:,.1f} {unit}"
    return f"{size_bytes:,.0f} B"


def rate(bytes_per_s: float) -> str:
    """A rate in bytes per second, in decimal units.

    Example:
        >>> rate(16e12)
        '16.00 TB/s'
    """
    for size, unit in _RATES:
        if abs(bytes_per_s) >= size:
            return f"{bytes_per_s / size:,.2f} {unit}"
    return f"{bytes_per_s:,.0f} B/s"


def deviation(value: float, truth: float) -> str:
    """By how much a value is off, as a percentage with a sign; a dash where there is no truth.

    Example:
        >>> deviation(0.98, 1.0)
        '-2.00 %'
    """
    if truth <= 0:
        return "-"
    return f"{round(100 * (value / truth - 1), 2) + 0.0:+.2f} %"  # Never minus nothing.


def share(part: float, whole: float) -> str:
    """A part of a whole as a percentage; a dash where there is no whole.

    Example:
        >>> share(1.0, 8.0)
        '12.5 %'
    """
    return f"{100 * part / whole:.1f} %" if whole > 0 else "-"
