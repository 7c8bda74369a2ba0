"""The types of a plan file, schema `elk.plan/1`: times in seconds, sizes in bytes.

Keys are added, never renamed, within version 1. What stands here beyond the documented keys lets a
plan be read back, checked and explained from its file alone.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

SCHEMA: Final = "elk.plan/1"


class ModelRow(TypedDict):
    """The model that was planned."""

    name: str
    onnx_sha256: str
    bindings: dict[str, int]
    op_count: int


class AxisRow(TypedDict):
    """One axis of an op; `tile` is its place in the call of a tile kernel."""

    name: str
    size: int
    role: str
    tile: str


class MapRow(TypedDict):
    """How axes index one dimension: offset + sum of coef * axis."""

    coef: list[int]
    offset: int


class PickRow(TypedDict):
    """Which dimension an index tensor picks, over which axes, and how many picks are expected."""

    dim: int
    axes: list[str]
    expected: float


class SplitRow(TypedDict):
    """The axis of an op of which every chip takes an equal part."""

    axis: str
    chips: int


class CollectiveRow(TypedDict):
    """What chips exchange: how each holds the tensor before and after, and what each sends.

    "whole", "partial" (addends of it), or the dimension of which each has an equal part.
    """

    before: str | int
    after: str | int
    chips: int
    sent_bytes: int


class AlgorithmRow(TypedDict):
    """How exchanges are done where there is a choice."""

    collective: NotRequired[str]
    reduce: NotRequired[str]


class OperandRow(TypedDict):
    """One read or write of a stored tensor; `input` counts those of the ONNX node.

    `shape` and `bytes` are the whole model's; `chip_shape`, where another, is what a chip holds.
    """

    tensor: str
    access: str
    home: str
    dtype: str
    shape: list[int]
    bytes: int
    chip_shape: NotRequired[list[int]]
    dims: list[list[str]]
    input: int
    map: NotRequired[list[MapRow]]
    indirect: NotRequired[bool]
    index: NotRequired[str]
    pick: NotRequired[PickRow]
    spilled: NotRequired[bool]


class ExecuteRow(TypedDict):
    """How an op is cut over cores, what it occupies on the busiest one, and its time in place.

    `temporal` is by tensor, as `plan_operands.by_tensor` names the ways to read one.
    """

    factors: dict[str, int]
    temporal: dict[str, list[int]]
    pace: dict[str, int]
    cores: int
    steps: int
    order: list[str]
    mesh_dims: NotRequired[dict[str, int]]
    algorithm: NotRequired[AlgorithmRow]
    acc: str
    space_bytes: int
    space_by_tensor: dict[str, int]
    compute_s: float
    exchange_bytes: int
    distribute_s: float
    shift_s: float
    reduce_s: float
    time_s: float
    extrapolated: float


class PreloadRow(TypedDict):
    """What comes from HBM before an op runs, and what it then fetches from peers."""

    divisor: dict[str, int]
    space_bytes: int
    hbm_bytes: int
    link_bytes: int
    time_s: float
    distribute_bytes: int
    distribute_s: float


class OpRow(TypedDict):
    """One op as planned; `front` and `choice` say where its plan stands on which Pareto front.

    `scalars` that JSON has no number for are the texts "inf", "-inf" and "nan".
    """

    id: int
    name: str
    kind: str
    onnx_type: str | None
    function: str
    params: list[int]
    compute: str
    flops: int
    scalars: list[float | str]
    constants: list[int]
    borrowed: bool
    axes: list[AxisRow]
    operands: list[OperandRow]
    split: SplitRow | None
    collective: NotRequired[CollectiveRow]
    execute: ExecuteRow
    preload: PreloadRow | None
    front: int
    choice: int


class FrontRow(TypedDict):
    """The Pareto front of one kind of op, in columns; by time, each alone on the chip.

    `complete`, `filtered` and `pareto` count plans; `fastest` is a position in the columns.
    """

    axes: list[str]
    complete: int
    filtered: int
    pareto: int
    fastest: int
    smallest_bytes: int
    factors: list[list[int]]
    steps: list[int]
    cores: list[int]
    space_bytes: list[int]
    time_s: list[float]
    compute_s: list[float]
    exchange_bytes: list[int]
    hbm_bytes: list[int]


# Bytes on every core; `from` and `to` are positions in the program, both inclusive.
BufferRow = TypedDict(
    "BufferRow",
    {
        "op": int,
        "tensor": str,
        "role": str,
        "offset": int,
        "bytes": int,
        "from": int,
        "to": int,
    },
)


class OpTimesRow(TypedDict):
    """When an op was preloaded and ran; no `preload` where it has no data in HBM."""

    id: int
    preload: NotRequired[list[float]]
    execute: list[float]


class StoreTimesRow(TypedDict):
    """When a tensor was written back."""

    tensor: str
    store: list[float]


class PredictedRow(TypedDict):
    """The planner's forecast."""

    total_s: float
    ops: list[OpTimesRow]
    stores: list[StoreTimesRow]


