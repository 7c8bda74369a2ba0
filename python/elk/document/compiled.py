"""From what the compiler decided to the document of a plan, schema `elk.plan/1`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from elk import _core
from elk.chip.chip import Chip
from elk.document.listing import PlacedProgram
from elk.document.ops import OpRows
from elk.document.schema import (
    SCHEMA,
    BoundsRow,
    BufferRow,
    FrontRow,
    GivenFront,
    ModelRow,
    OpTimesRow,
    PlanDocument,
    PredictedRow,
    RepeatRow,
    StoreRow,
    StoreTimesRow,
)
from elk.document.searched import AimRow, SearchPod, SearchPoints, SearchRow
from elk.document.sections import Sections
from elk.document.simulated import How, run_program
from elk.emulation.parts import EmulatedPlan

if TYPE_CHECKING:
    from elk.document.given import GivenPlans
    from elk.model.model import Model

EFFORTS: Final = {
    "fast": _core.Effort.Fast,
    "default": _core.Effort.Default,
    "max": _core.Effort.Max,
}
OBJECTIVES: Final = {
    "latency": _core.Objective.Latency,
    "energy": _core.Objective.Energy,
    "edp": _core.Objective.Edp,
}
PODS: Final = {"sharded": _core.Pod.Sharded, "pooled": _core.Pod.Pooled}
_OBJECTIVE_NAMES: Final = {objective: name for name, objective in OBJECTIVES.items()}
_OPCODES: Final = {
    _core.Opcode.Preload: "preload_async",
    _core.Opcode.Store: "store_async",
    _core.Opcode.Execute: "execute",
}
_PS: Final = 1e12  # picoseconds of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What plans of an operator had to satisfy; 0: free.

    Attributes:
        min_core_share: The least share of the cores that a plan uses.
        max_padding: The most by which padding grows a tensor: padded over original size.
    """

    min_core_share: float = 0.0
    max_padding: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CompiledPlan:
    """A plan as it left the compiler.

    Attributes:
        plan: What was decided.
        graph: The model's graph; what is run of it by one chip of a pod, or in waves, is
            `plan.shard`.
        chip: The chip that it was planned for.
        pod: How several chips were to work together: "sharded" takes a shorter pooled plan too.
        model: The model's name, digest, bindings and number of operators.
        borrowed: For each op, whether its tile times are a neighbour's.
        constraints: What plans of an operator had to satisfy.
        seconds: How long the search took.
        stopped: Whether the search was told to end before it had.
        tiles: The tile model that it was planned with.
        loaded: The model that was planned.
        effort: How much work the search was to do.
        plans: Plans that were handed in, by operator.
    """

    plan: _core.Plan
    graph: _core.Graph
    chip: Chip
    pod: str
    model: ModelRow
    borrowed: tuple[bool, ...]
    constraints: Constraints
    seconds: float
    stopped: bool
    tiles: _core.TileModel
    loaded: Model
    kept: _core.Kept | None
    effort: str = "default"
    plans: GivenPlans | None = None

    def emulated(self) -> EmulatedPlan:
        """What emulation needs of the plan."""
        return EmulatedPlan(
            self.loaded,
            self._machine,
            self.plan.program,
            self.plan.shard,
            self._chips,
            self.plan.parts,
        )

    def placed(self) -> PlacedProgram:
        """The program, with the graph and the chip that it is for."""
        return PlacedProgram(graph=self._planned, chip=self._machine, program=self.plan.program)

    def planned_graph(self) -> _core.Graph:
        """The graph whose operators are planned."""
        return self.graph

    def simulate(self, tiles: _core.TileModel | None, how: How) -> _core.Run:
        """Runs the plan on the simulator; the run that the search ended with stands for itself."""
        known = self.plan.run
        if tiles is None and known is not None and known.fidelity == how:
            return known
        if tiles is None:
            return run_program(self.placed(), self.tiles, how, self.kept)
        return run_program(self.placed(), tiles, how)

    def record(self, tiles: _core.TileModel | None, fidelity: _core.Fidelity) -> _core.Recording:
        """What `simulate` plays at a fidelity other than flows."""
        asked = self.placed()
        kept = self.kept if tiles is None else None
        return _core.record(
            asked.graph, asked.chip, asked.program, tiles or self.tiles, fidelity, kept
        )

    def problems(self) -> list[str]:
        """Every rule of the program's semantics that the plan breaks."""
        return _core.check_program(self._planned, self._machine, self.plan.program)

    @property
    def _machine(self) -> _core.Chip:
        """What the program is for: one chip, where chips share the model."""
        machine = self.chip.to_core()
        return _core.one_of(machine) if self._shares else machine

    @cached_property
    def _planned(self) -> _core.Graph:
        """The graph whose ops the plan has: one chip's, where chips share the model."""
        return self.graph if self.plan.shard is None else self.plan.shard.graph

    @property
    def _chips(self) -> int:
        """Chips of which each runs the whole program."""
        return self.chip.chips if self._shares else 1

    @property
    def _shares(self) -> bool:
        """Whether several chips share the model, each with a part of it."""
        return self.plan.pod == _core.Pod.Sharded

    @cached_property
    def _tensors(self) -> list[str]:
        return [tensor.name for tensor in self._planned.tensors]

    def _asked_pod(self) -> SearchPod:
        """What was asked for, where all chips' cores as one machine were found to be faster."""
        pooled = self.pod == "sharded" and self.chip.chips > 1 and not self._shares
        return {"pod": self.pod} if pooled else {}

    def document(self) -> PlanDocument:
        """The plan as a document of its own."""
        return cast("PlanDocument", self.sections().copy())

    def sections(self) -> Sections:
        """The plan as a document of its own, whose sections are made as they are asked for."""
        plan, graph = self.plan, self._planned
        program = cache(self._program)
        return Sections(
            {
                "schema": lambda: SCHEMA,
                "elk_version": lambda: _core.__version__,
                "policy": lambda: plan.policy,
                "origin": lambda: plan.origin,
                "pod": lambda: "pooled" if self._asked_pod() else self.pod,
                "model": lambda: {**self.model, "bindings": dict(self.model["bindings"])},
                "chip": self.chip.to_dict,
                "ops": lambda: OpRows(graph, plan, self.borrowed, self._chips).rows(),
                "preload_order": lambda: list(plan.preload_order),
                "preload_number": lambda: preload_numbers(program(), len(plan.ops)),
                "program": program,
                "buffers": self._buffers,
                "predicted": self._predicted,
                "simulated": lambda: None,
                "bounds": self._bounds,
                "raw_s": lambda: plan.raw_ps / _PS,
                "host_s": self._host_s,
                "search": self._search,
                "stores": lambda: [_store(store, self._tensors) for store in graph.stores],
                "outputs": lambda: [self._tensors[tensor] for tensor in graph.outputs],
                "repeat": lambda: _repeat(graph.repeat),
                "fronts": self._fronts,
            }
        )

    def _bounds(self) -> BoundsRow:
        bounds = self.plan.bounds
        return {
            "ideal_s": bounds.ideal_s,
            "lower_bound_s": bounds.lower_bound_s,
            "hbm_s": bounds.hbm_s,
            "execute_s": bounds.execute_s,
            "link_s": bounds.link_s,
        }

    def _search(self) -> SearchRow:
        search, orders = self.plan.search, self.plan.search.orders
        return {
            **self._asked_pod(),
            "min_core_share": float(self.constraints.min_core_share),
            "max_padding": float(self.constraints.max_padding),
            "plans_complete": search.complete,
            "plans_filtered": search.filtered,
            "plans_pareto": search.pareto,
            "orders_tried": max(1, orders.scheduled),
            "orders": {
                "heavy_fit": orders.heavy_fit,
                "heavy": orders.heavy,
                "plans": orders.plans,
                "fit": orders.fit,
                "ops": orders.ops,
                "generated": orders.generated,
                "pruned": orders.pruned,
                "complete": orders.complete,
                "edit_distance": orders.edit_distance,
            },
            **_explored(search.explored),
            **_aimed(self.plan.aimed),
            "stopped": self.stopped,
            "seconds": self.seconds,
        }

    def _program(self) -> list[list[Any]]:
        names, code = self._tensors, self.plan.code
        return [
            [_OPCODES[opcode], names[subject] if opcode == _core.Opcode.Store else subject]
            for opcode, subject in zip(
                map(_core.Opcode, code["opcode"].tolist()), code["subject"].tolist(), strict=True
            )
        ]

    def _buffers(self) -> list[BufferRow]:
        roles = {role.value: role.name.lower() for role in _core.Role}
        columns = {key: column.tolist() for key, column in self.plan.buffers.items()}
        return [
            {
                "op": op,
                "tensor": self._tensors[tensor],
                "role": roles[role],
                "offset": offset,
                "bytes": size,
                "from": begin,
                "to": end,
            }
            for op, tensor, role, offset, size, begin, end in zip(
                *(columns[k] for k in ("op", "tensor", "role", "offset_bytes", "bytes")),
                *(columns[k] for k in ("from", "to")),
                strict=True,
            )
        ]

    def _predicted(self) -> PredictedRow:
        times = {key: (column).tolist() for key, column in self.plan.predicted.items()}
        ops: list[OpTimesRow] = []
        for i, planned in enumerate(self.plan.ops):
            row: OpTimesRow = {"id": i, "execute": _span(times, "execute", i)}
            if planned.has_preload:
                row = {"id": i, "preload": _span(times, "preload", i), "execute": row["execute"]}
            ops.append(row)
        stores: list[StoreTimesRow] = [
            {"tensor": self._tensors[tensor], "store": _span(times, "store", i)}
            for i, tensor in enumerate(times["store_tensor"])
        ]
        return {"total_s": self.plan.total_ps / _PS, "ops": ops, "stores": stores}

    def _host_s(self) -> float:
        """Seconds to bring the inputs from the host and the outputs to it, outside the latency."""
        tensors, home = self.graph.tensors, _core.Home
        moved = sum(tensor.bytes for tensor in tensors if tensor.home == home.Input)
        outputs = [tensors[i] for i in self.graph.outputs]
        moved += sum(tensor.bytes for tensor in outputs if tensor.home == home.Output)
        return moved / self.chip.host.bytes_per_s

    def _fronts(self) -> list[FrontRow]:
        first = {front: op for op, front in reversed([*enumerate(self.plan.front_of)])}
        ops = self._planned.ops
        return [
            _front([axis.name for axis in ops[first[i]].axes], front, self._chips)
            for i, front in enumerate(self.plan.fronts)
        ]


