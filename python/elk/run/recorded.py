"""What the trace of a run says of its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from elk import _core
from elk.analyze.accessed import Accessed
from elk.analyze.trace_facts import TraceFacts
from elk.report.sram import sram_room

if TYPE_CHECKING:
    from elk.document.listing import PlacedProgram
    from elk.document.schema import PlanDocument
    from elk.run.usage import Capacity

SRAM: Final = "sram"
_MATRIX: Final = ("matmul", "conv")


def trace_facts(plan: PlanDocument, capacity: Capacity, copies: int) -> TraceFacts:
    """Names, instructions and capacities of a plan, for its traces.

    Args:
        plan: The plan's document.
        capacity: What the simulated chips can do.
        copies: How many times they are there.
    """
    return TraceFacts(
        model=plan["model"]["name"],
        chip=plan["chip"]["name"],
        policy=plan["policy"],
        ops=tuple(op["name"] for op in plan["ops"]),
        matrix=tuple(op["kind"] in _MATRIX for op in plan["ops"]),
        instructions=tuple((opcode, subject) for opcode, subject in plan["program"]),
        before=(),
        copies=copies,
        hbm_bytes_per_s=capacity.hbm,
        cores=int(capacity.cores),
        link_bytes_per_s=capacity.links / capacity.cores,
        sram_bytes=sram_room(plan["chip"]),
    )


def accessed(placed: PlacedProgram, facts: TraceFacts) -> Accessed:
    """What the instructions of a plan do with SRAM and with tensors that they store."""
    graph = placed.graph
    listed, tensors = _core.program_accesses(graph, facts.sram_bytes, placed.program)
    lists = {name: np.asarray(column, dtype=np.int64) for name, column in listed.columns().items()}
    names = (SRAM, *(graph.tensors[tensor].name for tensor in tensors))
    return Accessed(lists=lists, memories=names, main=SRAM, steps=2)
