"""Every model of elk.models against the table of models in data/."""

from __future__ import annotations

import math
from dataclasses import replace

import onnx
import pytest
from each_case import each
from elk import models
from elk.frontend.read.load import weightless
from elk.model.model import load_model
from model_table import DECODE, seen, table

ROWS = list(table())
WITH_CACHE = [name for name in ROWS if models.kind(name) == "transformer"]
# One model of each kind, the smallest; every run reads these, a nightly one the others, too.
FEW = [
    *("llama2-7b", "llama3.1-8b", "gemma2-27b", "opt-1.3b", "qwen3-8b", "mixtral-8x7b"),
    *("qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v3", "retnet-1.3b", "vit-base-16", "bert-large"),
    *("dit-xl-2", "resnet-18", "nerf-t10"),
]
pytestmark = pytest.mark.xdist_group("models_table")  # One process loads the models.

# Parameters of the table that its models do not have, and why.
BATCH_NORM = 4800  # ResNet-18: a bias of each of 4,800 channels in place of a scale and a shift.
ROUNDED = 1  # Megatron 530B: the table computed its parameters in floating point.
APART = {"resnet-18": BATCH_NORM, "megatron-T-530B": -ROUNDED}


def test_every_row_of_the_table_is_a_model() -> None:
    assert set(ROWS) <= set(models.names())


@each("name", ROWS)
def test_parameters_are_those_of_the_table(name: str) -> None:
    missing = APART.get(name, 0)
    assert models.parameters(name) == int(table()[name]["params"]) - missing


def test_batch_normalization_that_is_not_folded_has_the_parameters_of_the_table() -> None:
    config = replace(models.config("resnet-18"), folded=False)
    weights = [x for x in models.resnet(config).graph.initializer if x.external_data]
    assert sum(math.prod(x.dims) for x in weights) == int(table()["resnet-18"]["params"])


def agrees_with_its_row(name: str) -> None:
    row, found = table()[name], seen(name)
    missing = {"resnet-18": 2 * BATCH_NORM, "megatron-T-530B": -ROUNDED}.get(name, 0)
    assert found.facts.external_bytes == int(row["weight_bytes_total"]) - missing
    assert found.facts.state_bytes == int(row["kv_bytes_total"])
    flops = found.products
    if name == "retnet-1.3b":  # The table counts the decay of the state too, once an element.
        flops += 24 * 32 * 8 * 256 * 512
    assert flops == pytest.approx(int(row["flops_step"]), rel=1e-3)
    if "decode" in models.phases(name):  # All matrices once, of experts as many as are hit.
        assert found.streamed == pytest.approx(int(row["weight_bytes_b32"]), rel=1e-6)
    if name in WITH_CACHE:
        appends_to_its_cache_and_repeats(name)


