"""Figures 5 to 8: space against time, HBM and links, of the operators of one layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.figures.decoding import CHIP, PAST
from elk.figures.figure import Claim, Made, PaperFigure, Study, holds
from elk.figures.steadiest import taut

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from elk.document.schema import OpRow, PlanDocument

_MODELS: Final = ("llama2-13b", "gemma2-27b", "opt-30b")
_LAYERS: Final = 2  # what is shown repeats from layer to layer
_HEAVY: Final = 6  # operators of a model that are shown, those of most bytes
_SPACES: Final = (32, 64, 128, 256)  # KiB of a core for preloads
_LESS: Final = 0.95  # of a rate: what is less by a twentieth
_KIB: Final = 1024.0
_FILLS: Final = {"MinPreload": "#4c78a8", "MaxPreload": "#e45756"}


def _plan(study: Study, name: str) -> PlanDocument:
    """A plan of a few layers by the paper's static policy."""
    given = study.model(name, layers=_LAYERS)
    found = study.plan(given, CHIP, {"batch": 32, **PAST}, "static-paper")
    return found.plan._document


def _of_layers(plan: PlanDocument) -> list[OpRow]:
    """The operators of layers, without embedding and head."""
    return [op for op in plan["ops"] if "layers." in op["name"]]


def _short(name: str) -> str:
    """A node's name without what is the same in all layers."""
    return name.removesuffix("/node").removesuffix(".MatMul").split("layers.0.")[-1]


def fronts(study: Study) -> Made:
    """Figure 5."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts = []
    for name in study.few(_MODELS):
        plan = _plan(study, name)
        for op in _heaviest(plan):
            front = plan["fronts"][op["front"]]
            columns: dict[str, Any] = {
                "model": name,
                "op": _short(op["name"]),
                "space_bytes": front["space_bytes"],
                "time_s": front["time_s"],
            }
            parts.append(pd.DataFrame(columns))
    table = pd.concat(parts, ignore_index=True)

    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(table["model"]))
        axes = figure.subplots(1, len(models), squeeze=False)[0]
        for ax, model in zip(axes, models, strict=True):
            for op, rows in table[table["model"] == model].groupby("op", sort=False):
                ax.plot(rows["space_bytes"] / _KIB, rows["time_s"] * 1e6, ".", ms=4, label=op)
            ax.set(title=model, xlabel="execution space of a core (KiB)", yscale="log")
            ax.legend(fontsize="x-small")
        axes[0].set_ylabel("time of the operator alone (µs)")

    return Made(
        table=table,
        claims=lambda: [_larger_is_faster(table)],
        draw=draw,
        note="The plans on the fronts of the operators that bring most bytes from HBM, batch 32, "
        "2,048 past tokens, one chip's part of the operator.",
        size=(12.0, 4.2),
    )


def _larger_is_faster(table: pd.DataFrame) -> Claim:
    best = [_staircase(rows) for _, rows in table.groupby(["model", "op"], sort=False)]

    def spread(column: str) -> float:
        return float(np.median([rows[column].max() / rows[column].min() for rows in best]))

    space, quicker = spread("space_bytes"), spread("time_s")
    return holds(
        "faster plans need more space: the fastest over the smallest, median of the operators",
        "yes",
        f"{space:.3g} x the space, {quicker:.3g} x as fast",
        "no operator gets faster with space",
        true=space > 1.0 and quicker > 1.0,
    )


def _heaviest(plan: PlanDocument) -> list[OpRow]:
    """An operator of each front, of those that bring most bytes."""
    first: dict[int, OpRow] = {}
    for op in plan["ops"]:
        if op["preload"] is not None and "layers.0" in op["name"]:
            first.setdefault(op["front"], op)
    return sorted(first.values(), key=lambda op: -op["preload"]["hbm_bytes"])[:_HEAVY]  # type: ignore[index]


def _staircase(rows: pd.DataFrame) -> pd.DataFrame:
    """The plans than which none is smaller and faster."""
    ordered = rows.sort_values(["space_bytes", "time_s"])
    return ordered[ordered["time_s"] < ordered["time_s"].cummin().shift(fill_value=np.inf)]


def hbm_demand(study: Study) -> Made:
    """Figure 6."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts = []
    for name in study.few(_MODELS):
        ops = _of_layers(_plan(study, name))
        for space in _SPACES:
            ends, rates = _least_rates(ops, int(space * _KIB))
            columns: dict[str, Any] = {"model": name, "space_kib": space, "end_s": ends}
            parts.append(pd.DataFrame({**columns, "bytes_per_s": rates}))
    table = pd.concat(parts, ignore_index=True)

    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(table["model"]))
        axes = figure.subplots(1, len(models), squeeze=False)[0]
        for ax, model in zip(axes, models, strict=True):
            for space, rows in table[table["model"] == model].groupby("space_kib"):
                edges = np.concatenate([[0.0], rows["end_s"]]) * 1e6
                ax.stairs(rows["bytes_per_s"] / 1e12, edges, label=f"{space} KiB", baseline=None)
            ax.set(title=model, xlabel="time (µs)", yscale="log", ylim=(0.1, None))
        axes[0].set_ylabel("least HBM rate without a wait (TB/s)")
        axes[0].legend(title="preload space", fontsize="small")

    return Made(
        table=table,
        claims=lambda: _smoother(table),
        draw=draw,
        note="Executes of two layers run back to back; each operator's data, in its smallest "
        "preload state, may arrive as soon as the preload space has room for it and must be there "
        "when it starts. Shown is the rate of all chips that changes least (the taut string).",
        size=(12.0, 3.6),
    )


