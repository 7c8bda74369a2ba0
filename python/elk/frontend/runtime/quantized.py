"""Operators on bytes with a scale and a zero point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.texts import ints, number, ranked
from elk.frontend.views.node import check_input, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from elk.frontend.views.node import Node

_POOL: Final = ("kernel_shape", "pads", "strides")


def _single(node: Node, *slots: int) -> None:
    """Refuses scales and zero points that are more than one number."""
    for slot in slots:
        value = node.get(slot)
        fits = value is None or value.size == 1
        shape = value.shape if value is not None else ()
        require(fits, f"input {slot} must be one number, got {list(shape)}")


def _real(node: Node, slot: int, names: tuple[str, str, str], result: str) -> str:
    """The numbers for which the bytes of an input stand; its scale and zero point follow it."""
    _single(node, slot + 1, slot + 2)
    given = ", ".join(names if node.get(slot + 2) is not None else names[:2])
    return f"{result} = DequantizeLinear ({given})\n"


def _levels(node: Node, slot: int, names: tuple[str, str], result: str, like: str) -> str:
    """`real` in bytes: the scale is input `slot`; without a zero point they are those of `like`."""
    _single(node, slot, slot + 1)
    if node.get(slot + 1) is not None:
        return f"{result} = QuantizeLinear (real, {', '.join(names)})\n"
    return f"""
        none = Constant <value_int: int = 0> ()
        zero = CastLike (none, {like})
        {result} = QuantizeLinear (real, {names[0]}, zero)
    """


def _of_two(kind: str) -> Callable[[Node], str]:
    """A type of two inputs, computed in real numbers."""

    def body(node: Node) -> str:
        text = _real(node, 0, ("A", "A_scale", "A_zero_point"), "left")
        text += _real(node, 3, ("B", "B_scale", "B_zero_point"), "right")
        text += f"real = {kind} (left, right)\n"
        return text + _levels(node, 6, ("C_scale", "C_zero_point"), "C", "A")

    return body


def _of_one(write: Callable[[Node], str]) -> Callable[[Node], str]:
    """A type of one input: `write` makes `real` of `wide`."""

    def body(node: Node) -> str:
        text = _real(node, 0, ("X", "X_scale", "X_zero_point"), "wide")
        return text + write(node) + _levels(node, 3, ("Y_scale", "Y_zero_point"), "Y", "X")

    return body


def _leaky(node: Node) -> str:
    return f"real = LeakyRelu <alpha: float = {float(node.attrs['alpha'])!r}> (wide)\n"


def _softmax(node: Node) -> str:
    x, axis = node.input(0).shape, node.axis(-1)
    if int(node.attrs["opset"]) >= 13:  # noqa: PLR2004 the version that works along one dimension
        return f"real = Softmax <axis: int = {axis}> (wide)\n"
    return (
        ints(shape=x)
        + f"""
        flat = Flatten <axis: int = {axis}> (wide)
        rows = Softmax <axis: int = 1> (flat)
        real = Reshape (rows, shape)
    """
    )


def _in_channels(node: Node, made: str) -> str:
    """`made` makes `pooled` of `plain`, in which channels are the second dimension."""
    rank = len(node.input(0).shape)
    require(rank > 2, f"its input has {rank} dimensions")  # noqa: PLR2004 batch and channels
    if not node.attrs["channels_last"]:
        return f"plain = Identity (wide)\n{made}\nreal = Identity (pooled)\n"
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    return f"""
        plain = Transpose <perm: ints = {first}> (wide)
        {made}
        real = Transpose <perm: ints = {last}> (pooled)
    """


def _average(node: Node) -> str:
    attrs = [f"{name}: ints = {list(node.attrs[name])}" for name in _POOL if node.attrs[name]]
    attrs += [f"{x}: int = {int(node.attrs[x])}" for x in ("ceil_mode", "count_include_pad")]
    attrs.append("auto_pad: string = @auto_pad")
    require(bool(node.attrs["kernel_shape"]), "attribute 'kernel_shape' is missing")
    return _in_channels(node, f"pooled = AveragePool <{', '.join(attrs)}> (plain)")


def _global_average(node: Node) -> str:
    return _in_channels(node, "pooled = GlobalAveragePool (plain)")


def _mean(node: Node) -> str:
    axes, keep = tuple(node.attrs["axes"]), int(node.attrs["keepdims"])
    return ints(axes=axes) + f"real = ReduceMean <keepdims: int = {keep}> (wide, axes)\n"


def _concat(node: Node) -> str:
    _single(node, 0, 1)
    text, parts = "", []
    require((len(node.inputs) - 2) % 3 == 0, "its inputs are not three for each part")
    names = ["X", "X_scale", "X_zero_point"]
    names += [f"more_{i}" for i in range(5, len(node.inputs))]
    for part in range((len(node.inputs) - 2) // 3):
        slot = 2 + 3 * part
        given = names[3 * part : 3 * part + 3]
        text += _real(node, slot, (given[0], given[1], given[2]), f"wide_{part}")
        parts.append(f"wide_{part}")
    return (
        text
        + f"""
        real = Concat <axis: int = {int(node.attrs["axis"])}> ({", ".join(parts)})
        Y = QuantizeLinear (real, Y_scale, Y_zero_point)
    """
    )


def _where(node: Node) -> str:
    text = _real(node, 1, ("X", "x_scale", "x_zero_point"), "left")
    text += _real(node, 4, ("Y", "y_scale", "y_zero_point"), "right")
    text += "real = Where (condition, left, right)\n"
    return text + _levels(node, 7, ("z_scale", "z_zero_point"), "Z", "X")


def _to_float(node: Node) -> str:
    """A product of bytes in real numbers."""
    ranked(node, 1, "weight", 2)
    columns = node.input(1).shape[-1]
    for slot in (3, 5):
        value = node.get(slot)
        fits = value is None or value.size == 1 or value.shape == (columns,)
        require(fits, f"input {slot} must be one number, or {columns}")
    _single(node, 2, 4)
    check_input(node, 6, (columns,), "bias")
    zeros = "" if node.get(5) is None else ", b_zero_point"
    if node.get(4) is not None or zeros:
        zeros = (", a_zero_point" if node.get(4) is not None else ', ""') + zeros
    text = f"""
        total = MatMulInteger (A, B{zeros})
        wide = CastLike (total, a_scale)
        factor = Mul (a_scale, b_scale)
    """
    if node.get(6) is None:
        return text + "Y = Mul (wide, factor)\n"
    return text + "scaled = Mul (wide, factor)\nY = Add (scaled, bias)\n"


def _dynamic(node: Node) -> str:
    ranked(node, 1, "weight", 2)
    names = ["levels", "B", "scale", "b_scale", "zero"]
    names += ["b_zero_point" if node.get(3) is not None else '""']
    names += ["bias"] if node.get(4) is not None else []
    return f"""
        levels, scale, zero = DynamicQuantizeLinear (A)
        Y = com.microsoft.MatMulIntegerToFloat ({", ".join(names)})
    """


def _gemm(node: Node) -> str:
    ranked(node, 0, "factor", 2)
    ranked(node, 3, "factor", 2)
    columns = node.input(3).shape[0 if node.attrs["transB"] else 1]
    _single(node, 1, 2, 7, 8)
    for slot in (4, 5):
        fits = node.input(slot).size == 1 or node.input(slot).shape == (columns,)
        require(fits, f"input {slot} must be one number, or {columns}")
    text, names = "", []
    for letter in "AB":
        turned = bool(node.attrs[f"trans{letter}"])
        names.append(f"{letter}_turned" if turned else letter)
        text += f"{letter}_turned = Transpose <perm: ints = [1, 0]> ({letter})\n" if turned else ""
    text += f"product = MatMulInteger ({', '.join(names)}, a_zero_point, b_zero_point)\n"
    text += "total = Add (product, C)\n" if node.get(6) is not None else (
        "total = Identity (product)\n"
    )  # fmt: skip
    text += (
        number("alpha", float(node.attrs["alpha"]), "a_scale")
        + """
        wide = CastLike (total, a_scale)
        both = Mul (a_scale, b_scale)
        factor = Mul (both, alpha)
        real = Mul (wide, factor)
    """
    )
    if node.get(7) is None:
        return text + "Y = Identity (real)\n"
    return text + _levels(node, 7, ("y_scale", "y_zero_point"), "Y", "A")


def _linear(kind: str) -> Callable[[Node], str]:
    """QuantizeLinear and DequantizeLinear: ONNX's own, of more types."""

    def body(node: Node) -> str:
        axis = f"<axis: int = {int(node.attrs['axis'])}>" if node.input(1).size > 1 else ""
        given = "x, scale" if node.get(2) is None else "x, scale, zero"
        return f"y = {kind} {axis} ({given})\n"

    return body


