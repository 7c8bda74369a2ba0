"""Published models at their real sizes: bytes, FLOPs and repeats against what is known of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx
import pytest
from each_case import each
from elk.frontend import build, load
from elk.frontend.read.load import weightless
from elk.model.model import Model, load_model

pytestmark = pytest.mark.xdist_group("frontend_models")  # One process loads the models.
MODELS = Path(__file__).parents[2] / "models"
DECODE = {"batch": 32, "past": 2048}


@dataclass(frozen=True)
class Known:
    """What is known of a model: the table of the models, and counts by hand."""

    bindings: dict[str, int]
    nodes: int
    ops: int
    parameters: int
    weight_bytes: int
    state_bytes: int
    flops: float
    repeat: tuple[int, int]


# FLOPs are those of the products of the published architecture; norms and the like are under 1 %.
KNOWN = {
    "llama2-13b-decode": Known(
        DECODE, 2449, 1813, 13_015_864_320, 26_031_728_640, 53_687_091_200, 876190105600, (45, 40)
    ),
    "llama2-70b-decode": Known(
        DECODE, 5331, 3613, 68_976_648_192, 137_953_296_384, 21_474_836_480, 4569442549760, (45, 80)
    ),
    "gemma2-27b-decode": Known(
        DECODE,
        4388,
        3378,
        28_406_776_320,
        56_813_552_640,
        24_696_061_952,
        1791873777664,
        (146, 23),
    ),
    "opt-30b-decode": Known(
        DECODE, 1632, 971, 30_334_889_984, 60_669_779_968, 90_194_313_216, 2007337271296, (20, 48)
    ),
    "dit-xl-2": Known(
        {"batch": 1}, 1791, 1080, 750_187_040, 1_500_374_080, 0, 237234290688, (38, 28)
    ),
    "bert-large": Known(
        {"batch": 1, "seq": 512}, 759, 539, 335_142_912, 670_291_968, 0, 335007449088, (22, 24)
    ),
    "resnet50": Known({"batch": 1}, 122, 121, 25_519_272, 51_038_544, 0, 8_180_000_000, (7, 5)),
    "resnet18": Known({"batch": 1}, 49, 48, 11_679_912, 23_359_824, 0, 3_628_000_000, (5, 2)),
    "nerf": Known({"rows": 2_073_600}, 13, 13, 24_768, 49_536, 0, 102717849600, (2, 5)),
    "mixtral-8x7b-2layers-decode": Known(
        DECODE, 237, 121, 3_164_688_384, 6_329_376_768, 536_870_912, 0, (54, 2)
    ),
    "gpt2": Known({"batch": 1, "seq": 64}, 496, 283, 163_037_184, 326_074_368, 0, 0, (21, 12)),
}


@cache
def loaded(name: str) -> Model:
    return load_model(MODELS / f"{name}.onnx", bindings=KNOWN[name].bindings)


@each("name", KNOWN)
def test_what_a_published_model_consists_of(name: str) -> None:
    known, model = KNOWN[name], loaded(name)
    facts = model.facts
    assert facts.external_parameters == known.parameters
    assert facts.external_bytes == known.weight_bytes
    assert facts.weight_bytes >= facts.external_bytes
    assert facts.state_bytes == known.state_bytes
    assert sum(facts.ops_by_kind.values()) == len(model.graph.ops) == known.ops
    assert facts.repeat is not None
    assert facts.repeat[1:] == known.repeat
    if known.flops:
        assert facts.flops == pytest.approx(known.flops, rel=0.01)
    ops = known.ops + facts.dropped - len(facts.copied)
    # A number that moved to another operand is a node that no node of the file is.
    names = [*(op.name for op in model.graph.ops), *(node for node, _ in facts.folded)]
    moved = sum("/Mul_" in name for name in names)
    assert ops + len(facts.views) + len(facts.folded) - moved == known.nodes


@each("name", ["llama2-13b-decode", "llama2-70b-decode", "gemma2-27b-decode", "opt-30b-decode"])
def test_a_decode_step_copies_no_cache_and_appends_one_row(name: str) -> None:
    model = loaded(name)
    graph = model.graph
    assert model.facts.copied == ()
    moved = [op for op in graph.ops if op.kind.name == "Copy"]
    assert not [
        graph.tensors[x.tensor].name
        for op in moved
        for x in op.operands
        if graph.tensors[x.tensor].home.name == "State"
    ]
    states = [t for t in graph.tensors if t.home.name == "State"]
    assert len(graph.stores) == len(states)
    rows = sum(graph.tensors[store.tensor].bytes for store in graph.stores)
    assert rows * DECODE["past"] == model.facts.state_bytes
    assert {store.run_bytes for store in graph.stores} == {128 * 2}


def test_a_grouped_cache_is_read_once_for_its_group() -> None:
    graph = loaded("llama2-70b-decode").graph
    scores = next(op for op in graph.ops if len(op.operands) == 4 and op.kind.name == "MatMul")
    tags = {axis.tile_dim.name: axis.size for axis in scores.axes}
    assert tags == {"Group": 8, "M": 8, "N": 2049, "K": 128}
    cache = graph.tensors[scores.operands[1].tensor]
    assert (cache.home.name, cache.shape) == ("State", [32, 8, 2048, 128])
    assert [len(dim.axes) for dim in scores.operands[1].dims] == [1, 1, 1, 1]


@each(
    ("name", "bindings"),
    [
        ("mixtral-8x7b-2layers-decode", {"batch": 1, "past": 512}),
        ("mixtral-8x7b-2layers-decode", {"batch": 32, "past": 2048}),
    ],
)
def test_no_matrix_of_an_expert_is_copied_for_a_token(name: str, bindings: dict[str, int]) -> None:
    model = load_model(MODELS / f"{name}.onnx", bindings=bindings)
    graph = model.graph
    experts = {i for i, t in enumerate(graph.tensors) if t.shape[:1] == [8] and len(t.shape) == 3}
    readers = [op for op in graph.ops if any(x.tensor in experts for x in op.operands)]
    matrices = [op for op in readers if any(x.indirect is not None for x in op.operands)]
    assert {op.kind.name for op in matrices} == {"MatMul"}
    assert len(matrices) == 4  # In each of two layers: gate with up, and down.
    largest = max(t.bytes for i, t in enumerate(graph.tensors) if t.home.name == "Activation")
    assert largest < min(graph.tensors[i].bytes for i in experts) / 8
    tokens = bindings["batch"]
    for op in matrices:
        pick = next(x.indirect for x in op.operands if x.indirect is not None)
        assert pick.expected_picks == pytest.approx(8 * (1 - (6 / 8) ** tokens))
        assert op.flops == 2 * math.prod(axis.size for axis in op.axes)


def test_gemma_reads_two_masks_in_turn() -> None:
    graph = loaded("gemma2-27b-decode").graph
    names = {op.name for op in graph.ops}
    assert {"node_where", "node_where_1"} <= names


def fix_shapes(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Puts numbers in the place of the symbols in input shapes, and drops all other shapes.

    What exporters note as the shape of a result may be an expression that ONNX cannot check.
    """
    for value in proto.graph.input:
        for dim, size in zip(
            value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False
        ):
            dim.dim_value = size
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")


