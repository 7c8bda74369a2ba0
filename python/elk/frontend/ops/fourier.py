"""Fourier transforms as products with the matrix of their roots of unity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from elk.frontend.ops.composed import ints
from elk.frontend.ops.kind import Kind
from elk.frontend.views.node import Node, UnplannableError, wrapped
from elk.frontend.views.values import numpy_dtype

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Array, Value

_AXIS_INPUT = 20  # From this opset on, the axis of DFT is an input.


def dft(node: Node, make: Maker) -> list[Value]:
    """DFT along one axis of real or complex numbers."""
    x = node.input(0)
    rank = len(x.shape)
    if node.opset < _AXIS_INPUT:
        axis = wrapped(int(node.attrs.get("axis", 1)), rank)
    else:
        axis = -2 if node.get(2) is None else int(node.known(2, "axis").item())
        axis = wrapped(axis, rank)
    inverse, onesided = (bool(node.attrs.get(name, 0)) for name in ("inverse", "onesided"))
    half = inverse and onesided
    length = 2 * (x.shape[axis] - 1) if half else x.shape[axis]
    if node.get(1) is not None:
        length = int(node.known(1, "length").item())
    return [transformed(make, x, axis, length, (inverse, onesided))]


def stft(node: Node, make: Maker) -> list[Value]:
    """STFT: overlapping frames, which are views, times a window, transformed."""
    x = node.input(0)
    step = int(node.known(1, "step").item())
    window = node.get(2)
    length = window.shape[0] if window else int(node.known(3, "length").item())
    count = 1 + (x.shape[1] - length) // step
    if count < 1:
        raise UnplannableError(f"{count} frames of {length} positions")
    make.check_folded(count * length, "positions of frames")
    at = np.arange(count)[:, None] * step + np.arange(length)
    frames = make("Gather", x, at, axis=1)
    if window is not None:
        frames = make("Mul", frames, make("Unsqueeze", window, ints(1)))
    onesided = bool(node.attrs.get("onesided", 1))
    return [transformed(make, frames, 2, length, (False, onesided))]


def transformed(make: Maker, x: Value, axis: int, length: int, how: tuple[bool, bool]) -> Value:
    """The transform of `x`, whose last dimension is the real and perhaps the imaginary part."""
    rank = len(x.shape)
    used = min(x.shape[axis], length)
    if used < x.shape[axis]:
        x = make("Slice", x, ints(0), ints(used), ints(axis))
    matrix = _roots(make, (used, x.shape[-1]), length, how).astype(numpy_dtype(x.dtype))
    labels = "ABCDEFGH"[: rank - 1]
    wanted = labels.replace(labels[axis], "k") + "p"
    return make("Einsum", x, matrix, equation=f"{labels}c,{labels[axis]}ckp->{wanted}")


def _roots(make: Maker, shape: tuple[int, int], length: int, how: tuple[bool, bool]) -> Array:
    """The matrix `[positions, parts, frequencies, parts]` of a transform."""
    used, parts = shape
    inverse, onesided = how
    half = inverse and onesided
    count = length // 2 + 1 if onesided and not inverse else length
    make.check_folded(2 * used * max(parts, 1) * count, "roots of unity")
    angle = 2 * np.pi * np.outer(np.arange(used), np.arange(count)) / length
    sine = np.sin(angle) * (1 if inverse else -1)
    real, imaginary = np.cos(angle), sine
    if inverse:
        real, imaginary = real / length, imaginary / length
    if half:  # The other half mirrors this one; the ends stand alone.
        times = np.where((np.arange(used) == 0) | (2 * np.arange(used) == length), 1.0, 2.0)
        real, imaginary = real * times[:, None], imaginary * times[:, None]
        matrix = np.stack([real, -imaginary], axis=1)[..., None]
    else:
        first = np.stack([real, imaginary], axis=-1)
        second = np.stack([-imaginary, real], axis=-1)
        matrix = np.stack([first, second], axis=1)
    return np.asarray(matrix[:, :parts])


KINDS: Final = {
    "DFT": Kind(compose=dft),
    "STFT": Kind(compose=stft),
}
