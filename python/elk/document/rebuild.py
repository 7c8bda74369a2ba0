"""From a plan's document back to the structs of the core, so that it can be checked again."""

from __future__ import annotations

from elk import _core
from elk.chip.chip import Chip
from elk.document.listing import PlacedProgram
from elk.document.operands import of_operand
from elk.document.ops import KINDS, packed
from elk.document.rules import refusal
from elk.document.schema import BufferRow, OperandRow, OpRow, PlanDocument
from elk.errors import ElkError, PlanFileError

_OPCODES = {
    "preload_async": _core.Opcode.Preload,
    "store_async": _core.Opcode.Store,
    "execute": _core.Opcode.Execute,
}
_KINDS = {name: kind for kind, name in KINDS.items()}
_ROLES = {role.name.lower(): role for role in _core.Role}
_ROLES_OF_AXES = {role.name.lower(): role for role in _core.AxisRole}
_OF_PATTERN = (
    "kind",
    "onnx_type",
    "function",
    "params",
    "compute",
    "axes",
    "flops",
    "scalars",
    "constants",
)
_OF_OPERAND = ("access", "dims", "map", "input", "pick")
_HOMES = {home.name.lower(): home for home in _core.Home}


def placed(document: PlanDocument) -> PlacedProgram:
    """The program of a document, with the graph and the chip that it is for."""
    rebuilt = _Rebuilt(document)
    chip = Chip.from_dict(document["chip"]).to_core()
    if document["pod"] == "sharded":
        chip = _core.one_of(chip)
    return PlacedProgram(graph=rebuilt.graph(), chip=chip, program=rebuilt.program())


def running(document: PlanDocument, graph: _core.Graph) -> _core.Graph:
    """The graph whose operators the cuts of a document are of: under `vgm` those of one round.

    Raises:
        PlanFileError: Rounds are missing, or stand where there can be none.
    """
    rounds: list[tuple[int, int]] = []
    for i, op in enumerate(document["ops"]):
        at, found = ("ops", i, "execute", "rounds"), op["execute"].get("rounds")
        if (found is not None) != (document["policy"] == "vgm"):
            raise refusal(at, found, "given under policy vgm, and under no other")
        named = [axis["name"] for axis in op["axes"]]
        along = {**found} if found else {}
        if len(along) > 1 or 1 in along.values() or not {*along} <= {*named}:
            raise refusal(at, found, "empty, or more than one round along one axis")
        rounds += [(named.index(axis), count) for axis, count in along.items()] or [(-1, 1)]
    if document["policy"] != "vgm":
        return graph
    try:
        return _core.in_rounds(graph, rounds)
    except ElkError as error:
        raise PlanFileError(str(error), remedy="compile the model again") from error


def problems(document: PlanDocument) -> list[str]:
    """Every rule that the plan breaks; a plan that no longer makes sense has one problem."""
    try:
        asked = placed(document)
        return _core.check_program(asked.graph, asked.chip, asked.program)
    except ElkError as error:
        return [error.message]
    except (KeyError, ValueError, IndexError) as error:
        return [f"the plan contradicts itself: {error!r}"]


class _Rebuilt:
    """The graph and the program of a document."""

    def __init__(self, document: PlanDocument) -> None:
        rows: dict[str, OperandRow] = {}
        for op in document["ops"]:
            for operand in op["operands"]:
                # What the graph makes is at home where it was written, not where it is read.
                if operand["tensor"] not in rows or operand["access"] == "write":
                    rows[operand["tensor"]] = operand
        self._document = document
        self._rows = rows
        self._positions = {name: i for i, name in enumerate(rows)}

    def graph(self) -> _core.Graph:
        """The planned graph."""
        ops = self._document["ops"]
        patterns = _Patterns()
        numbers = [patterns.number(op) for op in ops]
        return _core.Graph(
            name=self._document["model"]["name"],
            tensors=[
                _core.Tensor(
                    name=name,
                    dtype=_core.DType[row["dtype"]],
                    shape=row.get("chip_shape", row["shape"]),
                    home=_HOMES[row["home"]],
                )
                for name, row in self._rows.items()
            ],
            patterns=patterns.found,
            ops=[
                (op["name"], number, [self._positions[name] for name in _tensors(op)])
                for op, number in zip(ops, numbers, strict=True)
            ],
            stores=[
                (
                    self._at(store["tensor"]),
                    store["op"],
                    store["run_bytes"],
                    self._at(store["into"]) if "into" in store else -1,
                    store.get("begin", []),
                )
                for store in self._document["stores"]
            ],
            outputs=[
                self._positions[name]
                for name in self._document["outputs"]
                if name in self._positions
            ],
        )

    def program(self) -> _core.Program:
        """The program, with its buffers."""
        return _core.Program(
            ops=[_op_plan(op) for op in self._document["ops"]],
            code=[
                _core.Instruction(
                    _OPCODES[opcode], subject if isinstance(subject, int) else self._at(subject)
                )
                for opcode, subject in self._document["program"]
            ],
            buffers=[self._buffer(buffer) for buffer in self._document["buffers"]],
        )

    def _at(self, tensor: str) -> int:
        return self._positions[tensor]

    def _buffer(self, row: BufferRow) -> _core.Buffer:
        return _core.Buffer(
            op=row["op"],
            tensor=self._at(row["tensor"]),
            role=_ROLES[row["role"]],
            offset_bytes=row["offset"],
            bytes=row["bytes"],
            span=(row["from"], row["to"]),
        )


