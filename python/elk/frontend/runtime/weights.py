"""Weights of few bits, packed into bytes, with a scale and a zero point for each block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.texts import absent, attribute, ints, ranked, sized
from elk.frontend.views.node import check_input, require
from elk.frontend.views.views import is_whole, reshape

if TYPE_CHECKING:
    from elk.frontend.views.node import Node
    from elk.frontend.views.values import Value
    from elk.frontend.views.views import Shape

_BITS: Final = (2, 4, 8)
_NIBBLE: Final = 4
_NAMES: Final = {"u8": "uint8", "u4": "uint4", "i4": "int4"}
_NUMBERS: Final = {"uint8": 2, "uint4": 21}


def is_stored(value: Value) -> bool:
    """Whether a value is a whole weight in its order, whose bytes can be seen otherwise."""
    if len(value.pieces) != 1 or value.pieces[0].tensor.home != "weight":
        return False
    piece = value.pieces[0]
    seen = piece.seen(lambda view: reshape(view, piece.tensor.shape))
    return (
        seen is not None and piece.is_plain and value.size == math.prod(piece.tensor.shape)
    ) and is_whole(seen.view, piece.tensor.shape)


def unpacked(value: Value, bits: int, names: tuple[str, str], shape: Shape) -> tuple[str, str]:
    """The numbers of `bits` bits that bytes hold, and their type.

    Args:
        value: The bytes.
        bits: How many a number has.
        names: What they are called, and what the numbers are.
        shape: Their sizes: numbers behind the last one of a row are filling.
    """
    name, result = names
    if bits == _NIBBLE and is_stored(value):
        return f"{result} = Unpacked <shape: ints = {list(shape)}> ({name})\n", "uint4"
    each, text = name, ""
    if bits < 8:  # noqa: PLR2004 a byte
        count = 8 // bits
        shifts = ", ".join(str(bits * i) for i in range(count))
        each = f"{result}_low"
        text += f"""
            {ints(**{f"{result}_at": (-1,)})}
            {result}_each = Unsqueeze ({name}, {result}_at)
            {result}_shifts = Constant <value: tensor = uint8[{count}] {{{shifts}}}> ()
            {result}_moved = BitShift <direction: string = "RIGHT"> ({result}_each, {result}_shifts)
            {result}_mask = Constant <value: tensor = uint8 {{{(1 << bits) - 1}}}> ()
            {each} = BitwiseAnd ({result}_moved, {result}_mask)
        """
    width = value.size * (8 // bits) // math.prod(shape[:-1])
    text += ints(**{f"{result}_shape": (*shape[:-1], width)})
    text += f"{result}_lines = Reshape ({each}, {result}_shape)\n"
    return text + _cut(f"{result}_lines", result, width, shape[-1]), "uint8"


def _cut(name: str, result: str, width: int, columns: int) -> str:
    """The first elements of rows, which have `width`."""
    if width == columns:
        return f"{result} = Identity ({name})\n"
    at = {f"{result}_first": (0,), f"{result}_end": (columns,), f"{result}_along": (-1,)}
    return f"{ints(**at)}{result} = Slice ({name}, {', '.join(at)})\n"


def _product(node: Node) -> str:
    bits, block = int(node.attrs["bits"]), attribute(node, "block_size")
    deep, columns = attribute(node, "K"), attribute(node, "N")
    require(bits in _BITS, f"attribute 'bits' must be 2, 4 or 8, got {bits}")
    fits = block >= 16 and block & (block - 1) == 0  # noqa: PLR2004 the least block
    require(fits, f"attribute 'block_size' must be a power of two from 16 on, got {block}")
    absent(node, 4, "rows of a weight in another order (g_idx)")
    require(int(node.attrs["weight_prepacked"]) == 0, "a weight in the order of one machine")
    x, blocks = node.input(0).shape, -(-deep // block)
    require(bool(x) and x[-1] == deep, f"its input is {list(x)}, its attribute 'K' {deep}")
    check_input(node, 1, (columns, blocks, block * bits // 8), "packed weight")
    check_input(node, 5, (columns,), "bias")
    sized(node, 2, (columns, blocks), "scales")
    text, kind = unpacked(node.input(1), bits, ("B", "levels"), (columns, deep))
    text += ints(grid=(columns, blocks)) + "factors = Reshape (scales, grid)\n"
    text += _dequantized(node, kind, (columns, blocks), bits)
    text += "turned = Transpose <perm: ints = [1, 0]> (real)\n"
    if node.get(5) is None:
        return text + "Y = MatMul (A, turned)\n"
    return text + "made = MatMul (A, turned)\nY = Add (made, bias)\n"


def _dequantized(node: Node, kind: str, grid: Shape, bits: int) -> str:
    """`real`, of levels of a type, with zero points as they are given, or in the middle."""
    block, zero = int(node.attrs["block_size"]), node.get(3)
    attrs = f"<axis: int = 1, block_size: int = {block}>"
    if zero is None:
        return f"""
            zero = Constant <value: tensor = {kind} {{{1 << (bits - 1)}}}> ()
            real = DequantizeLinear {attrs} (levels, factors, zero)
        """
    if zero.dtype != "u8":
        sized(node, 3, grid, "zero points")
        return f"""
            wide_levels = DequantizeLinear {attrs} (levels, factors)
            points = Reshape (zero_points, grid)
            moves = Mul (points, factors)
        """ + _spread(grid, block, int(node.attrs["K"]))
    sized(node, 3, (grid[0], -(-grid[1] * bits // 8)), "zero points")
    text, found = unpacked(zero, bits, ("zero_points", "points"), (grid[0], grid[1]))
    return f"""
        {text}{_alike("points", "zeros", found, kind)}
        real = DequantizeLinear {attrs} (levels, factors, zeros)
    """


def _alike(name: str, result: str, found: str, kind: str) -> str:
    """Zero points in the type of the levels."""
    if found == kind:
        return f"{result} = Identity ({name})\n"
    return f"{result} = Cast <to: int = {_NUMBERS[kind]}> ({name})\n"


def _spread(grid: Shape, block: int, deep: int) -> str:
    """`real`: what each block is moved by, taken off all its levels."""
    lines = (grid[0], grid[1] * block)
    return f"""
        {ints(behind=(2,), boxes=(*grid, block), lined=lines)}
        apart = Unsqueeze (moves, behind)
        each = Expand (apart, boxes)
        line = Reshape (each, lined)
        {_cut("line", "off", lines[1], deep)}
        real = Sub (wide_levels, off)
    """


def _gathered(node: Node) -> str:
    """Rows of a quantized table, of which only these are converted."""
    data, scales = node.input(0), node.input(2)
    rank, block = len(data.shape), attribute(node, "block_size")
    by, along = (_axis(node, name, rank) for name in ("gather_axis", "quantize_axis"))
    require(by != along, "attributes 'gather_axis' and 'quantize_axis' must differ")
    bits = int(node.attrs["bits"]) if data.dtype == "u8" else _NIBBLE
    require(bits in _BITS, f"attribute 'bits' must be 2, 4 or 8, got {bits}")
    packed = data.dtype == "u8" and bits < 8  # noqa: PLR2004 a byte
    require(
        not packed or (along == rank - 1 and by == 0),
        "a packed table must be gathered along its first dimension, quantized along its last",
    )
    sizes = list(data.shape)
    sizes[-1] *= 8 // bits if packed else 1
    blocks = list(sizes)
    blocks[along] = -(-sizes[along] // block)
    check_input(node, 2, tuple(blocks), "scales")
    text, kind = "table = Identity (data)\n", _NAMES[data.dtype]
    if packed:
        text, kind = unpacked(data, bits, ("data", "table"), tuple(sizes))
    zero, zeros = node.get(3), ""
    if zero is not None:
        text += _zero_table(zero, bits if packed else 8, (kind, tuple(blocks)))
        zeros = ", zero_table"
    elif data.dtype == "u8":
        text += f"zero_table = Constant <value: tensor = {kind} {{{1 << (bits - 1)}}}> ()\n"
        zeros = ", zero_table"
    require(len(scales.shape) == rank, f"its scales are {list(scales.shape)}")
    return (
        text
        + f"""
        wide = DequantizeLinear <axis: int = {along}, block_size: int = {block}>
            (table, scales{zeros})
        output = Gather <axis: int = {by}> (wide, indices)
    """
    )


def _axis(node: Node, name: str, rank: int) -> int:
    axis = int(node.attrs[name])
    require(-rank <= axis < rank, f"attribute '{name}' is {axis}, its table has {rank} dimensions")
    return axis % rank


def _zero_table(zero: Value, bits: int, wanted: tuple[str, Shape]) -> str:
    """`zero_table`: the zero points of all blocks."""
    kind, shape = wanted
    stored = (*shape[:-1], -(-shape[-1] * bits // 8))
    require(
        zero.shape == stored,
        f"input 3, its zero points, must have shape {list(stored)}, got {list(zero.shape)}",
    )
    if bits == 8:  # noqa: PLR2004 a byte
        return "zero_table = Identity (zero_points)\n"
    text, found = unpacked(zero, bits, ("zero_points", "points"), shape)
    return text + _alike("points", "zero_table", found, kind)


def _norm_first(node: Node, slot: int) -> str:
    """The input of a fused projection: with a skip, normed."""
    ranked(node, 0, "input", 2, 3)
    if node.get(slot) is None:
        return "normed = Identity (A)\n"
    epsilon = float(node.attrs["epsilon"])
    total = "A" if node.get(1) is None else "input_skip_bias_sum"
    text = "" if node.get(1) is None else "input_skip_bias_sum = Add (A, skip)\n"
    return text + (
        f"normed = RMSNormalization <epsilon: float = {epsilon!r}> ({total}, norm_scale)\n"
    )


def _projected(node: Node, name: str, columns: str, result: str, bias: int) -> str:
    """One projection of a fused operator, whose inputs begin with `name`."""
    attrs = ", ".join(f"{x}: int = {int(node.attrs[x])}" for x in ("K", "bits", "block_size"))
    given = f'normed, {name}_B, {name}_scales, "", "", {name}_bias'
    given = given if node.get(bias) is not None else f"normed, {name}_B, {name}_scales"
    return f"""
        {result} = com.microsoft.MatMulNBits <N: int = {int(node.attrs[columns])}, {attrs}>
            ({given})
    """


def _three(node: Node) -> str:
    return _norm_first(node, 2) + "".join(
        _projected(node, name, columns, name.upper(), bias)
        for name, columns, bias in (("q", "Nq", 5), ("k", "Nkv", 8), ("v", "Nkv", 11))
    )


_COUNTED: Final = "bits: int = 4, accuracy_level: int = 0, K, block_size"
ENTRIES: Final = (
    Entry(
        f"MatMulNBits <{_COUNTED}, N, weight_prepacked: int = 0>"
        " (A, B, scales, zero_points, g_idx, bias) => (Y)",
        "T u8 T u8|V? i32? T?",
        "DequantizeLinear by blocks, MatMul, Add; four bits are read as they are stored",
        _product,
    ),
    Entry(
        "GatherBlockQuantized <bits: int = 4, block_size: int = 128, gather_axis: int = 0,"
        " quantize_axis: int = 1> (data, indices, scales, zero_points) => (output)",
        "u8|u4|i4 i32|i64 T u8|u4|i4?",
        "DequantizeLinear by blocks of the rows that a Gather picks",
        _gathered,
    ),
    Entry(
        f"MatMulNBitsQkv <{_COUNTED}, Nq, Nkv, epsilon: float = 1e-06> (A, skip, norm_scale, q_B,"
        " q_scales, q_bias, k_B, k_scales, k_bias, v_B, v_scales, v_bias)"
        " => (Q, K, V, input_skip_bias_sum)",
        "T T? T u8 T T? u8 T T? u8 T T?",
        "Add, RMSNormalization, three MatMulNBits",
        _three,
    ),
)
