"""Models of elk.models against plain numpy, and ELK's graphs of them against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from each_case import each
from elk import models
from elk.models import TransformerConfig
from model_runs import Array, filled, run, session_of
from onnx import numpy_helper
from onnx_graphs import assert_computes
from small_models import BLOCKS, CONFIGS, FORWARD, RETENTION, tokens

# Numpy knows rotary positions without scaling; what else these have, it does by definition.
BY_HAND = ["multi-head", "grouped", "multi-query", "qwen", "mixtral", "sinks of all heads", "gemma"]


class Reference:
    """A transformer token by token, as its papers define it."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, Array]) -> None:
        self.config, self.weights = config, weights

    def __call__(self, ids: Array) -> Array:
        """The logits [seq, vocab] of one sequence."""
        c, table = self.config, self.weights["model.embed_tokens.weight"]
        x = table[ids] * c.embedding_scale
        for i in range(c.layers):
            at = f"model.layers.{i}."
            found = self.attention(at + "self_attn.", i, self.norm(x, at + "input_layernorm"))
            if c.post_norms:
                found = self.norm(found, at + "post_attention_layernorm")
            x = x + found
            name = "pre_feedforward_layernorm" if c.post_norms else "post_attention_layernorm"
            found = self.network(at + "mlp.", self.norm(x, at + name))
            if c.post_norms:
                found = self.norm(found, at + "post_feedforward_layernorm")
            x = x + found
        x = self.norm(x, "model.norm")
        logits = x @ (table.T if c.tied else self.weights["lm_head.weight"])
        return np.tanh(logits / c.final_softcap) * c.final_softcap if c.final_softcap else logits

    def norm(self, x: Array, name: str) -> Array:
        mean = (x * x).mean(-1, keepdims=True)
        return np.asarray(x / np.sqrt(mean + self.config.epsilon) * self.weights[name + ".weight"])

    def attention(self, at: str, layer: int, x: Array) -> Array:
        c, (seq, size) = self.config, (len(x), self.config.head_size)
        query, key, value = (
            (x @ self.weights[f"{at}{part}_proj.weight"]).reshape(seq, -1, size) for part in "qkv"
        )
        if c.qk_norm:
            query, key = self.norm(query, at + "q_norm"), self.norm(key, at + "k_norm")
        query, key = self.turned(query), self.turned(key)
        result = np.zeros((seq, c.heads, size))
        scale = c.query_scale or size**-0.5
        for head in range(c.heads):
            shared = head // (c.heads // c.kv)
            for n in range(seq):
                first = max(0, n + 1 - c.window(layer)) if c.window(layer) else 0
                scores = key[first : n + 1, shared] @ query[n, head] * scale
                if c.softcap:
                    scores = c.softcap * np.tanh(scores / c.softcap)
                if c.sinks:
                    scores = np.append(scores, self.weights[at + "sinks"][head])
                share = np.exp(scores) / np.exp(scores).sum()
                result[n, head] = share[: n + 1 - first] @ value[first : n + 1, shared]
        return np.asarray(result.reshape(seq, -1) @ self.weights[at + "o_proj.weight"])

    def turned(self, x: Array) -> Array:
        """Each pair (i, i + size / 2) as a complex number, turned by its frequency."""
        assert self.config.rope is not None
        half = x.shape[-1] // 2
        turns = self.config.rope.theta ** (-np.arange(half) / half)
        phase = np.exp(1j * np.arange(len(x))[:, None, None] * turns)
        pairs = (x[..., :half] + 1j * x[..., half:]) * phase
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    def network(self, at: str, x: Array) -> Array:
        moe, w = self.config.experts, self.weights
        if moe is None:
            gate, up = x @ w[at + "gate_proj.weight"], x @ w[at + "up_proj.weight"]
            return np.asarray((self.activated(gate) * up) @ w[at + "down_proj.weight"])
        result = np.zeros_like(x)
        logits = x @ w[at + "gate.router.weight"]
        for n, token in enumerate(x):
            best = np.argsort(-logits[n])[: moe.topk]
            share = np.exp(logits[n, best]) / np.exp(logits[n, best]).sum()
            for weight, expert in zip(share, best, strict=True):
                both = token @ w[at + "experts.gate_up_proj.weight"][expert]
                inner = self.activated(both[: moe.ffn]) * both[moe.ffn :]
                result[n] += weight * (inner @ w[at + "experts.down_proj.weight"][expert])
        return result

    def activated(self, x: Array) -> Array:
        if self.config.activation == "silu":
            return np.asarray(x / (1 + np.exp(-x)))
        cubed = 0.7978845608028654 * (x + 0.044715 * x**3)
        return np.asarray(0.5 * x * (1 + np.tanh(cubed)))


def weights_of(proto: onnx.ModelProto) -> dict[str, Array]:
    arrays = {x.name: numpy_helper.to_array(x) for x in filled(proto).graph.initializer}
    return {name: array.astype(np.float64) for name, array in arrays.items()}


@each("name", BY_HAND)
def test_a_transformer_computes_what_its_definition_says(name: str) -> None:
    proto = models.transformer(CONFIGS[name], phase="prefill", dtype="f32")
    ids, mask = tokens(7)
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(mask)}
    found = run(session_of(proto), feeds)["logits"]
    reference = Reference(CONFIGS[name], weights_of(proto))
    for sequence, logits in zip(ids, found, strict=True):
        np.testing.assert_allclose(logits, reference(sequence), rtol=2e-4, atol=2e-5)


@each("name", CONFIGS)
def test_elk_computes_a_step_as_onnx_runtime_does(name: str) -> None:
    proto = models.transformer(CONFIGS[name], dtype="f32")
    assert_computes(filled(proto), bindings={"batch": 2, "past": 5})


OTHERS: dict[str, tuple[Any, dict[str, int]]] = {
    "gpt-oss prefill": (
        lambda: models.transformer(CONFIGS["gpt-oss"], phase="prefill", dtype="f32"),
        {"batch": 2, "seq": 4},
    ),
    "deepseek prefill": (
        lambda: models.transformer(CONFIGS["deepseek"], phase="prefill", dtype="f32"),
        {"batch": 2, "seq": 4},
    ),
    "retention": (lambda: models.retention(RETENTION, dtype="f32"), {"batch": 2}),
    "retention prefill": (
        lambda: models.retention(RETENTION, phase="prefill", dtype="f32"),
        {"batch": 2, "seq": 4},
    ),
    "vit": (lambda: FORWARD["vit"][0], {"batch": 2}),
    "encoder": (lambda: FORWARD["encoder"][0], {"batch": 2, "seq": 5}),
    "audio": (lambda: FORWARD["audio"][0], {"batch": 2}),
    "diffusion": (lambda: FORWARD["diffusion"][0], {"batch": 2}),
    "the body of a step": (lambda: BLOCKS["gemma decode"](body=True), {"batch": 2, "past": 5}),
    "the body of an encoder": (lambda: BLOCKS["encoder"](body=True), {"batch": 2, "seq": 5}),
}


@each("name", OTHERS)
def test_elk_computes_other_models_as_onnx_runtime_does(name: str) -> None:
    make, bindings = OTHERS[name]
    assert_computes(filled(make()), bindings=bindings)