class _Patterns:
    """The distinct ops of a document: most layers are like the one before."""

    def __init__(self) -> None:
        self.found: list[_core.Op] = []
        self._last: dict[int, tuple[OpRow, int]] = {}  # by the front, which like ops share

    def number(self, op: OpRow) -> int:
        """The position in `found` of an op like `op`, names aside."""
        known = self._last.get(op["front"])
        if known is None or not _alike(op, known[0]):
            self.found.append(_pattern(op))
            known = self._last[op["front"]] = (op, len(self.found) - 1)
        return known[1]


def _alike(a: OpRow, b: OpRow) -> bool:
    """Whether two ops have the same pattern."""
    return (
        all(a[key] == b[key] for key in _OF_PATTERN)  # type: ignore[literal-required]
        and a["execute"]["acc"] == b["execute"]["acc"]
        and len(a["operands"]) == len(b["operands"])
        and all(
            x.get(key) == y.get(key)
            for x, y in zip(a["operands"], b["operands"], strict=True)
            for key in _OF_OPERAND
        )
        and _mentions(a) == _mentions(b)
    )


def _mentions(op: OpRow) -> list[int]:
    """Of each tensor that is mentioned, which of the op's it is."""
    local = {name: i for i, name in enumerate(_tensors(op))}
    names = [name for x in op["operands"] for name in (x["tensor"], x.get("index")) if name]
    return [local[name] for name in names]


def _pattern(op: OpRow) -> _core.Op:
    """The op over the tensors that it names, in the order in which it names them first."""
    return _core.Op(
        name=op["name"],
        kind=_KINDS[op["kind"]],
        onnx_type=op["onnx_type"] or "",
        function=op["function"],
        params=op["params"],
        compute=_core.DType[op["compute"]],
        accumulate=_core.DType[op["execute"]["acc"]],
        axes=[
            _core.Axis(
                name=axis["name"],
                size=axis["size"],
                role=_ROLES_OF_AXES[axis["role"]],
                tile_dim=_core.TileDim[axis["tile"]],
            )
            for axis in op["axes"]
        ],
        operands=[_operand(op, operand) for operand in op["operands"]],
        flops=op["flops"],
        scalars=[float(x) for x in op["scalars"]],
        constants=op["constants"],
    )


def _tensors(op: OpRow) -> list[str]:
    """The tensors of an op, those that only pick included, by first mention."""
    names = [name for x in op["operands"] for name in (x["tensor"], x.get("index")) if name]
    return list(dict.fromkeys(names))


def _operand(op: OpRow, row: OperandRow) -> _core.Operand:
    axes = {axis["name"]: i for i, axis in enumerate(op["axes"])}
    local = {name: i for i, name in enumerate(_tensors(op))}
    sizes = [axis["size"] for axis in op["axes"]]
    dims = []
    for d, names in enumerate(row["dims"]):
        positions = [axes[name] for name in names]
        coef, offset = packed([sizes[a] for a in positions]), 0
        if "map" in row:
            coef, offset = row["map"][d]["coef"], row["map"][d]["offset"]
        dims.append(_core.Dim(axes=positions, coef=coef, offset=offset))
    indirect = None
    if "index" in row and "pick" in row:
        pick = row["pick"]
        indirect = _core.Indirect(
            index=local[row["index"]],
            dim=pick["dim"],
            axes=[axes[name] for name in pick["axes"]],
            expected_picks=pick["expected"],
        )
    return _core.Operand(
        tensor=local[row["tensor"]],
        access=_core.Access[row["access"].title()],
        dims=dims,
        indirect=indirect,
        input=row["input"],
        covers=row.get("covers", False),
    )


def _op_plan(op: OpRow) -> _core.OpPlan:
    execute, waiting = op["execute"], op["preload"] or op["idle"]
    axes = {axis["name"]: i for i, axis in enumerate(op["axes"])}
    pace = [execute["pace"].get(name, 0) for name in axes]
    mesh_dims = execute.get("mesh_dims", {})
    divisor = waiting["divisor"] if waiting is not None else {}
    return _core.OpPlan(
        execute=_core.ExecutePlan(
            factors=[execute["factors"].get(name, 1) for name in axes],
            temporal=[
                of_operand(execute["temporal"], x["tensor"], i, []) if x["access"] == "read" else []
                for i, x in enumerate(op["operands"])
            ],
            pace=pace,
            order=[axes[name] for name in execute["order"]],
            loops=[axes[name] for name in execute["pace"]],
            mesh_dims=[mesh_dims.get(name, -1) for name in axes],
        ),
        divisor=[
            of_operand(divisor, x["tensor"], i, 0) if x["access"] == "read" else 0
            for i, x in enumerate(op["operands"])
        ],
        tree=execute.get("algorithm", {}).get("reduce") == "tree",
        ring=execute.get("algorithm", {}).get("collective") == "ring",
    )
