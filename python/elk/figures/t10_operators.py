"""Figures 16 to 18 of T10: plans of one operator, how many there are, what constraints cost."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from elk.figures.drawing import COLOURS, bars, panels
from elk.figures.figure import Claim, Made, PaperFigure, Study, compared, holds, unknown
from elk.figures.t10_models import BASELINE, CHIP, OURS, WORKLOADS, Workload

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from elk.document.schema import OpRow, PlanDocument

# The paper names ResNet's batch in Figure 16; the others are its models' in between.
BATCHES: Final = {"bert-large": 4, "vit-base-16": 8, "resnet-18": 32, "nerf-t10": 1}
_SHOWN: Final = 3  # operators of a model, those of most time
_COUNTS: Final = ("complete", "filtered", "pareto")
# The least share of cores and the most padding that plans may have, strictest first; 0: free.
_SETTINGS: Final = ((0.9, 1.1), (0.75, 1.25), (0.5, 1.5), (0.25, 2.0), (0.0, 0.0))
_LITTLE: Final = 1.05  # of a latency
_KIB: Final = 1024.0
_MOST: Final = {"filtered": 1e4, "pareto": 50}


def _document(study: Study, work: Workload, policy: str) -> PlanDocument:
    sizes = work.bindings(1 if study.quick else BATCHES[work.name])
    return study.plan(work.model(study), CHIP, sizes, policy).plan._document


def _heaviest(plan: PlanDocument, count: int) -> list[OpRow]:
    """An operator of each front, of those fronts whose operators take most time together."""
    spent: defaultdict[int, float] = defaultdict(float)
    first: dict[int, OpRow] = {}
    for op in plan["ops"]:
        spent[op["front"]] += op["execute"]["time_s"]
        first.setdefault(op["front"], op)
    return [first[front] for front in sorted(spent, key=lambda front: -spent[front])[:count]]


def fronts(study: Study) -> Made:
    """Figure 16."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts: list[pd.DataFrame] = []
    for work in study.few(WORKLOADS):
        plan = _document(study, work, OURS)
        theirs = {op["name"]: op for op in _document(study, work, BASELINE)["ops"]}
        op = _heaviest(plan, 1)[0]
        front = plan["fronts"][op["front"]]
        named = {"model": work.name, "op": op["name"].removesuffix("/node")}
        columns = {key: front[key] for key in ("space_bytes", "time_s")}
        parts.append(pd.DataFrame({**named, "plan": "front", **columns}))
        for policy, row in ((OURS, op), (BASELINE, theirs[op["name"]])):
            taken = {key: row["execute"][key] for key in ("space_bytes", "time_s")}
            parts.append(pd.DataFrame([{**named, "plan": policy, **taken}]))
    table = pd.concat(parts, ignore_index=True)

    def draw(figure: Figure) -> None:
        drawn = panels(figure, table, "model")
        for ax, model, rows in drawn:
            for plan, marker in (("front", "*"), (OURS, "D"), (BASELINE, "^")):
                own = rows[rows["plan"] == plan]
                at, values = own["space_bytes"] / _KIB, own["time_s"] * 1e6
                ax.plot(at, values, marker, color=COLOURS.get(plan), label=plan)
            ax.set_title(f"{model}\n{rows['op'].iloc[0]}", fontsize="small")
            ax.set(xlabel="memory of a core (KiB)", yscale="log")
        drawn[0][0].set_ylabel("time of the operator alone (µs)")
        drawn[0][0].legend()

    return Made(
        table=table,
        claims=lambda: _plan_claims(table),
        draw=draw,
        note="Of each model the operator that takes most time in all its layers: plans on its "
        f"front, the one that {OURS} takes, and vgm's. {_batches()} Fronts keep bytes exchanged, "
        "too, so that some of their plans are slower than others of the same memory.",
        size=(12.0, 4.0),
    )


def _batches() -> str:
    return f"Batches: {', '.join(f'{name} {batch}' for name, batch in BATCHES.items())}."


def _plan_claims(table: pd.DataFrame) -> list[Claim]:
    both, faster, ops = 0, 0, 0
    for _, rows in table.groupby("model", sort=False):
        front = rows[rows["plan"] == "front"]
        theirs = rows[rows["plan"] == BASELINE].iloc[0]
        smaller = front[front["space_bytes"] <= theirs["space_bytes"]]
        ops += 1
        both += bool((smaller["time_s"] < theirs["time_s"]).any())
        faster += bool((front["time_s"] < theirs["time_s"]).any())
    return [
        unknown(
            "operators for which a plan is faster and smaller than PopART's",
            "most",
            "PopART is a program for a device; ours are of vgm's plan",
            f"{both} of {ops}",
        ),
        holds(
            "operators for which a plan is faster than Roller's, here vgm's",
            "all",
            f"{faster} of {ops}",
            "vgm's rounds of these operators are few and large, and cost little but their loads",
            true=faster == ops,
        ),
    ]


