"""Figures 12 and 13 of T10: models at growing batches, and what their time goes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from elk.figures.drawing import panels, policy_bars
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, compared, holds, unknown

if TYPE_CHECKING:
    import onnx
    import pandas as pd
    from matplotlib.figure import Figure

CHIP: Final = "ipu-mk2"
BASELINE: Final = "vgm"
OURS: Final = "t10"
T10_POLICIES: Final = (BASELINE, OURS, "elk-full")
AXES: Final = ("model", "batch", "policy")
_BATCHES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_ROWS: Final = 1 << 18  # rays' samples that NeRF's batch counts as one
_ROLLER_SHARES: Final = (50.0, 74.0)  # percent of Roller's time in transfers between cores
_T10_SHARES: Final = (8.0, 43.0)  # of T10's
_MS: Final = 1e3
_KEPT: Final = ("compute_s", "plan_pod")
_NO_DEVICE: Final = "PopART and Ansor are programs for a device, which nothing here models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A model of T10's Table 2, and how its batch is bound.

    Attributes:
        name: As `elk.models` names it.
        axis: The dimension of the model that the batch counts.
        each: Positions of that dimension that count as one.
        sizes: Sizes of its other dimensions.
        body: Whether there are only its blocks.
    """

    name: str
    axis: str = "batch"
    each: int = 1
    sizes: dict[str, int] = field(default_factory=dict)
    body: bool = False

    def model(self, study: Study) -> onnx.ModelProto:
        """The graph."""
        return study.model(self.name, body=self.body)

    def bindings(self, batch: int) -> dict[str, int]:
        """Sizes of all its dimensions."""
        return {**self.sizes, self.axis: self.each * batch}


WORKLOADS: Final = (
    Workload(name="bert-large", sizes={"seq": 128}, body=True),
    Workload(name="vit-base-16"),
    Workload(name="resnet-18"),
    Workload(name="nerf-t10", axis="rows", each=_ROWS),
)
OF_MODELS: Final = (
    "BERT-large without embedding and head, 128 tokens each; ViT-Base; ResNet-18; the MLP of NeRF, "
    f"of which a batch counts {_ROWS:,} rows, for the paper does not say how many it has"
)


def swept(
    study: Study,
    name: str,
    batches: Iterable[int],
    *,
    policies: Sequence[str] = T10_POLICIES,
    chips: Sequence[Any] = (CHIP,),
    **given: Any,
) -> Rows:
    """Every model at every batch under every policy on every chip, a store a model."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts = []
    for work in study.few(WORKLOADS):
        space = {
            "chip": list(chips),
            work.axis: [work.each * batch for batch in study.few(batches)],
            "policy": list(policies),
        }
        store = f"{name}-{work.name}"
        keywords = {"keep": _KEPT, "bindings": work.sizes, **given}
        table = study.sweep(store, space, work.model(study), None, **keywords).table
        batch = table[work.axis] // work.each
        parts.append(table.drop(columns=work.axis).assign(model=work.name, batch=batch))
    return Rows(pd.concat(parts, ignore_index=True), ("chip", *AXES))


def models_at_batches(study: Study) -> Rows:
    """Figures 12 and 13's points."""
    return swept(study, "t10-models", _BATCHES)


def latencies(study: Study) -> Made:
    """Figure 12."""
    found = models_at_batches(study)
    shown = _fitting(found.table)

    def draw(figure: Figure) -> None:
        each = shown.assign(each_s=shown["latency_s"] / shown["batch"])
        drawn = panels(figure, each, "model")
        for ax, model, own in drawn:
            policy_bars(ax, own, "batch", "each_s", T10_POLICIES, _MS)
            ax.set(xlabel="batch", title=model)
        first = drawn[0][0]
        first.set_ylabel("latency over batch (ms)")
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3)

    full = found.ratios(OURS, "elk-full")
    return Made(
        table=shown,
        claims=lambda: [*speed_claims(found), _larger_batches(found), *_others()],
        draw=draw,
        note=f"{OF_MODELS}. Batches double until no policy fits; a cross marks what does not fit. "
        f"elk-full, which the paper has not, is {full.mean():.4g} x as fast as t10 in the mean and "
        f"{full.max():.4g} x at most. vgm's latency is its forecast, the others' simulated.",
        size=(12.0, 3.8),
    )


def _fitting(table: pd.DataFrame) -> pd.DataFrame:
    """The points up to the first batch of a model that fits under no policy."""
    fits = (table["status"] == "done").groupby([table["model"], table["batch"]]).transform("any")
    first = table["batch"].where(~fits).groupby(table["model"]).transform("min")
    return table[~(table["batch"] > first)].reset_index(drop=True)