def _times(node: Node) -> str:
    """MulInteger: integers without their zero points, multiplied."""
    _single(node, 1, 3)
    text, names = "", []
    for slot, letter in ((0, "A"), (2, "B")):
        text += f"{letter}_wide = Cast <to: int = 6> ({letter})\n"
        names.append(f"{letter}_wide")
        if node.get(slot + 1) is not None:
            text += f"{letter}_off = Cast <to: int = 6> ({letter}_zero_point)\n"
            text += f"{letter}_plain = Sub ({letter}_wide, {letter}_off)\n"
            names[-1] = f"{letter}_plain"
    return f"{text}C = Mul ({', '.join(names)})\n"


_PAIR: Final = "(A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point) => (C)"
_LONE: Final = "(X, X_scale, X_zero_point, Y_scale, Y_zero_point) => (Y)"


def _between(kind: str) -> str:
    """What becomes of a type that computes in real numbers."""
    return f"DequantizeLinear, {kind}, QuantizeLinear"


_POOLED: Final = (
    'auto_pad: string = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,'
    " count_include_pad: int = 0, kernel_shape: ints = [], pads: ints = [], strides: ints = []"
)
ENTRIES: Final = (
    Entry(f"QLinearAdd {_PAIR}", "Q f32 Q? Q f32 Q? f32 Q?", _between("Add"), _of_two("Add")),
    Entry(f"QLinearMul {_PAIR}", "Q f32 Q? Q f32 Q? f32 Q?", _between("Mul"), _of_two("Mul")),
    Entry(
        f"QLinearSigmoid {_LONE}", "Q f32 Q? f32 Q?", _between("Sigmoid"),
        _of_one(lambda _: "real = Sigmoid (wide)\n"),
    ),
    Entry(
        f"QLinearLeakyRelu <alpha: float = 0.01> {_LONE}", "Q f32 Q? f32 Q?",
        _between("LeakyRelu"), _of_one(_leaky),
    ),
    Entry(
        f"QLinearSoftmax <axis: int = -1, opset> {_LONE}", "Q f32 Q? f32 Q", _between("Softmax"),
        _of_one(_softmax),
    ),
    Entry(
        f"QLinearGlobalAveragePool <channels_last: int = 0> {_LONE}", "Q f32 Q f32 Q",
        _between("GlobalAveragePool"), _of_one(_global_average),
    ),
    Entry(
        f"QLinearAveragePool <{_POOLED}> {_LONE}", "Q f32 Q? f32 Q?", _between("AveragePool"),
        _of_one(_average),
    ),
    Entry(
        f"QLinearReduceMean <keepdims, axes: ints = []> {_LONE}", "Q f32 Q? f32 Q?",
        _between("ReduceMean"), _of_one(_mean),
    ),
    Entry(
        "QLinearConcat <axis> (Y_scale, Y_zero_point, X, X_scale, X_zero_point) => (Y)",
        "f32 Q Q f32 Q*", _between("Concat"), _concat,
    ),
    Entry(
        "QLinearWhere (condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale,"
        " z_zero_point) => (Z)",
        "bool Q f32 Q Q f32 Q f32 Q", _between("Where"), _where,
    ),
    Entry(
        "MatMulIntegerToFloat (A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias) => (Y)",
        "Q R T T Q? R? T?", "MatMulInteger, Cast, Mul, Add", _to_float,
    ),
    Entry(
        "DynamicQuantizeMatMul (A, B, b_scale, b_zero_point, bias) => (Y)", "f32 R f32 R? f32?",
        "DynamicQuantizeLinear, MatMulIntegerToFloat", _dynamic,
    ),
    Entry(
        "QGemm <alpha: float = 1.0, transA: int = 0, transB: int = 0> (A, a_scale, a_zero_point, B,"
        " b_scale, b_zero_point, C, y_scale, y_zero_point) => (Y)",
        "Q f32 Q R f32 R i32? f32? u8|i8?", "MatMulInteger, Add, Cast, Mul, QuantizeLinear", _gemm,
    ),
    Entry(
        "QuantizeLinear <axis: int = 1> (x, scale, zero) => (y)", "T T u8|i8|u16|i16|u4|i4?",
        "QuantizeLinear", _linear("QuantizeLinear"),
    ),
    Entry(
        "DequantizeLinear <axis: int = 1> (x, scale, zero) => (y)",
        "u8|i8|u16|i16|i32|u4|i4 T u8|i8|u16|i16|i32|u4|i4?", "DequantizeLinear",
        _linear("DequantizeLinear"),
    ),
    Entry(
        "MulInteger (A, A_zero_point, B, B_zero_point) => (C)", "Q Q? Q Q?", "Cast, Sub, Mul",
        _times,
    ),
)  # fmt: skip
