"""What a core's SRAM holds, and what it has room for, by the document of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elk.document.schema import PlanDocument
from elk.report.colours import ROLES

if TYPE_CHECKING:
    from numpy.typing import NDArray


def memory_by_role(document: PlanDocument) -> dict[str, NDArray[np.int64]]:
    """Bytes of a core's SRAM that each kind of buffer holds at every instruction."""
    size = len(document["program"]) + 1
    change = {role: np.zeros(size, dtype=np.int64) for role in ROLES}
    for buffer in document["buffers"]:
        change[buffer["role"]][buffer["from"]] += buffer["bytes"]
        change[buffer["role"]][buffer["to"] + 1] -= buffer["bytes"]
    return {role: np.cumsum(deltas)[:-1] for role, deltas in change.items()}


def free_bytes(document: PlanDocument, op: int) -> int | None:
    """Bytes of a core's SRAM that no buffer holds while `op` runs; None without buffers."""
    if not document["buffers"]:
        return None
    at = document["program"].index(["execute", op])
    held = sum(b["bytes"] for b in document["buffers"] if b["from"] <= at <= b["to"])
    return sram_room(document["chip"]) - held


def sram_room(chip: dict[str, Any]) -> int:
    """Bytes of one core's SRAM that plans may use."""
    core = chip["core"]
    return int(core["sram_bytes"]) - int(core.get("reserved_bytes") or 0)
