"""Models of elk.models against real exports: sizes, FLOPs and the numbers that they compute."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from each_case import each
from elk import models
from elk.model.model import load_model
from elk.models.rotary import frequencies
from model_runs import Array, filled, run, session_of
from onnx import numpy_helper

MODELS = Path(__file__).parents[2] / "models"
DECODE = {"batch": 32, "past": 2048}
ONE = {"batch": 1}


@dataclass(frozen=True, kw_only=True)
class Export:
    """An export, the model that it is of, and what it stores beyond that model's weights.

    Attributes:
        model: A name of elk.models.
        phase: Which graph.
        bindings: Sizes of the symbols.
        layers: How many layers the export has; None: all.
        twice: Elements of half precision that it stores once more, or that are none of ours.
        indices: Constant 64-bit integers that it stores like weights.
    """

    model: str
    phase: str = "decode"
    bindings: dict[str, int] = field(default_factory=lambda: DECODE)
    layers: int | None = None
    twice: int = 0
    indices: int = 0


def small_biases(name: str) -> int:
    """Elements of the biases up to 1 KiB, which exports of ResNet hold inline."""
    sizes = (x.dims for x in models.get(name).graph.initializer if x.name.endswith(".bias"))
    return sum(math.prod(dims) for dims in sizes if 2 * math.prod(dims) <= 1024)


# Every difference is one that models/README.md explains.
TIED = {"gemma2-27b": 256000 * 4608, "opt-30b": 50272 * 7168, "gpt2": 50257 * 768}
# Each block of the diffusion model has its own time and label embedding; 57 norms have scales,
# and the table of positions is stored.
DIT = 27 * (256 * 1152 + 1152 + 1152 * 1152 + 1152 + 1001 * 1152) + 57 * 1152 + 256 * 1152
EXPORTS = {
    "llama2-13b-decode": Export(model="llama2-13b"),
    "llama2-70b-decode": Export(model="llama2-70b"),
    "gemma2-27b-decode": Export(model="gemma2-27b", twice=TIED["gemma2-27b"]),
    "opt-30b-decode": Export(model="opt-30b", twice=TIED["opt-30b"]),
    "mixtral-8x7b-2layers-decode": Export(model="mixtral-8x7b", layers=2),
    "gpt2": Export(
        model="gpt2", phase="prefill", bindings={"batch": 2, "seq": 64}, twice=TIED["gpt2"]
    ),
    "bert-large": Export(
        model="bert-large", phase="forward", bindings={"batch": 1, "seq": 512}, indices=1024
    ),
    "dit-xl-2": Export(model="dit-xl-2", phase="forward", bindings=ONE, twice=DIT),
    "vit-base-16": Export(model="vit-base-16", phase="forward", bindings=ONE),
    "resnet18": Export(
        model="resnet-18", phase="forward", bindings=ONE, twice=-small_biases("resnet-18")
    ),
    "resnet50": Export(
        model="resnet-50", phase="forward", bindings=ONE, twice=-small_biases("resnet-50")
    ),
    "nerf": Export(model="nerf-t10", phase="forward", bindings={"rows": 4096}),
    "whisper-tiny-encoder": Export(
        model="whisper-tiny-encoder", phase="forward", bindings=ONE, indices=1500
    ),
}


@each("name", EXPORTS)
def test_a_model_agrees_with_its_export(name: str) -> None:
    known = EXPORTS[name]
    export = load_model(MODELS / f"{name}.onnx", bindings=known.bindings).facts
    proto = models.get(known.model, known.phase, layers=known.layers)
    ours = load_model(proto, bindings=known.bindings).facts
    assert export.external_parameters - ours.external_parameters == known.twice + known.indices
    assert export.external_bytes - ours.external_bytes == 2 * known.twice + 8 * known.indices
    assert ours.state_bytes == export.state_bytes
    assert ours.appended_bytes == export.appended_bytes
    assert ours.flops == pytest.approx(export.flops, rel=1e-3)


def test_every_export_has_its_model() -> None:
    """The layer of RetNet is compared by its weights below."""
    files = {path.stem for path in MODELS.glob("*.onnx")}
    assert files - set(EXPORTS) == {"retnet-1.3b-layer"}


def test_a_layer_of_retention_agrees_with_its_export_but_for_vectors() -> None:
    """The export has biases in norms and network, which the paper's count has not."""
    export = load_model(MODELS / "retnet-1.3b-layer.onnx", bindings={"batch": 32}).facts
    two, one = (
        load_model(models.get("retnet-1.3b", layers=n), bindings={"batch": 32}).facts
        for n in (2, 1)
    )
    vectors = 2 * 2048 + 4096 + 2048
    layer = two.external_parameters - one.external_parameters
    assert export.external_parameters - layer == vectors
    assert two.state_bytes - one.state_bytes == export.state_bytes
    products = (x.flops_by_kind["matmul"] for x in (two, one))
    assert next(products) - next(products) == export.flops_by_kind["matmul"]
    assert two.flops - one.flops == pytest.approx(export.flops, rel=1e-3)


