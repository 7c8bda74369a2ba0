"""Counts what becomes of ONNX's test models, by operator type."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from onnx_cases import KINDS, cases, is_numeric, outcome_of, proto_of, type_of

__all__ = ["KINDS", "Row", "rows"]


@dataclass
class Row:
    """One operator type.

    Attributes:
        name: The type.
        found: How many cases are planned, opaque, views, folded and refused.
        numeric: The same of cases whose inputs and outputs are all numbers or truth values.
        constants: How many are not refused only because inputs that decide shapes are constants.
        op_kinds: The kinds of ops that they become.
        reasons: Why cases are refused.
    """

    name: str
    found: Counter[str] = field(default_factory=Counter)
    numeric: Counter[str] = field(default_factory=Counter)
    constants: int = 0
    op_kinds: set[str] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def cases(self) -> int:
        return sum(self.found.values())


def plain(reason: str) -> str:
    """A reason without the names and shapes of one case."""
    reason = re.sub(r"(input |output |initializer )?'[^']*'", r"\1", reason)
    return re.sub(r": \[.*\]$", "", reason).replace("  ", " ").strip()


def rows(kind: str) -> list[Row]:
    """The types of the cases of one kind, by name."""
    table: dict[str, Row] = {}
    for case in cases(kind).values():
        proto = proto_of(case)
        name = type_of(case, proto)
        row = table.setdefault(name, Row(name))
        found = outcome_of(kind, case.name)
        row.found[found.kind] += 1
        if is_numeric(proto):
            row.numeric[found.kind] += 1
        row.constants += found.constants
        row.op_kinds |= found.op_kinds
        if found.model is None:
            row.reasons[plain(found.reason)] += 1
    return [table[name] for name in sorted(table, key=lambda n: ("." in n, n))]
