"""The types of a plan file, schema `elk.plan/1`: times in seconds, sizes in bytes.

Keys are added, never renamed, within version 1. What stands here beyond the documented keys lets a
plan be read back, checked and explained from its file alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from annotated_types import Ge, Le
from typing_extensions import TypedDict

from elk.document.quantities import Count, Interval, Name, Position, Seconds, Size, Span, Step
from elk.document.searched import SearchRow

SCHEMA: Final = "elk.plan/1"


class ModelRow(TypedDict):
    """The model that was planned."""

    name: str
    onnx_sha256: str
    bindings: dict[str, Count]
    op_count: Count


class AxisRow(TypedDict):
    """One axis of an op; `tile` is its place in the call of a tile kernel."""

    name: str
    size: Size
    role: str
    tile: str


class MapRow(TypedDict):
    """How axes index one dimension: offset + sum of coef * axis."""

    coef: list[Size]
    offset: Step


class PickRow(TypedDict):
    """Which dimension an index tensor picks, over which axes, and how many picks are expected."""

    dim: Position
    axes: list[str]
    expected: Annotated[float, Ge(0.0)]


class SplitRow(TypedDict):
    """The axis of an op of which every chip takes an equal part."""

    axis: str
    chips: Size


class CollectiveRow(TypedDict):
    """What chips exchange: how each holds the tensor before and after, and what each sends.

    "whole", "partial" (addends of it), or the dimension of which each has an equal part.
    """

    before: str | Position
    after: str | Position
    chips: Size
    sent_bytes: Count


class AlgorithmRow(TypedDict):
    """How exchanges are done where there is a choice."""

    collective: NotRequired[str]
    reduce: NotRequired[str]


class OperandRow(TypedDict):
    """One read or write of a stored tensor; `input` counts those of the ONNX node.

    `shape` and `bytes` are the whole model's; `chip_shape`, where another, is what a chip holds.
    """

    tensor: Name
    access: str
    home: str
    dtype: str
    shape: list[Size]
    bytes: Count
    chip_shape: NotRequired[list[Size]]
    dims: list[list[str]]
    input: Annotated[int, Ge(-1), Le((1 << 31) - 1)]
    map: NotRequired[list[MapRow]]
    indirect: NotRequired[bool]
    index: NotRequired[Name]
    pick: NotRequired[PickRow]
    covers: NotRequired[bool]
    spilled: NotRequired[bool]


class ExecuteRow(TypedDict):
    """How an op is cut over cores, what it occupies on the busiest one, and its time in place.

    `temporal` is by tensor, as `operands.by_tensor` names the ways to read one. `rounds`, of policy
    `vgm` alone, are parts of one axis that run one after another, or none; the cut and the space
    are then of one round, bytes and times of all of them, and `reduce_s` includes stores.
    """

    factors: dict[str, Size]
    temporal: dict[str, list[Size]]
    pace: dict[str, Size]
    cores: Size
    steps: Size
    order: list[str]
    mesh_dims: NotRequired[dict[str, Position]]
    rounds: NotRequired[dict[str, Size]]
    algorithm: NotRequired[AlgorithmRow]
    acc: str
    space_bytes: Count
    space_by_tensor: dict[str, Count]
    compute_s: Seconds
    exchange_bytes: Count
    distribute_s: Seconds
    shift_s: Seconds
    reduce_s: Seconds
    time_s: Seconds
    extrapolated: Annotated[float, Ge(0.0), Le(1.0)]


class PreloadRow(TypedDict):
    """What comes from HBM before an op runs, and what it then fetches from peers."""

    divisor: dict[str, Size]
    space_bytes: Count
    hbm_bytes: Count
    link_bytes: Count
    time_s: Seconds
    distribute_bytes: Count
    distribute_s: Seconds


class IdleRow(TypedDict):
    """What a chip without HBM keeps of an op's weights and states, and what its setup brings.

    That is the rest of a core's piece or, where the divisor is 0 and the tensor lies evenly over
    all cores, all of it.
    """

    divisor: dict[str, Count]
    space_bytes: Count
    setup_bytes: Count
    setup_s: Seconds


class OpRow(TypedDict):
    """One op as planned; `front` and `choice` say where its plan stands on which Pareto front.

    `scalars` that JSON has no number for are the texts "inf", "-inf" and "nan".
    """

    id: Position
    name: str
    kind: str
    onnx_type: str | None
    function: str
    params: list[Count]
    compute: str
    flops: Count
    scalars: list[float | Literal["inf", "-inf", "nan"]]
    constants: list[Position]
    borrowed: bool
    axes: list[AxisRow]
    operands: list[OperandRow]
    split: SplitRow | None
    collective: NotRequired[CollectiveRow]
    execute: ExecuteRow
    preload: PreloadRow | None
    idle: IdleRow | None
    front: Position
    choice: Position


class GivenFront(TypedDict, total=False):
    """Whether plans were handed in, and are all there are."""

    given: bool


class FrontRow(GivenFront):
    """The Pareto front of one kind of op, in columns; by time, each alone on the chip.

    `complete`, `filtered` and `pareto` count plans; `fastest` is a position in the columns.
    """

    axes: list[str]
    complete: Count
    filtered: Count
    pareto: Count
    fastest: Position
    smallest_bytes: Count
    factors: list[list[Size]]
    steps: list[Size]
    cores: list[Size]
    space_bytes: list[Count]
    time_s: list[Seconds]
    compute_s: list[Seconds]
    exchange_bytes: list[Count]
    hbm_bytes: list[Count]


# Bytes on every core; `from` and `to` are positions in the program, both inclusive.
BufferRow = TypedDict(
    "BufferRow",
    {
        "op": Position,
        "tensor": Name,
        "role": str,
        "offset": Count,
        "bytes": Count,
        "from": Position,
        "to": Position,
    },
)


class OpTimesRow(TypedDict):
    """When an op was preloaded and ran; no `preload` where it has no data in HBM."""

    id: Position
    preload: NotRequired[Span]
    execute: Span


class StoreTimesRow(TypedDict):
    """When a tensor was written back."""

    tensor: Name
    store: Span


class PredictedRow(TypedDict):
    """The planner's forecast."""

    total_s: Seconds
    ops: list[OpTimesRow]
    stores: list[StoreTimesRow]


