"""Figure 23: numbers of cores, with 2.7 GB/s of HBM for each; DiT-XL on one chip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.figures.decoding import CHIP, LLMS, PAST, speed_ups
from elk.figures.drawing import lines
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, holds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POLICIES: Final = ("basic", "static-paper", "static", "elk-full")
_OF_FOUR: Final = (736, 1104, 1472)  # cores of each of four chips
_OF_ONE: Final = (368, 736, 1104, 1472)
_RATE: Final = 2.7e9  # bytes a second of HBM for each core
_NEAR: Final = 90.0  # percent of the ideal
_BOUND: Final = "exchanges, which elk-full arranges better, take much of DiT-XL's time"
_DIFFUSION: Final = "dit-xl-2"


def _decoders(study: Study) -> Rows:
    models = [study.model(name) for name in study.few(LLMS)]
    space = {
        "model": models,
        "cores": study.few(_OF_FOUR),
        "hbm_bandwidth_per_core": [_RATE],
        "policy": study.few(_POLICIES),
    }
    return study.sweep("cores", space, None, CHIP, bindings={"batch": 32, **PAST})


def _diffusion(study: Study) -> Rows:
    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips

    space = {
        "cores": study.few(_OF_ONE),
        "hbm_bandwidth_per_core": [_RATE],
        "policy": study.few(_POLICIES),
    }
    one = presets.get(CHIP).replace(chips=1, inter_chip=None)
    return study.sweep("cores-dit", space, study.model(_DIFFUSION), one, bindings={"batch": 32})


def latencies(study: Study) -> Made:
    """Figure 23."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    decoders, diffusion = _decoders(study), _diffusion(study)

    def draw(figure: Figure) -> None:
        models = list(dict.fromkeys(decoders.done["model"]))
        axes = figure.subplots(1, len(models) + 1, squeeze=False)[0]
        for ax, model in zip(axes, models, strict=False):
            lines(ax, decoders.of(model=model), "cores", "latency_s", scale=(1.0, 1e-3))
            ax.set(title=model, xlabel="cores of each of 4 chips")
        lines(axes[-1], diffusion.done, "cores", "latency_s", scale=(1.0, 1e-3))
        axes[-1].set(title=_DIFFUSION, xlabel="cores of one chip")
        axes[0].set_ylabel("latency (ms)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)

    one = diffusion.done.assign(model=_DIFFUSION)
    return Made(
        table=pd.concat([decoders.done, one], ignore_index=True),
        claims=lambda: _claims(decoders, diffusion),
        draw=draw,
        note="2.7 GB/s of HBM for each core; batch 32, 2,048 past tokens; of DiT-XL a step of 32 "
        f"images of 256 x 256. {decoders.lost}{diffusion.lost}",
        size=(12.0, 3.4),
    )


def _claims(decoders: Rows, diffusion: Rows) -> list[Claim]:
    basic = decoders.ratios("basic", "elk-full")
    drawn = diffusion.ratios("basic", "elk-full")
    full = diffusion.of(policy="elk-full")
    of_ideal = 100 * (full["ideal_s"] / full["latency_s"]).mean()
    return [
        *speed_ups(decoders, "basic", {"mean": 1.71}),
        *speed_ups(decoders, "static-paper", {"mean": 1.36}),
        *speed_ups(decoders, "static", {"mean": 1.36}),
        holds(
            "elk-full over basic: DiT-XL, the LLMs",
            "less on DiT-XL",
            f"{drawn.mean():.3g} x, {basic.mean():.3g} x",
            _BOUND,
            true=drawn.mean() < basic.mean(),
        ),
        holds(
            "elk-full of ideal on DiT-XL, %",
            "near-ideal",
            f"{of_ideal:.3g}",
            _BOUND,
            true=of_ideal > _NEAR,
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-23",
        title="Figure 23: latency over cores",
        shows="Latency over the number of cores, each with 2.7 GB/s of HBM; DiT-XL on one chip.",
        make=latencies,
    ),
)
