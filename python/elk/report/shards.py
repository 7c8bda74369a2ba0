"""What a plan says of chips that share a model: how one layer is split, and what they exchange."""

from __future__ import annotations

from collections import Counter
from typing import Final

from elk.base.readable import amount
from elk.document.schema import OpRow, PlanDocument

_NAME_LENGTH: Final = 60
_SHOWN_LINES: Final = 40


def is_sharded(document: PlanDocument) -> bool:
    """Whether several chips share the model."""
    return document["pod"] == "sharded" and int(document["chip"].get("chips") or 1) > 1


def sent_bytes(document: PlanDocument) -> int:
    """Bytes that each chip sends to others, over the whole plan."""
    return sum(row["collective"]["sent_bytes"] for row in document["ops"] if "collective" in row)


def between_chips(document: PlanDocument) -> str:
    """What chips exchange: bytes, and how many collectives of which kind."""
    kinds = Counter(row["kind"].replace("_", "-") for row in document["ops"] if "collective" in row)
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "nothing"
    return f"{amount(sent_bytes(document))} sent by each chip: {found}"


def layer(document: PlanDocument) -> tuple[tuple[str, str], ...]:
    """The operators of one layer, neighbours that split the same axis together.

    Pairs of an axis, "-" where every chip computes all of it, and names; of a collective, its kind
    and what it turns into what. The second layer where layers repeat: the first may begin
    differently. Otherwise all operators, at most 40 lines.
    """
    begin, end = 0, len(document["ops"])
    repeat = document["repeat"]
    if repeat is not None:
        begin = repeat["begin"] + (repeat["period"] if repeat["count"] > 1 else 0)
        end = begin + repeat["period"]
    lines: list[tuple[str, list[str]]] = []
    for row in document["ops"][begin:end]:
        axis, name = _entry(row)
        if "collective" not in row and lines and lines[-1][0] == axis:
            lines[-1][1].append(name)
        else:
            lines.append((axis, [name]))
    shown = [(axis, _joined(names)) for axis, names in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(("", f"and {len(lines) - _SHOWN_LINES:,} more lines"))
    return tuple(shown)


def _entry(row: OpRow) -> tuple[str, str]:
    """The axis that an op splits, and its name; of a collective what it does instead."""
    if "collective" in row:
        moved = row["collective"]
        tensor = row["operands"][0]["tensor"][:_NAME_LENGTH]
        what = f"{tensor}, {moved['before']} to {moved['after']}, {amount(moved['sent_bytes'])}"
        return row["kind"].replace("_", "-"), what
    split = row["split"]
    return (split["axis"] if split else "-"), row["name"][:_NAME_LENGTH]


def _joined(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{names[0]} to {names[-1]}, {len(names)} operators"
