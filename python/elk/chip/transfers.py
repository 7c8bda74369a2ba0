"""Plain transfers between cores, played on the network of a chip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from elk import _core
from elk.base.choices import one_of
from elk.chip import presets
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.chip.chip import Chip

LINKS: Final = {"shared": _core.Links.Shared, "exclusive": _core.Links.Exclusive}
_FIELDS: Final = ("source", "destination", "bytes")
_MOST: Final = {"source": 2**31 - 1, "destination": 2**31 - 1, "bytes": 2**63 - 1}
_PS: Final = 1e12


def play_transfers(
    chip: Chip | str | Path,
    rows: Iterable[Sequence[Any]],
    *,
    links: str = "shared",
) -> list[float]:
    """When each of several transfers between cores is over.

    Only links and hop latency cost: nobody synchronises, nothing is cut into fragments and no SRAM
    port is held up. What a core sends to itself is over at its start.

    Args:
        chip: A chip, the name of a preset, or the path of a chip file.
        rows: Of each transfer the source core, the destination core, bytes, and the start in
            seconds. Cores are numbered over all chips, on a grid row by row.
        links: How transfers meet on a link: `shared`, max-min fairly, or `exclusive`, one after
            another in the order in which they start, those of one start in the order of rows.

    Returns:
        The end of each transfer in seconds, in the order of the rows.

    Raises:
        InvalidInputError: `links` is none of these words, or a row is wrong: the message says
            which.

    Example:
        >>> tiny = elk.chips.get("tiny")  # links of 4 GB/s, one port a core each way
        >>> elk.play_transfers(tiny, [(0, 1, 4_000, 0.0), (2, 1, 4_000, 0.0)])
        [2e-06, 2e-06]
        >>> elk.play_transfers(tiny, [(0, 1, 4_000, 0.0), (2, 1, 4_000, 0.0)], links="exclusive")
        [1e-06, 2e-06]
    """
    how = LINKS[one_of("links", links, tuple(LINKS))]
    played = presets.find(chip).to_core()
    checked = [_checked(number, row) for number, row in enumerate(rows)]
    ends_s: list[float] = (_core.play_transfers(played, checked, how) / _PS).tolist()
    return ends_s


def _checked(number: int, row: Sequence[Any]) -> tuple[int, int, int, float]:
    """A row in the types of the core, which knows the ranges that values have to keep."""
    try:
        source, destination, size, start_s = row
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"row {number} must be source core, destination core, bytes and start in seconds, "
            f"got {row!r}"
        ) from None
    whole = [
        _whole(f"row {number}: {name}", value, _MOST[name])
        for name, value in zip(_FIELDS, (source, destination, size), strict=True)
    ]
    if isinstance(start_s, bool) or not isinstance(start_s, Real):
        raise InvalidInputError(f"row {number}: start must be seconds, got {start_s!r}")
    return whole[0], whole[1], whole[2], float(start_s)


def _whole(what: str, value: Any, most: int) -> int:
    """`value` as an integer: a whole number in any type, for columns of a table share one."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not (isinstance(value, Integral) or float(value).is_integer())
    ):
        raise InvalidInputError(f"{what} must be a whole number, got {value!r}")
    whole = int(cast("Any", value))
    if not -most <= whole <= most:
        raise InvalidInputError(f"{what} must be from 0 to {most}, got {value!r}")
    return whole
