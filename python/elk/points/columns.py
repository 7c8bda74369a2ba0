"""The results that a sweep can keep of a point, by name: one registry, with units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from elk.chip.check import nearest
from elk.errors import InvalidInputError
from elk.points.complaints import Complaint, refuse
from elk.report.sram import memory_by_role

if TYPE_CHECKING:
    from elk.document.schema import PlanDocument
    from elk.run.run import Run

# What became of a point.
DONE: Final = "done"
INFEASIBLE: Final = "infeasible"
FAILED: Final = "failed"

_PS: Final = 1e12
_CORNERS: Final = {"HBM": "hbm_s", "execution": "execute_s", "links": "link_s"}


@dataclass(frozen=True)
class Outcome:
    """A point that was planned and, unless its policy makes forecasts, simulated."""

    run: Run | None
    document: PlanDocument


@dataclass(frozen=True)
class Column:
    """A result of a point.

    Attributes:
        unit: Its unit; "" for words, counts and shares.
        what: What it is, for people.
        of: Its value; None where the point has none.
    """

    unit: str
    what: str
    of: Callable[[Outcome], Any]


def _simulated(value: Callable[[Run], Any]) -> Callable[[Outcome], Any]:
    return lambda found: None if found.run is None else value(found.run)


def _split(part: str) -> Callable[[Outcome], Any]:
    return _simulated(lambda run: run.split_ps[part] / _PS)


def _stall(reason: str) -> Callable[[Outcome], Any]:
    return _simulated(lambda run: run.stalls()[reason])


def _used(unit: str) -> Callable[[Outcome], Any]:
    return _simulated(lambda run: run.utilisation[unit])


def _forecast_s(found: Outcome) -> float:
    return found.document["predicted"]["total_s"]


def _latency_s(found: Outcome) -> float:
    return _forecast_s(found) if found.run is None else found.run.latency_s


def _binds(found: Outcome) -> str:
    bounds = found.document["bounds"]
    corners = {name: bounds[key] for name, key in _CORNERS.items()}  # type: ignore[literal-required]
    return max(corners, key=lambda name: corners[name])


def _of_bound(found: Outcome) -> float | None:
    bounds = found.document["bounds"]
    return None if "withheld" in bounds else bounds["lower_bound_s"] / _latency_s(found)


def _bound(key: str) -> Callable[[Outcome], Any]:
    return lambda found: found.document["bounds"][key]  # type: ignore[literal-required]


def _search(key: str) -> Callable[[Outcome], Any]:
    return lambda found: found.document["search"][key]  # type: ignore[literal-required]


def _compute_s(found: Outcome) -> float:
    return math.fsum(op["execute"]["compute_s"] for op in found.document["ops"])


def _flops_per_s(found: Outcome) -> float | None:
    return None if found.run is None else found.run.flops / found.run.latency_s


def _sram_bytes(found: Outcome) -> int | None:
    if not found.document["buffers"]:
        return None
    return int(sum(memory_by_role(found.document).values()).max())  # type: ignore[union-attr]


COLUMNS: Final[dict[str, Column]] = {
    "latency_s": Column("s", "simulated; of ideal and vgm forecast", _latency_s),
    "forecast_s": Column("s", "the planner's forecast", _forecast_s),
    "forecast_error": Column(
        "",
        "forecast over simulated latency, less one",
        lambda found: found.run and _forecast_s(found) / found.run.latency_s - 1,
    ),
    "lower_bound_s": Column("s", "no plan is faster", _bound("lower_bound_s")),
    "hbm_bound_s": Column("s", "the bound's corner of HBM bytes", _bound("hbm_s")),
    "execute_bound_s": Column("s", "the bound's corner of execution", _bound("execute_s")),
    "link_bound_s": Column("s", "the bound's corner of bytes over links", _bound("link_s")),
    "ideal_s": Column("s", "with memory and interconnect twice", _bound("ideal_s")),
    "of_bound": Column("", "lower bound over latency", _of_bound),
    "of_ideal": Column(
        "",
        "ideal over latency",
        lambda found: found.document["bounds"]["ideal_s"] / _latency_s(found),
    ),
    "binds": Column("", "the largest corner of the bound: HBM, execution or links", _binds),
    "compute_s": Column("s", "executes in their kernels, as planned, in sum", _compute_s),
    "preload_s": Column("s", "only a preload or store", _split("preload")),
    "execute_s": Column("s", "only an execute", _split("execute")),
    "overlapped_s": Column("s", "both, as fast as each alone", _split("overlapped")),
    "interconnect_s": Column("s", "both, the slower one held up", _split("interconnect")),
    "stall_preload_s": Column("s", "executes waited for HBM", _stall("preload")),
    "stall_exchange_s": Column("s", "for other cores", _stall("exchange")),
    "stall_link_s": Column("s", "for preloads on links", _stall("link contention")),
    "stall_sram_port_s": Column("s", "for the SRAM port", _stall("SRAM port")),
    "stall_store_s": Column("s", "the end waited for stores", _stall("store")),
    "hbm_use": Column("", "bytes over the peak rate", _used("hbm")),
    "link_use": Column("", "bytes received over what links carry", _used("links")),
    "matrix_use": Column("", "core time in products and convolutions", _used("matrix")),
    "vector_use": Column("", "core time in everything else", _used("vector")),
    "achieved_flops_per_s": Column("FLOP/s", "of the model over the latency", _flops_per_s),
    "energy_j": Column("J", "of one run", _simulated(lambda run: run.energy_j)),
    "power_w": Column("W", "energy over latency", _simulated(lambda run: run.power_w)),
    "peak_power_w": Column(
        "W", "the largest mean over one execute", _simulated(lambda run: run.peak_power_w)
    ),
    "hbm_bytes": Column(
        "B", "from and to HBM", _simulated(lambda run: int(run.columns["hbm_bytes"].sum()))
    ),
    "sram_peak_bytes": Column("B", "of one core, at most", _sram_bytes),
    "ops": Column("", "operators", lambda found: len(found.document["predicted"]["ops"])),
    "plan_pod": Column(
        "", "sharded or pooled, whichever is faster", lambda found: found.document["pod"]
    ),
    "origin": Column("", "the policy whose plan it is", lambda found: found.document["origin"]),
    "plans_filtered": Column("", "plans looked at", _search("plans_filtered")),
    "plans_pareto": Column("", "plans on fronts", _search("plans_pareto")),
    "raw_s": Column(
        "s", "forecast of the policy's own plan", lambda found: found.document["raw_s"]
    ),
    "edit_distance": Column(
        "",
        "mean of the steps by which preloads of many bytes are moved",
        lambda found: found.document["search"]["orders"]["edit_distance"],
    ),
    "orders_tried": Column("", "orders of preloads tried", _search("orders_tried")),
    "compile_cpu_s": Column("s", "CPU time of planning", lambda _: None),
    "simulate_cpu_s": Column("s", "CPU time of simulating", lambda _: None),
}
# What the evaluation measures, and what differs from one machine to the next.
MEASURED: Final = ("compile_cpu_s", "simulate_cpu_s")


def chosen(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """The columns of these names, in the order of the registry; None: all.

    Raises:
        SweepError: there is no such column.
    """
    if names is None:
        return tuple(COLUMNS)
    if not isinstance(names, Iterable):
        raise InvalidInputError(f"must be names of results, got {names!r}")
    wanted = {"latency_s", *([names] if isinstance(names, str) else names)}
    refuse(
        Complaint("keep", f"names no result {name!r}", nearest(str(name), COLUMNS))
        for name in sorted(wanted - set(COLUMNS), key=str)
    )
    return tuple(name for name in COLUMNS if name in wanted)
