"""What the front end knows of an ONNX value: its type, its shape, and where or what it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import onnx
from onnx import helper

from elk.frontend.views.views import Shape, View, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

# Names of element types by their number in onnx.TensorProto.
DTYPES = {
    1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16",
    11: "f64", 12: "u32", 13: "u64", 16: "bf16", 17: "f8", 18: "f8", 19: "f8", 20: "f8",
    21: "u4", 22: "i4", 24: "f8",
}  # fmt: skip
ONNX_TYPES = {name: number for number, name in reversed(DTYPES.items())}

BITS = {
    "f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8": 8, "i64": 64, "i32": 32, "i16": 16,
    "i8": 8, "i4": 4, "u64": 64, "u32": 32, "u16": 16, "u8": 8, "u4": 4, "bool": 8,
}  # fmt: skip

REAL = frozenset(("f64", "f32", "f16", "bf16"))
HBM = frozenset(("weight", "state"))  # Homes of tensors that lie there.

# Contents above this many elements are told apart by where they come from, not by what they are.
_COMPARED_ELEMENTS = 1024


@dataclass(slots=True, eq=False)
class Stored:
    """A tensor of the planned graph: a weight, a state, an input or the result of an op.

    Attributes:
        name: The name of the ONNX value that it holds.
        dtype: The name of its element type.
        shape: Its sizes.
        home: Where it lives between ops.
        data: Its elements, if the file holds them or folding computed them.
        distinct: Elements of one row, where it holds positions that differ within a row.
        nibbles: The same bytes as numbers of four bits, if something reads them so.
    """

    name: str
    dtype: str
    shape: Shape
    home: str
    data: Array | None = None
    distinct: int = 1
    nibbles: Stored | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor, rounded up."""
        return -(-math.prod(self.shape) * BITS[self.dtype] // 8)


@dataclass(slots=True, eq=False)
class Pick:
    """Dimension `dim` of a tensor is picked by the values of `index`, seen through `view`.

    `expected` is how many of the dimension's positions are picked in all, on average.
    """

    dim: int
    index: Stored
    view: View
    expected: float


@dataclass(slots=True, eq=False)
class Mask:
    """Where a piece lies over those before it: `tensor`, of truth values, seen through `view`."""

    tensor: Stored
    view: View


@dataclass(slots=True, eq=False)
class Piece:
    """A part of a value: the elements of `tensor` that `view` reaches inside its shape.

    With a mask, only where that is true, and there in place of the pieces before it.
    """

    tensor: Stored
    view: View
    pick: Pick | None = None
    mask: Mask | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no other tensor says what is seen of this one."""
        return self.pick is None and self.mask is None

    @property
    def tensors(self) -> tuple[Stored, ...]:
        """What it is seen of: its tensor, and the mask of it."""
        return (self.tensor,) if self.mask is None else (self.tensor, self.mask.tensor)

    def seen(self, through: Callable[[View], View | None]) -> Piece | None:
        """A piece with `through` done to its views; None where that is None."""
        view = through(self.view)
        if view is None:
            return None
        pick, mask = self.pick, self.mask
        if pick is not None:
            index = through(pick.view)
            if index is None:
                return None
            pick = Pick(pick.dim, pick.index, index, pick.expected)
        if mask is not None:
            where = through(mask.view)
            if where is None:
                return None
            mask = Mask(mask.tensor, where)
        return Piece(self.tensor, view, pick, mask)

    @property
    def key(self) -> Hashable:
        """What equal parts of different tensors share."""
        pick = self.pick
        picked = (pick.dim, pick.view, pick.index.shape, pick.expected) if pick else None
        masked = (self.mask.view, self.mask.tensor.shape) if self.mask else None
        return (self.view, self.tensor.shape, self.tensor.dtype, self.tensor.home, picked, masked)


@dataclass(slots=True, eq=False)
class Value:
    """An ONNX value.

    Attributes:
        name: Its name in the file.
        dtype: The name of its element type.
        shape: Its sizes, all of them numbers.
        pieces: The views that make it up: one, unless it is a state with rows appended.
        known: Its elements, where they follow from constants and shapes; there are none to
            know of a value without elements.
        key: What equal values share: type, shape, views and, of few known elements, these.
        factored: Of which value and number it is the product, if it is one.
        converted: What it is stored as in another element type, if it is.
        joined: The values of size one along the last dimension that it was joined of there.
        selects: Whether it is true at one position at most, of each dimension along which it varies
            with a constant that it was compared with.
        negated: Of which truth values it is the opposite, if it was made so.
    """

    name: str
    dtype: str
    shape: Shape
    pieces: tuple[Piece, ...]
    known: Array | None = None
    key: Hashable = None
    factored: Factored | None = None
    converted: Converted | None = None
    joined: tuple[Value, ...] = ()
    selects: bool = False
    negated: Value | None = None

    def __post_init__(self) -> None:
        if self.known is None and 0 in self.shape:
            self.known = np.empty(self.shape, dtype=numpy_dtype(self.dtype))
        if self.known is not None:
            pieces = tuple([piece.key for piece in self.pieces])
            self.key = (self.dtype, self.shape, pieces, _content(self.known))
        elif self.key is None:
            self.key = _shared(self.dtype, self.shape, tuple([p.key for p in self.pieces]))

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def is_state(self) -> bool:
        """Whether it is a whole tensor that lives in HBM and is rewritten between steps."""
        return (
            len(self.pieces) == 1
            and self.pieces[0].tensor.home == "state"
            and self.pieces[0].view == identity(self.pieces[0].tensor.shape)
        )

    def renamed(self, name: str) -> Value:
        """An equal value under another name."""
        return replace(self, name=name)


@dataclass(slots=True, eq=False)
class Factored:
    """A value that is `base` times `number`, which has one element."""

    base: Value
    number: Value


@dataclass(slots=True, eq=False)
class Converted:
    """A value that is (`base` - `zero`) * `scale` in another element type.

    `scale` and `zero` have one element or the shape of the base; None where there is none.
    """

    base: Value
    scale: Value | None = None
    zero: Value | None = None

    def seen(self, through: Callable[[Value], Value | None]) -> Converted | None:
        """What it is with `through` done to all that has several elements; None where that is."""
        base = through(self.base)
        parts = [x if x is None or x.size == 1 else through(x) for x in (self.scale, self.zero)]
        lost = [x is None for x in parts] != [self.scale is None, self.zero is None]
        return None if base is None or lost else Converted(base, *parts)


@dataclass(slots=True, eq=False)
class Sequence:
    """A sequence of values, whose length is known."""

    items: tuple[Value, ...]


@lru_cache(maxsize=1 << 16)
def _shared(dtype: str, shape: Shape, pieces: tuple[Hashable, ...]) -> Hashable:  # noqa: ARG001 -- they tell keys apart
    """The key of values whose elements are not known: compared by identity, as it is looked up."""
    return object()


@lru_cache(maxsize=1 << 16)
def _whole_key(dtype: str, shape: Shape, home: str) -> Hashable:
    """The key of a whole tensor."""
    return _shared(dtype, shape, ((identity(shape), shape, dtype, home, None, None),))


def _content(known: Array | None) -> Hashable:
    if known is None:
        return None
    return known.tobytes() if known.size <= _COMPARED_ELEMENTS else id(known)


def whole(tensor: Stored, known: Array | None = None) -> Value:
    """The value that `tensor` holds, whole and in order."""
    dtype, shape = tensor.dtype, tensor.shape
    key = _whole_key(dtype, shape, tensor.home)
    return Value(tensor.name, dtype, shape, (Piece(tensor, identity(shape)),), known, key)


def constant(name: str, array: Array) -> Value:
    """A value of known elements; it becomes a weight where an op reads it as a tensor."""
    dtype = dtype_name(array.dtype)
    shape = tuple(int(n) for n in array.shape)
    return whole(Stored(name, dtype, shape, "weight", array), array)


def type_name(number: int) -> str:
    """The name of an ONNX element type, in ONNX's words."""
    try:
        return str(onnx.TensorProto.DataType.Name(cast("Any", number)))
    except ValueError:
        return f"element type {number}"


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy element type called `name`."""
    plain = {"bool": "bool", "f16": "f2", "f32": "f4", "f64": "f8"}
    if name in plain:
        return np.dtype(plain[name])
    if name[0] in "iu" and name[1:] in {"8", "16", "32", "64"}:
        return np.dtype(f"{name[0]}{int(name[1:]) // 8}")
    return np.dtype(helper.tensor_dtype_to_np_dtype(ONNX_TYPES[name]))


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a numpy element type, those of ml_dtypes included."""
    return _NUMPY_NAMES.get(dtype.name) or f"{dtype.kind}{dtype.itemsize * 8}"


_NUMPY_NAMES = {
    "bool": "bool", "bfloat16": "bf16", "int4": "i4", "uint4": "u4", "float8_e4m3fn": "f8",
    "float8_e4m3fnuz": "f8", "float8_e5m2": "f8", "float8_e5m2fnuz": "f8", "float8_e8m0fnu": "f8",
}  # fmt: skip
