"""Figure 16 and Table 2: how long plans take to find, and how large the search is."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from elk.figures.decoding import CHIP, LLMS, PAST
from elk.figures.drawing import bars
from elk.figures.figure import Made, PaperFigure, Study, Timed, compared, holds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_BATCHES: Final = (16, 32, 64)
_DIFFUSION: Final = "dit-xl-2"
_FEWER: Final = (
    "views cost no operator, and a softmax or a norm is one, so there are fewer operators and each "
    "brings more"
)
_HEAVIER: Final = (
    "what is many bytes is what exceeds the mean of all operators, of which there are fewer; two "
    "layers of Gemma-2 are one repeat"
)
_BECAUSE: Final = {
    "C": _HEAVIER,
    "H": _HEAVIER,
    "P": "our fronts keep bytes exchanged and read, too, and plans that suit neighbours",
    "K": "operators are fewer and larger (N), and few of DiT-XL's bring data from HBM",
    "N": _FEWER,
}
_MOST_S: Final = 300.0  # on 32 cores
# Of Table 2: C, H, P, K, N.
_LETTERS: Final = {
    "C": ("heavy_fit", "operators of many bytes a layer that fit on chip"),
    "H": ("heavy", "operators of many bytes a layer"),
    "P": ("plans", "plans of an operator, most"),
    "K": ("fit", "operators that fit on chip, most"),
    "N": ("ops", "operators"),
}
_TABLE: Final = {
    "llama2-13b": (6, 6, 66, 88, 1928),
    "gemma2-27b": (6, 6, 206, 128, 2216),
    "opt-30b": (5, 6, 58, 46, 2269),
    "llama2-70b": (6, 6, 168, 86, 3808),
    _DIFFUSION: (4, 4, 123, 136, 1521),
}


def _timed(study: Study, name: str, batch: int) -> Timed:
    sizes = {"batch": batch, **({} if name == _DIFFUSION else PAST)}
    return study.plan(study.model(name), CHIP, sizes, "elk-full")


def seconds(study: Study) -> Made:
    """Figure 16."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    rows: list[dict[str, Any]] = []
    for name in study.few(LLMS):
        for batch in study.few(_BATCHES):
            found = _timed(study, name, batch)
            spent = {"wall_s": found.wall_s, "cpu_s": found.cpu_s}
            rows.append({"model": name, "batch": batch, **spent})
    table = pd.DataFrame(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        by_batch = {f"batch {b}": rows["cpu_s"].tolist() for b, rows in table.groupby("batch")}
        bars(ax, list(dict.fromkeys(table["model"])), by_batch)
        ax.set_ylabel("CPU time of elk-full (s)")
        ax.legend()

    most = table["cpu_s"].max()
    return Made(
        table=table,
        claims=lambda: [
            holds(
                "a plan takes at most, s",
                "300 on 32 cores",
                f"{most:.2g} of CPU time",
                "the search takes longer",
                true=bool(most <= _MOST_S),
            )
        ],
        draw=draw,
        note=f"elk-full at its default effort on `{CHIP}`, 2,048 past tokens, nothing kept of "
        "earlier compiles. CPU time of all threads, which another load on the machine moves less "
        "than what a clock on the wall says.",
        size=(7.5, 3.8),
    )


def sizes(study: Study) -> Made:
    """Table 2."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    rows: list[dict[str, Any]] = []
    for name in study.few(_TABLE):
        orders = _timed(study, name, 32).plan._document["search"]["orders"]
        for at, (letter, (key, what)) in enumerate(_LETTERS.items()):
            paper, ours = _TABLE[name][at], int(orders[key])  # type: ignore[literal-required]
            rows.append(
                {"model": name, "letter": letter, "what": what, "paper": paper, "ours": ours}
            )
    table = pd.DataFrame(rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(_LETTERS))
        models = list(dict.fromkeys(table["model"]))
        for ax, (letter, (_, what)) in zip(axes, _LETTERS.items(), strict=True):
            chosen = table[table["letter"] == letter]
            both = {name: chosen[name].tolist() for name in ("paper", "ours")}
            bars(ax, models, both)
            ax.tick_params("x", rotation=90)
            ax.set_title(textwrap.fill(f"{letter}: {what}", 26), fontsize="small")
        axes[0].set_ylabel("count")
        axes[0].legend(fontsize="small")

    return Made(
        table=table,
        claims=lambda: [
            compared(
                f"{row['letter']} of {row['model']}: {row['what']}",
                row["paper"],
                row["ours"],
                _BECAUSE[row["letter"]],
            )
            for row in rows
        ],
        draw=draw,
        note=f"elk-full on `{CHIP}`, batch 32; 2,048 past tokens, of DiT-XL a step of 32 images. "
        "The graph that the authors' artifact calls DiT-XL has the sizes of ViT-H/14.",
        size=(12.0, 4.4),
    )


FIGURES: Final = (
    PaperFigure(
        name="elk-16",
        title="Figure 16: time to find a plan",
        shows="Compile time by model and batch: at most five minutes on 32 cores.",
        make=seconds,
    ),
    PaperFigure(
        name="elk-table-2",
        title="Table 2: size of the search",
        shows="By model: operators of many bytes a layer and those of them that fit on chip (H, "
        "C), plans of an operator (P), operators that fit on chip (K), operators (N).",
        make=sizes,
    ),
)
