"""What a plan file says of the search for its plan."""

from __future__ import annotations

from typing import Annotated, NotRequired

from annotated_types import Ge
from typing_extensions import TypedDict

from elk.document.quantities import Count, Seconds


class OrdersRow(TypedDict):
    """How elk-full chose the order of preloads: the terms of ELK's Table 2, and what was tried.

    `heavy_fit` (C): operators of a layer with more HBM bytes than the mean that fit on chip
    together; `heavy` (H): how many a layer has; `plans` (P): of an operator at most; `fit` (K):
    operators in a row whose preloads fit on chip together, at most; `ops` (N). `pruned` counts
    subtrees of orders that overflow SRAM; `complete` says whether every valid order was generated;
    `edit_distance` by how many places a preload of the winner is away from the order of executes,
    on average.
    """

    heavy_fit: Count
    heavy: Count
    plans: Count
    fit: Count
    ops: Count
    generated: Count
    pruned: Count
    complete: bool
    edit_distance: Annotated[float, Ge(0.0)]


class ExploredRow(TypedDict):
    """The points that T10's trade of memory explored, in columns, in the order of its steps.

    `idle_bytes` are those that a core keeps all the time, `peak_bytes` the most that are in use on
    it at any execute, and `time_s` sums executes with their setups.
    """

    idle_bytes: list[Count]
    peak_bytes: list[Count]
    time_s: list[Seconds]


class SearchPoints(TypedDict, total=False):
    """What was explored on the way, where idle memory was traded."""

    explored: ExploredRow


class SearchPod(TypedDict, total=False):
    """How chips were asked to work together, where the plan took another way."""

    pod: str


class AimedRow(TypedDict):
    """What a plan for energy or the energy-delay product is forecast to take, over all chips."""

    energy_j: Annotated[float, Ge(0.0)]
    latency_plan_s: Seconds
    latency_plan_energy_j: Annotated[float, Ge(0.0)]


class AimRow(TypedDict):
    """What a plan was to have least of: `energy` or `edp`; without these keys, latency."""

    objective: NotRequired[str]
    aimed: NotRequired[AimedRow]


class SearchRow(SearchPod, SearchPoints, AimRow):
    """How much was looked at; `seconds` stands outside every equality and every file.

    `min_core_share` and `max_padding` are the constraints asked for; 0, or no key: free. `stopped`:
    whether the search was told to end, by Ctrl-C, before it had.
    """

    min_core_share: NotRequired[Annotated[float, Ge(0.0)]]
    max_padding: NotRequired[Annotated[float, Ge(0.0)]]
    plans_complete: Count
    plans_filtered: Count
    plans_pareto: Count
    orders_tried: Count
    orders: NotRequired[OrdersRow]
    stopped: NotRequired[bool]
    seconds: NotRequired[Annotated[float, Ge(0.0)]]
