"""The table of models in data/, and what elk.models gives at its sizes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elk import models
from elk.model.facts import Facts
from elk.model.model import load_model

_TABLE = Path(__file__).parents[2] / "data" / "models.csv"
DECODE = {"batch": 32, "past": 2048}
_SIZES = {
    "retnet-1.3b": {"batch": 32},  # The state of a RetNet has no length.
    "bert-large": {"batch": 1, "seq": 512},
    "nerf-t10": {"rows": 1920 * 1080},
    "gpt2": {"batch": 32, "past": 512},
}


@cache
def table() -> dict[str, dict[str, str]]:
    """The rows of data/models.csv by name."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def sizes(name: str) -> dict[str, int]:
    """What the table's numbers of `name` are for: a decode step, or one pass."""
    plain = DECODE if "decode" in models.phases(name) else {"batch": 1}
    return _SIZES.get(name, plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What ELK sees in a model at the table's sizes.

    Attributes:
        facts: Counts, bytes and FLOPs.
        states: The shapes of its states.
        stores: States that a run appends to or replaces.
        streamed: Bytes of weights that matrix products read.
        picked: How many matrices each product that picks some reads.
        copied_states: States that a copy op reads.
        gathered: The shapes of tables that ops gather from.
    """

    facts: Facts
    states: tuple[tuple[int, ...], ...]
    stores: int
    streamed: float
    picked: tuple[float, ...]
    copied_states: int
    gathered: tuple[tuple[int, ...], ...]

    @property
    def products(self) -> int:
        """FLOPs of matrix products and convolutions, which are what the table counts."""
        kinds = self.facts.flops_by_kind
        return kinds.get("matmul", 0) + kinds.get("conv", 0)


@cache
def seen(name: str) -> Seen:
    """What ELK sees in the model `name`; each model is loaded once."""
    model = load_model(models.get(name), bindings=sizes(name))
    graph = model.graph
    streamed: dict[str, float] = {}
    picked, gathered, copied_states = [], [], 0
    for op in graph.ops:
        kind = op.kind.name
        for operand in op.operands:
            tensor, picks = graph.tensors[operand.tensor], operand.indirect
            copied_states += kind == "Copy" and tensor.home.name == "State"
            if kind == "Gather" and picks:
                gathered.append(tuple(tensor.shape))
            if kind == "MatMul" and tensor.home.name == "Weight":
                share = picks.expected_picks / tensor.shape[picks.dim] if picks else 1.0
                streamed[tensor.name] = tensor.bytes * share
                picked += [picks.expected_picks] if picks else []
    return Seen(
        facts=model.facts,
        states=tuple(tuple(t.shape) for t in graph.tensors if t.home.name == "State"),
        stores=len(graph.stores),
        streamed=sum(streamed.values()),
        picked=tuple(picked),
        copied_states=copied_states,
        gathered=tuple(gathered),
    )