def _explored(points: list[tuple[int, int, float]]) -> SearchPoints:
    """What a trade of idle for active memory explored; nothing to say where there was none."""
    if not points:
        return {}
    idle, peak, seconds = (list(column) for column in zip(*points, strict=True))
    return {"explored": {"idle_bytes": idle, "peak_bytes": peak, "time_s": seconds}}


def _aimed(aimed: _core.Aimed | None) -> AimRow:
    """What another objective than latency has reached; nothing to say of latency."""
    if aimed is None:
        return {}
    return {
        "objective": _OBJECTIVE_NAMES[aimed.objective],
        "aimed": {
            "energy_j": aimed.joules,
            "latency_plan_s": aimed.shortest_ps / _PS,
            "latency_plan_energy_j": aimed.shortest_joules,
        },
    }


def preload_numbers(program: list[list[Any]], ops: int) -> list[int]:
    """For each op, how many preloads of later ops are issued before its execute."""
    numbers, issued = [0] * ops, 0
    own = {op for opcode, op in program if opcode == "preload_async"}
    for opcode, subject in program:
        if opcode == "preload_async":
            issued += 1
        elif opcode == "execute":
            issued -= subject in own
            numbers[subject] = issued
    return numbers


def _span(times: dict[str, list[int]], what: str, i: int) -> list[float]:
    return [times[f"{what}_begin_ps"][i] / _PS, times[f"{what}_end_ps"][i] / _PS]


