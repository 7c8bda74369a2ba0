"""Published models by name: their hyper-parameters come with ELK as tables."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elk.base.choices import one_of
from elk.errors import InvalidInputError
from elk.models import sizes
from elk.models.decoder_config import Experts, LatentAttention, Rope, TransformerConfig

if TYPE_CHECKING:
    import onnx

_TABLES = Path(__file__).parents[1] / "data" / "models"
_PARTS = {"rope": Rope, "experts": Experts, "mla": LatentAttention}
_CAUSAL = ("decode", "prefill")
_TRAINED = (*_CAUSAL, "train")
_FORWARD = ("forward",)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of model: its configuration, and the module and the function that write it."""

    config: type
    module: str
    function: str
    phases: tuple[str, ...] = _FORWARD


_KINDS = {
    "transformer": _Kind(TransformerConfig, "decoder", "transformer", _TRAINED),
    "retention": _Kind(sizes.RetentionConfig, "retnet", "retention", _CAUSAL),
    "vision_transformer": _Kind(sizes.VisionTransformerConfig, "encoders", "vision_transformer"),
    "encoder": _Kind(sizes.EncoderConfig, "encoders", "encoder"),
    "audio_encoder": _Kind(sizes.AudioEncoderConfig, "encoders", "audio_encoder"),
    "diffusion_transformer": _Kind(
        sizes.DiffusionTransformerConfig, "diffusion", "diffusion_transformer"
    ),
    "resnet": _Kind(sizes.ResNetConfig, "convolution", "resnet"),
    "mlp": _Kind(sizes.MlpConfig, "convolution", "mlp"),
}


def names() -> list[str]:
    """The models: decoders first, in the order of the tables.

    Example:
        >>> elk.models.names()[:3]
        ['llama2-7b', 'llama2-13b', 'llama2-70b']
    """
    return list(_table())


def phases(name: str) -> tuple[str, ...]:
    """The graphs that there are of the model `name`, the default first.

    Example:
        >>> elk.models.phases("llama2-13b"), elk.models.phases("resnet-18")
        (('decode', 'prefill', 'train'), ('forward',))

    Raises:
        InvalidInputError: There is no such model.
    """
    return _kind(name).phases


def source(name: str) -> str:
    """Where the hyper-parameters of the model `name` were published.

    Example:
        >>> elk.models.source("llama2-7b")
        'Touvron et al. 2023, arXiv:2307.09288; config.json'

    Raises:
        InvalidInputError: There is no such model.
    """
    return str(_row(name)["source"])


def kind(name: str) -> str:
    """What kind of model `name` is.

    Example:
        >>> elk.models.kind("mixtral-8x7b")
        'transformer'

    Raises:
        InvalidInputError: There is no such model.
    """
    return str(_row(name)["kind"])


def config(name: str) -> Any:
    """The hyper-parameters of the model `name`.

    Example:
        >>> elk.models.config("llama2-70b").kv_heads
        8

    Raises:
        InvalidInputError: There is no such model.
    """
    values = dict(_row(name))
    found = _kind(name)
    del values["kind"], values["source"]
    for key, part in _PARTS.items():
        if isinstance(values.get(key), dict):
            values[key] = part(**values[key])
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    if found.config is TransformerConfig:
        values.setdefault("rope", None)
    return found.config(**values)


