"""Hyper-parameters of models that are no decoder-only transformers."""

from __future__ import annotations

from dataclasses import dataclass

from elk.base.choices import one_of
from elk.models.decoder_config import MOST_LAYERS, NORMS, positive, real, refuse, several

_EVEN = 2


def _check_width(config: object, heads: int, hidden: int) -> None:
    if hidden % heads:
        refuse(config, "hidden", f"must be a multiple of the {heads} heads, got {hidden}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    """A retentive network (Sun et al. 2023, arXiv:2307.08621), with tied embeddings.

    Attributes:
        layers: Layers.
        hidden: Width of the residual stream, and of all keys.
        value: Width of all values.
        ffn: Inner width of the feed-forward network.
        heads: Heads.
        vocab: Rows of the embedding.
        norm: "rmsnorm" or "layernorm"; the norms of the heads and the last one have no weights.
        epsilon: Of the norms.

    Example:
        >>> elk.models.RetentionConfig(
        ...     layers=2, hidden=256, value=512, ffn=512, heads=4, vocab=1000
        ... ).norm
        'rmsnorm'

    Raises:
        InvalidInputError: A value that no such network has; the place is the field.
    """

    layers: int
    hidden: int
    value: int
    ffn: int
    heads: int
    vocab: int
    norm: str = "rmsnorm"
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        positive(self, "layers", most=MOST_LAYERS)
        real(self, "epsilon")
        positive(self, "hidden", "value", "ffn", "heads", "vocab")
        one_of("norm", self.norm, NORMS)
        _check_width(self, self.heads * _EVEN, self.hidden)
        if self.value % self.heads:
            refuse(self, "value", f"must be a multiple of the {self.heads} heads")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTransformerConfig:
    """A vision transformer with a class token and a classifier.

    Attributes:
        layers: Layers.
        hidden: Width of the residual stream.
        heads: Heads.
        ffn: Inner width of the feed-forward network.
        image: Height and width of an image, in pixels.
        patch: Height and width of a patch, in pixels.
        classes: Classes.
        channels: Channels of an image.
        epsilon: Of the norms.

    Example:
        >>> config = elk.models.VisionTransformerConfig(
        ...     layers=2, hidden=64, heads=4, ffn=128, image=32, patch=8, classes=10
        ... )
        >>> config.tokens
        17

    Raises:
        InvalidInputError: A value that no such model has; the place is the field.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    image: int
    patch: int
    classes: int
    channels: int = 3
    epsilon: float = 1e-12

    def __post_init__(self) -> None:
        positive(self, "layers", most=MOST_LAYERS)
        real(self, "epsilon")
        positive(self, "hidden", "heads", "ffn")
        positive(self, "image", "patch", "classes", "channels")
        _check_width(self, self.heads, self.hidden)
        if self.image % self.patch:
            refuse(self, "patch", f"must divide the image of {self.image}, got {self.patch}")

    @property
    def tokens(self) -> int:
        """Patches of an image, and the class token."""
        return (self.image // self.patch) ** 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """A text encoder with norms behind attention and network, and a pooler: BERT.

    Attributes:
        layers: Layers.
        hidden: Width of the residual stream.
        heads: Heads.
        ffn: Inner width of the feed-forward network.
        vocab: Rows of the embedding.
        positions: Rows of the table of positions.
        types: Rows of the table of token types; every token is of the first.
        epsilon: Of the norms.

    Example:
        >>> elk.models.EncoderConfig(
        ...     layers=2, hidden=64, heads=4, ffn=128, vocab=1000, positions=128
        ... ).types
        2

    Raises:
        InvalidInputError: A value that no such model has; the place is the field.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    positions: int
    types: int = 2
    epsilon: float = 1e-12

    def __post_init__(self) -> None:
        positive(self, "layers", most=MOST_LAYERS)
        real(self, "epsilon")
        positive(self, "hidden", "heads", "ffn", "vocab", "positions", "types")
        _check_width(self, self.heads, self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioEncoderConfig:
    """The encoder of Whisper: two convolutions over frames, then a transformer.

    Attributes:
        layers: Layers.
        hidden: Width of the residual stream.
        heads: Heads.
        ffn: Inner width of the feed-forward network.
        mels: Bins of a frame.
        frames: Frames; the second convolution halves them.
        epsilon: Of the norms.

    Example:
        >>> elk.models.AudioEncoderConfig(
        ...     layers=2, hidden=64, heads=4, ffn=128, mels=16, frames=100
        ... ).frames
        100

    Raises:
        InvalidInputError: A value that no such model has; the place is the field.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    mels: int
    frames: int
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        positive(self, "layers", most=MOST_LAYERS)
        real(self, "epsilon")
        positive(self, "hidden", "heads", "ffn", "mels", "frames")
        _check_width(self, self.heads, self.hidden)
        if self.frames % _EVEN:
            refuse(self, "frames", f"must be even, got {self.frames}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionTransformerConfig:
    """A diffusion transformer with adaLN-Zero blocks: DiT.

    Attributes:
        layers: Blocks.
        hidden: Width of the residual stream.
        heads: Heads.
        ffn: Inner width of the feed-forward network.
        sample: Height and width of a latent image.
        channels: Channels of a latent image; the result has a mean and a variance of each.
        patch: Height and width of a patch.
        classes: Classes; one row more stands for none.
        frequencies: Width of the sinusoidal embedding of a time step.
        epsilon: Of the norms.

    Example:
        >>> config = elk.models.DiffusionTransformerConfig(
        ...     layers=2, hidden=64, heads=4, ffn=128, sample=8, channels=4, patch=2, classes=10
        ... )
        >>> config.side
        4

    Raises:
        InvalidInputError: A value that no such model has; the place is the field.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    sample: int
    channels: int
    patch: int
    classes: int
    frequencies: int = 256
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        positive(self, "layers", most=MOST_LAYERS)
        real(self, "epsilon")
        positive(self, "hidden", "heads", "ffn", "sample", "channels")
        positive(self, "patch", "classes", "frequencies")
        _check_width(self, self.heads, self.hidden)
        if self.sample % self.patch:
            refuse(self, "patch", f"must divide the sample of {self.sample}, got {self.patch}")
        for name in ("hidden", "frequencies"):
            if getattr(self, name) % (_EVEN * _EVEN):
                refuse(self, name, f"must be a multiple of 4, got {getattr(self, name)}")

    @property
    def side(self) -> int:
        """Patches along one side of a latent image."""
        return self.sample // self.patch


@dataclass(frozen=True, slots=True, kw_only=True)
class ResNetConfig:
    """A residual network for images.

    Attributes:
        widths: Channels inside the blocks of each stage; the first are also those of the stem.
        depths: Blocks of each stage.
        image: Height and width of an image, in pixels.
        classes: Classes.
        bottleneck: How many times wider than its inside a block's result is; 1: basic blocks.
        channels: Channels of an image.
        folded: Whether batch normalization is a part of the convolutions, as exporters leave it.
        epsilon: Of the batch normalization that is not folded.

    Example:
        >>> elk.models.ResNetConfig(
        ...     widths=(8, 16), depths=(1, 1), image=32, classes=10
        ... ).bottleneck
        1

    Raises:
        InvalidInputError: A value that no such network has; the place is the field.
    """

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    image: int
    classes: int
    bottleneck: int = 1
    channels: int = 3
    folded: bool = True
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        positive(self, "image", "classes", "bottleneck", "channels")
        real(self, "epsilon")
        several(self, "widths", least=1)
        several(self, "depths", least=1)
        if sum(self.depths) > MOST_LAYERS:
            refuse(self, "depths", f"must be at most {MOST_LAYERS} blocks, got {sum(self.depths)}")
        if len(self.widths) != len(self.depths):
            refuse(
                self,
                "depths",
                f"must be as many as widths, {len(self.widths)}, got {len(self.depths)}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpConfig:
    """Square layers with ReLU, then a narrow one; no biases.

    Attributes:
        width: Width of the input and of the square layers.
        hidden_layers: Square layers.
        out: Width of the result.

    Example:
        >>> elk.models.MlpConfig(width=64, hidden_layers=6, out=3).out
        3

    Raises:
        InvalidInputError: A value that is not positive; the place is the field.
    """

    width: int
    hidden_layers: int
    out: int

    def __post_init__(self) -> None:
        positive(self, "width", "out")
        positive(self, "hidden_layers", most=MOST_LAYERS)