def appends_to_its_cache_and_repeats(name: str) -> None:
    """A step copies no cache and appends a row to each, and no matrix is gathered for a token."""
    found, config = seen(name), models.config(name)
    assert found.facts.copied == ()
    assert found.copied_states == 0
    assert len(found.states) == found.stores
    rows = sum(2 * math.prod(shape) // shape[2] for shape in found.states)
    assert found.facts.appended_bytes == rows
    moe = config.experts
    layers = config.layers - (moe.dense_layers if moe else 0)
    assert found.facts.repeat is not None
    assert found.facts.repeat[2] == layers // len(config.windows)
    if moe:
        assert len(found.picked) == layers * 2 * moe.parts
        hit = moe.experts * (1 - (1 - moe.topk / moe.experts) ** 32)
        assert found.picked == pytest.approx([hit] * len(found.picked))
        assert not [x for x in found.gathered if len(x) > 2 and x[0] == moe.experts]


def is_valid_onnx(name: str) -> None:
    for phase in models.phases(name):
        proto = models.get(name, phase)
        onnx.checker.check_model(weightless(proto))
        ends = 0
        for x in (x for x in proto.graph.initializer if x.external_data):
            place = {entry.key: entry.value for entry in x.external_data}
            assert place["location"] == "weights.bin"
            assert int(place["offset"]) == ends
            ends += int(place["length"])
        assert len({x.name for x in proto.graph.node}) == len(proto.graph.node)


@pytest.mark.slow
@each("name", FEW)
def test_a_model_of_each_kind_agrees_with_its_row_and_is_valid_onnx(name: str) -> None:
    agrees_with_its_row(name)
    is_valid_onnx(name)


@pytest.mark.nightly
@pytest.mark.slow
@each("name", [name for name in models.names() if name not in FEW])
def test_every_other_model_agrees_with_its_row_and_is_valid_onnx(name: str) -> None:
    if name in ROWS:
        agrees_with_its_row(name)
    is_valid_onnx(name)


def test_a_cache_of_a_window_has_as_many_rows() -> None:
    proto = models.get("gpt-oss-20b", layers=2)
    for past, rows in ((50, 50), (128, 128), (2048, 128)):
        graph = load_model(proto, bindings={"batch": 1, "past": past}).graph
        shapes = [t.shape for t in graph.tensors if t.home.name == "State"]
        assert shapes == [[1, 8, rows, 64]] * 2 + [[1, 8, past, 64]] * 2


def test_a_latent_cache_has_one_row_for_all_heads() -> None:
    assert set(seen("deepseek-v3").states) == {(32, 1, 2048, 512 + 64)}


def test_prefill_has_the_same_weights_and_no_state() -> None:
    for name in ("llama2-70b", "gpt-oss-20b", "deepseek-v3", "retnet-1.3b"):
        few = {"deepseek-v3": 4}.get(name, 2)
        step, whole = (models.get(name, phase, layers=few) for phase in ("decode", "prefill"))
        weights = [
            {(x.name, *x.dims) for x in proto.graph.initializer if x.external_data}
            for proto in (step, whole)
        ]
        assert weights[0] == weights[1]
        facts = load_model(whole, bindings={"batch": 2, "seq": 64}).facts
        assert facts.state_bytes == facts.appended_bytes == 0


def test_a_body_has_the_weights_and_states_of_the_blocks_and_no_others() -> None:
    for name in ("gpt2", "gemma2-27b", "deepseek-v3", "retnet-1.3b", "vit-base-16", "dit-xl-2",
                 "bert-large", "whisper-tiny-encoder"):  # fmt: skip
        few = {"deepseek-v3": 4}.get(name, 2)
        for phase in models.phases(name):
            whole, body = (models.get(name, phase, layers=few, body=x) for x in (False, True))
            every, found = (
                {(x.name, *x.dims) for x in proto.graph.initializer if x.external_data}
                for proto in (whole, body)
            )
            assert found == {x for x in every if "layers." in x[0] or "blocks." in x[0]}, name
            bindings = {"batch": 2, "past": 5, "seq": 5}
            states = [
                load_model(proto, bindings={x: bindings[x] for x in models.symbols(proto)})
                for proto in (whole, body)
            ]
            assert states[0].facts.state_bytes == states[1].facts.state_bytes, name


def test_a_body_has_hidden_states_at_both_ends() -> None:
    for name, rows, parameters in (
        ("bert-large", "seq", 24 * (12 * 1024**2 + 13 * 1024)),
        ("vit-base-16", 197, 12 * (12 * 768**2 + 13 * 768)),
    ):
        body = models.get(name, dtype="bf16", body=True)
        for value in (body.graph.input[0], body.graph.output[0]):
            dims = [x.dim_param or x.dim_value for x in value.type.tensor_type.shape.dim]
            assert dims == ["batch", rows, models.config(name).hidden]
            assert value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16
        weights = (math.prod(x.dims) for x in body.graph.initializer if x.external_data)
        assert sum(weights) == parameters


def test_a_type_of_four_bytes_doubles_all_bytes() -> None:
    half, single = (
        load_model(models.get("opt-1.3b", layers=2, dtype=dtype), bindings=DECODE).facts
        for dtype in ("bf16", "f32")
    )
    assert 2 * half.external_bytes == single.external_bytes
    assert 2 * half.state_bytes == single.state_bytes


def test_sizes_that_the_table_has_are_those_of_the_configuration() -> None:
    for name in WITH_CACHE:
        row, config = table()[name], models.config(name)
        found = (config.layers, config.hidden, config.heads, config.vocab, config.tied)
        wanted = (
            *(int(row[key]) for key in ("layers", "hidden", "heads", "vocab")),
            row["tied"] == "1",
        )
        assert found == wanted, name
        assert config.gated == (row["gated"] == "1"), name
        if config.mla is None:
            heads = (int(row["kv_heads"]), int(row["head_dim"]))
            assert (config.kv, config.head_size) == heads, name
        if config.experts:
            moe = config.experts
            assert (moe.experts, moe.topk, moe.shared, moe.ffn) == tuple(
                int(row[key]) for key in ("experts", "topk", "shared", "moe_ffn")
            ), name
        else:
            assert config.ffn == int(row["ffn"]), name
