"""ONNX's test models through elk.onnx_backend: what becomes of each, by emulation."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import elk
import numpy as np
import onnx
from elk import _core
from elk.errors import ElkError
from elk.onnx_backend import ElkBackend, ElkRep
from onnx_cases import (
    are_tensors,
    array_of,
    cases,
    data_of,
    deciding,
    feeds_of,
    outcome,
    proto_of,
    type_of,
    with_constants,
)

# Relative and absolute differences that are allowed in the result's type.
LOOSE = {"float16": (2e-3, 1e-2), "bfloat16": (2e-2, 5e-2)}
PASSED = ("partitioned", "one core", "only copied")


@dataclass
class EmulatedRow:
    """One operator type: how many cases end how, and why those that do not run do not."""

    name: str
    found: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


def _gap(model: elk.Model) -> str:
    graph = model.graph
    return next((why for i in range(len(graph.ops)) if (why := _core.no_kernel(graph, i))), "")


def _agree(case: Any, results: tuple[Any, ...], wanted: list[Any]) -> bool:
    for got, right in zip(results, map(array_of, wanted), strict=True):
        relative, absolute = LOOSE.get(right.dtype.name, (1e-3, 1e-3))
        if (got.shape, got.dtype) != (right.shape, right.dtype):
            return False
        close = np.allclose(
            got.astype(np.float64), right.astype(np.float64),
            rtol=max(case.rtol, relative), atol=absolute, equal_nan=True,
        )  # fmt: skip
        if not close:
            return False
    return True


def _prepared(case: Any, proto: onnx.ModelProto, **options: Any) -> tuple[ElkRep, dict[str, Any]]:
    """The case planned, with constants for inputs that decide shapes, and its other inputs."""
    feeds = feeds_of(case, proto)
    if not outcome(case).constants:
        return ElkBackend.prepare(proto, **options), feeds
    numbers = {name for name, x in feeds.items() if x.dtype.kind in "iub"}
    first = deciding(case.name, proto) & set(feeds)
    try:
        fixed = with_constants(proto, feeds, first)
        rep = ElkBackend.prepare(fixed, **options)
    except ElkError:
        rep = None
    if rep is None or rep.plan is None:
        fixed = with_constants(proto, feeds, numbers - {x.name for x in proto.graph.input[:1]})
        rep = ElkBackend.prepare(fixed, **options)
    return rep, {x.name: feeds[x.name] for x in fixed.graph.input if x.name in feeds}


def _not_run(case: Any, model: elk.Model | None, reason: str) -> tuple[str, str]:
    """How a case ends that is not run, and why; empty if it is run."""
    proto = proto_of(case)
    if model is None or proto is None:
        return "refused", reason
    given, wanted = data_of(case, proto)
    if not wanted or not are_tensors([*given, *wanted]):
        return "no numbers", "its inputs or outputs are no tensors"
    if why := _gap(model):
        return "no kernel", why
    return "", ""


def emulated(case: Any, **options: Any) -> tuple[str, str]:
    """How a case ends, and why if it does not run.

    `partitioned`: some op ran on more than one core; `one core`: the shapes allow no more, or the
    plan found one core faster; `only copied`: nothing is computed; `no kernel`, `refused`,
    `no numbers`: not run; `mismatch`, `crash`: wrong.
    """
    found = outcome(case)
    end = _not_run(case, found.model, found.reason)
    if end[0]:
        return end
    proto = proto_of(case)
    assert proto is not None
    assert found.model is not None
    rep, feeds = _prepared(case, proto, **options)
    results = rep.run(feeds)
    if rep.plan is None or not _agree(case, results, data_of(case, proto)[1]):
        return "mismatch", ""
    cores = [math.prod(row["execute"]["factors"].values()) for row in rep.plan.to_json()["ops"]]
    if all(op.onnx_type == "Copy" for op in found.model.graph.ops):
        return "only copied", ""
    return ("partitioned" if max(cores) > 1 else "one core"), ""


def rows(kind: str = "node", step: int = 1, **options: Any) -> list[EmulatedRow]:
    """The types of every `step`-th case of one kind, by name."""
    table: dict[str, EmulatedRow] = {}
    for case in list(cases(kind).values())[::step]:
        name = type_of(case, proto_of(case))
        row = table.setdefault(name, EmulatedRow(name))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                end, why = emulated(case, **options)
            except ElkError as error:
                end, why = "crash", error.message
        row.found[end] += 1
        if why:
            row.reasons[f"{end}: {why}"] += 1
    return [table[name] for name in sorted(table, key=lambda n: ("." in n, n))]