def _smoother(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for name, rows in table.groupby("model", sort=False):
        most = rows.groupby("space_kib")["bytes_per_s"].max() / 1e12
        claims.append(
            holds(
                f"{name}: more preload space smooths the demand; peak TB/s at "
                f"{_SPACES[0]} and {_SPACES[-1]} KiB",
                "yes",
                f"{most[_SPACES[0]]:.3g}, {most[_SPACES[-1]]:.3g}",
                "no demand is smoothed",
                true=bool(most[_SPACES[-1]] < most[_SPACES[0]]),
            )
        )
    return claims


def _least_rates(ops: Sequence[OpRow], space: int) -> tuple[list[float], list[float]]:
    """The steadiest rates of HBM under which no execute waits: ends in s, bytes/s from the last.

    Args:
        ops: The operators in order.
        space: Bytes of one core for data that wait.
    """
    loads = [_load(op) for op in ops]
    held = [fetched.smallest for fetched in loads]
    arrived = np.cumsum([fetched.hbm_bytes for fetched in loads]).astype(np.float64)
    starts = np.cumsum([0.0, *(op["execute"]["time_s"] for op in ops[:-1])])
    last = [_last_with_room(held, i, space) for i in range(len(ops))]
    # At the start of an execute its own data are there, and at most what had room beside the last.
    most = np.array([arrived[0], *(arrived[last[i]] for i in range(len(ops) - 1))])
    most[-1] = arrived[-1]
    return taut(starts, arrived, most)


def _last_with_room(held: Sequence[int], executing: int, space: int) -> int:
    """The last operator whose data may arrive during an execute: at least those of the next."""
    last, taken = executing, 0
    while last + 1 < len(held) and (last == executing or taken + held[last + 1] <= space):
        last += 1
        taken += held[last]
    return last


@dataclass(frozen=True, slots=True)
class _Load:
    """What an operator brings from HBM, and what of it each core holds.

    Attributes:
        hbm_bytes: Of all chips.
        largest: Bytes of a core with every piece whole.
        smallest: The same with every piece shared by all that need it, the rest fetched later.
    """

    hbm_bytes: int
    largest: int
    smallest: int


def _load(op: OpRow) -> _Load:
    preload, execute = op["preload"], op["execute"]
    if preload is None:
        return _Load(0, 0, 0)
    largest = smallest = 0
    for operand in op["operands"]:
        tensor = operand["tensor"]
        if tensor not in preload["divisor"]:
            continue
        axes = {axis for dimension in operand["dims"] for axis in dimension}
        shared = math.prod(f for axis, f in execute["factors"].items() if axis not in axes)
        copies = max(1, shared // math.prod(execute["temporal"].get(tensor, [])))
        piece = execute["space_by_tensor"][tensor]
        largest += piece
        smallest += -(-piece // copies)
    return _Load(preload["hbm_bytes"], largest, smallest)


def _demands(study: Study) -> pd.DataFrame:
    """What each operator asks of a core's link, under both preload states."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    rows: list[dict[str, Any]] = []
    for name in study.few(_MODELS):
        plan = _plan(study, name)
        rate, begin = plan["chip"]["hbm"]["bytes_per_s"] * plan["chip"]["chips"], 0.0
        for op in _of_layers(plan):
            load, execute = _load(op), op["execute"]
            for fill, kept in zip(_FILLS, (load.smallest, load.largest), strict=True):
                between = execute["exchange_bytes"] + load.largest - kept
                cores = between / execute["compute_s"] if execute["compute_s"] else 0.0
                hbm = kept / (load.hbm_bytes / rate) if load.hbm_bytes else 0.0
                rows.append(
                    {
                        "model": name,
                        "op": op["name"],
                        "preload": fill,
                        "begin_s": begin,
                        "time_s": execute["time_s"],
                        "inter_core_bytes_per_s": cores,
                        "total_bytes_per_s": cores + hbm,
                    }
                )
            begin += execute["time_s"]
    return pd.DataFrame(rows)


def core_demand(study: Study) -> Made:
    """Figure 7."""
    table = _demands(study)
    column = "inter_core_bytes_per_s"
    return _over_time(table, column, "inter-core demand (GB/s of a core)", _less_exchange)


def _less_exchange(table: pd.DataFrame) -> list[Claim]:
    return [
        holds(
            f"{name}: MaxPreload asks less of links, mean GB/s of MinPreload and MaxPreload",
            "less",
            f"{least:.3g}, {most:.3g}",
            "hardly a piece is shared by several cores",
            true=most < _LESS * least,
        )
        for name, least, most in _means(table, "inter_core_bytes_per_s")
    ]


def link_demand(study: Study) -> Made:
    """Figure 8."""
    table = _demands(study)
    column = "total_bytes_per_s"
    return _over_time(table, column, "all demand (GB/s of a core's link)", _steadier)


def _steadier(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for name, rows in table.groupby("model", sort=False):
        least, most = (_variation(rows[rows["preload"] == fill]) for fill in _FILLS)
        claims.append(
            holds(
                f"{name}: demand of MaxPreload fluctuates less, deviation over mean of MinPreload "
                "and MaxPreload",
                "less",
                f"{least:.3g}, {most:.3g}",
                "what HBM delivers at its peak outweighs what cores exchange",
                true=most < least,
            )
        )
    return claims


def _means(table: pd.DataFrame, column: str) -> list[tuple[str, float, float]]:
    """By model, the mean over time under both preload states, in GB/s."""
    found = []
    for name, rows in table.groupby("model", sort=False):
        both = [rows[rows["preload"] == fill] for fill in _FILLS]
        least, most = (float(np.average(r[column], weights=r["time_s"])) / 1e9 for r in both)
        found.append((str(name), least, most))
    return found


def _variation(rows: pd.DataFrame) -> float:
    values, weights = rows["total_bytes_per_s"], rows["time_s"]
    mean = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)) / mean)


def _over_time(
    table: pd.DataFrame, column: str, label: str, claims: Callable[[pd.DataFrame], list[Claim]]
) -> Made:
    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(table["model"]))
        axes = figure.subplots(1, len(models), squeeze=False)[0]
        for ax, model in zip(axes, models, strict=True):
            for fill, colour in _FILLS.items():
                rows = table[(table["model"] == model) & (table["preload"] == fill)]
                edges = [*rows["begin_s"], (rows["begin_s"] + rows["time_s"]).max()]
                ax.stairs(
                    rows[column] / 1e9,
                    np.array(edges) * 1e6,
                    label=fill,
                    color=colour,
                    baseline=None,
                )
            ax.set(title=model, xlabel="time (µs)")
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel(label)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return Made(
        table=table,
        claims=lambda: claims(table),
        draw=draw,
        note="Two layers under `static-paper`, batch 32, 2,048 past tokens, executes back to back; "
        "bytes over the compute time of the operator, and over the time in which HBM loads it.",
        size=(12.0, 3.6),
    )


FIGURES: Final = (
    PaperFigure(
        name="elk-5",
        title="Figure 5: execution time over execution space",
        shows="Plans of operators of three LLMs: faster ones need more execution space.",
        make=fronts,
    ),
    PaperFigure(
        name="elk-6",
        title="Figure 6: demand for HBM over time",
        shows="The least HBM rate under which no execute waits: with more preload space it "
        "fluctuates less.",
        make=hbm_demand,
    ),
    PaperFigure(
        name="elk-7",
        title="Figure 7: demand for exchanges between cores",
        shows="Inter-core demand of a core over time: MaxPreload reduces it.",
        make=core_demand,
    ),
    PaperFigure(
        name="elk-8",
        title="Figure 8: demand on a core's link in all",
        shows="Inter-core demand and what HBM delivers: with MinPreload it fluctuates drastically, "
        "MaxPreload spreads it.",
        make=link_demand,
    ),
)
