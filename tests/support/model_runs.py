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
    """A session of `proto`; a weight that is absent is a function of its name and `seed`."""
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, and it is slow

    return onnxruntime.InferenceSession(
        filled(proto, seed).SerializeToString(), providers=["CPUExecutionProvider"]
    )


def filled(proto: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """A copy of `proto` whose external weights are random numbers inside it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(numpy_helper.from_array(_weight(tensor, seed), tensor.name))
    return copy


def _weight(tensor: onnx.TensorProto, seed: int) -> Array:
    shape = tuple(tensor.dims)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if np.issubdtype(dtype, np.integer):  # Positions, which exporters store.
        return np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    rng = np.random.default_rng([seed, *tensor.name.encode()])
    fan = shape[-2] if len(shape) > 1 and shape[-2] > 1 else 4
    return np.asarray(rng.standard_normal(shape, dtype=np.float32) / np.sqrt(fan), dtype=dtype)


def run(session: Any, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of `session` by name."""
    names = [x.name for x in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))
