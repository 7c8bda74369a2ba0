"""The rows of a plan's document that stand for operators."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from elk import _core
from elk.plan_schema import AxisRow, ExecuteRow, MapRow, OperandRow, OpRow, PreloadRow

_KINDS = {
    kind: "depthwise_conv" if kind == _core.OpKind.DepthwiseConv else kind.name.lower()
    for kind in _core.OpKind
}
_HBM_HOMES = frozenset({"weight", "state"})


@dataclass(frozen=True, kw_only=True)
class _TensorFacts:
    """What an operand's row takes from its tensor."""

    name: str
    dtype: str
    home: str
    shape: list[int]
    bytes: int
    made: bool


@dataclass(frozen=True)
class OpRows:
    """Makes the rows of all ops; what stands in one row is shared with no other."""

    graph: _core.Graph
    plan: _core.Plan
    borrowed: tuple[bool, ...]
    _tensors: list[_TensorFacts] = field(init=False)

    def __post_init__(self) -> None:
        made = {
            x.tensor for op in self.graph.ops for x in op.operands if x.access == _core.Access.Write
        }
        facts = [
            _TensorFacts(
                name=tensor.name,
                dtype=tensor.dtype.name.lower(),
                home=tensor.home.name.lower(),
                shape=list(tensor.shape),
                bytes=tensor.bytes,
                made=i in made,
            )
            for i, tensor in enumerate(self.graph.tensors)
        ]
        object.__setattr__(self, "_tensors", facts)

    def rows(self) -> list[OpRow]:
        """One row an op, in order."""
        planned = self.plan.ops
        return [self._row(i, op, planned[i]) for i, op in enumerate(self.graph.ops)]

    def _row(self, i: int, op: _core.Op, planned: _core.PlannedOp) -> OpRow:
        axes = [axis.name for axis in op.axes]
        return {
            "id": i,
            "name": op.name,
            "kind": _KINDS[op.kind],
            "onnx_type": op.onnx_type,
            "function": op.function,
            "params": list(op.params),
            "compute": op.compute.name.lower(),
            "flops": op.flops,
            "scalars": [x if math.isfinite(x) else str(x) for x in op.scalars],
            "borrowed": self.borrowed[i],
            "axes": [_axis(axis) for axis in op.axes],
            "operands": [self._operand(op, axes, operand) for operand in op.operands],
            "split": None,
            "execute": self._execute(op, axes, planned.option),
            "preload": self._preload(op, planned) if planned.has_preload else None,
            "front": planned.front,
            "choice": planned.choice,
        }

    def _operand(self, op: _core.Op, axes: list[str], operand: _core.Operand) -> OperandRow:
        tensor = self._tensors[operand.tensor]
        read = operand.access == _core.Access.Read
        row: OperandRow = {
            "tensor": tensor.name,
            "access": "read" if read else "write",
            "home": _home(tensor, read=read),
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "bytes": tensor.bytes,
            "dims": [[axes[a] for a in dim.axes] for dim in operand.dims],
            "input": operand.input,
        }
        if not all(_is_packed(op, dim) for dim in operand.dims):
            row["map"] = [_map(dim) for dim in operand.dims]
        if operand.indirect is not None:
            pick = operand.indirect
            row["indirect"] = True
            row["index"] = self._tensors[pick.index].name
            row["pick"] = {
                "dim": pick.dim,
                "axes": [axes[a] for a in pick.axes],
                "expected": pick.expected_picks,
            }
        if operand.spilled:
            row["spilled"] = True
        return row

    def _execute(self, op: _core.Op, axes: list[str], option: _core.PlanOption) -> ExecuteRow:
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
        return row

    def _temporal(self, op: _core.Op, plan: _core.ExecutePlan) -> dict[str, list[int]]:
        return {
            self._tensors[operand.tensor].name: list(split)
            for operand, split in zip(op.operands, plan.temporal, strict=False)
            if math.prod(split) > 1
        }

    def _preload(self, op: _core.Op, planned: _core.PlannedOp) -> PreloadRow:
        state = planned.state
        return {
            "divisor": {
                self._tensors[operand.tensor].name: divisor
                for operand, divisor in zip(op.operands, state.divisor, strict=True)
                if divisor > 0
            },
            "space_bytes": state.space_bytes,
            "hbm_bytes": state.hbm_bytes,
            "link_bytes": state.link_bytes,
            "time_s": state.time_s,
            "distribute_bytes": state.distribute.bytes,
            "distribute_s": state.distribute.time_s,
        }


def _axis(axis: _core.Axis) -> AxisRow:
    return {
        "name": axis.name,
        "size": axis.size,
        "role": axis.role.name.lower(),
        "tile": axis.tile_dim.name,
    }


def _home(tensor: _TensorFacts, *, read: bool) -> str:
    """Where the operand comes from or goes to: what the graph makes is read where it was made."""
    if read and tensor.made and tensor.home in _HBM_HOMES:
        return "activation"
    return tensor.home


def _map(dim: _core.Dim) -> MapRow:
    return {"coef": list(dim.coef), "offset": dim.offset}


def _is_packed(op: _core.Op, dim: _core.Dim) -> bool:
    """Whether the axes index the dimension as digits of one number, from 0."""
    if dim.offset != 0:
        return False
    expected = 1
    for axis, coef in zip(reversed(dim.axes), reversed(dim.coef), strict=True):
        if coef != expected:
            return False
        expected *= op.axes[axis].size
    return True
