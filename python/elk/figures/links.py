"""Figure 22: rates of the interconnect under several rates of HBM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.figures.decoding import CHIP, LLMS, PAST
from elk.figures.drawing import lines
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, holds
from elk.figures.hbm import MESH, NAMES, SHOWN, WIDE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MODEL: Final = LLMS[-1]
_HBM: Final = (8e12, 16e12)
_ALL_TO_ALL: Final = (16e12, 24e12, 32e12, 40e12, 64e12)
_MESH: Final = tuple(rate * 52.631578947368421 / 5.5 for rate in _ALL_TO_ALL)
_NOTHING: Final = 2.0  # percent of a latency
_STILL: Final = "exchanges between executes still get shorter with faster links"
_WIDE_MESH: Final = (
    "the links of our mesh are ten times as fast at every factor, so that they bind less"
)
_ENOUGH: Final = 40e12  # from here on faster links are of no use at 8 TB/s of HBM


def rates(study: Study) -> Rows:
    """Llama2-70B at several rates of all links together, on both interconnects."""
    from elk.points.space import union  # noqa: PLC0415 - `elk paper list` needs no sweeps

    rest = {"hbm_bandwidth": list(_HBM), "policy": study.few(SHOWN)}
    space = union(
        {"chip": [CHIP], "total_link_bandwidth": study.few(_ALL_TO_ALL), **rest},
        {"chip": [MESH], "total_link_bandwidth": study.few(_MESH), **rest},
    )
    return study.sweep("links", space, study.model(_MODEL), None, bindings={"batch": 32, **PAST})


def latencies(study: Study) -> Made:
    """Figure 22."""
    found = rates(study)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2, len(_HBM), sharey=True)
        for row, chip in zip(grid, (CHIP, MESH), strict=True):
            for ax, hbm in zip(row, _HBM, strict=True):
                rows = found.of(chip=chip, hbm_bandwidth=hbm)
                lines(ax, rows, "total_link_bandwidth", "latency_s", scale=(1e12, 1e-3))
                ax.set_title(f"{NAMES[chip]}, HBM {hbm / 1e12:g} TB/s", fontsize="medium")
                ax.set_xlabel("all links (TB/s)")
            row[0].set_ylabel("latency of a token (ms)")
            row[0].set_ylim(0, 1.05e3 * found.done["latency_s"].max())
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4)

    return Made(
        table=found.done,
        claims=lambda: _claims(found),
        draw=draw,
        note=f"{_MODEL}, batch 32, 2,048 past tokens. {WIDE} Its links are scaled by the same "
        f"factors as those of all-to-all. {found.lost}",
        size=(9.0, 5.6),
    )


def _claims(found: Rows) -> list[Claim]:
    full = found.of(chip=CHIP, policy="elk-full")

    def latency(hbm: float, links: float) -> float:
        chosen = full[(full["hbm_bandwidth"] == hbm) & (full["total_link_bandwidth"] == links)]
        return float(chosen["latency_s"].iloc[0])

    def gain(policy: str, chip: str) -> float:
        rows = found.of(chip=chip, policy=policy, hbm_bandwidth=_HBM[-1])
        return float(rows["latency_s"].max() / rows["latency_s"].min())

    beyond = 100 * (latency(_HBM[0], _ENOUGH) / latency(_HBM[0], _ALL_TO_ALL[-1]) - 1)
    grids = gain("elk-full", MESH), gain("elk-full", CHIP)
    return [
        holds(
            "elk-full at 8 TB/s of HBM gains from links beyond 40 TB/s, %",
            "0",
            f"{beyond:.2g}",
            _STILL,
            true=beyond < _NOTHING,
        ),
        holds(
            "elk-full at 16 TB/s of HBM gains from links four times as fast: mesh, all-to-all",
            "mesh more",
            f"{grids[0]:.3g} x, {grids[1]:.3g} x",
            _WIDE_MESH,
            true=grids[0] > grids[1],
        ),
    ]


FIGURES: Final = (
    PaperFigure(
        name="elk-22",
        title="Figure 22: latency over the rate of the interconnect",
        shows="Latency of Llama2-70B over the rate of all links, by rate of HBM: at 8 TB/s of HBM "
        "links beyond 40 TB/s are of no use, and a mesh is more sensitive.",
        make=latencies,
    ),
)
