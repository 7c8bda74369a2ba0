"""Programs emulated as plan documents say them, broken or not."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import elk
from elk.document.file import StoredPlan
from elk.document.rebuild import placed
from elk.emulation.emulate import _given
from elk.emulation.parts import EmulatedPlan, Version, parts_of, run_parts
from elk.plan.content import Content
from elk.plan.plan import Plan
from emulated_moves import Key, emulated_moves

Document = Any


def stored(document: Document) -> Plan:
    """The plan that a document says."""
    return Plan(Content(StoredPlan(json.dumps(document))))


def run_document(
    document: Document, model: elk.Model, feeds: dict[str, Any]
) -> tuple[dict[str, Any], Counter[Key]]:
    """The numbers of a document's program, and what it moves."""
    program = placed(document)
    part = parts_of(EmulatedPlan(model, program.chip, program.program))
    names = [tensor.name for tensor in program.graph.tensors]
    versions = [
        Version(i, t.name, "whole", (0,) * len(t.shape), t.name)
        for i, t in enumerate(program.graph.tensors)
    ]
    shapes = {tensor.name: tuple(tensor.shape) for tensor in program.graph.tensors}
    own = type(part)(program.graph, 1, shapes, [], versions)
    arrays = {n: x for n, x in _given(model, feeds, {}).items() if n in names}
    wanted = {x.name for i, x in enumerate(program.graph.tensors) if i in program.graph.outputs}
    numbers, tapes = run_parts(own, program.chip, program.program, arrays, wanted)
    return numbers, emulated_moves(stored(document), tapes[0])