def speed_claims(found: Rows) -> list[Claim]:
    """How much faster t10 is than the baseline, beside Roller's numbers."""
    ratios = found.ratios(BASELINE, OURS)
    least = ratios.reset_index(name="ratio").sort_values("ratio").iloc[0]
    because = (
        "vgm's times are a model's, Roller's were measured: here exchanges run at the full rate of "
        "every core's port, with no uneven or redundant access, and rounds need no ring of cores "
        f"that share a piece; the smallest of {len(ratios)} ratios is {ratios.min():.3g}, of "
        f"{least['model']} at batch {least['batch']}"
    )
    return [
        compared(f"{OURS} over Roller, here vgm, mean", 1.69, ratios.mean(), because),
        compared(f"{OURS} over Roller, here vgm, most", 3.3, ratios.max(), because),
    ]


def _larger_batches(found: Rows) -> Claim:
    most = found.done.groupby(["policy", "model"])["batch"].max()
    pairs = [(name, most[OURS].get(name, 0), most[BASELINE].get(name, 0)) for name in _names(found)]
    return holds(
        f"{OURS} fits larger batches than Roller, here vgm: the largest of each",
        "larger",
        "; ".join(f"{name} {ours} and {theirs}" for name, ours, theirs in pairs),
        "vgm runs an operator in as many rounds as memory asks for, and keeps activations evenly "
        "over all cores; t10 holds all pieces of an operator, each in parts of which as many turn "
        "as divide the cores that share it, and activations as operators leave them",
        true=all(ours >= theirs for _, ours, theirs in pairs)
        and any(ours > theirs for _, ours, theirs in pairs),
    )


def _names(found: Rows) -> list[str]:
    return list(dict.fromkeys(found.table["model"]))


def _others() -> list[Claim]:
    return [
        unknown(f"{name} over PopART, mean", number, _NO_DEVICE)
        for name, number in (("Ansor", "1.33"), ("Roller", "1.38"))
    ]


def transfers(study: Study) -> Made:
    """Figure 13."""
    found = models_at_batches(study)
    rows = found.done[found.done["policy"].isin((BASELINE, OURS))].reset_index(drop=True)
    rows = rows.assign(transfer_s=rows["latency_s"] - rows["compute_s"])
    rows = rows.assign(transfer_share=100 * rows["transfer_s"] / rows["latency_s"])

    def draw(figure: Figure) -> None:
        drawn = panels(figure, rows, "model")
        for ax, model, own in drawn:
            policy_bars(ax, own, "batch", "transfer_share", (BASELINE, OURS))
            ax.set(xlabel="batch", title=model, ylim=(0, 100))
        first = drawn[0][0]
        first.set_ylabel("time that is not compute (%)")
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return Made(
        table=rows,
        claims=lambda: share_claims(rows),
        draw=draw,
        note="The points of Figure 12. Compute is what executes take in their kernels; all other "
        "time moves data between cores or waits for them, synchronisation included.",
        size=(12.0, 3.6),
    )


def share_claims(rows: pd.DataFrame) -> list[Claim]:
    """The least and the most of both policies' time that moves data, beside the paper's."""
    claims = []
    for policy, paper in ((BASELINE, _ROLLER_SHARES), (OURS, _T10_SHARES)):
        own = rows[rows["policy"] == policy]
        worst = own.sort_values("transfer_share").iloc[-1]
        because = (
            f"ours counts every synchronisation and all elementwise operators' moves, of which "
            f"{worst['model']} at batch {worst['batch']} has most"
        )
        named = "Roller, here vgm" if policy == BASELINE else policy
        for which, number, share in (
            ("least", paper[0], own["transfer_share"].min()),
            ("most", paper[1], own["transfer_share"].max()),
        ):
            claims.append(
                compared(f"time of {named} in transfers, {which}, %", number, share, because)
            )
    mean = rows.groupby("policy")["transfer_share"].mean()
    claims.append(
        holds(
            f"{OURS} moves data for a smaller share of its time, mean of {OURS} and vgm",
            "smaller",
            f"{mean[OURS]:.3g} %, {mean[BASELINE]:.3g} %",
            "vgm's rounds move little more than rotation does",
            true=bool(mean[OURS] < mean[BASELINE]),
        )
    )
    return claims


FIGURES: Final = (
    PaperFigure(
        name="t10-12",
        title="T10's Figure 12: latency of models",
        shows="Latency of DNN models over batch sizes, and which batches fit on the chip.",
        make=latencies,
        page="t10",
    ),
    PaperFigure(
        name="t10-13",
        title="T10's Figure 13: what time goes to",
        shows="Share of the latency in transfers between cores, by model, batch and compiler.",
        make=transfers,
        page="t10",
    ),
)
