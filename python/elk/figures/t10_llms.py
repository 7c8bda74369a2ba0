"""Figures 22 and 23 of T10: layers of language models beside a GPU's roofline, and with HBM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from elk.figures.drawing import lines, panels, policy_bars
from elk.figures.figure import Claim, Made, PaperFigure, Rows, Study, compared, holds
from elk.figures.t10_models import AXES, CHIP, OURS, T10_POLICIES

if TYPE_CHECKING:
    import onnx
    from matplotlib.figure import Figure

# Layers of each model that a chip without HBM holds, and twice as many with HBM.
_LAYERS: Final = {"opt-1.3b": 4, "opt-13b": 1, "llama2-7b": 1, "llama2-13b": 1, "retnet-1.3b": 4}
_BATCHES: Final = (1, 4, 16, 64)
_PAST: Final = 128  # tokens
_GPU: Final = "A100"
_FLOPS_PER_S: Final = 312e12  # T10's Table 3: products of f16
_BYTES_PER_S: Final = 2000e9
_CACHE_BYTES: Final = 40e6
_HBM_CHIP: Final = "ipu-pod4-hbm"
_RATES: Final = (64e9, 128e9, 256e9, 512e9, 1e12)
_HBM_BATCH: Final = 64
SINGLE: Final = "basic"
INTER: Final = "static-paper"
_WITH_HBM: Final = (SINGLE, INTER, "elk-full")
_BUSY: Final = 90.0  # percent of the HBM's rate
_FASTER: Final = 1.05  # of a latency: what is faster by a twentieth


def _sizes(model: onnx.ModelProto) -> dict[str, int]:
    """Sizes of the model beside its batch; a state of fixed size has no past."""
    from elk import models  # noqa: PLC0415 - `elk paper list` needs no models

    return {"past": _PAST} if "past" in models.symbols(model) else {}


def roofline_s(graph: Any) -> float:
    """Seconds of an A100 at best, every operator at its peak of compute or of memory.

        t = sum over operators of max(flops / 312e12, bytes / 2000e9)

    `bytes` are the operator's weights and states, and those other tensors that exceed its cache of
    40 MB; what is smaller stays there.
    """
    from elk import _core  # noqa: PLC0415 - `elk paper list` needs no core

    kept = (_core.Home.Weight, _core.Home.State)
    total = 0.0
    for op in graph.ops:
        tensors = [graph.tensors[i] for i in {operand.tensor for operand in op.operands}]
        moved = sum(x.bytes for x in tensors if x.home in kept or x.bytes > _CACHE_BYTES)
        total += max(op.flops / _FLOPS_PER_S, moved / _BYTES_PER_S)
    return total


def beside_gpu(study: Study) -> Made:
    """Figure 22."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    parts, gpu = [], []
    for name in study.few(_LAYERS):
        model = study.model(name, layers=_LAYERS[name], body=True)
        space = {"batch": study.few(_BATCHES), "policy": list(T10_POLICIES)}
        given: dict[str, Any] = {"bindings": _sizes(model)}
        found = study.sweep(f"t10-llms-{name}", space, model, CHIP, **given)
        parts.append(found.table.assign(model=name))
        gpu += [
            {"model": name, "batch": batch, "policy": _GPU, "status": "done", "latency_s": seconds}
            for batch, seconds in _rooflines(model, study.few(_BATCHES)).items()
        ]
    rows = Rows(pd.concat([*parts, pd.DataFrame(gpu)], ignore_index=True), AXES)

    def draw(figure: Figure) -> None:
        drawn = panels(figure, rows.table, "model")
        for ax, model, own in drawn:
            policy_bars(ax, own, "batch", "latency_s", (*T10_POLICIES, _GPU), 1e6)
            ax.set(xlabel="batch", title=model)
        first = drawn[0][0]
        first.set_ylabel("latency of the layers (µs)")
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=4)

    listed = ", ".join(f"{count} of {name}" for name, count in _LAYERS.items())
    return Made(
        table=rows.table,
        claims=lambda: _gpu_claims(rows),
        draw=draw,
        note=f"A token of each sequence after {_PAST} others (RetNet: after a state), on `{CHIP}`; "
        f"layers: {listed}. A100 is no chip here but a roofline: the sum over operators of "
        "max(FLOPs / 312 TFLOP/s, bytes / 2,000 GB/s), where bytes are weights, states, and other "
        "tensors above its cache of 40 MB. A cross marks what does not fit.",
        size=(14.0, 3.8),
    )


def _rooflines(model: onnx.ModelProto, batches: list[int]) -> dict[int, float]:
    from elk.model.model import load_model  # noqa: PLC0415 - `elk paper list` needs no models

    return {
        batch: roofline_s(load_model(model, bindings={"batch": batch, **_sizes(model)}).graph)
        for batch in batches
    }


