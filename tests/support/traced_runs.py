"""Runs that tests trace: small models of every kind on small chips, each planned once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
from elk import models
from elk.analyze.columns import Columns
from elk.analyze.program_trace import ProgramTrace
from onnx_graphs import model_of, node
from small_chips import tiny_pod
from small_models import BLOCKS, CONFIGS, RETENTION

Build = Callable[[], onnx.ModelProto]
NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
BOTH = ("core", "symmetric")
ALL = (*BOTH, "flows")


def refreshing() -> elk.Chip:
    """The tiny chip with slow memory, which stands still for a tenth of the time."""
    document = elk.chips.get("tiny").to_dict()
    hbm = {"bytes_per_s": 4e9, "refresh_interval_s": 2e-6, "refresh_stall_s": 2e-7}
    return elk.Chip.from_dict({**document, "hbm": {**document["hbm"], **hbm}})


def ends_with_a_store() -> onnx.ModelProto:
    """A product that is added to a state, with which the program ends."""
    nodes = [node("MatMul", "x w", "y"), node("Add", "past y", "present")]
    weight = {"w": np.ones((64, 64), np.float32)}
    return model_of(nodes, {"x": [64, 64], "past": [64, 64]}, ["present"], weight)


CHIPS: dict[str, Callable[[], elk.Chip]] = {
    "mesh": lambda: elk.chips.get("tiny").replace(topology="mesh2d"),
    "pod": tiny_pod,
    "refresh": refreshing,
}
MORE: dict[str, Callable[[], elk.Chip]] = {
    "pooled": tiny_pod,
    "hidden": lambda: elk.chips.get("tiny").replace(overlaps_compute=True),
}
RESNET = models.ResNetConfig(widths=(8, 16), depths=(1, 1), image=32, classes=10)
MODELS: dict[str, Build] = {
    "decoder": partial(models.transformer, CONFIGS["multi-head"], phase="decode"),
    "experts": partial(models.transformer, CONFIGS["mixtral"], phase="prefill"),
    "retention": partial(models.retention, RETENTION, phase="decode"),
    "resnet": partial(models.resnet, RESNET),
    "encoder": BLOCKS["encoder"],
    "state": ends_with_a_store,
}
CASES = [
    *((model, chip) for model in ("nerf", *MODELS) for chip in CHIPS),
    ("nerf", "pooled"),
    ("nerf", "hidden"),
]


@lru_cache(maxsize=len(CASES))
def planned(model: str, chip: str) -> elk.Plan:
    """A plan of one of `CASES`."""
    options: dict[str, Any] = {
        "policy": "basic" if chip in ("refresh", "hidden") else "elk-dyn",
        "effort": "fast",
        "threads": 1,
    }
    machine = (CHIPS | MORE)[chip]()
    if model == "nerf":
        options["bindings"] = {"rows": 512 if chip == "hidden" else 64}
        pod = "pooled" if chip == "pooled" else "sharded"
        return elk.compile(NERF, machine, pod=pod, **options)
    proto = MODELS[model]()
    options["bindings"] = dict.fromkeys(models.symbols(proto), 6)
    return elk.compile(proto, machine, **options)


@lru_cache(maxsize=len(CASES) * len(ALL))
def ran(model: str, chip: str, fidelity: str) -> elk.Run:
    """A run of one of `CASES`."""
    return planned(model, chip).simulate(fidelity=fidelity)


def runs(*fidelities: str) -> Iterator[tuple[str, elk.Run]]:
    """All runs of these fidelities, and what each is."""
    for model, chip in CASES:
        for fidelity in fidelities:
            yield f"{model} on {chip}, {fidelity}", ran(model, chip, fidelity)


def differing(one: Columns, other: Columns) -> list[str]:
    """The columns that are not alike."""
    return [
        name
        for name in {**one, **other}
        if name not in one or name not in other or one[name].tolist() != other[name].tolist()
    ]


def tables(trace: ProgramTrace) -> dict[str, Columns]:
    """All that a trace says of what was played."""
    end = max(trace.end_ps, trace.begin_ps + 1)  # Issues alone take no time.
    return {
        "transfers": trace.transfers(),
        "instructions": trace.instruction_times,
        "links": trace.links(),
        "units": trace.units(trace.total_ps // 7 + 1, end_ps=end),
    }


def unlike(one: ProgramTrace, other: ProgramTrace) -> list[str]:
    """What two traces do not say alike."""
    pairs = zip(tables(one).items(), tables(other).values(), strict=True)
    found = [f"{name}: {column}" for (name, a), b in pairs for column in differing(a, b)]
    return found + ["total"] * (one.total_ps != other.total_ps)
