"""Axes that change a chip: its fields, the words people use for them, and totals that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from elk.base import quantity
from elk.base.choices import one_of
from elk.chip.published import matrix_flops_per_s
from elk.chip.replace import field_at, place_of
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.chip.chip import Chip

Place = tuple[str, str]

# Words for fields: what `Chip.replace` calls each of them.
ALIASES: Final[dict[str, str]] = {
    "clock": "clock_hz",
    "cores": "core_count",
    "hbm_capacity": "capacity_bytes",
    "hbm_latency": "hbm_latency_s",
    "host_bandwidth": "host_bytes_per_s",
    "inter_chip_bandwidth": "inter_chip_bytes_per_s",
    "inter_chip_latency": "inter_chip_latency_s",
    "link_bandwidth": "link_bytes_per_s",
    "sram": "sram_bytes",
    "sram_bandwidth": "sram_bytes_per_s",
    "sync_latency": "interconnect_sync_latency_s",
}


@dataclass(frozen=True, slots=True)
class TotalAxis:
    """A total of a chip that is no field of it, and the field that makes the chip have it.

    Attributes:
        unit: What it is counted in; None: whole numbers.
        field: What `Chip.replace` is given.
        place: The table and key of that field.
        of: The field's value of a chip that is to have this total.
        now: The total of a chip.
    """

    unit: quantity.Unit | None
    field: str
    place: Place
    of: Callable[[Chip, float], float]
    now: Callable[[Chip], float]


def _count(chip: Chip, total: float) -> float:
    each, rest = divmod(int(total), chip.chips)
    if rest:
        raise InvalidInputError(
            f"total_cores must divide by {chip.chips} chips, got {int(total)}",
            remedy=f"give {each * chip.chips}, for example",
        )
    return each


def _clock(chip: Chip, flops_per_s: float) -> float:
    return chip.core.clock_hz * flops_per_s / _matrix(chip)


def _matrix(chip: Chip) -> float:
    return matrix_flops_per_s(chip) * chip.chips


def _hbm(chip: Chip) -> float:
    return 0.0 if chip.hbm is None else float(chip.hbm.bytes_per_s)


# In the order in which they are applied: cores before what is shared among them.
TOTALS: Final[dict[str, TotalAxis]] = {
    "total_cores": TotalAxis(
        None, "core_count", ("core", "count"), _count, lambda chip: chip.total_cores
    ),
    "hbm_bandwidth_per_core": TotalAxis(
        quantity.BYTES_PER_S,
        "hbm_bytes_per_s",
        ("hbm", "bytes_per_s"),
        lambda chip, rate: rate * chip.core.cores,
        lambda chip: _hbm(chip) / chip.core.cores,
    ),
    "total_link_bandwidth": TotalAxis(
        quantity.BYTES_PER_S,
        "link_bytes_per_s",
        ("interconnect", "link_bytes_per_s"),
        lambda chip, rate: rate / chip.total_cores,
        lambda chip: chip.interconnect.link_bytes_per_s * chip.total_cores,
    ),
    "matrix_flops_per_s": TotalAxis(
        quantity.FLOPS_PER_S, "clock_hz", ("core", "clock_hz"), _clock, _matrix
    ),
}


def known_words() -> list[str]:
    """The names of axes that are no keys of a chip file."""
    return [*ALIASES, *TOTALS, "hbm_bandwidth"]


def place(name: str) -> Place:
    """The table and key that an axis changes.

    Raises:
        InvalidInputError: it is no field, or one that several tables have.
    """
    if name in TOTALS:
        return TOTALS[name].place
    return place_of(ALIASES.get(name, name))


def unit(name: str) -> quantity.Unit | None:
    """The kind of quantity of an axis; None: a count, a truth value, a word or a table."""
    if name in TOTALS:
        return TOTALS[name].unit
    field = field_at(place(name))
    if field is None:
        return None
    return next((entry for entry in field.metadata if isinstance(entry, quantity.Unit)), None)


def parsed(name: str, value: Any) -> Any:
    """`value` in SI units, as the field of the chip holds it.

    Raises:
        InvalidInputError: the field cannot have it, whatever the rest of the chip.
    """
    kind = unit(name)
    if kind is not None:
        return quantity.parse(value, kind)
    if name in TOTALS:
        return quantity.count(value)
    field = field_at(place(name))
    if field is None or value is None:
        return value
    if get_origin(field.annotation) is Literal:
        return one_of(name, value, get_args(field.annotation))
    try:
        annotated: Any = field.rebuild_annotation()
        return TypeAdapter(annotated).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, InvalidInputError):
            raise cause from None
        raise InvalidInputError(f"{detail['msg'].lower()}, got {value!r}") from None


def changed(chip: Chip, values: Mapping[str, Any]) -> Chip:
    """The chip with the values of these axes.

    Raises:
        InvalidInputError: no chip can have them together.

    Example:
        >>> from elk.points.chip_axes import changed
        >>> changed(elk.chips.get("ipu-pod4-hbm"), {"cores": 736, "hbm_bandwidth_per_core": 2.7e9})
        Chip('ipu-pod4-hbm': 4 chips of 736 cores, ..., HBM 7.949 TB/s in all)
    """
    plain = {ALIASES.get(name, name): value for name, value in values.items() if name not in TOTALS}
    made = chip.replace(**plain) if plain else chip
    for name, total in TOTALS.items():
        if name in values:
            made = made.replace(**{total.field: total.of(made, values[name])})
    return made


def current(chip: Chip, name: str) -> Any:
    """The value that a chip has now of an axis, in SI units; None where it has none.

    Example:
        >>> from elk.points.chip_axes import current
        >>> current(elk.chips.get("ipu-pod4-hbm"), "total_cores")
        5888
    """
    if name in TOTALS:
        return TOTALS[name].now(chip)
    if name == "hbm_bandwidth":
        return _hbm(chip) * chip.chips
    table, key = place(name)
    if (table, key) == ("core", "count"):
        return chip.core.cores
    found = chip.to_dict().get(table)
    return found.get(key) if key and isinstance(found, dict) else found
