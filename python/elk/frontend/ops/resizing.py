"""Resize and Upsample: one dimension after another, each a weighted sum of few positions.

Which positions, and with which weights, follows from sizes alone. Repeating each position is a
view; a choice of positions is a gather; a sum of up to four is gathers, products and sums; a longer
one, as antialiasing makes it, is a product with the matrix of its weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elk.frontend.ops.composed import ints, number
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.values import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Array, Value

    Weights = Callable[[Array], Array]

_FEW = 4  # Positions that are gathered one by one.
_FIRST_WITH_ROI = 11  # Resize before this opset: input and scales, asymmetric.


@dataclass(frozen=True, slots=True)
class Line:
    """How one dimension is resized: sizes, the exact scale, and the region that is read."""

    axis: int
    size: int
    out: int
    scale: float
    roi: tuple[float, float]


def resize(node: Node, make: Maker) -> list[Value]:
    """Resize and Upsample."""
    value = node.input(0)
    attrs = dict(node.attrs)
    old = node.type == "Upsample" or node.opset < _FIRST_WITH_ROI
    if old:
        attrs.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    for line in _lines(node, old):
        if line.out < 1:
            raise UnplannableError(f"dimension {line.axis} has {line.out} positions")
        make.check_folded(line.out, "known positions")
        if line.out != line.size or line.scale != 1.0 or line.roi != (0.0, 1.0):
            value = _resized(make, value, line, attrs)
    return [value]


def _lines(node: Node, old: bool) -> list[Line]:
    """The dimensions that are resized."""
    shape = node.input(0).shape
    axes = [wrapped(a, len(shape)) for a in node.attrs.get("axes", range(len(shape)))]
    if old:
        given = node.attrs.get("scales")
        scales = [float(s) for s in (node.known(1, "scales").ravel() if given is None else given)]
        return [
            Line(a, shape[a], _floor(shape[a] * s), s, (0.0, 1.0))
            for a, s in zip(axes, scales, strict=True)
        ]
    rois = _rois(node, len(axes))
    sizes, has_scales = node.get(3), node.get(2) is not None and node.input(2).size > 0
    if has_scales:
        scales = [float(s) for s in node.known(2, "scales").ravel()]
        outs = [_floor(shape[a] * s) for a, s in zip(axes, scales, strict=True)]
    elif sizes is not None:
        outs = [int(n) for n in node.known(3, "sizes").ravel()]
        outs, scales = _fitted(str(node.attrs.get("keep_aspect_ratio_policy", "stretch")),
                               [shape[a] for a in axes], outs)  # fmt: skip
    else:
        raise UnplannableError("neither scales nor sizes")
    rows = zip(axes, outs, scales, rois, strict=True)
    return [Line(axis, shape[axis], out, scale, roi) for axis, out, scale, roi in rows]


def _floor(size: float) -> int:
    if not math.isfinite(size) or size < 0:
        raise UnplannableError(f"a size of {size}")
    return math.floor(size)


def _rois(node: Node, count: int) -> list[tuple[float, float]]:
    crops = node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if not crops or node.get(1) is None:
        return [(0.0, 1.0)] * count
    flat = [float(x) for x in node.known(1, "region").ravel()]
    return list(zip(flat[:count], flat[count:], strict=True))


def _fitted(policy: str, sizes: list[int], outs: list[int]) -> tuple[list[int], list[float]]:
    """Sizes and scales of the result, whose aspect ratio may be kept."""
    scales = [out / size for out, size in zip(outs, sizes, strict=True)]
    if policy == "stretch":
        return outs, scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [math.floor(scale * size + 0.5) for size in sizes], [scale] * len(sizes)


def _origins(line: Line, mode: str) -> Array:
    """Where each position of the result lies in the input."""
    at = np.arange(line.out, dtype=np.float64)
    size, out = line.size, line.scale * line.size
    if mode == "asymmetric":
        return at / line.scale
    if mode == "align_corners":
        return np.zeros_like(at) if out == 1 else at * (size - 1) / (out - 1)
    if mode == "tf_crop_and_resize":
        first, last = line.roi
        span = (last - first) * (size - 1)
        moved = np.full_like(at, span / 2) if out == 1 else at * span / (out - 1)
        return np.asarray(moved + first * (size - 1))
    if mode == "pytorch_half_pixel" and out == 1:
        return np.full_like(at, -0.5)
    if mode == "half_pixel_symmetric":
        return np.asarray(size / 2 * (1 - line.out / out) + (at + 0.5) / line.scale - 0.5)
    if mode in {"half_pixel", "pytorch_half_pixel"}:
        return np.asarray((at + 0.5) / line.scale - 0.5)
    raise UnplannableError(f"coordinates by {mode}")


def _nearest(origins: Array, mode: str) -> Array:
    if mode == "floor":
        return np.floor(origins)
    if mode == "ceil":
        return np.ceil(origins)
    if mode == "round_prefer_ceil":
        return np.floor(origins + 0.5)
    return np.ceil(origins - 0.5)


def _resized(make: Maker, value: Value, line: Line, attrs: Mapping[str, Any]) -> Value:
    """`value` with one dimension resized."""
    coordinates = str(attrs.get("coordinate_transformation_mode", "half_pixel"))
    origins = _origins(line, coordinates)
    mode = str(attrs.get("mode", "nearest"))
    if mode == "nearest":
        near = _nearest(origins, str(attrs.get("nearest_mode", "round_prefer_floor")))
        index = np.clip(near, 0, line.size - 1).astype(np.int64)
        value = picked(make, value, line.axis, index)
    else:
        index, weights = _sums(make, line, origins, attrs)
        value = _weighted(make, value, line, index, weights)
    outside = (origins < 0) | (origins > line.size - 1)
    if coordinates == "tf_crop_and_resize" and outside.any():
        fill = number(float(attrs.get("extrapolation_value", 0.0)), value)
        mask = outside.reshape([-1] + [1] * (len(value.shape) - 1 - line.axis))
        value = make("Where", mask, fill, value)
    return value


def picked(make: Maker, value: Value, axis: int, index: Array) -> Value:
    """Positions of one dimension: a view where each is repeated equally often."""
    size = value.shape[axis]
    times = len(index) // size
    if times > 1 and np.array_equal(index, np.repeat(np.arange(size), times)):
        apart = make("Unsqueeze", value, ints(axis + 1))
        shape = (*value.shape[: axis + 1], times, *value.shape[axis + 1 :])
        whole = (*value.shape[:axis], len(index), *value.shape[axis + 1 :])
        return make("Reshape", make("Expand", apart, ints(*shape)), ints(*whole))
    return make("Gather", value, index, axis=axis)


def _sums(make: Maker, line: Line, origins: Array, attrs: Mapping[str, Any]) -> tuple[Array, Array]:
    """Positions and weights that make each position of the result: `[out, taps]` each."""
    mode, cubic = str(attrs["mode"]), float(attrs.get("cubic_coeff_a", -0.75))
    if mode not in {"linear", "cubic"}:
        raise UnplannableError(f"interpolation by {mode}")
    scale = min(line.scale, 1.0) if attrs.get("antialias", 0) else 1.0
    reach = 1 if mode == "linear" else 2
    start = math.floor(-reach / scale) + 1
    make.check_folded(line.out * (2 - 2 * start), "weights of an interpolation")
    offsets = np.arange(start, 2 - start)
    base = np.where(np.floor(origins) == origins, origins - 1, np.floor(origins))
    ratio = origins - base
    apart = np.abs(offsets[None, :] - ratio[:, None]) * scale
    weights = np.clip(1 - apart, 0, 1) if mode == "linear" else _cubic(apart, cubic)
    index = base[:, None].astype(np.int64) + offsets[None, :]
    if attrs.get("exclude_outside", 0):
        weights = np.where((index < 0) | (index >= line.size), 0.0, weights)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(index, 0, line.size - 1), weights


def _cubic(x: Array, a: float) -> Array:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.asarray(np.where(x <= 1, near, np.where(x < 2, far, 0.0)))  # noqa: PLR2004 its reach


def _weighted(make: Maker, value: Value, line: Line, index: Array, weights: Array) -> Value:
    """The weighted sums of positions `index` of one dimension."""
    taps, dtype = index.shape[1], numpy_dtype(value.dtype)
    behind = [1] * (len(value.shape) - 1 - line.axis)
    if taps > _FEW:
        make.check_folded(line.out * line.size, "weights of an interpolation")
        matrix = np.zeros((line.out, line.size))
        np.add.at(matrix, (np.arange(line.out)[:, None], index), weights)
        labels = "abcdefgh"[: len(value.shape)]
        wanted = labels.replace(labels[line.axis], "o")
        equation = f"{labels},o{labels[line.axis]}->{wanted}"
        return make("Einsum", value, matrix.astype(dtype), equation=equation)
    terms = [
        make(
            "Mul",
            make("Gather", value, index[:, tap], axis=line.axis),
            weights[:, tap].astype(dtype).reshape([-1, *behind]),
        )
        for tap in range(taps)
        if weights[:, tap].any()
    ]
    total = terms[0]
    for term in terms[1:]:
        total = make("Add", total, term)
    return total
