"""Figures 19 to 21: rates of HBM on two interconnects, what time goes to, how busy links are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.figures.decoding import CHIP, LLMS, PAST, THEIRS
from elk.figures.drawing import COLOURS, lines, splits
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, compared, holds, unknown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MESH: Final = "ipu-pod4-hbm-mesh-wide"
NAMES: Final = {CHIP: "all-to-all", MESH: "mesh", THEIRS: "all-to-all, the paper's tile times"}
WIDE: Final = (
    f"The mesh is `{MESH}`: with the links of the pod itself, 152 nodes at the edges take in "
    "0.84 TB/s a chip whatever HBM gives, and every curve would be flat."
)
SHOWN: Final = ("basic", "static", "elk-full")
_RATES: Final = (4e12, 8e12, 12e12, 16e12, 24e12)
_BROKEN_DOWN: Final = LLMS[0]
_GQA: Final = LLMS[-1]
_ALMOST_ALL: Final = 90.0  # percent of what links carry
_LITTLE: Final = 1.0  # percent of a latency
_EARLIER: Final = (
    "executes and exchanges of our plans take less time, with the paper's tile times, too, and so "
    "bind later"
)
_CONTENDED: Final = (
    "every policy has a peak where neither HBM nor executes bind alone, and elk-full seeks the "
    "least latency: a transfer that is held up while something else binds costs none"
)
_FREE: Final = "HBM or executes bind before the links of all cores are full"


def rates(study: Study) -> Rows:
    """Every model on both interconnects at several rates of HBM."""
    from elk.points.space import union  # noqa: PLC0415 - `elk paper list` needs no sweeps

    models = {name: study.model(name) for name in study.few(LLMS)}
    rate = {"hbm_bandwidth": study.few(_RATES)}
    space = union(
        {"chip": [CHIP, MESH], "model": list(models.values()), **rate, "policy": study.few(SHOWN)},
        {"chip": [CHIP], "model": [models[_BROKEN_DOWN]], **rate, "policy": ["elk-dyn"]},
        {"chip": [THEIRS], "model": [models[_GQA]], **rate, "policy": ["elk-full"]},
    )
    return study.sweep("hbm", space, None, None, bindings={"batch": 32, **PAST})


def latencies(study: Study) -> Made:
    """Figure 19."""
    found = rates(study)

    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(found.done["model"]))
        grid = figure.subplots(2, len(models), squeeze=False, sharex=True)
        for row, chip in zip(grid, (CHIP, MESH), strict=True):
            for ax, model in zip(row, models, strict=True):
                rows = found.of(chip=chip, model=model)
                lines(
                    ax,
                    rows[rows["policy"] != "elk-dyn"],
                    "hbm_bandwidth",
                    "latency_s",
                    scale=(1e12, 1e-3),
                )
                ax.set_title(f"{model}, {NAMES[chip]}", fontsize="medium")
            row[0].set_ylabel("latency of a token (ms)")
        for ax in grid[-1]:
            ax.set_xlabel("HBM (TB/s)")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4)

    return Made(
        table=found.done,
        claims=lambda: _knees(found),
        draw=draw,
        note=f"Batch 32, 2,048 past tokens. {WIDE} {found.lost}",
        size=(11.0, 5.6),
    )


def _knees(found: Rows) -> list[Claim]:
    """From which rate on a model no longer gains what a faster HBM gives."""
    claims = []
    for chip, where in ((CHIP, ""), (THEIRS, ", the paper's tile times")):
        full = found.of(chip=chip, model=_GQA, policy="elk-full").sort_values("hbm_bandwidth")
        last = full.iloc[-1]
        knee = last["hbm_bytes"] / last["latency_s"] / 1e12
        what = f"{_GQA} is bound by HBM up to, TB/s{where}"
        claims.append(compared(what, 8.0, knee, _EARLIER, within=0.25))
    return claims


def breakdown(study: Study) -> Made:
    """Figure 20."""
    found = rates(study)
    chosen = found.of(chip=CHIP, model=_BROKEN_DOWN)
    order = {name: i for i, name in enumerate(COLOURS)}
    rows = chosen.sort_values(
        ["hbm_bandwidth", "policy"], key=lambda x: x.map(order) if x.name == "policy" else x
    )

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        named = zip(rows["hbm_bandwidth"], rows["policy"], strict=True)
        names = [f"{rate / 1e12:g} TB/s {policy}" for rate, policy in named]
        splits(ax, rows, names)
        ax.legend()

    return Made(
        table=rows.reset_index(drop=True),
        claims=lambda: _contention(rows),
        draw=draw,
        note=f"{_BROKEN_DOWN}, batch 32, 2,048 past tokens, all-to-all.",
        size=(9.0, 4.6),
    )


def _contention(rows: pd.DataFrame) -> list[Claim]:
    shares = rows.assign(share=100 * rows["interconnect_s"] / rows["latency_s"])
    claims = []
    for policy in [name for name in COLOURS if name in set(rows["policy"])]:
        own = shares[shares["policy"] == policy].sort_values("hbm_bandwidth")["share"].tolist()
        grows, stays = own[-1] > own[0], max(own) < _LITTLE
        is_full = policy == "elk-full"
        claims.append(
            holds(
                f"{policy}: share of time stopped by a busy interconnect, from the least to the "
                "largest rate",
                "ended" if is_full else "grows",
                f"{own[0]:.2g} % to {own[-1]:.2g} %",
                _CONTENDED,
                true=stays if is_full else grows,
            )
        )
    return claims


def busy_links(study: Study) -> Made:
    """Figure 21."""
    found = rates(study)
    rows = found.done[found.done["policy"].isin(SHOWN)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2, sharex=True)
        means = rows.groupby(["chip", "policy", "hbm_bandwidth"])["link_use"].mean().reset_index()
        for ax, chip in zip(axes, (CHIP, MESH), strict=True):
            lines(ax, means[means["chip"] == chip], "hbm_bandwidth", "link_use", scale=(1e12, 0.01))
            ax.set(xlabel="HBM (TB/s)", title=NAMES[chip])
        axes[0].set_ylabel("interconnect used, mean of the models (%)")
        axes[0].legend()

    return Made(
        table=rows.reset_index(drop=True),
        claims=lambda: _link_use(rows),
        draw=draw,
        note=f"Bytes that cores receive over what all links carry. {WIDE}",
    )


def _link_use(rows: pd.DataFrame) -> list[Claim]:
    use = 100 * rows.groupby(["chip", "policy"])["link_use"].mean()
    most = 100 * rows[(rows["chip"] == CHIP) & (rows["policy"] == "elk-full")]["link_use"].max()
    return [
        unknown(
            "a mesh uses its links more than all-to-all",
            "always",
            f"links of `{MESH}` are ten times as fast, and bytes that pass several links are "
            "counted once, where they arrive",
            f"mesh {use[MESH, 'elk-full']:.3g} %, all-to-all {use[CHIP, 'elk-full']:.3g} %",
        ),
        holds(
            "elk-full uses of all-to-all at most, %",
            "almost all",
            f"{most:.3g}",
            _FREE,
            true=bool(most > _ALMOST_ALL),
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-19",
        title="Figure 19: latency over the rate of HBM",
        shows="Latency of a token over the rate of HBM on all-to-all and on a mesh: low rates bind "
        "every design, higher ones help until interconnect and execution bind.",
        make=latencies,
    ),
    PaperFigure(
        name="elk-20",
        title="Figure 20: what time goes to over the rate of HBM",
        shows="Breakdown of Llama2-13B on all-to-all: contention grows with the rate of HBM under "
        "all designs but ELK-Full.",
        make=breakdown,
    ),
    PaperFigure(
        name="elk-21",
        title="Figure 21: use of the interconnect over the rate of HBM",
        shows="A mesh uses its links more than all-to-all, and only ELK-Full almost all of them.",
        make=busy_links,
    ),
)
