"""Figures 17 and 18: decoding on four chips at 16 TB/s, and what its time and chips go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.figures.drawing import bars, splits
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, compared

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LLMS: Final = ("llama2-13b", "gemma2-27b", "opt-30b", "llama2-70b")
POLICIES: Final = ("basic", "static-paper", "static", "elk-dyn", "elk-full")
PAST: Final = {"past": 2048}
CHIP: Final = "ipu-pod4-hbm"
# The tile and exchange times of the paper's own experiments.
THEIRS: Final = "ipu-pod4-hbm-paper"
_DESIGNS: Final = ("basic", "static", "elk-dyn", "elk-full")
_THEIR_TIMES: Final = f", {THEIRS}"
_BATCHES: Final = (16, 32, 64)
_BATCH: Final = 32  # of the paper's breakdowns
# Percent of HBM's rate that designs use in the paper.
_HBM_USE: Final = {"basic": 34.7, "static-paper": 46.42, "static": 46.42}
_CONTENDED: Final = (
    "our elk-dyn chooses plans by a forecast that plays contention, which leaves elk-full little, "
    "and elk-full seeks the least latency, not the least contention"
)
_EXPOSED: Final = (
    "the first operators wait for their data, and where HBM binds, executes wait for it whatever "
    "the order of preloads"
)
_OVERLAPPED: Final = (
    "our basic overlaps more: it preloads the next operator that has HBM data, not just the next"
)
_MOVED: Final = "orders are annealed together with plans and look-ahead, not drawn from a tree"
_IDEAL: Final = (
    "our ideal's plans are searched for as long as they get shorter, while the paper's has the "
    "smallest preloads and no distribution"
)
_FULLER: Final = "our executes take less time, so the same bytes are read in less"
_EMPTIER: Final = "HBM binds sooner than links do; preloads may use them only as it delivers"


def decoding(study: Study) -> Rows:
    """Every model and batch under every policy; at batch 32 with the paper's tile times, too."""
    from elk.points.space import union  # noqa: PLC0415 - `elk paper list` needs no sweeps

    named = {
        "model": [study.model(name) for name in study.few(LLMS)],
        "policy": study.few(POLICIES),
    }
    space = union(
        {"chip": [CHIP], "batch": study.few(_BATCHES), **named},
        {"chip": [THEIRS], "batch": [_BATCH], **named},
    )
    return study.sweep("decoding", space, None, None, bindings=PAST)


def latencies(study: Study) -> Made:
    """Figure 17."""
    found = decoding(study)
    ours = Rows(found.of(chip=CHIP), found.axes)
    theirs = Rows(found.of(chip=THEIRS), found.axes)

    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(ours.done["model"]))
        axes = figure.subplots(1, len(models), squeeze=False)[0]
        for ax, model in zip(axes, models, strict=True):
            _draw_model(ax, ours.of(model=model), model)
        axes[0].set_ylabel("latency of a token (ms)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)

    return Made(
        table=found.done,
        claims=lambda: [
            *_speed_claims(ours, ""),
            *_speed_claims(theirs, _THEIR_TIMES),
        ],
        draw=draw,
        note=f"Batches of 16, 32 and 64 at 2,048 past tokens on `{CHIP}`; batch 32 again on "
        f"`{THEIRS}`. `static` tries 63 splits of SRAM with preloads at most and at least and "
        "aligns the best with their neighbours; `static-paper` is the baseline as the paper words "
        f"it. {found.lost}",
        size=(11.0, 3.6),
    )


def _draw_model(ax: Axes, rows: pd.DataFrame, model: str) -> None:
    batches = sorted(set(rows["batch"]))
    heights = {
        policy: [
            1e3 * rows[(rows["policy"] == policy) & (rows["batch"] == b)]["latency_s"].sum()
            for b in batches
        ]
        for policy in POLICIES
    }
    full = rows[rows["policy"] == "elk-full"]
    heights["ideal"] = [1e3 * full[full["batch"] == b]["ideal_s"].sum() for b in batches]
    bars(ax, [str(b) for b in batches], heights)
    ax.set(xlabel="batch", title=model)


def _speed_claims(rows: Rows, where: str) -> list[Claim]:
    full = rows.of(policy="elk-full")
    of_ideal = 100 * (full["ideal_s"] / full["latency_s"]).mean()
    return [
        *speed_ups(rows, "basic", {"mean": 1.87, "most": 1.93}, where),
        *speed_ups(rows, "static-paper", {"mean": 1.37, "most": 1.49}, where),
        *speed_ups(rows, "static", {"mean": 1.37, "most": 1.49}, where),
        compared(f"elk-full of ideal, %{where}", 94.84, of_ideal, _IDEAL),
    ]


def speed_ups(rows: Rows, slower: str, paper: dict[str, float], where: str = "") -> list[Claim]:
    """How much faster elk-full is, the mean and the most over all points, beside the paper's."""
    found, left = rows.ratios(slower, "elk-full"), rows.over_ideal(slower)
    used = 100 * rows.of(policy=slower)["hbm_use"].mean()
    because = (
        f"HBM is busy {used:.3g} % of the time under our {slower} ({_HBM_USE[slower]} % in the "
        f"paper's Figure 18), so that little is left to win: the ideal's {left.mean():.3g} x in "
        f"the mean, {left.max():.3g} x at most"
    )
    ours = {"mean": found.mean(), "most": found.max()}
    return [
        compared(f"elk-full over {slower}, {which}{where}", number, ours[which], because)
        for which, number in paper.items()
    ]


def usage(study: Study) -> Made:
    """Figure 18."""
    found = decoding(study)
    chosen = Rows(found.of(batch=_BATCHES[0] if study.quick else _BATCH), found.axes)
    ours, theirs = (Rows(chosen.of(chip=chip), found.axes) for chip in (CHIP, THEIRS))

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[1.6, 1.0])
        names = [f"{row.model} {row.policy}" for row in ours.done.itertuples()]
        splits(left, ours.done, names)
        left.legend(fontsize="small")
        policies = [name for name in POLICIES if name in set(ours.done["policy"])]
        means = ours.done.groupby("policy")[["hbm_use", "link_use"]].mean() * 100
        bars(
            right,
            ["HBM", "interconnect"],
            {
                name: [float(means["hbm_use"][name]), float(means["link_use"][name])]
                for name in policies
            },
        )
        right.set(ylabel="used, mean of the models (%)", ylim=(0, 100))
        right.legend(fontsize="small", ncols=2)

    return Made(
        table=chosen.done,
        claims=lambda: [*_usage_claims(ours, ""), *_usage_claims(theirs, _THEIR_TIMES)],
        draw=draw,
        note=f"Batch 32 and 2,048 past tokens on `{CHIP}`. The interconnect's use is bytes that "
        "cores receive over what all links carry.",
        size=(11.0, 4.6),
    )


