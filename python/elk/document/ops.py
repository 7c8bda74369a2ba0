"""The rows of a plan's document that stand for operators."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from elk import _core
from elk.document.operands import by_tensor
from elk.document.schema import (
    AxisRow,
    CollectiveRow,
    ExecuteRow,
    IdleRow,
    MapRow,
    OperandRow,
    OpRow,
    PreloadRow,
    SplitRow,
)

_TWO_WORDS: Final = {
    _core.OpKind.DepthwiseConv: "depthwise_conv",
    _core.OpKind.AllReduce: "all_reduce",
    _core.OpKind.AllGather: "all_gather",
    _core.OpKind.ReduceScatter: "reduce_scatter",
    _core.OpKind.AllToAll: "all_to_all",
}
KINDS: Final = {kind: _TWO_WORDS.get(kind, kind.name.lower()) for kind in _core.OpKind}
COLLECTIVES: Final = frozenset(
    name for kind, name in _TWO_WORDS.items() if kind != _core.OpKind.DepthwiseConv
)
_HBM_HOMES = frozenset({"weight", "state", "spilled"})


@dataclass(frozen=True, kw_only=True)
class _TensorFacts:
    """What an operand's row takes from its tensor."""

    name: str
    dtype: str
    home: str
    shape: list[int]
    chip_shape: list[int]
    bytes: int
    made: bool


@dataclass(frozen=True, kw_only=True)
class _FrontShape:
    """What all ops with one Pareto front have in common."""

    names: list[str]
    axes: list[tuple[int, str, str]]
    operands: list[_OperandShape]


@dataclass(frozen=True, kw_only=True)
class _OperandShape:
    """One operand of them."""

    read: bool
    dims: list[list[int]]
    maps: list[MapRow] | None
    indirect: bool
    covers: bool
    input: int


