"""Published models, and models of one's own, as ONNX graphs without weights."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from elk.models.catalogue import (
    config,
    get,
    kind,
    names,
    parameters,
    phases,
    source,
    symbols,
)
from elk.models.decoder_config import Experts, LatentAttention, Rope, TransformerConfig
from elk.models.sizes import (
    AudioEncoderConfig,
    DiffusionTransformerConfig,
    EncoderConfig,
    MlpConfig,
    ResNetConfig,
    RetentionConfig,
    VisionTransformerConfig,
)

if TYPE_CHECKING:
    from elk.models.convolution import mlp as mlp
    from elk.models.convolution import resnet as resnet
    from elk.models.decoder import transformer as transformer
    from elk.models.diffusion import diffusion_transformer as diffusion_transformer
    from elk.models.encoders import audio_encoder as audio_encoder
    from elk.models.encoders import encoder as encoder
    from elk.models.encoders import vision_transformer as vision_transformer
    from elk.models.retnet import retention as retention
    from elk.models.stored import store_weights as store_weights

# Where each function that writes a graph lives; onnx is imported when one is first used.
_LAZY = {
    "audio_encoder": "encoders",
    "diffusion_transformer": "diffusion",
    "encoder": "encoders",
    "mlp": "convolution",
    "resnet": "convolution",
    "retention": "retnet",
    "store_weights": "stored",
    "transformer": "decoder",
    "vision_transformer": "encoders",
}

__all__ = [
    "AudioEncoderConfig",
    "DiffusionTransformerConfig",
    "EncoderConfig",
    "Experts",
    "LatentAttention",
    "MlpConfig",
    "ResNetConfig",
    "RetentionConfig",
    "Rope",
    "TransformerConfig",
    "VisionTransformerConfig",
    "audio_encoder",
    "config",
    "diffusion_transformer",
    "encoder",
    "get",
    "kind",
    "mlp",
    "names",
    "parameters",
    "phases",
    "resnet",
    "retention",
    "source",
    "store_weights",
    "symbols",
    "transformer",
    "vision_transformer",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'elk.models' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"elk.models.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
