"""Figure 20 of T10: half a chip, one, and two and four that are one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.figures.drawing import policy_bars
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, holds, unknown
from elk.figures.t10_models import BASELINE, OF_MODELS, OURS, T10_POLICIES, swept

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from elk.chip.chip import Chip

_POD: Final = "ipu-pod4"
_BATCHES: Final = (1, 2)
_HALF: Final = 736
_CORES: Final = (_HALF, 1472, 2944, 5888)
_MS: Final = 1e3
_SMALL: Final = ("resnet-18", "nerf-t10")  # at batches 1 and 2
_FEW: Final = (1, 2)
_TWICE: Final = 2.0


def _chips() -> dict[str, Chip]:
    """Machines by name: their cores."""
    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips

    pod = presets.get(_POD)
    one = pod.replace(chips=1, inter_chip=None)
    machines = [one.replace(core_count=_HALF), one, pod.replace(chips=2), pod]
    return {
        f"{cores} cores": chip.replace(name=f"{cores} cores")
        for cores, chip in zip(_CORES, machines, strict=True)
    }


def scaling(study: Study) -> Made:
    """Figure 20."""
    chips = _chips()
    found = swept(study, "t10-cores", _BATCHES, chips=study.few(chips.values()), pod="pooled")
    cores = found.table["chip"].map(dict(zip(chips, _CORES, strict=True)))
    rows = Rows(found.table.assign(cores=cores).drop(columns="chip"), ("cores", *found.axes[1:]))

    def draw(figure: Figure) -> None:
        groups = list(rows.table.groupby(["model", "batch"], sort=False))
        across = len(set(rows.table["batch"]))
        grid = figure.subplots(-(-len(groups) // across), across, squeeze=False)
        for ax, ((model, batch), own) in zip(grid.flat, groups, strict=True):
            policy_bars(ax, own, "cores", "latency_s", T10_POLICIES, _MS)
            ax.set_title(f"{model}, batch {batch}", fontsize="medium")
        for row in grid:
            row[0].set_ylabel("latency (ms)")
        handles = grid[0][0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=3)

    return Made(
        table=rows.table,
        claims=lambda: _claims(rows),
        draw=draw,
        note=f"{OF_MODELS}. Cores of `{_POD}`: half a chip, a chip, and two and four of them as "
        "one machine, joined by 160 GB/s of each chip and direction. A cross marks what does not "
        "fit.",
        size=(8.0, 9.0),
    )


def _claims(rows: Rows) -> list[Claim]:
    ratios = rows.ratios(BASELINE, OURS)
    by_cores = ratios.groupby("cores").mean()
    shown = ", ".join(f"{ratio:.3g} x at {n:,}" for n, ratio in by_cores.items())
    halves = _half_against_whole(rows)
    moved, theirs, aligned = (_growth(rows, name) for name in (OURS, BASELINE, "elk-full"))
    drop = rows.done.pivot_table(index=["model", "batch"], columns="cores", values="latency_s")
    slower = drop[_CORES[-1]] / drop[_CORES[1]]
    return [
        holds(
            f"{OURS} over Roller, here vgm, mean by cores; the smallest of all",
            "faster at every number",
            f"{shown}; {ratios.min():.3g} x",
            "the smallest is of a model that exchanges little, so that vgm's loads cost little",
            true=bool(ratios.min() > 1),
        ),
        holds(
            f"{OURS} on {_HALF} cores over vgm on 1,472: NeRF and ResNet, batches 1 and 2",
            "2 x as fast",
            ", ".join(f"{row.model} {row.batch}: {row.ratio:.3g} x" for row in halves.itertuples()),
            "with half the cores each computes twice as much, and compute is most of our time",
            true=bool((halves["ratio"] >= _TWICE).all()),
        ),
        holds(
            "time in transfers on 5,888 cores over that on 1,472, median of t10 and of vgm",
            "t10's does not increase",
            f"{moved:.3g} x, {theirs:.3g} x",
            "what crosses between chips shares 160 GB/s, a fiftieth of what a chip's own cores "
            f"exchange; elk-full, which aligns neighbours, has {aligned:.3g} x",
            true=moved <= 1.0,
        ),
        unknown(
            "rate of exchanges lost with more than one chip, %",
            "26 to 33",
            "the paper does not say over which transfers it takes the mean",
            f"4 chips take {slower.mean():.3g} x the time of one in the mean",
        ),
    ]


def _half_against_whole(rows: Rows) -> pd.DataFrame:
    """Latency of the baseline on a chip over that of t10 on half of it, of small models."""
    latency = {
        (policy, cores): rows.of(policy=policy, cores=cores).set_index(["model", "batch"])[
            "latency_s"
        ]
        for policy, cores in ((OURS, _HALF), (BASELINE, _CORES[1]))
    }
    ratios = latency[BASELINE, _CORES[1]] / latency[OURS, _HALF]
    found = ratios.dropna().rename("ratio").reset_index()
    is_small = found["model"].isin(_SMALL) & found["batch"].isin(_FEW)
    return found[is_small]


def _growth(rows: Rows, policy: str) -> float:
    """Time that is not compute on all chips over that on one, the median of models and batches."""
    own = rows.of(policy=policy)
    own = own.assign(moved_s=own["latency_s"] - own["compute_s"])
    moved = own.pivot_table(index=["model", "batch"], columns="cores", values="moved_s")
    return float((moved[_CORES[-1]] / moved[_CORES[1]]).median())


FIGURES: Final = (
    PaperFigure(
        name="t10-20",
        title="T10's Figure 20: numbers of cores",
        shows="Latency over the number of cores, up to four chips that are seen as one.",
        make=scaling,
        page="t10",
    ),
)