class SimulatedOpRow(TypedDict):
    """When an op was preloaded and ran on the simulator, in picoseconds."""

    id: Position
    preload: NotRequired[Interval]
    execute: Interval


class SimulatedStoreRow(TypedDict):
    """When a tensor was written back on the simulator, in picoseconds."""

    tensor: Name
    store: Interval


class SimulatedRow(TypedDict):
    """What the simulator found, all in picoseconds; `split_ps` adds up to the total."""

    total_ps: Count
    fidelity: str
    ops: list[SimulatedOpRow]
    stores: list[SimulatedStoreRow]
    split_ps: dict[str, Count]


class BoundsRow(TypedDict):
    """What an ideal chip would take, the lower bound, and its three corners.

    `withheld` says why a bound that a simulation undercut is 0.0; elsewhere the key is absent.
    """

    ideal_s: Seconds
    lower_bound_s: Seconds
    hbm_s: Seconds
    execute_s: Seconds
    link_s: Seconds
    withheld: NotRequired[str]


class StoreRow(TypedDict):
    """A tensor that goes back to HBM, in pieces of `run_bytes`.

    It fills the spilled tensor `into` from `begin` on, one index a dimension, where they are given.
    """

    tensor: Name
    op: Position
    run_bytes: Count
    into: NotRequired[Name]
    begin: NotRequired[list[Count]]


class RepeatRow(TypedDict):
    """Ops [begin, begin + period * count) are `count` times the same `period` ops."""

    begin: Position
    period: Position
    count: Position


class PlanDocument(TypedDict):
    """A whole plan; `digest`, which files alone have, is the SHA-256 of all the rest."""

    schema: str
    elk_version: str
    policy: str
    origin: str
    pod: str
    model: ModelRow
    chip: dict[str, Any]
    ops: list[OpRow]
    preload_order: list[Position]
    preload_number: list[Count]
    program: list[list[Any]]
    buffers: list[BufferRow]
    predicted: PredictedRow
    simulated: SimulatedRow | None
    bounds: BoundsRow
    raw_s: Seconds
    host_s: Seconds
    search: SearchRow
    stores: list[StoreRow]
    outputs: list[str]
    repeat: RepeatRow | None
    fronts: list[FrontRow]
    digest: NotRequired[str]


def content(document: PlanDocument) -> dict[str, Any]:
    """What two equal plans have in common: all but how long the search took, and runs."""
    search = {key: value for key, value in document["search"].items() if key != "seconds"}
    return {**document, "search": search, "simulated": None}
