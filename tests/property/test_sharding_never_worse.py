"""Sharing a model among chips is never planned slower than computing all of it on every chip."""

from __future__ import annotations

from itertools import pairwise

import elk
import numpy as np
import pytest
from elk import models
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_graphs import model_of, node
from small_chips import tiny_pod

SIZES = (1, 3, 4, 6, 8, 10, 16, 20, 48, 64)


def chain(rows: int, widths: list[int], kinds: list[str]) -> elk.Model:
    """Products with something row by row, element by element or residual between each two."""
    nodes, weights = [], {}
    for i, (k, n) in enumerate(pairwise(widths)):
        weights[f"w{i}"] = np.zeros((k, n), np.float16)
        is_sum = kinds[i % len(kinds)] == "Add" and k == n
        between = (
            node("Add", f"a{i} x{i}", f"b{i}") if is_sum else node("Softmax", f"a{i}", f"b{i}")
        )
        nodes += [
            node("MatMul", f"x{i} w{i}", f"a{i}"),
            between,
            node("Relu", f"b{i}", f"x{i + 1}"),
        ]
    inputs = {"x0": (TensorProto.FLOAT16, [rows, widths[0]])}
    return elk.load_model(model_of(nodes, inputs, [f"x{len(widths) - 1}"], weights))


def is_no_worse(model: elk.Model, machine: elk.Chip, policy: str) -> bool:
    """Whether the pod takes no longer than one of its chips, which computes what each would."""
    alone = elk.Chip.from_dict(
        {k: v for k, v in machine.to_dict().items() if k != "inter_chip"} | {"chips": 1}
    )
    shared = elk.compile(model, machine, policy=policy, threads=2)
    whole = elk.compile(model, alone, policy=policy, threads=2)
    return shared.latency_s <= whole.latency_s


@settings(max_examples=12)
@given(
    rows=st.sampled_from(SIZES),
    widths=st.lists(st.sampled_from(SIZES[4:]), min_size=2, max_size=4),
    kinds=st.lists(st.sampled_from(["Add", "Softmax"]), min_size=1, max_size=2),
    chips=st.integers(2, 6),
    between=st.sampled_from([1e8, 1e9, 2e10, 1e12]),
    memory=st.sampled_from([1e9, 6.4e10, 1e12]),
)
def test_a_chain_is_never_slower_shared(
    rows: int, widths: list[int], kinds: list[str], chips: int, between: float, memory: float
) -> None:
    machine = tiny_pod(chips, inter_chip_bytes_per_s=between, hbm_bytes_per_s=memory)
    assert is_no_worse(chain(rows, widths, kinds), machine, "elk-dyn")


@pytest.mark.slow
@settings(max_examples=3)
@given(
    heads=st.sampled_from([2, 3, 4, 6]),
    batch=st.sampled_from([1, 3, 4]),
    chips=st.integers(2, 5),
    between=st.sampled_from([1e8, 2e10]),
    topology=st.sampled_from(["all_to_all", "mesh2d", "ring"]),
)
def test_a_decoder_is_never_slower_shared(
    heads: int, batch: int, chips: int, between: float, topology: str
) -> None:
    config = models.TransformerConfig(
        layers=2, hidden=64 * heads, heads=heads, kv_heads=heads, head_dim=64, ffn=256, vocab=256
    )
    proto = models.transformer(config, phase="decode")
    model = elk.load_model(proto, bindings={"batch": batch, "past": 32})
    machine = tiny_pod(chips, inter_chip_bytes_per_s=between, topology=topology)
    assert is_no_worse(model, machine, "basic")