@dataclass(frozen=True)
class OpRows:
    """Makes the rows of all ops. `chips` share the model; 1 where each op runs on all cores."""

    graph: _core.Graph
    plan: _core.Plan
    borrowed: tuple[bool, ...]
    chips: int = 1
    _tensors: list[_TensorFacts] = field(init=False)
    _forms: list[str | int] = field(init=False)
    _split_axes: list[int] = field(init=False)
    _shapes: dict[int, _FrontShape] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        made = {
            x.tensor for op in self.graph.ops for x in op.operands if x.access == _core.Access.Write
        }
        shard, tensors = self.plan.shard, self.graph.tensors
        shapes = shard.whole if shard is not None else [tensor.shape for tensor in tensors]
        facts = [
            _facts(tensor, list(shape), made=i in made)
            for i, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True))
        ]
        object.__setattr__(self, "_tensors", facts)
        object.__setattr__(self, "_forms", [] if shard is None else shard.forms)
        object.__setattr__(self, "_split_axes", [] if shard is None else shard.axes)

    def rows(self) -> list[OpRow]:
        """One row an op, in order."""
        planned = self.plan.ops
        return [self._row(i, op, planned[i]) for i, op in enumerate(self.graph.ops)]

    def _row(self, i: int, op: _core.Op, planned: _core.PlannedOp) -> OpRow:
        front, operands = planned.front, op.operands
        shape = self._shapes.get(front) or self._shapes.setdefault(front, _shape(op))
        names = shape.names
        row: OpRow = {
            "id": i,
            "name": op.name,
            "kind": KINDS[op.kind],
            "onnx_type": op.onnx_type or None,
            "function": op.function,
            "params": list(op.params),
            "compute": op.compute.name.lower(),
            "flops": op.flops,
            "scalars": [x if math.isfinite(x) else _word(x) for x in op.scalars],
            "constants": op.constants,
            "borrowed": self.borrowed[i],
            "axes": _axes(shape),
            "operands": [
                self._operand(names, self._tensors[operand.tensor], like, operand)
                for operand, like in zip(operands, shape.operands, strict=True)
            ],
            "split": self._split(i, names),
            "execute": self._execute(op, names, planned),
            "preload": self._preload(operands, planned.state) if planned.has_preload else None,
            "idle": None if planned.has_preload else self._idle(operands, planned.state),
            "front": front,
            "choice": planned.choice,
        }
        if row["kind"] in COLLECTIVES:
            row["collective"] = self._collective(operands, planned.option)
        return row

    def _split(self, i: int, names: list[str]) -> SplitRow | None:
        if not self._split_axes or self._split_axes[i] < 0:
            return None
        return {"axis": names[self._split_axes[i]], "chips": self.chips}

    def _collective(
        self, operands: tuple[_core.Operand, ...], option: _core.PlanOption
    ) -> CollectiveRow:
        before, after = (self._forms[operand.tensor] for operand in operands)
        return {
            "before": before,
            "after": after,
            "chips": self.chips,
            "sent_bytes": option.crossing_bytes,
        }

    def _operand(
        self, axes: list[str], tensor: _TensorFacts, like: _OperandShape, operand: _core.Operand
    ) -> OperandRow:
        row: OperandRow = {
            "tensor": tensor.name,
            "access": "read" if like.read else "write",
            "home": _home(tensor, read=like.read),
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "bytes": tensor.bytes,
            "dims": [[axes[a] for a in positions] for positions in like.dims],
            "input": like.input,
        }
        if tensor.chip_shape != tensor.shape:
            row["chip_shape"] = list(tensor.chip_shape)
        if like.maps is not None:
            row["map"] = [{"coef": list(m["coef"]), "offset": m["offset"]} for m in like.maps]
        pick = operand.indirect if like.indirect else None
        if pick is not None:
            row["indirect"] = True
            row["index"] = self._tensors[pick.index].name
            row["pick"] = {
                "dim": pick.dim,
                "axes": [axes[a] for a in pick.axes],
                "expected": pick.expected_picks,
            }
        if like.covers:
            row["covers"] = True
        if tensor.home == "spilled":
            row["spilled"] = True
        return row

    def _execute(self, op: _core.Op, axes: list[str], planned: _core.PlannedOp) -> ExecuteRow:
        option = planned.option
        plan, space = option.plan, option.footprint
        row: ExecuteRow = {
            "factors": dict(zip(axes, plan.factors, strict=True)),
            "temporal": self._temporal(op, plan),
            "pace": {axes[a]: plan.pace[a] for a in plan.loops},
            "cores": option.cores,
            "steps": option.steps,
            "order": [axes[a] for a in plan.order],
            "acc": op.accumulate.name.lower(),
            "space_bytes": space.space_bytes,
            "space_by_tensor": {
                self._tensors[t].name: held
                for t, held in zip(space.tensors, space.tensor_bytes, strict=True)
            },
            "compute_s": option.compute_s,
            "exchange_bytes": option.exchange_bytes,
            "distribute_s": option.gather.time_s,
            "shift_s": option.shift.time_s,
            "reduce_s": option.reduce.time_s,
            "time_s": option.time_s,
            "extrapolated": option.extrapolated,
        }
        mesh_dims = {axes[a]: d for a, d in enumerate(plan.mesh_dims) if d >= 0}
        if mesh_dims:
            row["mesh_dims"] = mesh_dims
        if KINDS[op.kind] in COLLECTIVES:
            row["algorithm"] = {"collective": "ring" if option.ring else "direct"}
        if _adds_up_rows(op, plan):
            row["algorithm"] = {"reduce": "tree" if option.tree else "direct"}
        if self.plan.policy == "vgm":
            axis, count = planned.rounds
            row["rounds"] = {axes[axis]: count} if count > 1 else {}
        return row

    def _temporal(self, op: _core.Op, plan: _core.ExecutePlan) -> dict[str, list[int]]:
        if not any(plan.pace):
            return {}
        splits = [
            parts or [1] * len(operand.dims)
            for operand, parts in zip(op.operands, plan.temporal, strict=True)
        ]
        names = [
            self._tensors[operand.tensor].name if operand.access == _core.Access.Read else None
            for operand in op.operands
        ]
        turning = {n for n, parts in zip(names, splits, strict=True) if math.prod(parts) > 1}
        return by_tensor([n if n in turning else None for n in names], splits, math.prod)

    def _idle(
        self, operands: tuple[_core.Operand, ...], state: _core.PreloadState
    ) -> IdleRow | None:
        if state.space_bytes == 0:
            return None
        return {
            "divisor": self._divisor(operands, state),
            "space_bytes": state.space_bytes,
            "setup_bytes": state.distribute.bytes,
            "setup_s": state.distribute.time_s,
        }

    def _divisor(
        self, operands: tuple[_core.Operand, ...], state: _core.PreloadState
    ) -> dict[str, int]:
        names = [
            tensor.name if read and _home(tensor, read=read) in _HBM_HOMES else None
            for operand in operands
            for tensor, read in [
                (self._tensors[operand.tensor], operand.access == _core.Access.Read)
            ]
        ]
        return by_tensor(names, state.divisor, int)

    def _preload(
        self, operands: tuple[_core.Operand, ...], state: _core.PreloadState
    ) -> PreloadRow:
        return {
            "divisor": self._divisor(operands, state),
            "space_bytes": state.space_bytes,
            "hbm_bytes": self.chips * state.hbm_bytes,
            "link_bytes": state.link_bytes,
            "time_s": state.time_s,
            "distribute_bytes": state.distribute.bytes,
            "distribute_s": state.distribute.time_s,
        }