def _usage_claims(rows: Rows, where: str) -> list[Claim]:
    per = {policy: rows.of(policy=policy).set_index("model") for policy in POLICIES}
    full, dyn = per["elk-full"], per["elk-dyn"]
    congestion = 100 * (1 - full["interconnect_s"].sum() / dyn["interconnect_s"].sum())
    exposed = 100 * (full["preload_s"] / full["latency_s"]).mean()
    overlap = (per["static"]["overlapped_s"] / per["basic"]["overlapped_s"]).mean()
    moved = full["edit_distance"][full["origin"] == "elk-full"].mean()
    found = [
        ("contention of elk-dyn that elk-full ends, %", 87.65, congestion, _CONTENDED),
        ("time of elk-full in which only HBM works, %", 0.037, exposed, _EXPOSED),
        ("overlapped time of static over basic's", 11.26, overlap, _OVERLAPPED),
        ("steps by which elk-full moves preloads, where the plan is its own", 2.9, moved, _MOVED),
    ]
    for policy, paper in zip(_DESIGNS, (34.7, 46.42, 51.97, 62.40), strict=True):
        used = 100 * per[policy]["hbm_use"].mean()
        found.append((f"HBM used by {policy}, %", paper, used, _FULLER))
    ideal = 100 * (full["hbm_use"] * full["latency_s"] / full["ideal_s"]).mean()
    found.append(("HBM used by ideal, %", 64.38, ideal, _FULLER))
    for policy, paper in zip(_DESIGNS, (57.25, 76.33, 78.28, 89.52), strict=True):
        used = 100 * per[policy]["link_use"].mean()
        found.append((f"interconnect used by {policy}, %", paper, used, _EMPTIER))
    teraflops = full["achieved_flops_per_s"] / 1e12
    theirs = (teraflops * 0.624 / full["hbm_use"]).mean()
    counted = (
        f"of what is counted: at the paper's own 62.4 % of HBM these models reach {theirs:.3g} "
        "TFLOP/s, a multiply-add as two"
    )
    found.append(("elk-full, TFLOP/s", 81.06, teraflops.mean(), counted))
    return [
        compared(f"{what}{where}", paper, ours, because) for what, paper, ours, because in found
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-17",
        title="Figure 17: latency of a token",
        shows="Latency of a token by model, batch and design on four chips with 16 TB/s of HBM.",
        make=latencies,
    ),
    PaperFigure(
        name="elk-18",
        title="Figure 18: what time and chips go to",
        shows="Time in preload, execute, both, and stopped by a busy interconnect; use of HBM and "
        "interconnect; TFLOP/s; by design, at batch 32.",
        make=usage,
    ),
)