class SimulatedOpRow(TypedDict):
    """When an op was preloaded and ran on the simulator, in picoseconds."""

    id: int
    preload: NotRequired[list[int]]
    execute: list[int]


class SimulatedStoreRow(TypedDict):
    """When a tensor was written back on the simulator, in picoseconds."""

    tensor: str
    store: list[int]


class SimulatedRow(TypedDict):
    """What the simulator found, all in picoseconds; `split_ps` adds up to the total."""

    total_ps: int
    fidelity: str
    ops: list[SimulatedOpRow]
    stores: list[SimulatedStoreRow]
    split_ps: dict[str, int]


class BoundsRow(TypedDict):
    """What an ideal chip would take, the lower bound, and its three corners.

    `withheld` says why a bound that a simulation undercut is 0.0; elsewhere the key is absent.
    """

    ideal_s: float
    lower_bound_s: float
    hbm_s: float
    execute_s: float
    link_s: float
    withheld: NotRequired[str]


class OrdersRow(TypedDict):
    """How elk-full chose the order of preloads: the terms of ELK's Table 2, and what was tried.

    `heavy_fit` (C): operators of a layer with more HBM bytes than the mean that fit on chip
    together; `heavy` (H): how many a layer has; `plans` (P): of an operator at most; `fit` (K):
    operators in a row whose preloads fit on chip together, at most; `ops` (N). `pruned` counts
    subtrees of orders that overflow SRAM; `complete` says whether every valid order was generated;
    `edit_distance` by how many places a preload of the winner is away from the order of executes,
    on average.
    """

    heavy_fit: int
    heavy: int
    plans: int
    fit: int
    ops: int
    generated: int
    pruned: int
    complete: bool
    edit_distance: float


class SearchPod(TypedDict, total=False):
    """How chips were asked to work together, where the plan took another way."""

    pod: str


class AimedRow(TypedDict):
    """What a plan for energy or the energy-delay product is forecast to take, over all chips."""

    energy_j: float
    latency_plan_s: float
    latency_plan_energy_j: float


class AimRow(TypedDict):
    """What a plan was to have least of: `energy` or `edp`; without these keys, latency."""

    objective: NotRequired[str]
    aimed: NotRequired[AimedRow]


class SearchRow(SearchPod, AimRow):
    """How much was looked at; `seconds` stands outside every equality and every file.

    `min_core_share` and `max_padding` are the constraints asked for; 0, or no key: free. `stopped`:
    whether the search was told to end, by Ctrl-C, before it had.
    """

    min_core_share: NotRequired[float]
    max_padding: NotRequired[float]
    plans_complete: int
    plans_filtered: int
    plans_pareto: int
    orders_tried: int
    orders: NotRequired[OrdersRow]
    stopped: NotRequired[bool]
    seconds: NotRequired[float]


class StoreRow(TypedDict):
    """A tensor that goes back to HBM, in pieces of `run_bytes`."""

    tensor: str
    op: int
    run_bytes: int


class RepeatRow(TypedDict):
    """Ops [begin, begin + period * count) are `count` times the same `period` ops."""

    begin: int
    period: int
    count: int


class PlanDocument(TypedDict):
    """A whole plan."""

    schema: str
    elk_version: str
    policy: str
    origin: str
    pod: str
    model: ModelRow
    chip: dict[str, Any]
    ops: list[OpRow]
    preload_order: list[int]
    preload_number: list[int]
    program: list[list[Any]]
    buffers: list[BufferRow]
    predicted: PredictedRow
    simulated: SimulatedRow | None
    bounds: BoundsRow
    raw_s: float
    host_s: float
    search: SearchRow
    stores: list[StoreRow]
    outputs: list[str]
    repeat: RepeatRow | None
    fronts: list[FrontRow]


def content(document: PlanDocument) -> dict[str, Any]:
    """What two equal plans have in common: all but how long the search took, and runs."""
    search = {key: value for key, value in document["search"].items() if key != "seconds"}
    return {**document, "search": search, "simulated": None}
