"""Bandwidths of collectives by the rule of nccl-tests, from what a profiler says of a kernel.

The algorithm bandwidth is S / t for a message of S bytes in a time t; the bus bandwidth is the
algorithm bandwidth times a factor of n, the devices of the group, that makes it comparable with
the links' own: NVIDIA, nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from elk.base.readable import amount, duration, rate

Count: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 63)]
Name: TypeAlias = Annotated[str, Field(max_length=1 << 16)]
_PS: Final = 1e12
# Names as ProcessGroupNCCL of PyTorch records them, without underscores. Coalesced ones are none
# of these: nothing says that all of their messages went with one kernel.
_NAMES: Final = {
    "all_reduce": "allreduce",
    "all_gather": "allgather allgatherbase allgatherintotensor",
    "reduce_scatter": "reducescatter reducescatterbase reducescattertensor",
    "all_to_all": "alltoall alltoallv alltoallbase alltoallsingle",
    "broadcast": "broadcast broadcastoop",
    "reduce": "reduce reduceoop",
    "send": "send",
    "recv": "recv",
}
# Names of c10/core/ScalarType.h, by the bytes of an element.
_TYPES: Final = {
    1: "Byte Char Bool Float8_e5m2 Float8_e4m3fn Float8_e5m2fnuz Float8_e4m3fnuz",
    2: "Short Half BFloat16 UInt16",
    4: "Int Float UInt32 ComplexHalf",
    8: "Long Double UInt64 ComplexFloat",
    16: "ComplexDouble",
}
_KINDS: Final = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_SIZES: Final = {name: size for size, names in _TYPES.items() for name in names.split()}


@dataclass(slots=True)
class CollectiveFacts:
    """What the `args` of a kernel say of its collective."""

    name: Name | None = Field(default=None, validation_alias="Collective name")
    sent: Count | None = Field(default=None, validation_alias="In msg nelems")
    received: Count | None = Field(default=None, validation_alias="Out msg nelems")
    group: Count | None = Field(default=None, validation_alias="Group size")
    dtype: Name | None = None
    sent_parts: str | list[Count] = Field(default="[]", validation_alias="In split size")
    received_parts: str | list[Count] = Field(default="[]", validation_alias="Out split size")
    op: Count | None = Field(default=None, validation_alias="External id")


def bandwidths(facts: CollectiveFacts, time_ps: int) -> dict[str, Any]:
    """What a collective was, how much it moved and how fast; None for what cannot be known.

    Example:
        >>> facts = {"Collective name": "allreduce", "dtype": "Float", "Group size": 4,
        ...          "In msg nelems": 250, "Out msg nelems": 250}
        >>> row = bandwidths(CollectiveFacts(**facts), 10**6)
        >>> row["size_bytes"], row["algorithm_bytes_per_s"], row["bus_bytes_per_s"]
        (1000, 1000000000.0, 1500000000.0)
    """
    kind = _KINDS.get((facts.name or "").lower().replace("_", ""))
    element, group = _SIZES.get(facts.dtype or ""), facts.group
    size = speed = factor = None
    if kind and element and facts.sent is not None and facts.received is not None:
        size = max(facts.sent, facts.received) * element
        speed = size * _PS / time_ps if time_ps else None
    if kind in ("broadcast", "reduce", "send", "recv"):
        factor = 1.0
    elif kind and group and (kind != "all_to_all" or _even(facts)):
        factor = (2 if kind == "all_reduce" else 1) * (group - 1) / group
    return {
        "kind": kind,
        "dtype": facts.dtype if element else None,
        "group": group,
        "size_bytes": size,
        "algorithm_bytes_per_s": speed,
        "bus_bytes_per_s": None if speed is None or factor is None else speed * factor,
    }


def _even(facts: CollectiveFacts) -> bool:
    """Whether an all-to-all sends as much to each device as to any other; `[]` says that."""
    ends = (str(parts).strip("[]") for parts in (facts.sent_parts, facts.received_parts))
    even = all(len({part.strip() for part in end.split(",")}) == 1 for end in ends)
    return even and facts.sent == facts.received


def speeds(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Kernels of collectives by kind, and how fast they were on average over their time."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kind = "unknown" if row["bus_bytes_per_s"] is None else row["kind"].replace("_", "-")
        kinds.setdefault(kind, []).append(row)
    said = []
    for kind, found in kinds.items():
        time_ps = sum(row["time_ps"] for row in found)
        speed = "the file does not say what they moved"
        if kind != "unknown":
            moved = sum(row["bus_bytes_per_s"] * row["time_ps"] for row in found)
            size = amount(sum(row["size_bytes"] for row in found))
            speed = f"{size}, bus bandwidth {rate(moved / time_ps)}"
        said.append((kind, f"{len(found):,} kernels, {duration(time_ps / _PS)}, {speed}"))
    return said
