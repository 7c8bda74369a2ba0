"""What crosses the border of a process, or is copied, is there what it was here."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk import models
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_graphs import model_of, node
from other_process import content, planned
from small_chips import tiny_pod
from small_models import CONFIGS, RETENTION


def _pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda one: pickle.loads(pickle.dumps(one, protocol=protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"protocol {n}": _pickled(n) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")
CHIPS: dict[str, Callable[[], elk.Chip]] = {
    "all to all": lambda: elk.chips.get("tiny"),
    "grid": lambda: elk.chips.get("tiny").replace(topology="mesh2d"),
    "pod": tiny_pod,
    "no HBM": lambda: elk.chips.get("tiny").replace(hbm=None, sram_bytes="1 MiB"),
}

ways = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process that shares nothing with this one."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        yield pool


@st.composite
def small_models(draw: st.DrawFn) -> elk.Model:
    """Decoders of every kind in both phases, retentive, convolutional and fully connected ones."""
    kind = draw(st.sampled_from(("transformer", "retention", "mlp", "resnet")))
    phase = draw(st.sampled_from(("decode", "prefill")))
    if kind == "transformer":
        config = CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))]
        proto = models.transformer(config, phase=phase)
    elif kind == "retention":
        proto = models.retention(RETENTION, phase=phase)
    elif kind == "mlp":
        width, layers, out = (draw(st.integers(1, most)) for most in (48, 6, 9))
        proto = models.mlp(models.MlpConfig(width=width, hidden_layers=layers, out=out))
    else:
        sizes = {"widths": (8, 16), "depths": (1, draw(st.integers(1, 2))), "image": 32}
        folded = draw(st.booleans())
        proto = models.resnet(models.ResNetConfig(**sizes, classes=10, folded=folded))  # type: ignore[arg-type]
    return elk.load_model(
        proto, bindings={name: draw(st.integers(1, 9)) for name in models.symbols(proto)}
    )


def same_graph(one: elk.Model, other: elk.Model) -> bool:
    return one.table() == other.table() and pickle.dumps(one.graph) == pickle.dumps(other.graph)


@settings(max_examples=40)
@given(model=small_models(), way=st.sampled_from(sorted(WAYS)))
def test_a_copy_of_a_model_is_the_model(model: elk.Model, way: str) -> None:
    twin = WAYS[way](model)
    assert same_graph(twin, model)
    assert (twin.name, twin.onnx_sha256, twin.facts) == (model.name, model.onnx_sha256, model.facts)
    assert dict(twin.bindings) == dict(model.bindings)
    assert twin.proto == model.proto
    assert twin.constants.keys() == model.constants.keys()
    for name, array in model.constants.items():
        np.testing.assert_array_equal(twin.constants[name], array)
        assert twin.constants[name].dtype == array.dtype
    assert [x.name for x in twin.outputs] == [x.name for x in model.outputs]
    assert twin.kept is not model.kept


@pytest.mark.slow
@settings(max_examples=25)
@given(
    model=small_models(),
    chip=st.sampled_from(sorted(CHIPS)),
    policy=st.sampled_from(POLICIES),
    pod=st.sampled_from(("sharded", "pooled")),
)
def test_plans_made_elsewhere_are_those_made_here(
    elsewhere: ProcessPoolExecutor, model: elk.Model, chip: str, policy: str, pod: str
) -> None:
    asked = (model, CHIPS[chip](), policy, pod)
    assert elsewhere.submit(planned, *asked).result() == planned(*asked)


@pytest.mark.parametrize("name", elk.chips.names())
@ways
def test_a_copy_of_a_chip_is_the_chip(way: str, name: str) -> None:
    chip = elk.chips.get(name)
    twin = WAYS[way](chip)
    assert (twin, type(twin)) == (chip, elk.Chip)
    assert twin.model_dump() == chip.model_dump()
    for told in ("streaming", "published", "confidence"):  # No part of what is equal.
        assert getattr(twin, told) == getattr(chip, told)


def test_a_chip_that_crosses_is_checked_as_any_other() -> None:
    forged = pickle.dumps(elk.chips.get("tiny"), protocol=2).replace(b"all_to_all", b"all_to_one")
    with pytest.raises(elk.InvalidInputError, match=r"interconnect\.topology"):
        pickle.loads(forged)


def test_ops_that_differ_in_nothing_but_numbers_stay_two() -> None:
    proto = model_of(
        [
            node("LayerNormalization", "x scale", "y", epsilon=1e-3),
            node("LayerNormalization", "y scale", "z", epsilon=1e-5),
            node("LayerNormalization", "z scale", "out", epsilon=1e-3),
        ],
        {"x": (4, 8)},
        ["out"],
        {"scale": np.ones(8, dtype=np.float32)},
    )
    model = elk.load_model(proto)
    found = [list(op.scalars) for op in pickle.loads(pickle.dumps(model)).graph.ops]
    assert found == [list(op.scalars) for op in model.graph.ops]
    assert found[0] != found[1]


def heavy(elements: int) -> elk.Model:
    """A product with a weight that lies in the file."""
    weight = np.random.default_rng(0).standard_normal((8, elements // 8), dtype=np.float32)
    return elk.load_model(
        model_of([node("MatMul", "x w", "y")], {"x": (1, 8)}, ["y"], {"w": weight})
    )


@ways
def test_a_copy_can_be_emulated(way: str) -> None:
    model = heavy(64)
    fed = {"x": np.arange(8, dtype=np.float32).reshape(1, 8)}
    here, there = (
        elk.compile(one, "tiny", policy="basic").emulate(fed) for one in (model, WAYS[way](model))
    )
    np.testing.assert_array_equal(here["y"], there["y"])


def test_large_weights_do_not_cross() -> None:
    model = heavy(3 << 20)
    assert len(pickle.dumps(model)) < 20_000
    assert copy.deepcopy(model).proto == model.proto
    twin = pickle.loads(pickle.dumps(model))
    chip = elk.chips.get("ipu-mk2")
    plan = elk.compile(twin, chip, policy="basic")
    assert content(plan) == content(elk.compile(model, chip, policy="basic"))
    with pytest.raises(elk.InvalidInputError, match="elements of its weights") as caught:
        plan.emulate({"x": np.ones((1, 8), dtype=np.float32)})
    assert caught.value.code == "emulate_input"


def test_a_large_model_is_small_when_it_crosses() -> None:
    model = elk.load_model(
        Path(__file__).parents[2] / "models" / "llama2-13b-decode.onnx",
        bindings={"batch": 32, "past": 2048},
    )
    assert len(pickle.dumps(model)) < 300_000
