"""Elements of tensors as numpy has them, and as a chip stores them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from elk.errors import InvalidInputError

Array = NDArray[Any]

_NUMPY: Final = {
    "f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "bool": "bool",
}  # fmt: skip
_ML_DTYPES: Final = {"bf16": "bfloat16", "i4": "int4", "u4": "uint4"}
_NIBBLES: Final = ("i4", "u4")


def numpy_type(dtype: str) -> Any:
    """The numpy type of elements of `dtype`.

    Raises:
        InvalidInputError: the eight-bit floats, whose kind the graph does not tell.
    """
    if dtype in _ML_DTYPES:
        import ml_dtypes  # noqa: PLC0415 - comes with onnx, and is only for rare types

        return getattr(ml_dtypes, _ML_DTYPES[dtype])
    if dtype not in _NUMPY:
        raise InvalidInputError(
            f"elements of type {dtype} cannot be emulated", code="emulate_dtype"
        )
    return _NUMPY[dtype]


def unpacked(array: Array, dtype: str, count: int) -> Array:
    """`array`, or where it is bytes of a tensor of four bits the `count` elements that they hold.

    A file may hold such a tensor as bytes, and a plan reads it as what they stand for.
    """
    if dtype not in _NIBBLES or array.dtype != np.uint8 or array.size == count:
        return array
    return from_bytes(array.reshape(-1), dtype, [2 * array.size])


def packed(array: Array, count: int) -> Array:
    """`array`, or where a file holds it as `count` bytes these."""
    nibbles = array.size == 2 * count and array.dtype.name in _ML_DTYPES.values()
    return to_bytes(array, "u4") if nibbles else array


def to_bytes(array: Array, dtype: str) -> NDArray[np.uint8]:
    """The elements of `array` as a chip stores them: two of four bits a byte."""
    typed = np.ascontiguousarray(array.astype(numpy_type(dtype), copy=False))
    flat: NDArray[np.uint8] = typed.reshape(-1).view(np.uint8)
    if dtype not in _NIBBLES:
        return flat
    low = flat & 15
    padded = np.append(low, np.zeros(low.size % 2, dtype=np.uint8))
    return np.asarray(padded[0::2] | (padded[1::2] << 4), dtype=np.uint8)


def from_bytes(data: NDArray[np.uint8], dtype: str, shape: list[int]) -> Array:
    """The array that `data` stores."""
    if dtype not in _NIBBLES:
        return np.asarray(data.view(numpy_type(dtype)).reshape(shape))
    pairs = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[: math.prod(shape)]
    signed = (pairs ^ 8).astype(np.int8) - 8 if dtype == "i4" else pairs
    return np.asarray(signed).astype(numpy_type(dtype)).reshape(shape)
