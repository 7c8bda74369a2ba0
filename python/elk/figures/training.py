"""Figure 24: the forward pass of training under rates of compute, links and HBM."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from elk.figures.decoding import CHIP, LLMS
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, holds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MODEL: Final = LLMS[0]
_TOKENS: Final = {"batch": 2, "seq": 2048}
_PEAKS: Final = (0.5e15, 1e15, 2e15)
# Rates of HBM and of a core's link, with how they are drawn.
_RATES: Final = {(0.4e12, 5.5e9): "#d95f02", (16e12, 5.5e9): "#7570b3", (16e12, 11e9): "#1b9e77"}
_LITTLE: Final = 10.0  # percent of a rate
_ALL: Final = 100.0
_TURNS: Final = (
    "cores compute and exchange in turns, so faster exchanges leave more time to compute"
)
_FEW_TOKENS: Final = (
    "so few tokens at once reuse a weight too seldom to hide its load; more do not fit on the chips"
)
_SUFFICIENT: Final = 650.0  # TFLOP/s at 400 GB/s


def rates(study: Study) -> Rows:
    """Llama2-13B, all tokens of all sequences at once."""
    from elk.points.space import zip_axes  # noqa: PLC0415 - `elk paper list` needs no sweeps

    hbm, link = zip(*_RATES, strict=True)
    space = zip_axes(hbm_bandwidth=hbm, link_bandwidth=link) * {
        "matrix_flops_per_s": study.few(_PEAKS)
    }
    given = {"bindings": _TOKENS, "policy": "elk-full", "effort": "fast"}
    return study.sweep("training", space, study.model(_MODEL, "prefill"), CHIP, **given)


def throughput(study: Study) -> Made:
    """Figure 24."""
    found = rates(study)
    rows = found.done.assign(teraflops=found.done["achieved_flops_per_s"] / 1e12)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for (hbm, link), colour in _RATES.items():
            line = rows[(rows["hbm_bandwidth"] == hbm) & (rows["link_bandwidth"] == link)]
            label = f"HBM {hbm / 1e12:g} TB/s, links {link / 1e9:g} GB/s a core"
            peaks = line["matrix_flops_per_s"] / 1e12
            ax.plot(peaks, line["teraflops"], marker="o", color=colour, label=label)
        ax.set(xlabel="peak of products (TFLOP/s)", ylabel="achieved (TFLOP/s)")
        ax.set_ylim(bottom=0)
        ax.legend(fontsize="small")

    return Made(
        table=rows,
        claims=lambda: _claims(rows),
        draw=draw,
        note=f"{_MODEL} under elk-full at effort fast, {_TOKENS['batch']} sequences of "
        f"{_TOKENS['seq']:,} tokens at once, as in prefill: a forward pass of training keeps more "
        f"activations and writes no caches. The peak scales the clock. {found.lost}",
        size=(7.5, 4.4),
    )


def _claims(rows: pd.DataFrame) -> list[Claim]:
    by_rate = rows.set_index(["hbm_bandwidth", "link_bandwidth", "matrix_flops_per_s"])["teraflops"]
    slowest = rows[rows["hbm_bandwidth"] == min(hbm for hbm, _ in _RATES)]
    best = slowest["teraflops"].max()
    at_peak = [by_rate[(*rate, _PEAKS[1])] for rate in _RATES]
    hbm, links = (100 * (after / before - 1) for before, after in itertools.pairwise(at_peak))
    share = 100 * (slowest["teraflops"] / slowest["matrix_flops_per_s"] * 1e12).max()
    return [
        holds(
            "achieved at 400 GB/s of HBM, TFLOP/s at most",
            "over 650",
            f"{best:.3g}",
            _TURNS,
            true=best > _SUFFICIENT,
        ),
        holds(
            "gain of 40 times the HBM at 1,000 TFLOP/s, %",
            "little",
            f"{hbm:.3g}",
            _FEW_TOKENS,
            true=hbm < _LITTLE,
        ),
        holds(
            "gain of twice the links at 1,000 TFLOP/s and 16 TB/s, %",
            "little",
            f"{links:.3g}",
            _TURNS,
            true=links < _LITTLE,
        ),
        holds(
            "achieved of the peak, % at most",
            "often lower",
            f"{share:.3g}",
            "",
            true=share < _ALL,
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-24",
        title="Figure 24: forward pass of training",
        shows="TFLOP/s of the forward pass of training Llama2-13B over the peak, by rates of HBM "
        "and links: compute binds, and 400 GB/s of HBM suffice for 650 TFLOP/s.",
        make=throughput,
    ),
)
