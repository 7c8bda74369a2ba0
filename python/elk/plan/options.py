"""What `elk.compile` is given, checked and made ready for the core."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from elk import _core
from elk.base.choices import one_of
from elk.document.compiled import EFFORTS, OBJECTIVES, PODS, POLICIES
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.document.compiled import Constraints
    from elk.document.schema import ModelRow
    from elk.limits import Limits
    from elk.model.model import Model

# Cycles of one call of a kernel: `(function, dtype, accumulate)`, the sizes above one by their role
# (`{"m": 32, "n": 16, "k": 64}`), and the kernel's parameters (of a window, its strides).
TileFunction: TypeAlias = Callable[[tuple[str, str, str], dict[str, int], tuple[int, int]], float]

_LATER_POLICIES: Final = {
    "t10": "it plans models that live on chip, and arrives in a later version",
    "vgm": "it plans models that live on chip, and arrives in a later version",
}


def core_options(
    *,
    policy: str,
    effort: str,
    objective: str,
    pod: str,
    threads: int | None,
    constraints: Constraints,
) -> _core.Options:
    """The core's own struct; raises InvalidInputError naming the option that is wrong."""
    return _core.Options(
        policy=POLICIES[one_of("policy", policy, tuple(POLICIES), later=_LATER_POLICIES)],
        effort=EFFORTS[one_of("effort", effort, tuple(EFFORTS))],
        objective=OBJECTIVES[one_of("objective", objective, tuple(OBJECTIVES))],
        pod=PODS[one_of("pod", pod, tuple(PODS))],
        threads=_threads(threads),
        min_core_share=_number("min_core_share", constraints.min_core_share, largest=1.0),
        max_padding=_padding(constraints.max_padding),
    )


def model_row(model: Model) -> ModelRow:
    """What a plan says of the model that was planned."""
    return {
        "name": model.name,
        "onnx_sha256": model.onnx_sha256,
        "bindings": dict(model.bindings),
        "op_count": len(model.graph.ops),
    }


def as_model(
    model: Model | ModelProto | bytes | str | Path,
    *,
    bindings: Mapping[str, int] | None,
    weights: str | Iterable[str] | None,
    state: str | Iterable[str] | None,
    limits: Limits | None,
) -> Model:
    """A loaded model itself, or what `elk.load_model` makes of it."""
    from elk.model.model import Model, load_model  # noqa: PLC0415 - `import elk` stays small

    given: dict[str, Any] = {
        "bindings": bindings,
        "weights": weights,
        "state": state,
        "limits": limits,
    }
    if not isinstance(model, Model):
        return load_model(model, **{k: v for k, v in given.items() if v is not None})
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise InvalidInputError(
            f"{', '.join(unused)}: the model is loaded already",
            code="model_loaded",
            remedy="give them to elk.load_model",
        )
    return model


def _threads(threads: object) -> int:
    if threads is None:
        return 0
    if isinstance(threads, int) and not isinstance(threads, bool) and threads >= 1:
        return threads
    raise InvalidInputError(f"threads must be an integer above 0 or None, got {threads!r}")


def _number(name: str, value: object, *, largest: float = math.inf) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= largest:
        return float(value)
    limit = "" if largest == math.inf else f" and at most {largest:g}"
    raise InvalidInputError(f"{name} must be a number of at least 0{limit}, got {value!r}")


def _padding(value: object) -> float:
    ratio = _number("max_padding", value)
    if 0.0 < ratio < 1.0:
        raise InvalidInputError(
            f"max_padding must be 0 or at least 1, got {value!r}: it is padded over original size",
            remedy="1.0 allows no padding, 0 allows any",
        )
    return ratio


def name_of(function: TileFunction) -> str:
    """What a caller's function is called in plans."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def asked_model(graph: _core.Graph, function: TileFunction) -> _core.TileModel:
    """The tile model that a caller's function is, for all kernels that `graph` may call."""
    if not callable(function):
        raise InvalidInputError(
            f"tile_model must be a function, got {function!r}",
            place="tile_model",
            remedy="name tile models in the chip: chip.replace(tile_model=...)",
        )
    dtypes = {op.accumulate.name for op in graph.ops} | {t.dtype.name for t in graph.tensors}
    kernels = [(op.function, op.compute.name, op.accumulate.name) for op in graph.ops]
    kernels += [("partials_reduce", dtype, dtype) for dtype in sorted(dtypes)]
    kernels += [("slice_copy", dtype, dtype) for dtype in sorted(dtypes | {"F16", "F32"})]
    names = [(name, a.lower(), b.lower()) for name, a, b in dict.fromkeys(kernels)]
    return _core.TileModel.asking(names, function)


def tiles_for(
    model: Model, chip: Chip, function: TileFunction | None
) -> tuple[_core.TileModel, Chip, _core.Kept | None]:
    """The tile model to plan with, the chip that names it, and what is kept under it.

    Nothing is kept under a caller's function, which may be another one next time.
    """
    from elk.tile.tilemodel import load_tile_model  # noqa: PLC0415 - `import elk` stays small

    if function is None:
        tiles = load_tile_model(chip.core.tile_model)
        return tiles, chip, model.kept.of(tiles)
    asked = asked_model(model.graph, function)
    return asked, chip.replace(tile_model=f"function {name_of(function)}"), None


def borrowed(graph: _core.Graph, tiles: _core.TileModel) -> tuple[bool, ...]:
    """For each op, whether its kernel has no rows of its own in the tile model."""
    kernels = [(op.function, op.compute.name, op.accumulate.name) for op in graph.ops]
    known = {kernel: tiles.find(kernel)[1] for kernel in dict.fromkeys(kernels)}
    return tuple(known[kernel] for kernel in kernels)
