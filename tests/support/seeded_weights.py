"""Random weights of ONNX models that tests build by hand."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper


class SeededWeights:
    """The initializers of a model, of random numbers that follow from a seed.

    Example:
        >>> weights = SeededWeights(7)
        >>> weights("up", 4, 8)
        'up'
        >>> [tensor.name for tensor in weights.tensors]
        ['up']
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.tensors: list[onnx.TensorProto] = []

    def __call__(self, name: str, *shape: int) -> str:
        """Adds a tensor of f32 and returns its name."""
        array = (self._rng.standard_normal(shape) / 4).astype(np.float32)
        self.tensors.append(numpy_helper.from_array(array, name))
        return name
