"""PALM's tables and figures: training on GPU clusters, on a wafer, and on Grayskull."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from elk.figures.figure import Claim, Made, PaperFigure, Study, compared, holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from elk.training.job import Training


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A training step that was measured: Narayanan et al. 2021, Table 1 and Section 5.1.

    Attributes:
        name: Parameters, as in megatron-T-1.7B.
        tp: Devices that share every operator.
        pp: Stages.
        dp: Replicas.
        batch: Samples of a step.
        micro: Samples of a micro-batch.
        chunks: Parts of the model a stage.
        step_s: Seconds of a step, of the FLOPs that the source counts and the rate that it reached.
        palm: Samples a second that PALM prints; None where it has no row.
    """

    name: str
    tp: int
    pp: int
    dp: int
    batch: int
    micro: int
    chunks: int
    step_s: float
    palm: float | None

    def training(self) -> Training:
        """ELK's plan of the same step."""
        from elk import models  # noqa: PLC0415 - `elk paper list` needs no models
        from elk.training.job import train  # noqa: PLC0415 as above
        from elk.training.strategy import Strategy  # noqa: PLC0415 as above

        strategy = Strategy(
            pp=self.pp,
            tp=self.tp,
            dp=self.dp,
            micro_batch=self.micro,
            chunks=self.chunks,
            schedule="interleaved" if self.chunks > 1 else "1f1b",
            recompute="full",
        )
        model = models.get(f"megatron-T-{self.name}", "train")
        return train(model, "dgx-a100", strategy, batch=self.batch, bindings={"seq": _SEQ})


_SEQ: Final = 2048
MEASURED: Final = (
    MeasuredStep("1.7B", 1, 1, 32, 512, 16, 1, 3.53, None),
    MeasuredStep("3.6B", 2, 1, 32, 512, 16, 1, 3.70, None),
    MeasuredStep("7.5B", 4, 1, 32, 512, 16, 1, 3.70, None),
    MeasuredStep("18B", 8, 1, 32, 1024, 8, 1, 9.40, 114.3),
    MeasuredStep("39B", 8, 2, 32, 1536, 4, 1, 14.45, 100.2),
    MeasuredStep("76B", 8, 4, 32, 1792, 2, 3, 16.06, 96.6),
    MeasuredStep("145B", 8, 8, 24, 2304, 2, 2, 24.82, 83.9),
    MeasuredStep("310B", 8, 16, 15, 2160, 1, 2, 37.61, 51.1),
    MeasuredStep("530B", 8, 35, 9, 2520, 1, 3, 54.08, 40.0),
    MeasuredStep("1T", 8, 64, 6, 3072, 1, 1, 102.63, None),
)
# Samples a second, in PALM's Table VII.
WAFER: Final = {"18B": 7.3457, "76B": 2.0652, "145B": 1.1238}
PRESET: Final = "palm-wafer"
_ENDLESS: Final = "4 TiB"  # SRAM of a core: more than any stage needs
_CORES: Final = 16  # of a die
_MICROS: Final = 21
# Samples a second, tokens, and stages of ELK's pipeline.
_GRAYSKULL: Final = {"resnet-50": (22_431.0, None, 60), "bert-base": (2_830.0, 128, 30)}
MEMORY_BINDS: Final = "where SRAM does not hold a stage, its memory of 16 GB/s a core binds"
_PERCENT: Final = 100
_PALM_MEAN: Final = 15.0  # percent, of PALM's rows
_PALM_LARGEST: Final = 15.65


