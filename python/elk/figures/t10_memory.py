"""Figure 19 of T10: the points that its trade of idle for active memory explores."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from elk.figures.drawing import COLOURS, panels
from elk.figures.figure import Claim, Made, PaperFigure, Study, compared, holds
from elk.figures.t10_models import BASELINE, CHIP, OURS, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from elk.document.schema import OpRow, PlanDocument

# The paper draws ResNet at batch 64.
_BATCHES: Final = {"bert-large": (1, 8), "vit-base-16": (1, 64), "resnet-18": (1, 64)}
_EXPANDED: Final = ("resnet-18", 64)
_ACTIVE: Final = 40.0  # percent of a core's memory
_MOST: Final = 0.5  # of operators
_BYTES: Final = "idle_bytes"


def explored(study: Study) -> Made:
    """Figure 19."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts: list[pd.DataFrame] = []
    ops: list[OpRow] = []
    for work in study.few([work for work in WORKLOADS if work.name in _BATCHES]):
        for batch in study.few(_BATCHES[work.name]):
            sizes = work.bindings(1 if study.quick else batch)
            named: dict[str, Any] = {"model": work.name, "batch": batch}
            plan = study.plan(work.model(study), CHIP, sizes, OURS).plan._document
            theirs = study.plan(work.model(study), CHIP, sizes, BASELINE).plan._document
            columns: dict[str, Any] = {**plan["search"]["explored"]}
            parts.append(pd.DataFrame({**named, "plan": "explored", **columns}))
            parts.append(pd.DataFrame([{**named, "plan": OURS, **_final(plan)}]))
            parts.append(pd.DataFrame([{**named, "plan": BASELINE, **_final(theirs)}]))
            if (work.name, batch) == _EXPANDED:
                ops = plan["ops"]
    sram = plan["chip"]["core"]["sram_bytes"]
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(idle_share=100 * table[_BYTES] / sram)

    def draw(figure: Figure) -> None:
        drawn = panels(figure, table, ["model", "batch"])
        for ax, (model, batch), rows in drawn:
            for plan, marker in (("explored", "."), (OURS, "*"), (BASELINE, "^")):
                own = rows[rows["plan"] == plan]
                colour = COLOURS.get(plan, "#808080")
                ax.plot(own["idle_share"], own["time_s"] * 1e3, marker, color=colour, label=plan)
            ax.set(xlabel="idle memory (%)", title=f"{model}, batch {batch}")
        first = drawn[0][0]
        first.set_ylabel("latency (ms)")
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3)

    return Made(
        table=table,
        claims=lambda: _claims(table, ops, sram),
        draw=draw,
        note="Idle memory is what a core keeps of weights all the time, of its SRAM. Dots are "
        f"points that {OURS} explored, with the sum of executes and setups; the star is the plan "
        "that it took, by its forecast, the triangle vgm's, whose idle memory is its even share of "
        "all weights.",
        size=(14.0, 3.6),
    )


def _final(plan: PlanDocument) -> dict[str, Any]:
    """What a plan keeps of weights on a core all the time, and the time that it is forecast."""
    kept = sum(op["idle"]["space_bytes"] for op in plan["ops"] if op["idle"] is not None)
    return {_BYTES: kept, "time_s": plan["predicted"]["total_s"]}


def _claims(table: pd.DataFrame, ops: list[OpRow], sram: int) -> list[Claim]:
    final = table[table["plan"] != "explored"]
    model, batch = _EXPANDED
    chosen = final[(final["model"] == model) & (final["batch"] == batch)]
    share = float(chosen[chosen["plan"] == OURS]["idle_share"].iloc[0])
    demands = [100 * op["execute"]["space_bytes"] / sram for op in ops]
    small = sum(demand <= _ACTIVE for demand in demands) / len(demands)
    setups_s = sum(op["idle"]["setup_s"] for op in ops if op["idle"] is not None)
    least = table.groupby(["model", "batch"])[_BYTES].min()
    baseline = final[final["plan"] == BASELINE].set_index(["model", "batch"])[_BYTES]
    at_least = int((baseline - least <= 0).sum())
    slower = int((_times(final, BASELINE) - _times(final, OURS) > 0).sum())
    return [
        compared(
            f"idle memory of {model} at batch {batch}, % of SRAM",
            58.0,
            share,
            f"setups take {setups_s * 1e6:.3g} µs in this plan: with that share of SRAM all "
            "weights lie where executes need them, as far as that saves time",
        ),
        holds(
            f"operators of {model} at batch {batch} that need at most 40 % of SRAM to execute",
            "many",
            f"{100 * small:.3g} %, the median {median(demands):.3g} % of SRAM",
            "executes are as large as what idle memory leaves, where that is faster",
            true=small > _MOST,
        ),
        holds(
            "Roller's plan, here vgm's, has the least idle memory and is slower than t10's",
            "most benchmarks",
            f"least in {at_least} and slower in {slower} of {len(least)}",
            "vgm keeps every weight once, and the first point of t10 does as well",
            true=2 * at_least > len(least) and 2 * slower > len(least),
        ),
    ]


def _times(final: pd.DataFrame, plan: str) -> pd.Series[float]:
    found: pd.Series[float] = final[final["plan"] == plan].set_index(["model", "batch"])["time_s"]
    return found


FIGURES: Final = (
    PaperFigure(
        name="t10-19",
        title="T10's Figure 19: idle memory against time",
        shows="The end-to-end plans that T10 explores, and the final plans of T10 and Roller.",
        make=explored,
        page="t10",
    ),
)
