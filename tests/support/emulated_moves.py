"""Who received what from whom: in an emulation, and by the lists of cores."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import elk
from elk import _core

Action = _core.Action
# Exchange, step or round, operand, receiver, sender.
Key = tuple[int, str, int, str, int, int]
_WORDS = {
    Action.Preload: "preload_async",
    Action.Distribute: "distribute_data",
    Action.Gather: "gather",
    Action.Shift: "shift",
    Action.Reduce: "reduce",
}
ABROAD = -3  # A sender on another chip.
_ANYONE = -9  # Of a gather: cores that hold the same piece take turns, in no given order.


def emulated_moves(plan: elk.Plan, tape: dict[str, Any]) -> Counter[Key]:
    """Bytes by who received them from whom."""
    graph = plan._content.source.placed().graph
    names = [[graph.tensors[x.tensor].name for x in op.operands] for op in graph.ops]
    columns = ("core", "action", "op", "step", "operand", "sender", "bytes")
    found: Counter[Key] = Counter()
    for core, action, op, step, k, sender, count in zip(
        *(tape[column].tolist() for column in columns), strict=True
    ):
        peer = sender if action not in {Action.Gather, Action.Preload} else _ANYONE
        name = names[op][k] if peer != ABROAD else ""  # What passes a port lies nowhere.
        found[op, _WORDS[Action(action)], step, name, core, peer] += count
    return found


def listed_moves(plan: elk.Plan) -> Counter[Key]:
    """What the lists say is moved; without the values of rows, which pass through no buffer."""
    placed = plan._content.source.placed()
    rows = {i for i, op in enumerate(placed.graph.ops) if op.kind.name in {"Softmax", "Norm"}}
    lists = [plan.listing(core=core) for core in range(placed.chip.core.count)]
    loaded = {
        (x.op, x.areas[0].tensor) for one in lists for x in one if x.action == "preload_async"
    }
    found: Counter[Key] = Counter()
    for listing in lists:
        for one in listing:
            name = one.areas[0].tensor if one.areas else ""
            if one.action == "preload_async":
                found[one.op, one.action, 0, name, listing.core, _ANYONE] += one.bytes
            if one.action == "reduce" and one.op in rows:
                continue
            gathers = one.action == "distribute_data" and (one.op, name) not in loaded
            word = "gather" if gathers else one.action
            for parcel in one.received:
                sender = _ANYONE if gathers else (parcel.cores or (ABROAD,))[0]
                found[one.op, word, one.number, name, listing.core, sender] += parcel.bytes
    return found


def uneven(plan: elk.Plan) -> set[tuple[int, str]]:
    """Operands of which the emulator moves another number of bytes than is timed.

    Rows that an index picks are timed as expected, a chip with nothing to copy as if it had, and
    what is read from HBM beyond the ends of a tensor, or of a part of one, as if it were there.
    Where parts of a ring are of different lengths, the longest is timed for all, and for all ports
    of a collective the largest pieces of as many cores.
    """
    found = set()
    for row in plan.to_json()["ops"]:
        factors, sizes = row["execute"]["factors"], {x["name"]: x["size"] for x in row["axes"]}
        tiles = {name: -(-size // factors[name]) for name, size in sizes.items()}
        if "collective" in row and not _is_even(row, plan):
            found |= {(row["id"], name) for name in ("", *(x["tensor"] for x in row["operands"]))}
        for operand in row["operands"]:
            temporal = row["execute"]["temporal"].get(operand["tensor"], [])
            turning = [d for d, parts in enumerate(temporal) if parts > 1]
            ragged = any(
                len(operand["dims"][d]) > 1
                or sizes[operand["dims"][d][0]] % factors[operand["dims"][d][0]]
                or tiles[operand["dims"][d][0]] % temporal[d]
                or "map" in operand
                for d in turning
            )
            beyond = operand.get("spilled", False) and any(
                math.prod(sizes[axis] for axis in axes) > operand["shape"][d]
                for d, axes in enumerate(operand["dims"])
            )
            if ragged or beyond or "index" in operand or row["kind"] == "copy":
                found.add((row["id"], operand["tensor"]))
    return found


def _is_even(row: Any, plan: elk.Plan) -> bool:
    """Whether all ports of a collective, and all cores beside them, move as much."""
    factors, sizes = row["execute"]["factors"], {x["name"]: x["size"] for x in row["axes"]}
    shapes = {tensor.name: tensor.shape for tensor in plan._content.source.placed().graph.tensors}
    whole = all(
        math.prod(sizes[axis] for axis in axes) == shapes[operand["tensor"]][dim]
        for operand in row["operands"]
        for dim, axes in enumerate(operand["dims"])
    )
    piece = math.prod(-(-size // factors[name]) for name, size in sizes.items())
    cores, ports = row["execute"]["cores"], plan.to_json()["chip"]["inter_chip"]["port_cores"]
    return (
        whole
        and all(size % factors[name] == 0 for name, size in sizes.items())
        and piece % plan.chip.chips == 0
        and cores % -(-cores // min(ports, cores)) == 0
    )