@each(
    ("file", "name"),
    [
        ("llama2-13b-decode", "llama2-13b"),
        ("gemma2-27b-decode", "gemma2-27b"),
        ("llama2-70b-decode", "llama2-70b"),
    ],
)
def test_frequencies_of_rotation_are_those_of_the_export(file: str, name: str) -> None:
    config = models.config(name)
    graph = onnx.load(MODELS / f"{file}.onnx", load_external_data=False).graph
    exported = [numpy_helper.to_array(x) for x in graph.initializer if x.name.endswith("inv_freq")]
    assert len(exported) == 1
    found = frequencies(config.rope, config.head_size)
    np.testing.assert_allclose(found, exported[0].reshape(-1), rtol=1e-6)


# The names of an export's weights for ours.
WHISPER = (
    (r"embed_positions\.weight", "positions"),
    (r"self_attn_layer_norm", "norm1"),
    (r"final_layer_norm", "norm2"),
    (r"^layer_norm", "norm"),
    (r"out_proj", "o_proj"),
    (r"(layers\.\d+)\.fc", r"\1.mlp.fc"),
    (r"\.T$", ""),
)
VIT = (
    (r"^vit\.(embeddings\.)?", ""),
    (r"position_embeddings", "positions"),
    (r"patch_embeddings\.projection", "patches"),
    (r"layernorm_before", "norm1"),
    (r"layernorm_after", "norm2"),
    (r"^layernorm", "norm"),
    (r"attention", "self_attn"),
    (r"\.T$", ""),
)
GPT = (
    (r"^transformer\.", "model."),
    (r"wpe", "embed_positions"),
    (r"lm_head\.weight$", "model.embed_tokens.weight"),
    (r"\.h\.", ".layers."),
    (r"ln_1", "input_layernorm"),
    (r"ln_2", "post_attention_layernorm"),
    (r"ln_f", "norm"),
    (r"attn\.c_proj", "self_attn.o_proj"),
    (r"mlp\.c_fc", "mlp.up_proj"),
    (r"mlp\.c_proj", "mlp.down_proj"),
)


def renamed(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    for pattern, text in rules:
        name = re.sub(pattern, text, name)
    return name


def weights_of(export: onnx.ModelProto, rules: tuple[tuple[str, str], ...]) -> dict[str, Array]:
    """The weights of a filled export under our names; fused projections apart."""
    weights = {}
    for tensor in export.graph.initializer:
        array, name = numpy_helper.to_array(tensor), renamed(tensor.name, rules)
        weights[name] = array.T if tensor.name == "classifier.weight" else array
        if "attn.c_attn" in name:
            for part, piece in zip("qkv", np.split(array, 3, axis=-1), strict=True):
                weights[name.replace("attn.c_attn", f"self_attn.{part}_proj")] = piece
    return weights


def feeds_of(proto: onnx.ModelProto) -> dict[str, Array]:
    """Random numbers for two samples; ids and a mask for twelve tokens."""
    rng = np.random.default_rng(3)
    feeds: dict[str, Array] = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = tuple({"batch": 2, "seq": 12}.get(d.dim_param, d.dim_value) for d in dims)
        if value.name == "attention_mask":
            feeds[value.name] = np.ones(shape, dtype=np.int64)
        elif value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 1000, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(np.float16)
    return feeds


def computes_what_its_export_computes(name: str, rules: tuple[tuple[str, str], ...]) -> None:
    """In half precision, with the same random weights, up to a fiftieth of the spread."""
    export = filled(onnx.load(MODELS / f"{name}.onnx", load_external_data=False))
    if name == "gpt2":  # A tied embedding is one tensor.
        tensors = {x.name: x for x in export.graph.initializer}
        table = numpy_helper.to_array(tensors["lm_head.weight"])
        twin = numpy_helper.from_array(np.ascontiguousarray(table.T), "lm_head.weight.T")
        tensors["lm_head.weight.T"].CopyFrom(twin)
    ours = models.get(name, [x for x in models.phases(name) if x != "train"][-1])
    weights = weights_of(export, rules)
    for tensor in ours.graph.initializer:
        if tensor.external_data:
            array = np.ascontiguousarray(weights[tensor.name])
            assert array.shape == tuple(tensor.dims), tensor.name
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    feeds = feeds_of(ours)
    wanted, found = (run(session_of(proto), feeds) for proto in (export, ours))
    for key in ("logits", "last_hidden_state"):
        if key in wanted:
            spread = float(wanted[key].astype(np.float32).std())
            np.testing.assert_allclose(found[key], wanted[key], rtol=0, atol=0.02 * spread)


@pytest.mark.slow
def test_a_model_computes_what_its_export_computes() -> None:
    computes_what_its_export_computes("whisper-tiny-encoder", WHISPER)


@pytest.mark.nightly
@pytest.mark.slow
@each(("name", "rules"), [("vit-base-16", VIT), ("gpt2", GPT)])
def test_larger_models_compute_what_their_exports_compute(
    name: str, rules: tuple[tuple[str, str], ...]
) -> None:
    computes_what_its_export_computes(name, rules)
