"""What becomes of the nodes of a model: ops, values, and what was folded, viewed or refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from elk.frontend.views.space import Pattern
    from elk.frontend.views.values import Stored, Value


class Op(NamedTuple):
    """An op before it enters the graph: a pattern, and the tensors it runs over.

    Attributes:
        name: The name of its node, made unique.
        onnx_type: The operator type of its node.
        pattern: What it computes.
        reads: The tensor of each of the pattern's reads.
        indices: The tensor that picks what each read reads; None where nothing does.
        writes: The tensor of each of the pattern's writes.
    """

    name: str
    onnx_type: str
    pattern: Pattern
    reads: tuple[Stored, ...]
    indices: tuple[Stored | None, ...]
    writes: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that cannot be planned, and why."""

    name: str
    type: str
    shapes: str
    reason: str

    def __str__(self) -> str:
        return f"{self.type} '{self.name}' {self.shapes}: {self.reason}"


@dataclass(slots=True)
class Assembly:
    """What became of the nodes.

    Attributes:
        values: Every ONNX value that is known so far, by name.
        ops: The ops, in the order of the nodes.
        folded: Nodes that were computed here: name and type.
        views: Nodes whose results are views: name and type.
        copied: Values that had to be copied because a reader cannot take them as they lie.
        refused: Nodes that cannot be planned.
    """

    values: dict[str, Value] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    folded: list[tuple[str, str]] = field(default_factory=list)
    views: list[tuple[str, str]] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
