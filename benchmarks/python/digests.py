"""Hashes of plans, bounds, simulations and listings, to hold two versions of ELK against another.

Prints a line a case: what ELK answers for a model on a chip under a policy, by parts. Two versions
that print the same lines give the same answers; the plan's `chip` is left out.

python benchmarks/python/digests.py [--part NAME] [--threads N] > digests.txt
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import elk

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import MODELS

SMALL = {
    "nerf": {"rows": 1000},
    "resnet18": {"batch": 1},
    "gpt2": {"batch": 1, "seq": 32},
}
LARGE = {
    "llama2-13b-decode": {"batch": 32, "past": 2048},
    "gemma2-27b-decode": {"batch": 16, "past": 2048},
    "mixtral-8x7b-2layers-decode": {"batch": 32, "past": 512},
    "bert-large": {"batch": 8, "seq": 128},
    "dit-xl-2": {"batch": 8},
}
PODS = ("ipu-pod4-hbm", "ipu-pod4-hbm-mesh", "ipu-pod4-hbm-mesh-wide")
OTHERS = (
    "tiny", "ipu-pod4", "ipu-mk2", "blackhole-p150", "wormhole-n300", "palm-wafer", "groq-lpu1",
    "trainium2", "mtia-v2", "sn40l", "maia100", "h100",
)  # fmt: skip
LEFT_OUT = ("chip", "search", "bounds", "simulated", "digest", "elk_version")
FEW_OPS = 400  # of a plan whose lists of instructions are hashed


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model at its sizes on a chip under a policy."""

    model: str
    bindings: dict[str, int]
    chip: str
    policy: str
    pod: str = "sharded"

    def __str__(self) -> str:
        return f"{self.model} {self.chip} {self.policy} {self.pod}"


def cases() -> Iterator[Asked]:
    """All cases, those of one model and chip together."""
    for chip in (*OTHERS, *PODS):
        for model, bindings in SMALL.items():
            for policy in ("static", "elk-dyn", "elk-full"):
                yield Asked(model=model, bindings=bindings, chip=chip, policy=policy)
    for chip in PODS:
        for model, bindings in LARGE.items():
            for policy in ("basic", "elk-full", "ideal"):
                yield Asked(model=model, bindings=bindings, chip=chip, policy=policy)
    for chip in ("ipu-pod4-hbm", "ipu-pod4-hbm-mesh-wide", "palm-wafer", "wormhole-n300"):
        for model, bindings in {**SMALL, "bert-large": LARGE["bert-large"]}.items():
            yield Asked(model=model, bindings=bindings, chip=chip, policy="elk-full", pod="pooled")


def answered(asked: Asked, model: elk.Model, threads: int | None) -> str:
    """The line of a case."""
    try:
        plan = elk.compile(
            model, asked.chip, policy=asked.policy, pod=asked.pod, threads=threads, progress=False
        )
    except elk.InfeasibleError as error:
        return f"{asked}: {error.code}"
    document = plan.to_json()
    parts: dict[str, Any] = {
        "plan": {key: value for key, value in document.items() if key not in LEFT_OUT},
        "bounds": document["bounds"],
        "search": {k: v for k, v in document["search"].items() if k != "seconds"},
    }
    if asked.policy != "ideal":
        run = plan.simulate()
        parts["run"] = [run.total_ps, run.split_ps, run.rows()]
        if len(document["ops"]) <= FEW_OPS:
            last = plan.chip.total_cores // plan.chip.chips - 1
            parts["listing"] = [str(plan.listing(core=core)) for core in (0, last)]
    return f"{asked}: " + " ".join(f"{name}={hashed(part)}" for name, part in parts.items())


def hashed(part: Any) -> str:
    text = json.dumps(part, sort_keys=True, default=int)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", default="", help="only cases that have this in their name")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    models: dict[str, elk.Model] = {}
    for asked in cases():
        if arguments.part in str(asked):
            if asked.model not in models:
                path = MODELS / f"{asked.model}.onnx"
                models[asked.model] = elk.load_model(path, bindings=asked.bindings)
            print(answered(asked, models[asked.model], arguments.threads), flush=True)


if __name__ == "__main__":
    main()
