"""Published models and models of one's own as ONNX graphs without weights."""

from __future__ import annotations

from elk.models.config import Experts, LatentAttention, Rope, TransformerConfig
from elk.models.transformer import transformer

__all__ = ["Experts", "LatentAttention", "Rope", "TransformerConfig", "transformer"]
