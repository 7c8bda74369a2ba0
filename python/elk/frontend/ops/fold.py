"""Folding: what constants and shapes alone determine is computed here, once, with numpy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.values import DTYPES, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from elk.frontend.views.values import Array

    Fold: TypeAlias = Callable[[Node, list[Array]], Array | list[Array] | None]


def by(function: Callable[..., Any]) -> Fold:
    """Folds with a numpy function of the inputs, which broadcast; keeps their element type."""

    def fold(node: Node, arrays: list[Array]) -> Array | None:
        if _elements(arrays) > node.folded_elements:
            return None
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays)).astype(arrays[-1].dtype, copy=False)

    return fold


def test(function: Callable[..., Any]) -> Fold:
    """Folds a comparison: like `by`, with truth values as its result."""

    def fold(node: Node, arrays: list[Array]) -> Array | None:
        return np.asarray(function(*arrays)) if _elements(arrays) <= node.folded_elements else None

    return fold


def _elements(arrays: list[Array]) -> int:
    try:
        return math.prod(np.broadcast_shapes(*(a.shape for a in arrays)))
    except ValueError:
        raise UnplannableError("its inputs do not broadcast") from None


def divide(a: Array, b: Array) -> Array:
    """ONNX Div: integers are cut towards zero."""
    if np.issubdtype(a.dtype, np.integer):
        quotient = np.abs(a) // np.abs(b)
        return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))
    return np.asarray(np.true_divide(a, b))


def clip(node: Node, arrays: list[Array]) -> Array | list[Array] | None:
    """Clip, whose bounds may be attributes; only with both bounds as inputs."""
    if len(arrays) != len(node.inputs) or len(arrays) < 3 or arrays[0].size > node.folded_elements:  # noqa: PLR2004
        return None
    return np.asarray(np.clip(*arrays)).astype(arrays[0].dtype, copy=False)


def power(node: Node, arrays: list[Array]) -> Array | None:
    """Pow, which keeps the type of its base."""
    result = by(np.power)(node, arrays)
    if result is None or isinstance(result, list):
        return None
    return np.asarray(result, dtype=arrays[0].dtype)


def mod(node: Node, arrays: list[Array]) -> Array | list[Array] | None:
    """Mod, with the sign of the divisor unless `fmod`."""
    return by(np.fmod if node.attrs.get("fmod", 0) else np.mod)(node, arrays)


def cast(node: Node, arrays: list[Array]) -> Array | None:
    """Cast to the type of attribute `to`."""
    if arrays[0].size > node.folded_elements:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(arrays[0], dtype=numpy_dtype(DTYPES[int(node.attrs["to"])]))


def arange(node: Node, arrays: list[Array]) -> Array | None:
    """Range."""
    start, limit, delta = (a.item() for a in arrays)
    count = max(math.ceil((limit - start) / delta), 0)
    if count > node.folded_elements:
        return None
    return np.asarray(start + delta * np.arange(count), dtype=arrays[0].dtype)


def expand(node: Node, arrays: list[Array]) -> Array | None:
    """Expand."""
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(n) for n in arrays[1].ravel()))
    return (
        np.broadcast_to(arrays[0], shape).copy()
        if math.prod(shape) <= node.folded_elements
        else None
    )


def concat(node: Node, arrays: list[Array]) -> Array | None:
    """Concat."""
    if sum(a.size for a in arrays) > node.folded_elements:
        return None
    return np.asarray(np.concatenate(arrays, axis=int(node.attrs["axis"])))


def gather(node: Node, arrays: list[Array]) -> Array | None:
    """Gather."""
    data, index = arrays
    axis = int(node.attrs.get("axis", 0))
    if index.size * (data.size // max(data.shape[axis], 1)) > node.folded_elements:
        return None
    return np.take(data, index, axis=axis)


def gather_nd(node: Node, arrays: list[Array]) -> Array | None:
    """GatherND without batch dimensions."""
    data, index = arrays
    depth = index.shape[-1]
    if node.attrs.get("batch_dims", 0):
        return None
    if math.prod((*index.shape[:-1], *data.shape[depth:])) > node.folded_elements:
        return None
    return np.asarray(data[tuple(np.moveaxis(index, -1, 0))])


def gather_elements(node: Node, arrays: list[Array]) -> Array | None:
    """GatherElements."""
    largest = max((arrays[1].size, *arrays[1].shape))
    if largest > node.folded_elements:
        return None
    return np.take_along_axis(arrays[0], arrays[1], axis=int(node.attrs.get("axis", 0)))


def cumsum(node: Node, arrays: list[Array]) -> Array | None:
    """CumSum, forwards and including the element itself."""
    if node.attrs.get("exclusive", 0) or node.attrs.get("reverse", 0):
        return None
    if arrays[0].size > node.folded_elements:
        return None
    return np.asarray(np.cumsum(arrays[0], axis=int(arrays[1].item()), dtype=arrays[0].dtype))


def reduced(function: Callable[..., Any]) -> Fold:
    """Folds a reduction over attribute or input `axes`."""

    def fold(node: Node, arrays: list[Array]) -> Array | None:
        rank = arrays[0].ndim
        axes = node.ints(1, "axes")
        if not axes and node.attrs.get("noop_with_empty_axes", 0):
            return arrays[0]
        over = tuple(wrapped(a, rank) for a in axes) if axes else None
        keep = node.attrs.get("keepdims", 1) == 1
        gone = range(rank) if over is None else over
        if (
            math.prod(n for i, n in enumerate(arrays[0].shape) if i not in gone)
            > node.folded_elements
        ):
            return None
        with np.errstate(all="ignore"):
            result = function(arrays[0], axis=over, keepdims=keep)
        return np.asarray(result).astype(arrays[0].dtype)

    return fold


def constant(node: Node, _: list[Array]) -> Array | None:
    """Constant."""
    attrs = node.attrs
    if "value" in attrs:
        return np.asarray(attrs["value"])
    for name, dtype in (("value_int", "i8"), ("value_ints", "i8"), ("value_float", "f4"),
                        ("value_floats", "f4")):  # fmt: skip
        if name in attrs:
            return np.asarray(attrs[name], dtype=dtype)
    raise UnplannableError("a constant without numbers")


def constant_of_shape(node: Node, arrays: list[Array]) -> Array | None:
    """ConstantOfShape."""
    shape = tuple(int(n) for n in arrays[0].ravel())
    value = np.asarray(node.attrs.get("value", np.zeros(1, "f4")))
    return (
        np.full(shape, value.reshape(-1)[0]) if math.prod(shape) <= node.folded_elements else None
    )


def trilu(node: Node, arrays: list[Array]) -> Array | None:
    """Trilu."""
    shift = int(arrays[1].item()) if len(arrays) > 1 else 0
    cut = np.triu if node.attrs.get("upper", 1) else np.tril
    return np.asarray(cut(arrays[0], shift)) if arrays[0].size <= node.folded_elements else None


def nonzero(node: Node, arrays: list[Array]) -> Array | None:
    """NonZero."""
    if arrays[0].size * max(arrays[0].ndim, 1) > node.folded_elements:
        return None
    return np.asarray(np.nonzero(arrays[0]), dtype=np.int64)


def lowest(dtype: np.dtype[Any]) -> Any:
    """What the maximum of nothing is."""
    if dtype.kind == "b":
        return False
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """What the minimum of nothing is."""
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf
