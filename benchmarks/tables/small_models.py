"""Models that are planned in about a second, as many kinds as there are: for sweeps over chips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import elk
from cases import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

_DECODER: Final = elk.models.TransformerConfig(
    layers=2, hidden=512, heads=8, kv_heads=2, vocab=2048, ffn=1024
)
_EXPERTS: Final = elk.models.TransformerConfig(
    layers=2,
    hidden=256,
    heads=8,
    vocab=1024,
    experts=elk.models.Experts(experts=4, topk=2, ffn=256),
)
_ENCODER: Final = elk.models.EncoderConfig(
    layers=12, hidden=256, heads=8, ffn=1024, vocab=1000, positions=128
)
_IMAGES: Final = elk.models.VisionTransformerConfig(
    layers=2, hidden=192, heads=3, ffn=768, image=64, patch=16, classes=100
)
_RETENTION: Final = elk.models.RetentionConfig(
    layers=2, hidden=256, value=512, ffn=512, heads=4, vocab=1024
)
_CONVOLUTIONS: Final = elk.models.ResNetConfig(widths=(32, 64), depths=(1, 1), image=32, classes=10)

_KINDS: Final[dict[str, tuple[Callable[[], onnx.ModelProto | str], dict[str, int]]]] = {
    "nerf": (lambda: str(MODELS / "nerf.onnx"), {"rows": 16}),
    "encoder": (lambda: elk.models.encoder(_ENCODER), {"batch": 32, "seq": 1}),
    "decoder": (lambda: elk.models.transformer(_DECODER), {"batch": 8, "past": 128}),
    "experts": (lambda: elk.models.transformer(_EXPERTS), {"batch": 8, "past": 64}),
    "prefill": (
        lambda: elk.models.transformer(_DECODER, phase="prefill"),
        {"batch": 1, "seq": 64},
    ),
    "retention": (lambda: elk.models.retention(_RETENTION), {"batch": 8}),
    "vision": (lambda: elk.models.vision_transformer(_IMAGES), {"batch": 4}),
    "convolutions": (lambda: elk.models.resnet(_CONVOLUTIONS), {"batch": 4}),
}

NAMES: Final = tuple(_KINDS)


def load(name: str, **sizes: int) -> elk.Model:
    """The model `name` at its usual sizes, or at those given."""
    make, usual = _KINDS[name]
    return elk.load_model(make(), bindings={**usual, **sizes})


def batch_of(name: str) -> tuple[str, int]:
    """The size of model `name` that is a batch, and its usual value."""
    usual = _KINDS[name][1]
    symbol = next(name for name in ("rows", "batch", "seq") if usual.get(name, 1) > 1)
    return symbol, usual[symbol]
