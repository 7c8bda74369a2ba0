"""How far a chip's numbers can be trusted: which are recalled, and which are assumed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from elk.chip.check import ChipError, FieldComplaint, nearest
from elk.chip.tables import Table, Text

Level = Literal["known", "low", "assumed"]


class Confidence(Table):
    """The fields of a chip to be careful with, by their dotted names: `core.sram_bytes`.

    Attributes:
        low: Recalled, and not checked against a source again.
        assumed: Without a public number: a guess, or what another chip has.
    """

    low: tuple[Text, ...] = Field(default=(), max_length=64, examples=[["hbm.capacity_bytes"]])
    assumed: tuple[Text, ...] = Field(default=(), max_length=64, examples=[["hbm.latency_s"]])

    def level(self, field: str) -> Level:
        """How far the field can be trusted; "known" where no mark says otherwise."""
        if field in self.assumed:
            return "assumed"
        return "low" if field in self.low else "known"

    def within(self, fields: Iterable[str]) -> Confidence | None:
        """The marks of `fields` alone; None if there are none."""
        kept = set(fields)
        low = tuple(name for name in self.low if name in kept)
        assumed = tuple(name for name in self.assumed if name in kept)
        return Confidence(low=low, assumed=assumed) if low or assumed else None

    def check(self, fields: Iterable[str]) -> None:
        """Refuses marks of what is none of the chip's `fields`, and fields that are marked twice.

        Raises:
            ChipError: The message lists every such mark.
        """
        known = list(fields)
        complaints = [
            FieldComplaint(
                path=("confidence", key),
                rule=f"must name fields of this chip, got {name[:80]!r}",
                remedy=nearest(name, known),
            )
            for key, names in (("low", self.low), ("assumed", self.assumed))
            for name in names
            if name not in known
        ]
        marks = [*self.low, *self.assumed]
        complaints += [
            FieldComplaint(
                path=("confidence",),
                rule=f"must name a field once, got {name!r} twice",
                remedy="keep the mark that says less for it",
            )
            for name in dict.fromkeys(marks)
            if name in known and marks.count(name) > 1
        ]
        if complaints:
            raise ChipError.of(complaints)


def flat(tables: dict[str, Any]) -> dict[str, Any]:
    """The leaves of nested tables by their dotted names.

    Example:
        >>> flat({"name": "x", "host": {"bytes_per_s": 1.0}})
        {'name': 'x', 'host.bytes_per_s': 1.0}
    """
    leaves: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            leaves |= {f"{key}.{name}": leaf for name, leaf in flat(value).items()}
        else:
            leaves[key] = value
    return leaves
