"""elk.shard: Megatron's split of the decode models, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import elk
import pytest
from elk.cli import main
from elk.plan.sharding import Sharding

MODELS = Path(__file__).parents[2] / "models"
DECODE = {"batch": 32, "past": 2048}
Capture = pytest.CaptureFixture[str]


def sharded(file: str, bindings: dict[str, int]) -> tuple[elk.Model, Sharding]:
    model = elk.load_model(MODELS / file, bindings=bindings)
    return model, elk.shard(model, "ipu-pod4-hbm")


def hbm_bytes(model: elk.Model) -> int:
    """Weights and states that the ops read, each once."""
    read: set[int] = set()
    for op in model.graph.ops:
        read.update(x.tensor for x in op.operands if x.access.name == "Read" and x.indirect is None)
    tensors = [model.graph.tensors[i] for i in read]
    kept = [t for t in tensors if t.home.name in {"Weight", "State"}]
    sizes = []
    for tensor in kept:
        size = 2
        for n in tensor.shape:
            size *= n
        sizes.append(size)
    return sum(sizes)


def test_a_layer_of_a_decode_model_has_megatrons_two_all_reduces(subtests: pytest.Subtests) -> None:
    for file in ["llama2-13b-decode.onnx", "opt-30b-decode.onnx", "llama2-70b-decode.onnx"]:
        with subtests.test(file=file):
            model, found = sharded(file, DECODE)
            assert found.repeat is not None
            _, _, layers = found.repeat
            count = Counter(x.kind for x in found.collectives)
            # An all-reduce is a reduce-scatter and an all-gather: as many pairs will do.
            sums = count["all-reduce"] + count["reduce-scatter"]
            assert sums == 2 * layers
            assert count["all-gather"] == count["reduce-scatter"]
            assert count["all-to-all"] == 0
            # No large weight and no cache is read by two chips.
            assert found.hbm_bytes == pytest.approx(hbm_bytes(model) / 4, rel=0.005)
            assert found.seconds < 0.35 * found.replicated_seconds


def test_products_of_a_layer_split_columns_heads_and_depth() -> None:
    model, found = sharded("llama2-13b-decode.onnx", DECODE)
    assert found.repeat is not None
    first, period, _ = found.repeat
    layer = range(first + period, first + 2 * period)
    axes = [
        found.axes[i] for i in layer if model.graph.ops[i].function in {"matmul", "batch_matmul"}
    ]
    # q, k, v by columns; scores and values by heads; the output by depth; gate and up; down.
    assert axes == ["n", "n", "n", "b1", "b1", "k_0", "n", "n", "k"]


def test_grouped_query_heads_split_with_their_cache() -> None:
    model, found = sharded("llama2-70b-decode.onnx", DECODE)
    for op, axis in zip(model.graph.ops, found.axes, strict=True):
        if any(model.graph.tensors[x.tensor].home.name == "State" for x in op.operands):
            assert axis == "b1_0"  # The eight heads of keys and values.


def test_a_convolution_net_splits_its_batch() -> None:
    model, found = sharded("resnet50.onnx", {"batch": 8})
    convs = [
        axis
        for op, axis in zip(model.graph.ops, found.axes, strict=True)
        if op.function == "conv2d"
    ]
    assert len(convs) == 53
    assert len(set(convs)) == 1
    assert found.sent_bytes == 0


def test_a_convolution_net_of_one_image_splits_its_channels_and_rows() -> None:
    model, found = sharded("resnet50.onnx", {"batch": 1})
    convs = [
        axis
        for op, axis in zip(model.graph.ops, found.axes, strict=True)
        if op.function == "conv2d"
    ]
    count = Counter(convs)
    assert count["b"] == 0
    assert count["co"] + count["ci"] >= 10
    assert count["oh"] >= 10  # Of one row or another: those without a halo.
    assert count[None] < 0.2 * len(convs)
    assert found.seconds < found.replicated_seconds


def test_a_machine_of_one_chip_is_refused() -> None:
    with pytest.raises(elk.InvalidInputError, match="must have several chips") as caught:
        elk.shard(MODELS / "nerf.onnx", "tiny", bindings={"rows": 64})
    assert caught.value.place == "chip 'tiny'"


def test_the_command_prints_a_layer_and_json(capsys: Capture) -> None:
    words = ["shard", str(MODELS / "nerf.onnx"), "--chip", "ipu-pod4-hbm", "--bind", "rows=4096"]
    assert main(words) == 0
    assert "one layer" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["chips"] == 4
    assert len(document["ops"]) == 13