def get(  # noqa: PLR0913 - every option is one of its own
    name: str,
    phase: str | None = None,
    *,
    layers: int | None = None,
    dtype: str = "f16",
    weights: str | None = None,
    body: bool = False,
    dropout: float | None = None,
) -> onnx.ModelProto:
    """The model `name` as ONNX, without weights.

    Args:
        name: One of `names()`.
        phase: One of `phases(name)`; None: the first of them.
        layers: How many layers it has; None: all.
        dtype: What weights and activations hold: "f16", "bf16" or "f32".
        weights: What the matrices of products are stored as: "int8", with a scale for each column,
            or "int4", with one for each column of 128 rows; None: `dtype`. Products read them so.
        body: Whether there are only the blocks, as in a middle stage of a pipeline and in Hugging
            Face's `BertEncoder` and `ViTEncoder`. The embedding (tables of tokens and positions,
            patches, convolutions in front) is left out, and so are pooler and head, to which a
            norm behind the last block counts. The model takes `hidden_states`
            [batch, seq, hidden] of type `dtype` and gives `last_hidden_state` of that shape and
            type; masks, positions and caches stay as they are. Where an image or a sound decides
            how many tokens there are, seq is that number.
        dropout: The share that phase "train" drops of embeddings, of attention and of what layers
            add; None: that of `config(name)`, 0.1 for megatron-*.

    Example:
        >>> model = elk.models.get("llama2-13b", phase="decode", layers=2)
        >>> elk.load_model(model, bindings={"batch": 32, "past": 2048}).facts.state_bytes
        2684354560
        >>> [x.name for x in elk.models.get("bert-large", body=True).graph.input]
        ['hidden_states', 'attention_mask']

    Raises:
        InvalidInputError: There is no such model, phase, dtype, type of weights or dropout, or it
            has no such layers, no body or nothing to drop.
    """
    found = _kind(name)
    chosen = found.phases[0] if phase is None else one_of("phase", phase, found.phases)
    values = config(name)
    options: dict[str, Any] = {"phase": chosen, "dtype": dtype, "name": name}
    if layers is not None:
        _is_layered(values, name, "layers", "it takes no number of them")
        values = replace(values, layers=layers)
    if body:
        _is_layered(values, name, "body", "nothing of it is its body")
        options["body"] = True
    if dropout is not None:
        _is_trained(found, name)
        options["dropout"] = dropout
    function = getattr(import_module(f"elk.models.{found.module}"), found.function)
    model: onnx.ModelProto = function(values, **options)
    if weights is None:
        return model
    from elk.models.stored import store_weights  # noqa: PLC0415 names() does without onnx

    return store_weights(model, weights)


def parameters(name: str) -> int:
    """Elements of all weights of the model `name`.

    Example:
        >>> elk.models.parameters("llama2-70b")
        68976648192

    Raises:
        InvalidInputError: There is no such model.
    """
    weights = (x for x in get(name).graph.initializer if x.external_data)
    return sum(math.prod(x.dims) for x in weights)


def symbols(model: onnx.ModelProto) -> list[str]:
    """The names that the dimensions of the inputs of `model` ask for, in their order.

    Example:
        >>> elk.models.symbols(elk.models.get("llama2-7b"))
        ['batch', 'past']
    """
    from elk.frontend.read.bind import symbols as names_in  # noqa: PLC0415 names() does without onnx

    texts = (
        dim.dim_param
        for value in model.graph.input
        for dim in value.type.tensor_type.shape.dim
        if dim.dim_param
    )
    return list(dict.fromkeys(name for text in texts for name in names_in(text)))


def _is_layered(values: Any, name: str, option: str, consequence: str) -> None:
    """Refuses `option` of a model whose configuration `values` has no layers."""
    if "layers" not in {field.name for field in fields(values)}:
        raise InvalidInputError(
            f"{name!r} is not made of equal layers, so {consequence}",
            code="model_config",
            place=option,
            remedy=f"leave {option} out",
        )


def _is_trained(found: _Kind, name: str) -> None:
    if "train" not in found.phases:
        raise InvalidInputError(
            f"{name!r} has no phase 'train', so nothing of it is dropped",
            code="model_config",
            place="dropout",
            remedy="leave dropout out",
        )


def _kind(name: str) -> _Kind:
    return _KINDS[str(_row(name)["kind"])]


def _row(name: str) -> dict[str, Any]:
    table = _table()
    if name not in table:
        near = get_close_matches(str(name), table, n=1)
        raise InvalidInputError(
            f"no model is called {name!r}",
            code="unknown_name",
            place="name",
            remedy=f"did you mean {near[0]!r}?" if near else f"there are {', '.join(table)}",
        )
    return table[name]


@cache
def _table() -> dict[str, dict[str, Any]]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(_TABLES.glob("*.toml")))
    return {name: row for text in texts for name, row in tomllib.loads(text).items()}
