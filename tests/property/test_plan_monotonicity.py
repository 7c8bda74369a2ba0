"""More work is never planned cheaper, and a better chip never plans slower."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_graphs import model_of, node

MODELS = Path(__file__).parents[2] / "models"
SLACK = 1.01

# A better chip, by the field that is better, on an all-to-all interconnect.
BETTER: dict[str, Any] = {
    "count": lambda chip, f: int(chip.core.cores * f),
    "sram_bytes": lambda chip, f: int(chip.core.sram_bytes * f),
    "link_bytes_per_s": lambda chip, f: chip.interconnect.link_bytes_per_s * f,
    "hbm_bytes_per_s": lambda chip, f: chip.hbm.bytes_per_s * f,
}


def perceptron(widths: list[int], rows: int) -> elk.Model:
    """A chain of products with a non-linearity between each two."""
    nodes, weights = [], {}
    for i, (k, n) in enumerate(pairwise(widths)):
        weights[f"w{i}"] = np.zeros((k, n), np.float16)
        nodes += [node("MatMul", f"x{i} w{i}", f"a{i}"), node("Relu", f"a{i}", f"x{i + 1}")]
    inputs = {"x0": (TensorProto.FLOAT16, [rows, widths[0]])}
    return elk.load_model(model_of(nodes, inputs, [f"x{len(widths) - 1}"], weights))


def latency_s(model: elk.Model, chip: elk.Chip) -> float:
    return elk.compile(model, chip, policy="elk-dyn", threads=2).latency_s


widths = st.lists(st.integers(4, 24).map(lambda n: 8 * n), min_size=2, max_size=4)
rows = st.integers(1, 12).map(lambda n: 8 * n)


@settings(max_examples=8)
@given(widths=widths, rows=rows, more=st.sampled_from(["layer", "rows", "width"]))
def test_more_work_is_never_planned_cheaper(widths: list[int], rows: int, more: str) -> None:
    chip = elk.chips.get("tiny")
    larger = {
        "layer": perceptron([*widths, widths[-1]], rows),
        "rows": perceptron(widths, 2 * rows),
        "width": perceptron([2 * width for width in widths], rows),
    }
    assert latency_s(perceptron(widths, rows), chip) <= latency_s(larger[more], chip)


@settings(max_examples=8)
@given(
    widths=widths,
    rows=rows,
    field=st.sampled_from(sorted(BETTER)),
    factor=st.sampled_from([1.25, 1.5, 2.0, 4.0]),
)
def test_a_better_chip_never_plans_slower(
    widths: list[int], rows: int, field: str, factor: float
) -> None:
    chip = elk.chips.get("tiny")
    better = chip.replace(**{field: BETTER[field](chip, factor)})
    model = perceptron(widths, rows)
    # The input lies spread over all cores: whatever the plan, more of them cut it into more pieces,
    # of which a core receives at most one more for each core more.
    pieces_s = (better.total_cores - chip.total_cores) * chip.interconnect.fragment_latency_s
    assert latency_s(model, better) <= latency_s(model, chip) * SLACK + pieces_s


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("file", "bindings"),
    [
        ("llama2-13b-decode.onnx", {"batch": 32, "past": 2048}),
        ("bert-large.onnx", {"batch": 8, "seq": 512}),
        ("resnet50.onnx", {"batch": 8}),
    ],
)
def test_a_better_chip_never_plans_a_real_model_slower(file: str, bindings: dict[str, int]) -> None:
    chip = elk.chips.get("ipu-pod4-hbm")
    model = elk.load_model(MODELS / file, bindings=bindings)
    base_s = latency_s(model, chip)
    for field, better in BETTER.items():
        changed = chip.replace(**{field: better(chip, 1.25)})
        assert latency_s(model, changed) <= base_s * SLACK, field
