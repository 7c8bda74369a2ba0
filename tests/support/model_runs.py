"""Models of elk.models with random weights, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]


def session_of(proto: onnx.ModelProto, seed: int = 0) -> Any:
    """A session of `proto` of f32; each weight is a function of its name and `seed`."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    filled = onnx.ModelProto()
    filled.CopyFrom(proto)
    for tensor in filled.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(numpy_helper.from_array(_weight(tensor, seed), tensor.name))
    return onnxruntime.InferenceSession(
        filled.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def _weight(tensor: onnx.TensorProto, seed: int) -> Array:
    rng = np.random.default_rng([seed, *tensor.name.encode()])
    shape = tuple(tensor.dims)
    fan = shape[-2] if len(shape) > 1 and shape[-2] > 1 else 4
    return (rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)


def run(session: Any, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of `session` by name."""
    names = [x.name for x in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))
