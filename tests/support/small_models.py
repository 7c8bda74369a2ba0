"""Small models of every kind, for tests that run them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
from elk import models
from elk.models import Experts, LatentAttention, Rope, TransformerConfig
from model_runs import Array

SMALL: dict[str, Any] = {"layers": 2, "hidden": 32, "heads": 4, "vocab": 50, "ffn": 48}
CONFIGS = {
    "multi-head": TransformerConfig(**SMALL),
    "grouped": TransformerConfig(**SMALL, kv_heads=2),
    "multi-query": TransformerConfig(**SMALL, kv_heads=1),
    "interleaved": TransformerConfig(**SMALL, kv_heads=2, rope=Rope(interleaved=True)),
    "opt": TransformerConfig(
        **SMALL, rope=None, positions=40, position_offset=2, norm="layernorm", gated=False,
        activation="relu", tied=True, qkv_bias=True, out_bias=True, ffn_bias=True,
    ),
    "parallel": TransformerConfig(
        **SMALL, kv_heads=1, parallel=True, norm="layernorm", gated=False, activation="gelu"
    ),
    "gemma": TransformerConfig(
        **SMALL, kv_heads=2, head_dim=16, activation="gelu_tanh", post_norms=True, tied=True,
        softcap=5.0, final_softcap=3.0, query_scale=0.3, embedding_scale=5.0, windows=(4, 0),
    ),
    "head in parts": TransformerConfig(**SMALL, head_parts=2),
    "tied head in parts": TransformerConfig(**SMALL, head_parts=5, tied=True),
    "qwen": TransformerConfig(**SMALL, kv_heads=2, head_dim=16, qk_norm=True),
    "llama3": TransformerConfig(**SMALL, rope=Rope(scaling="llama3", factor=8.0, original=64)),
    "mixtral": TransformerConfig(**SMALL, kv_heads=2, experts=Experts(experts=6, topk=2, ffn=24)),
    "softmax over all": TransformerConfig(
        **SMALL, experts=Experts(experts=6, topk=2, ffn=24, router="softmax_topk"),
        gated=False, activation="gelu",
    ),
    "gpt-oss": TransformerConfig(
        **SMALL, kv_heads=2, activation="clamped_swiglu", qkv_bias=True, out_bias=True,
        sinks=True, windows=(3, 0), experts=Experts(experts=6, topk=2, ffn=24, bias=True, parts=2),
        rope=Rope(theta=150000.0, scaling="yarn", factor=4.0, original=16, high=32.0,
                  attention_factor=1.1, truncate=False),
    ),
    "sinks of all heads": TransformerConfig(**SMALL, sinks=True, windows=(5,)),
    "deepseek": TransformerConfig(
        **SMALL, mla=LatentAttention(q_rank=12, kv_rank=16, nope=8, rope=4, value=6),
        rope=Rope(interleaved=True, scaling="yarn", factor=4.0, original=16, high=32.0),
        experts=Experts(experts=8, topk=3, ffn=16, shared=1, router="sigmoid_groups", groups=4,
                        top_groups=2, scale=2.5, dense_layers=1),
    ),
    "latent, direct queries": TransformerConfig(
        **SMALL, mla=LatentAttention(kv_rank=16, nope=8, rope=4, value=6)
    ),
}  # fmt: skip
RETENTION = models.RetentionConfig(layers=2, hidden=32, value=64, ffn=48, heads=2, vocab=50)
WIDTHS: dict[str, Any] = {"layers": 2, "hidden": 32, "heads": 4, "ffn": 48}
VIT = models.VisionTransformerConfig(**WIDTHS, image=16, patch=4, classes=5)
ENCODER = models.EncoderConfig(**WIDTHS, vocab=50, positions=16)
AUDIO = models.AudioEncoderConfig(**WIDTHS, mels=8, frames=20)
DIFFUSION = models.DiffusionTransformerConfig(**WIDTHS, sample=8, channels=4, patch=2, classes=5)
# What writes each model that is made of blocks; `body=True` gives the blocks alone.
BLOCKS: dict[str, Callable[..., onnx.ModelProto]] = {
    **{
        f"{name} {phase}": partial(models.transformer, config, phase=phase, dtype="f32")
        for name, config in CONFIGS.items()
        for phase in ("decode", "prefill")
    },
    "retention decode": partial(models.retention, RETENTION, phase="decode", dtype="f32"),
    "retention prefill": partial(models.retention, RETENTION, phase="prefill", dtype="f32"),
    "vit": partial(models.vision_transformer, VIT, dtype="f32"),
    "encoder": partial(models.encoder, ENCODER, dtype="f32"),
    "audio": partial(models.audio_encoder, AUDIO, dtype="f32"),
    "diffusion": partial(models.diffusion_transformer, DIFFUSION, dtype="f32"),
}


def tokens(length: int) -> tuple[Array, Array]:
    """Token ids and a mask; the second sequence begins with two padded ones."""
    ids = np.random.default_rng(1).integers(0, 50, (3, length))
    mask = np.ones((3, length), dtype=np.int64)
    mask[1, :2] = 0
    return ids, mask


FORWARD = {
    "vit": (BLOCKS["vit"](), {"logits": (2, 5)}),
    "encoder": (
        BLOCKS["encoder"](),
        {"last_hidden_state": (2, 7, 32), "pooler_output": (2, 32)},
    ),
    "audio": (BLOCKS["audio"](), {"last_hidden_state": (2, 10, 32)}),
    "diffusion": (BLOCKS["diffusion"](), {"sample": (2, 8, 8, 8)}),
    "mlp": (
        models.mlp(models.MlpConfig(width=8, hidden_layers=2, out=3), dtype="f32"),
        {"y": (2, 3)},
    ),
}