def spaces(study: Study) -> Made:
    """Figure 17."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    rows: list[dict[str, Any]] = []
    for work in study.few(WORKLOADS):
        plan = _document(study, work, OURS)
        for op in _heaviest(plan, len(plan["fronts"])):
            front = plan["fronts"][op["front"]]
            counts = {key: front[key] for key in _COUNTS}
            named = {"model": work.name, "op": op["name"].removesuffix("/node")}
            rows.append({**named, "type": op["onnx_type"], **counts})
    table = pd.DataFrame(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        shown = table.groupby("model", sort=False).head(_SHOWN)
        names = [f"{row.model}\n{row.op}" for row in shown.itertuples()]
        bars(ax, names, {key: shown[key].tolist() for key in _COUNTS})
        ax.tick_params("x", rotation=90, labelsize="x-small")
        ax.set(ylabel="plans", yscale="log")
        ax.legend()

    return Made(
        table=table,
        claims=lambda: _count_claims(table),
        draw=draw,
        note="All different operators of the models; drawn are three of each that take most time. "
        f"{_batches()} Complete: every cut over the cores that leaves none without work, with "
        "every temporal factor. Filtered: those that fit the memory, with no other constraint, and "
        "of operands that could turn along several dimensions those that turn along one.",
        size=(11.0, 4.6),
    )


def _count_claims(table: pd.DataFrame) -> list[Claim]:
    convolutions = table[(table["model"] == "resnet-18") & (table["type"] == "Conv")]
    digits = math.log10(int(convolutions["complete"].max()))
    filtered, pareto = table["filtered"], table["pareto"]
    few = int((filtered < _MOST["filtered"]).sum())
    small = int((pareto < _MOST["pareto"]).sum())
    return [
        compared(
            "complete space of ResNet's largest, log10 of plans",
            19.0,
            digits,
            "ours counts cuts into at most as many parts as there are cores, none of them without "
            "work, each with the temporal factors that divide the cores which share an operand; "
            "the paper does not say what its count includes",
        ),
        holds(
            "filtered space of an operator, most, and how many are below 10^4",
            "below 10^4",
            f"{int(filtered.max()):,}; {few} of {len(table)}",
            "ours is after memory alone, no constraint on cores and padding, and the largest "
            "convolutions and products have more cuts that fit",
            true=few == len(table),
        ),
        holds(
            "Pareto plans of an operator, most, and how many have fewer than 50",
            "most fewer than 50",
            f"{int(pareto.max()):,}; {small} of {len(table)}",
            "our fronts keep plans that exchange fewer bytes, too, not just small and fast ones",
            true=2 * small > len(table),
        ),
    ]


def constraints(study: Study) -> Made:
    """Figure 18."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    rows: list[dict[str, Any]] = []
    for work in study.few(WORKLOADS):
        sizes = work.bindings(1 if study.quick else BATCHES[work.name])
        for share, padding in study.few(_SETTINGS):
            setting = {"min_core_share": share, "max_padding": padding}
            found = study.plan(work.model(study), CHIP, sizes, OURS, **setting)
            rows.append(
                {
                    "model": work.name,
                    **setting,
                    "cpu_s": found.cpu_s,
                    "latency_s": found.plan.simulate().latency_s,
                    "filtered": found.plan._document["search"]["plans_filtered"],
                }
            )
    table = pd.DataFrame(rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2)
        for model, own in table.groupby("model", sort=False):
            best = own["latency_s"].min()
            axes[0].plot(own["cpu_s"], own["latency_s"] / best, "o-", label=model)
            axes[1].plot(own["filtered"], own["latency_s"] / best, "o-", label=model)
        axes[0].set(xlabel="CPU time of the compile (s)", ylabel="latency over the model's least")
        axes[1].set(xlabel="plans that pass the constraints", xscale="log")
        axes[0].legend()

    return Made(
        table=table,
        claims=lambda: _setting_claims(table),
        draw=draw,
        note="Compiles that start from nothing, strictest first: of the cores a plan uses at least "
        f"{_listed(0)}; padded over original size is at most {_listed(1)}. {_batches()}",
        size=(10.0, 4.0),
    )


def _listed(at: int) -> str:
    return ", ".join(f"{setting[at]:g}" if setting[at] else "anything" for setting in _SETTINGS)


def _setting_claims(table: pd.DataFrame) -> list[Claim]:
    strict = table.groupby("model", sort=False).first()
    free = table.groupby("model", sort=False).last()
    gain, plans = strict["latency_s"] / free["latency_s"], free["filtered"] / strict["filtered"]
    spent = free["cpu_s"].sum() / strict["cpu_s"].sum()
    near = int((gain <= _LITTLE).sum())
    return [
        holds(
            "a strict setting suffices: its latency over that of no constraint, least and most",
            "for most workloads",
            f"{gain.min():.3g} and {gain.max():.3g}; {near} of {len(gain)} within 5 %",
            "operators too small for nine tenths of the cores have no cut that is as fast",
            true=2 * near > len(gain),
        ),
        holds(
            "relaxing all constraints: plans that pass, and CPU time of all compiles",
            "more of both",
            f"{plans.mean():.3g} x in the mean, {spent:.3g} x",
            "plans that constraints refuse are counted before they are refused, so that most time "
            "is spent either way",
            true=bool(plans.mean() > 1 and spent > 1),
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="t10-16",
        title="T10's Figure 16: plans of operators",
        shows="Time over memory of the plans of representative operators that no other beats.",
        make=fronts,
        page="t10",
    ),
    PaperFigure(
        name="t10-17",
        title="T10's Figure 17: sizes of search spaces",
        shows="Plans of an operator: all, those that pass constraints, those that no other beats.",
        make=spaces,
        page="t10",
    ),
    PaperFigure(
        name="t10-18",
        title="T10's Figure 18: constraints on the search",
        shows="Compile time and latency under strict and relaxed constraints on plans.",
        make=constraints,
        page="t10",
    ),
)