def table_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """`rows` as a table."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    return pd.DataFrame(rows)


def megatron(study: Study) -> Made:
    """Table IV."""
    rows = []
    for row in MEASURED[:1] if study.quick else MEASURED:
        run = row.training().simulate()
        rows.append(
            {
                "model": f"T-{row.name}",
                "measured_s": row.step_s,
                "latency_s": run.latency_s,
                "error": run.latency_s / row.step_s - 1,
                "samples_per_s": run.samples_per_s,
                "palm_samples_per_s": row.palm,
                "mfu": run.mfu,
            }
        )
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        ax.bar(table["model"], _PERCENT * table["error"])
        ax.axhline(0, color="black", lw=0.8)
        ax.set_ylabel("simulated over measured step (%)")

    def claims() -> list[Claim]:
        errors = _PERCENT * table["error"].abs()
        found = [
            holds(
                "mean error, %",
                "less than 15",
                f"{errors.mean():.2g}",
                "",
                true=errors.mean() < _PALM_MEAN,
            ),
            holds(
                "largest error, %",
                "15.65",
                f"{errors.max():.2g}",
                "",
                true=errors.max() < _PALM_LARGEST,
            ),
        ]
        for _, row in table[table["palm_samples_per_s"].notna()].iterrows():
            found.append(
                compared(
                    f"{row['model']}, samples/s",
                    row["palm_samples_per_s"],
                    row["samples_per_s"],
                    "PALM holds its rows against a rate that leaves out attention and the head",
                )
            )
        return found

    return Made(
        table=table,
        claims=claims,
        draw=draw,
        note="Cluster dgx-a100, sequences of 2,048 tokens, full recomputation. The measured step "
        "is that of Narayanan et al. 2021, of all its FLOPs over its rate.",
        size=(7.5, 3.6),
    )


def grayskull(study: Study) -> Made:
    """Table V."""
    from elk import models  # noqa: PLC0415 - `elk paper list` needs no models
    from elk.chip import presets  # noqa: PLC0415 as above
    from elk.training.job import train  # noqa: PLC0415 as above
    from elk.training.strategy import Strategy  # noqa: PLC0415 as above

    chip = presets.get("grayskull-e150")
    memory = chip.hbm
    int8 = chip.replace(
        clock_hz=4 * chip.core.clock_hz,
        sram_bytes=2 * chip.core.sram_bytes,
        link_bytes_per_s=2 * chip.interconnect.link_bytes_per_s,
        hbm_bytes_per_s=2 * memory.bytes_per_s if memory else 0.0,
        outstanding_bytes=2 * memory.outstanding_bytes if memory else 0,
    )
    rows = []
    for name, (published, seq, pp) in study.few(_GRAYSKULL.items()):
        runs = []
        for batch in (pp, 2 * pp):
            strategy = Strategy(pp=pp, tp=chip.core.cores // pp, optimizer="none")
            sizes = {} if seq is None else {"seq": seq}
            training = train(models.get(name), int8, strategy, batch=batch, bindings=sizes)
            runs.append(training.simulate(fidelity="flows"))
        last = runs[-1]
        rate = pp / (last.latency_s - runs[0].latency_s)
        waits = max(parts["memory"] for parts in last.split_ps) / last.total_ps
        rows.append(
            {
                "model": name,
                "stages": pp,
                "published_per_s": published,
                "samples_per_s": rate,
                "memory_share": waits,
            }
        )
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        table.plot.bar(x="model", ax=ax, rot=0)
        ax.set(ylabel="samples/s", yscale="log")

    return Made(
        table=table,
        claims=lambda: [
            compared(
                f"{row['model']}, samples/s",
                row["published_per_s"],
                row["samples_per_s"],
                "a stage keeps all of its activations in SRAM or none (Algorithm 1), and what it "
                "does not keep shares 118 GB/s of memory",
            )
            for _, row in table.iterrows()
        ],
        draw=draw,
        note="A pipeline over all 120 cores, filling and draining left out. Four times the clock, "
        "and twice the SRAM and rates, stand for int8. BERT-base with 128 tokens: no length is "
        "stated.",
        size=(5, 3.4),
    )


def wafer(study: Study) -> Made:
    """Table VII."""
    rows = []
    for (name, palm), (memory, chip) in itertools.product(
        study.few(WAFER.items()), wafers().items()
    ):
        run = on_wafer(name, chip, tp=8, micro=1, zero=1).simulate()
        parts = run.split_ps[0]
        rows.append(
            {
                "model": f"T-{name}",
                "sram": memory,
                "palm_samples_per_s": palm,
                "samples_per_s": run.samples_per_s,
                "memory_share": parts["memory"] / run.total_ps,
            }
        )
    table = table_of(rows)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        wide = table.pivot_table(index="model", columns="sram", values="samples_per_s", sort=False)
        wide["PALM"] = [WAFER[str(name).removeprefix("T-")] for name in wide.index]
        wide.plot.bar(ax=ax, rot=0)
        ax.set_ylabel("samples/s")

    return Made(
        table=table,
        claims=lambda: [
            compared(
                f"{row['model']} with {row['sram']} SRAM, samples/s",
                row["palm_samples_per_s"],
                row["samples_per_s"],
                MEMORY_BINDS,
            )
            for _, row in table.iterrows()
        ],
        draw=draw,
        note="Preset palm-wafer, pp 20, tp 8, dp 2, 21 micro-batches of one sample, ZeRO 1, full "
        "recomputation. PALM's repository moves next to nothing from and to DRAM, which SRAM "
        "without a limit stands for.",
        size=(6, 3.6),
    )


def wafers() -> dict[str, Any]:
    """The wafer with SRAM that holds everything, and as its preset is."""
    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips

    chip = presets.get(PRESET)
    return {"endless": chip.replace(sram_bytes=_ENDLESS), "3 MB a core": chip}


def on_wafer(name: str, chip: Any, *, tp: int, micro: int, **fields: Any) -> Training:
    """A model on 20 dies, a stage each, with 21 micro-batches."""
    from elk import models  # noqa: PLC0415 - `elk paper list` needs no models
    from elk.training.job import train  # noqa: PLC0415 as above
    from elk.training.strategy import Strategy  # noqa: PLC0415 as above

    dp = _CORES // tp
    strategy = Strategy(pp=20, tp=tp, dp=dp, micro_batch=micro, recompute="full", **fields)
    model = models.get(f"megatron-T-{name}", "train")
    return train(model, chip, strategy, batch=_MICROS * micro * dp, bindings={"seq": _SEQ})


FIGURES: Final = (
    PaperFigure(
        name="palm-4",
        title="Table IV: training of GPT models on a GPU cluster",
        shows="Simulated against measured steps of Megatron on up to 3,072 A100 GPUs.",
        make=megatron,
        page="palm",
    ),
    PaperFigure(
        name="palm-table-5",
        title="Table V: pipelined inference on Grayskull",
        shows="Samples a second of ResNet-50 and BERT-base, against published ones.",
        make=grayskull,
        page="palm",
    ),
    PaperFigure(
        name="palm-table-7",
        title="Table VII: training on a wafer",
        shows="Samples a second of three GPT models on 20 dies of 16 cores.",
        make=wafer,
        page="palm",
    ),
)