@each("name", KNOWN)
def test_shapes_are_those_that_onnx_infers(name: str) -> None:
    built = build(load(MODELS / f"{name}.onnx"), KNOWN[name].bindings)
    proto = weightless(onnx.load(MODELS / f"{name}.onnx", load_external_data=False))
    fix_shapes(proto, {t.name: t.shape for t in built.tensors})
    graph = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
    compared = 0
    for value in (*graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if all(dim.HasField("dim_value") for dim in dims):
            shape = tuple(dim.dim_value for dim in dims)
            assert built.assembly.values[value.name].shape == shape, value.name
            compared += 1
    assert compared > 10


def test_the_card_and_the_table_name_what_matters() -> None:
    model = loaded("nerf")
    assert repr(model) == (
        "<Model nerf(rows=2073600): 13 ops, 48.4 KiB of weights, 103.5 GFLOP, "
        "5 x 2 ops from op 1 on>"
    )
    html = model._repr_html_()
    assert "49,536 bytes outside the file" in html
    assert len(html) < 10_000
    lines = model.table().splitlines()
    assert lines[0] == "node_linear = MatMul matmul 1 1 f16 [m:2073600/M n:64/N k:64+/K]"
    assert lines[2] == "    reads hidden.0.weight f16[64, 64] weight at [n, k]"
    assert len(lines) == 13 + 7 * 3 + 6 * 2
