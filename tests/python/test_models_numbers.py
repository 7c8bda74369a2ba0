"""Models of elk.models run: a decode step says what prefill says of its last token."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from each_case import each
from elk import models
from elk.model.model import load_model
from elk.models import TransformerConfig
from model_runs import Array, filled, run, session_of
from onnx_graphs import random_feeds as feeds_of_model
from small_models import BLOCKS, CONFIGS, FORWARD, RETENTION, tokens


def sessions(config: TransformerConfig, *phases: str) -> list[Any]:
    return [session_of(models.transformer(config, phase=x, dtype="f32")) for x in phases]


@each("name", CONFIGS)
def test_a_decode_step_says_what_prefill_says_of_the_last_token(name: str) -> None:
    config, length = CONFIGS[name], 3
    prefill, decode = sessions(config, "prefill", "decode")
    ids, mask = tokens(length + 3)
    found = run(prefill, {"input_ids": ids[:, :length], "attention_mask": mask[:, :length]})
    for past in range(length, length + 3):  # Caches of windows fill up, and move on.
        feeds = {
            key.replace("present", "past_key_values"): cached(value, config, key)
            for key, value in found.items()
            if key != "logits"
        }
        feeds |= {"input_ids": ids[:, past : past + 1], "attention_mask": mask[:, : past + 1]}
        found = run(decode, feeds)
        whole = run(
            prefill, {"input_ids": ids[:, : past + 1], "attention_mask": mask[:, : past + 1]}
        )
        np.testing.assert_allclose(
            found["logits"][:, 0], whole["logits"][:, -1], rtol=2e-4, atol=2e-5
        )


@each("name", CONFIGS)
def test_the_loss_is_the_mean_of_the_logarithms_of_the_shares_that_prefill_gives(name: str) -> None:
    config, length = CONFIGS[name], 6
    prefill, train = sessions(config, "prefill", "train")
    ids, mask = tokens(length + 1)
    feeds = {"input_ids": ids[:, :-1], "attention_mask": mask[:, :-1]}
    logits = run(prefill, feeds)["logits"].astype(np.float64)
    shares = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = -np.take_along_axis(shares, ids[:, 1:, None], axis=2).mean()
    found = run(train, {**feeds, "labels": ids[:, 1:]})
    assert list(found) == ["loss"]
    assert found["loss"] == pytest.approx(wanted, rel=1e-5)


def test_training_drops_embeddings_attention_and_what_layers_add_and_copies_nothing() -> None:
    proto = models.get("megatron-T-1.7B", "train", layers=2)
    count = sum(node.op_type == "Dropout" for node in proto.graph.node)
    assert count == 1 + 3 * 2
    facts = load_model(proto, bindings={"batch": 1, "seq": 64}).facts
    assert facts.copied == ()
    assert facts.state_bytes == 0
    for without in (models.get("megatron-T-1.7B", "train", layers=2, dropout=0.0),
                    models.get("megatron-T-1.7B", "prefill", layers=2)):  # fmt: skip
        assert not any(node.op_type == "Dropout" for node in without.graph.node)


def cached(rows: Array, config: TransformerConfig, name: str) -> Array:
    """A cache as the next step takes it: as many rows as the window of its layer has."""
    window = config.window(int(name.split(".")[1]))
    return rows[:, :, -window:] if window else rows


def test_a_retention_step_says_what_prefill_says_of_the_last_token() -> None:
    prefill, decode = (
        session_of(models.retention(RETENTION, phase=phase, dtype="f32"))
        for phase in ("prefill", "decode")
    )
    ids, _ = tokens(9)
    found = run(prefill, {"input_ids": ids[:, :6]})
    for past in range(6, 9):
        feeds = {
            key.replace("present", "past_key_values"): value
            for key, value in found.items()
            if key != "logits"
        }
        feeds |= {"input_ids": ids[:, past : past + 1], "position": np.asarray([past])}
        found = run(decode, feeds)
        whole = run(prefill, {"input_ids": ids[:, : past + 1]})
        np.testing.assert_allclose(
            found["logits"][:, 0], whole["logits"][:, -1], rtol=2e-4, atol=2e-5
        )
        for key, value in whole.items():
            if key != "logits":
                np.testing.assert_allclose(found[key], value, rtol=2e-4, atol=2e-5)


def test_padding_is_not_seen() -> None:
    session = session_of(models.transformer(CONFIGS["opt"], phase="prefill", dtype="f32"))
    ids, mask = tokens(6)
    padded = run(session, {"input_ids": ids, "attention_mask": mask})["logits"][1, 2:]
    alone = {"input_ids": ids[1:2, 2:], "attention_mask": mask[1:2, 2:]}
    np.testing.assert_allclose(padded, run(session, alone)["logits"][0], rtol=2e-4, atol=2e-5)


@each("name", FORWARD)
def test_a_model_of_one_pass_runs_and_treats_samples_apart(name: str) -> None:
    proto, shapes = FORWARD[name]
    session = session_of(proto)
    feeds = random_feeds(proto)
    found = run(session, feeds)
    assert {key: value.shape for key, value in found.items()} == shapes
    second = run(session, {key: value[1:] for key, value in feeds.items()})
    for key, value in found.items():
        assert np.isfinite(value).all()
        np.testing.assert_allclose(second[key][0], value[1], rtol=1e-4, atol=1e-5)


def random_feeds(proto: onnx.ModelProto) -> dict[str, Array]:
    """Two samples of everything that `proto` takes."""
    rng = np.random.default_rng(2)
    feeds: dict[str, Array] = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        sizes = {"batch": 2, "seq": 7, "rows": 2}
        shape = tuple(sizes.get(d.dim_param, d.dim_value) for d in dims)
        if value.name == "attention_mask":
            feeds[value.name] = np.ones(shape, dtype=np.int64)
        elif value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            feeds[value.name] = rng.integers(0, 5, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(np.float32)
    return feeds


@each("name", BLOCKS)
def test_a_body_computes_what_the_blocks_of_its_model_compute(name: str) -> None:
    whole, body = (filled(BLOCKS[name](body=body)) for body in (False, True))
    sizes = {key: {"batch": 2, "past": 5, "seq": 5}[key] for key in models.symbols(whole)}
    feeds = feeds_of_model(load_model(whole, bindings=sizes))
    feeds = {value.name: feeds[value.name] for value in whole.graph.input}
    inside = values_inside(whole, body)
    for hidden in set(inside.values()) - {value.name for value in whole.graph.output}:
        info = onnx.helper.make_tensor_value_info(hidden, onnx.TensorProto.FLOAT, None)
        whole.graph.output.append(info)
    wanted = feeds | run(session_of(whole), feeds)
    wanted |= {key: wanted[value] for key, value in inside.items()}
    found = run(session_of(body), {value.name: wanted[value.name] for value in body.graph.input})
    assert {"hidden_states", "last_hidden_state"} <= set(inside)
    assert "logits" not in found
    for key, array in found.items():
        np.testing.assert_allclose(array, wanted[key], rtol=2e-4, atol=2e-5, err_msg=key)


def values_inside(whole: onnx.ModelProto, body: onnx.ModelProto) -> dict[str, str]:
    """The values of `whole` that `body` takes and ends with, by their names in `body`.

    Nodes of both have the same names. The last one that reads an input counts: an earlier one may
    ask for the number of tokens, which `whole` takes from the tokens themselves.
    """
    nodes = {node.name: node for node in whole.graph.node}
    added = {x.name for x in body.graph.input} - {x.name for x in whole.graph.input}
    added |= {"hidden_states"}
    inside = {}
    for node in body.graph.node:
        for place, value in enumerate(node.input):
            if value in added:
                inside[value] = nodes[node.name].input[place]
        if "last_hidden_state" in node.output:
            inside["last_hidden_state"] = node.input[0]
    return inside


@each("bottleneck", [1, 4])
def test_folding_batch_normalization_changes_no_result(bottleneck: int) -> None:
    """With a mean of 0, a variance of 1 and next to no epsilon it is a scale and a shift."""
    sizes: dict[str, Any] = {"widths": (4, 8), "depths": (2, 1), "image": 16, "classes": 5}
    apart = models.ResNetConfig(**sizes, bottleneck=bottleneck, folded=False, epsilon=1e-12)
    folded = models.ResNetConfig(**sizes, bottleneck=bottleneck)
    proto = models.resnet(apart, dtype="f32")
    for tensor in proto.graph.initializer:  # A scale of 1 is what folding has.
        if tensor.name.endswith("norm.weight"):
            ones = np.ones(tuple(tensor.dims), dtype=np.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(ones, tensor.name))
        tensor.name = tensor.name.replace("norm.bias", "bias")
    for node in proto.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = name.replace("norm.bias", "bias")
    feeds = random_feeds(proto)
    wanted = run(session_of(models.resnet(folded, dtype="f32")), feeds)["logits"]
    assert wanted.shape == (2, 5)
    np.testing.assert_allclose(
        run(session_of(proto), feeds)["logits"], wanted, rtol=1e-4, atol=1e-5
    )