def _facts(tensor: _core.Tensor, shape: list[int], *, made: bool) -> _TensorFacts:
    """What rows say of a tensor whose whole, over all chips, has `shape`."""
    whole = _core.Tensor(name="", dtype=tensor.dtype, shape=shape, home=tensor.home)
    return _TensorFacts(
        name=tensor.name,
        dtype=tensor.dtype.name.lower(),
        home=tensor.home.name.lower(),
        shape=shape,
        chip_shape=list(tensor.shape),
        bytes=whole.bytes,
        made=made,
    )


def _shape(op: _core.Op) -> _FrontShape:
    axes = [(axis.size, axis.role.name.lower(), axis.tile_dim.name) for axis in op.axes]
    sizes = [size for size, _, _ in axes]
    return _FrontShape(
        names=[axis.name for axis in op.axes],
        axes=axes,
        operands=[_operand_shape(sizes, x) for x in op.operands],
    )


def _operand_shape(sizes: list[int], operand: _core.Operand) -> _OperandShape:
    dims = [(dim.axes, dim.coef, dim.offset) for dim in operand.dims]
    plain = all(
        offset == 0 and coef == packed([sizes[a] for a in positions])
        for positions, coef, offset in dims
    )
    return _OperandShape(
        read=operand.access == _core.Access.Read,
        dims=[positions for positions, _, _ in dims],
        maps=None if plain else [{"coef": coef, "offset": offset} for _, coef, offset in dims],
        indirect=operand.indirect is not None,
        covers=operand.covers,
        input=operand.input,
    )


def _axes(shape: _FrontShape) -> list[AxisRow]:
    return [
        {"name": name, "size": size, "role": role, "tile": tile}
        for name, (size, role, tile) in zip(shape.names, shape.axes, strict=True)
    ]


def _home(tensor: _TensorFacts, *, read: bool) -> str:
    """Where the operand comes from or goes to: what the graph makes is read where it was made."""
    if read and tensor.made and tensor.home in _HBM_HOMES:
        return "activation"
    return tensor.home


def _word(value: float) -> Literal["inf", "-inf", "nan"]:
    """What stands for a value that JSON has no number for."""
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def _adds_up_rows(op: _core.Op, plan: _core.ExecutePlan) -> bool:
    """Whether cores have parts of the same rows and exchange what they sum up to."""
    return any(
        axis.role == _core.AxisRole.Row and factor > 1
        for axis, factor in zip(op.axes, plan.factors, strict=True)
    )


def packed(sizes: list[int]) -> list[int]:
    """The coefficients of axes that index a dimension as digits of one number."""
    coef, step = [], 1
    for size in reversed(sizes):
        coef.append(step)
        step *= size
    return coef[::-1]
