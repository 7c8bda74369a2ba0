"""The kernels of elementwise ops and reductions, as numpy computes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": lambda *a: sum(a[1:], a[0]),
    "and": np.logical_and,
    "cast": lambda x: x,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "bitwise_and": np.bitwise_and,
    "bitwise_not": np.invert,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "ceil": np.ceil,
    "celu": lambda x, a: np.maximum(x, 0) + np.minimum(0, a * np.expm1(x / a)),
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "cosh": np.cosh,
    "elu": lambda x, a: np.where(x > 0, x, a * np.expm1(x)),
    "floor": np.floor,
    "fmod": np.fmod,
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "isinf": lambda x, low, high: ((x == -np.inf) & (low > 0)) | ((x == np.inf) & (high > 0)),
    "isnan": np.isnan,
    "leaky_relu": lambda x, a: np.where(x < 0, a * x, x),
    "mean": lambda *a: sum(a[1:], a[0]) / len(a),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "mod": np.mod,
    "not": np.logical_not,
    "prelu": lambda x, slope: np.where(x < 0, slope * x, x),
    "round": np.rint,
    "selu": lambda x, a, g: g * np.where(x > 0, x, a * np.expm1(x)),
    "shift": lambda x, n, left: np.left_shift(x, n) if left > 0 else np.right_shift(x, n),
    "shrink": lambda x, b, low: np.where(x < -low, x + b, np.where(x > low, x - b, 0)),
    "sign": np.sign,
    "silu": lambda x, a: x * _sigmoid(a * x),
    "sinh": np.sinh,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tan": np.tan,
    "thresholded_relu": lambda x, a: np.where(x > a, x, 0),
    "xor": np.logical_xor,
    "cos": np.cos,
    "div": np.divide,
    "equal": np.equal,
    "erf": erf,
    "exp": np.exp,
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "log": np.log,
    "max": lambda *a: np.max(np.broadcast_arrays(*a), axis=0),
    "min": lambda *a: np.min(np.broadcast_arrays(*a), axis=0),
    "mul": np.multiply,
    "neg": np.negative,
    "or": np.logical_or,
    "pow": np.power,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": lambda x: x * x,
    "sub": np.subtract,
    "tanh": np.tanh,
    "where": np.where,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "l1": lambda x, **k: np.abs(x).sum(**k),
    "l2": lambda x, **k: np.sqrt((x.astype(np.float64) ** 2).sum(**k)),
    "logsum": lambda x, **k: np.log(x.sum(**k)),
    "logsumexp": lambda x, **k: np.log(np.exp(x.astype(np.float64)).sum(**k)),
    "sqsum": lambda x, **k: (x * x).sum(**k),
}
