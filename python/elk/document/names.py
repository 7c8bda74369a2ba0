"""Whether every word of a plan's document names something: kinds, axes, tensors, instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from elk import _core
from elk.base.policies import POLICIES
from elk.document.compiled import OBJECTIVES, PODS
from elk.document.ops import KINDS
from elk.document.rules import Path, refusal
from elk.document.schema import OpRow, PlanDocument

_SHOWN: Final = 8  # words of a message
_HOMES: Final = frozenset(home.name.lower() for home in _core.Home)
_DTYPES: Final = frozenset(_core.DType.__members__)
_ROLES: Final = frozenset(role.name.lower() for role in _core.AxisRole)
_TILES: Final = frozenset(_core.TileDim.__members__)
_KINDS: Final = frozenset(KINDS.values())
_BUFFERS: Final = frozenset(role.name.lower() for role in _core.Role)
_FIDELITIES: Final = frozenset(one.name.lower() for one in _core.Fidelity)
_ALGORITHMS: Final = {"collective": ("ring", "direct"), "reduce": ("tree", "direct")}


def check_names(document: PlanDocument) -> None:
    """Refuses a document with a word that names nothing.

    Raises:
        PlanFileError: The message says which key, the value and what it may be.
    """
    _word(document["policy"], POLICIES, "policy")
    _word(document["origin"], POLICIES, "origin")
    _word(document["pod"], PODS, "pod")
    search = document["search"]
    _word(search.get("pod", "pooled"), PODS, "search", "pod")
    _word(search.get("objective", "latency"), OBJECTIVES, "search", "objective")
    for i, op in enumerate(document["ops"]):
        if op["id"] != i:
            raise refusal(("ops", i, "id"), op["id"], f"{i}: ops count from 0")
        _check_op(op, i)
    tensors = {x["tensor"] for op in document["ops"] for x in op["operands"]}
    tensors |= {x["index"] for op in document["ops"] for x in op["operands"] if "index" in x}
    _check_program(document, tensors)
    for i, store in enumerate(document["stores"]):
        _word(store["tensor"], tensors, "stores", i, "tensor")
        if ("into" in store) != ("begin" in store):
            raise refusal(("stores", i), store, "with both of into and begin, or neither")
        if "into" in store:
            _word(store["into"], tensors, "stores", i, "into")
    if document["simulated"] is not None:
        _word(document["simulated"]["fidelity"], _FIDELITIES, "simulated", "fidelity")


def _check_op(op: OpRow, i: int) -> None:
    at = ("ops", i)
    _word(op["kind"], _KINDS, *at, "kind")
    _word(op["compute"], _DTYPES, *at, "compute")
    _word(op["execute"]["acc"], _DTYPES, *at, "execute", "acc")
    axes = [axis["name"] for axis in op["axes"]]
    if len(set(axes)) != len(axes):
        raise refusal((*at, "axes"), axes, "of different names")
    for a, axis in enumerate(op["axes"]):
        _word(axis["role"], _ROLES, *at, "axes", a, "role")
        _word(axis["tile"], _TILES, *at, "axes", a, "tile")
    for k in range(len(op["operands"])):
        _check_operand(op, (*at, "operands", k), k, axes)
    _check_execute(op, at, axes)
    if op["split"] is not None:
        _word(op["split"]["axis"], axes, *at, "split", "axis")


def _check_operand(op: OpRow, at: Path, k: int, axes: list[str]) -> None:
    row = op["operands"][k]
    _word(row["access"], ("read", "write"), *at, "access")
    _word(row["home"], _HOMES, *at, "home")
    _word(row["dtype"], _DTYPES, *at, "dtype")
    for d, names in enumerate(row["dims"]):
        _words(names, axes, *at, "dims", d)
    if len(row["dims"]) != len(row["shape"]):
        raise refusal((*at, "dims"), len(row["dims"]), f"{len(row['shape'])}, one a size of shape")
    if "map" in row:
        if len(row["map"]) != len(row["dims"]):
            raise refusal((*at, "map"), len(row["map"]), f"{len(row['dims'])}, one a dimension")
        for d, (one, names) in enumerate(zip(row["map"], row["dims"], strict=True)):
            if len(one["coef"]) != len(names):
                raise refusal((*at, "map", d, "coef"), one["coef"], f"{len(names)}, one an axis")
    picks = [key for key in ("index", "pick", "indirect") if row.get(key)]
    if len(picks) not in (0, 3):
        raise refusal((*at, "pick"), picks, "given with index and indirect, or not at all")
    if "pick" in row:
        _words(row["pick"]["axes"], axes, *at, "pick", "axes")
    if row.get("spilled", False) != (row["home"] == "spilled"):
        raise refusal((*at, "spilled"), row.get("spilled", False), "true of home spilled alone")


def _check_execute(op: OpRow, at: Path, axes: list[str]) -> None:
    execute = op["execute"]
    reads = [(k, x["tensor"]) for k, x in enumerate(op["operands"]) if x["access"] == "read"]
    keys = {name for _, name in reads} | {f"{name} @ operand {k}" for k, name in reads}
    _words(execute["factors"], axes, *at, "execute", "factors")
    _words(execute["pace"], axes, *at, "execute", "pace")
    _words(execute["order"], axes, *at, "execute", "order")
    _words(execute.get("mesh_dims", {}), axes, *at, "execute", "mesh_dims")
    _words(execute["temporal"], keys, *at, "execute", "temporal")
    for key, word in execute.get("algorithm", {}).items():
        if key in _ALGORITHMS:
            _word(word, _ALGORITHMS[key], *at, "execute", "algorithm", key)
    for key, row in (("preload", op["preload"]), ("idle", op["idle"])):
        if row is not None:
            _words(row["divisor"], keys, *at, key, "divisor")


def _check_program(document: PlanDocument, tensors: Collection[str]) -> None:
    ops = range(len(document["ops"]))
    for i, instruction in enumerate(document["program"]):
        at = ("program", i)
        match instruction:
            case ["preload_async" | "execute", int(op)] if not isinstance(op, bool):
                _word(op, ops, *at, 1)
            case ["store_async", str(tensor)]:
                _word(tensor, tensors, *at, 1)
            case _:
                raise refusal(
                    at, instruction, "an instruction, of an op or of store_async a tensor"
                )
    own = [[x["tensor"] for x in op["operands"]] for op in document["ops"]]
    for i, buffer in enumerate(document["buffers"]):
        _word(buffer["op"], ops, "buffers", i, "op")
        _word(buffer["tensor"], own[buffer["op"]], "buffers", i, "tensor")
        _word(buffer["role"], _BUFFERS, "buffers", i, "role")


def _words(
    found: Iterable[Any], known: Collection[Any] | Mapping[Any, Any], *path: str | int
) -> None:
    for one in found:
        _word(one, known, *path)


def _word(found: Any, known: Collection[Any] | Mapping[Any, Any], *path: str | int) -> None:
    if found not in known:
        some = list(known)
        words = ", ".join(map(str, some[:_SHOWN])) + (", ..." if len(some) > _SHOWN else "")
        raise refusal(path, found, f"one of {words}" if some else "absent: there is none")