def _store(store: _core.GraphStore, tensors: list[str]) -> StoreRow:
    row: StoreRow = {
        "tensor": tensors[store.tensor],
        "op": store.op,
        "run_bytes": store.run_bytes,
    }
    if store.into >= 0:
        row["into"] = tensors[store.into]
        row["begin"] = store.begin
    return row


def _repeat(repeat: _core.Repeat | None) -> RepeatRow | None:
    if repeat is None:
        return None
    return {"begin": repeat.begin, "period": repeat.period, "count": repeat.count}


def _front(axes: list[str], front: _core.Front, chips: int) -> FrontRow:
    options = front.options
    given: GivenFront = {"given": True} if front.given else {}
    return {
        "axes": axes,
        **given,
        "complete": front.counts.complete,
        "filtered": front.counts.filtered,
        "pareto": front.counts.pareto,
        "fastest": front.fastest,
        "smallest_bytes": front.smallest_bytes,
        "factors": [option.plan.factors for option in options],
        "steps": [option.steps for option in options],
        "cores": [option.cores for option in options],
        "space_bytes": [option.footprint.space_bytes for option in options],
        "time_s": [option.time_s for option in options],
        "compute_s": [option.compute_s for option in options],
        "exchange_bytes": [option.exchange_bytes for option in options],
        "hbm_bytes": [chips * option.hbm_bytes for option in options],
    }
