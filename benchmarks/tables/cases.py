"""The models that benchmarks plan, with the sizes at which they are planned."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

MODELS = Path(__file__).parents[2] / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model file and numbers for its symbolic dimensions."""

    title: str
    file: str
    bindings: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return MODELS / self.file


GRID = ("llama2-13b", "gemma2-27b", "opt-30b", "llama2-70b", "dit-xl-2")
"""Starts of the files that the grid of ELK's evaluation spans."""

_DECODE = {"batch": 32, "past": 2048}

CASES = (
    Case(
        title="Llama2-13B decode, batch 32, 2,048 past",
        file="llama2-13b-decode.onnx",
        bindings=_DECODE,
    ),
    Case(
        title="Gemma2-27B decode, batch 32, 2,048 past",
        file="gemma2-27b-decode.onnx",
        bindings=_DECODE,
    ),
    Case(
        title="OPT-30B decode, batch 32, 2,048 past", file="opt-30b-decode.onnx", bindings=_DECODE
    ),
    Case(
        title="Llama2-70B decode, batch 32, 2,048 past",
        file="llama2-70b-decode.onnx",
        bindings=_DECODE,
    ),
    Case(
        title="BERT-large, batch 8, 512 tokens",
        file="bert-large.onnx",
        bindings={"batch": 8, "seq": 512},
    ),
    Case(title="ResNet-50, batch 8", file="resnet50.onnx", bindings={"batch": 8}),
    Case(title="DiT-XL/2, batch 8", file="dit-xl-2.onnx", bindings={"batch": 8}),
)

OTHERS = (
    Case(
        title="GPT-2 prefill, batch 1, 128 tokens",
        file="gpt2.onnx",
        bindings={"batch": 1, "seq": 128},
    ),
    Case(
        title="Mixtral 8x7B decode, 2 layers, batch 32, 2,048 past",
        file="mixtral-8x7b-2layers-decode.onnx",
        bindings=_DECODE,
    ),
    Case(title="NeRF, 65,536 rows", file="nerf.onnx", bindings={"rows": 65_536}),
    Case(title="ResNet-18, batch 8", file="resnet18.onnx", bindings={"batch": 8}),
    Case(
        title="RetNet-1.3B layer, batch 32", file="retnet-1.3b-layer.onnx", bindings={"batch": 32}
    ),
    Case(title="ViT-B/16, batch 8", file="vit-base-16.onnx", bindings={"batch": 8}),
    Case(
        title="Whisper-tiny encoder, batch 8",
        file="whisper-tiny-encoder.onnx",
        bindings={"batch": 8},
    ),
)


def named(name: str) -> Case:
    """The case whose file begins with `name`; ends the program if there is none."""
    for case in (*CASES, *OTHERS):
        if case.file.startswith(name):
            return case
    known = ", ".join(case.file.removesuffix(".onnx") for case in (*CASES, *OTHERS))
    sys.exit(f"no model begins with '{name}'; there are {known}")


def machine() -> str:
    """The processor and how many of its threads this process sees."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(names)} threads"