def _gpu_claims(rows: Rows) -> list[Claim]:
    ratios = rows.ratios(_GPU, OURS)
    by_batch = ratios.groupby("batch").mean()
    because = (
        "ours is over a roofline that no GPU reaches, with no launches and every byte loaded once, "
        "while the paper measured TensorRT, which loads what exceeds its cache several times"
    )
    first, last = by_batch.iloc[0], by_batch.iloc[-1]
    return [
        compared(f"{OURS} over an A100, here its roofline, mean", 3.10, ratios.mean(), because),
        compared(f"{OURS} over an A100, here its roofline, most", 16.38, ratios.max(), because),
        holds(
            f"the lead shrinks with the batch: at {by_batch.index[0]} and {by_batch.index[-1]}",
            "shrinks",
            f"{first:.3g} x, {last:.3g} x",
            "both are bound by memory at these batches",
            true=bool(last < first),
        ),
    ]


def with_hbm(study: Study) -> Made:
    """Figure 23."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to import

    from elk.chip import presets  # noqa: PLC0415 - `elk paper list` needs no chips

    one = presets.get(_HBM_CHIP).replace(chips=1, inter_chip=None)
    parts = []
    for name in study.few(_LAYERS):
        model = study.model(name, layers=2 * _LAYERS[name], body=True)
        space = {"hbm_bandwidth": study.few(_RATES), "policy": list(_WITH_HBM)}
        given: dict[str, Any] = {"bindings": {"batch": _HBM_BATCH, **_sizes(model)}}
        found = study.sweep(f"t10-hbm-{name}", space, model, one, **given)
        parts.append(found.table.assign(model=name))
    rows = Rows(pd.concat(parts, ignore_index=True), ("model", "hbm_bandwidth", "policy"))

    def draw(figure: Figure) -> None:
        drawn = panels(figure, rows.done, "model")
        for ax, model, own in drawn:
            lines(ax, own, "hbm_bandwidth", "latency_s", scale=(1e9, 1e-3))
            ax.set(xlabel="HBM (GB/s)", title=model, xscale="log")
        first = drawn[0][0]
        first.set_ylabel("latency of the layers (ms)")
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=4)

    return Made(
        table=rows.table,
        claims=lambda: _hbm_claims(rows),
        draw=draw,
        note=f"Twice the layers of Figure 22 at batch {_HBM_BATCH}, on one chip of `{_HBM_CHIP}`. "
        f"The paper's Single Op is `{SINGLE}`, its Inter Op `{INTER}`. No policy takes a split of "
        f"SRAM from outside, so the paper's 596 MB to execute and 298 MB to preload stand for what "
        f"`{INTER}` chooses of 63 splits of the same 896 MB; `{SINGLE}` holds the data of one "
        f"operator ahead, whatever they are. {rows.lost}",
        size=(14.0, 3.6),
    )


def _hbm_claims(rows: Rows) -> list[Claim]:
    ratios = rows.ratios(SINGLE, INTER).groupby("hbm_bandwidth").mean()
    low, high = ratios.iloc[0], ratios.iloc[-1]
    use = 100 * rows.of(policy=SINGLE).groupby("hbm_bandwidth")["hbm_use"].mean()
    return [
        holds(
            f"HBM used by Single Op at {_gb(use.index[0])} and at {_gb(use.index[-1])}, %",
            "first bound by HBM, then by executes",
            f"{use.iloc[0]:.3g}, {use.iloc[-1]:.3g}",
            "a layer of one token reads so much for each FLOP that HBM binds at all these rates",
            true=bool(use.iloc[0] > _BUSY > use.iloc[-1]),
        ),
        holds(
            f"Inter Op over Single Op at {_gb(ratios.index[0])}, mean of models",
            "faster",
            f"{low:.4g} x",
            f"at this rate HBM is busy {use.iloc[0]:.3g} % of the time under Single Op, so that "
            "groups of operators have nothing to balance",
            true=bool(low > _FASTER),
        ),
        holds(
            f"Inter Op over Single Op at {_gb(ratios.index[-1])}, mean of models",
            "slightly slower",
            f"{high:.4g} x",
            f"HBM is busy {use.iloc[-1]:.3g} % of the time under Single Op, and preloads further "
            "ahead fill the rest, which gains more than the room that they take costs",
            true=bool(high < 1),
        ),
    ]


def _gb(rate: Any) -> str:
    return f"{rate / 1e9:,.0f} GB/s"


FIGURES: Final = (
    PaperFigure(
        name="t10-22",
        title="T10's Figure 22: layers of language models beside an A100",
        shows="Latency of layers of LLMs over batch sizes, on the chip and on an A100 GPU.",
        make=beside_gpu,
        page="t10",
    ),
    PaperFigure(
        name="t10-23",
        title="T10's Figure 23: rates of HBM",
        shows="Latency of layers of LLMs over the rate of HBM, one operator or several preloaded.",
        make=with_hbm,
        page="t10",
    ),
)
