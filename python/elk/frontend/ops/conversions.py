"""Operands of products that are stored in another element type than the product computes in.

A DequantizeLinear or a Cast in front of a product is no op: the product reads the values as they
are stored, with their scales and zero points beside them, and converts each tile as it computes.
So no wide copy of a weight or a cache is made. What was planned to convert it is dropped where
nothing else reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk.frontend.ops import picking
from elk.frontend.ops.elementwise import scalar
from elk.frontend.ops.factors import PASSING, passed_on
from elk.frontend.views.values import BITS, DTYPES, HBM, ONNX_TYPES, REAL, Converted, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.node import Node
    from elk.frontend.views.space import Along, LoopSpace

PRODUCTS: Final = frozenset(("Conv", "Einsum", "Gemm", "MatMul"))
_FACTORS: Final = 2
_BIAS: Final = 2  # The last input of a product that ONNX names.


def scale_slot(slot: int) -> int:
    """The input of a product that holds the scales of input `slot`."""
    return 3 + 2 * slot


def zero_slot(slot: int) -> int:
    """The input of a product that holds the zero points of input `slot`."""
    return 4 + 2 * slot


def noted(node: Node, _: Sequence[Value | None], result: Value) -> None:
    """Notes on the result of a Cast what it is stored as: never as more bits, but in HBM."""
    x = node.input(0)
    result.selects = x.selects
    in_hbm = all(p.tensor.home in HBM for p in x.pieces)
    if result.dtype not in REAL or x.dtype == "bool" or x.size == 1:
        return
    before = x.converted
    if before is not None and BITS[x.dtype] >= BITS[result.dtype]:
        result.converted = before
    elif BITS[x.dtype] <= BITS[result.dtype] or in_hbm:
        result.converted = Converted(x)


def is_read_narrow(node: Node) -> bool:
    """Whether a Cast of known numbers is left to the products that read it, as fewer bits."""
    if node.type != "Cast" or not node.readers:
        return False
    x, target = node.input(0), DTYPES.get(int(node.attrs["to"]))
    widens = target in REAL and BITS[x.dtype] < BITS[target]
    return widens and x.size > 1 and PRODUCTS.union(PASSING).issuperset(node.readers)


def gathered(node: Node, make: Maker) -> list[Value] | None:
    """A Gather of rows of a table that is stored otherwise: they are converted, not the table."""
    how = node.input(0).converted
    if how is None or any(p.tensor.home not in HBM for p in how.base.pieces):
        return None
    dtype, index, axis = node.input(0).dtype, node.input(1), node.axis(0)

    def rows(value: Value) -> Value:
        found = value if value.size == 1 else make("Gather", value, index, axis=axis)
        return make("Cast", found, to=ONNX_TYPES[dtype])

    result = rows(how.base)
    if how.zero is not None:
        result = make("Sub", result, rows(how.zero))
    if how.scale is not None:
        result = make("Mul", result, rows(how.scale))
    passed_on(node, picking.gather, result)
    return [result]


def inputs(node: Node) -> list[Value | None] | None:
    """The inputs of a product with operands as they are stored; None where they are what it reads.

    Scales and zero points stand behind the bias.
    """
    given = [node.get(slot) for slot in range(_BIAS + 1)] + [None] * (2 * _FACTORS)
    for slot in range(_FACTORS):
        how = node.input(slot).converted
        if how is not None:
            given[slot] = how.base
            given[scale_slot(slot)], given[zero_slot(slot)] = how.scale, how.zero
    return given if any(node.input(slot).converted for slot in range(_FACTORS)) else None


class Conversion:
    """Scales and zero points of a product's operands, as far as they are read so far.

    Attributes:
        scalars: Those that are known numbers.
        constants: Which inputs these are.
        flops: What converting takes, for each operand once.
    """

    def __init__(self) -> None:
        self.scalars: tuple[float, ...] = ()
        self.constants: tuple[int, ...] = ()
        self.flops = 0

    def read(self, space: LoopSpace, node: Node, slot: int, along: Sequence[Along]) -> None:
        """Reads those of operand `slot`, which has loops `along` its dimensions."""
        for at in (scale_slot(slot), zero_slot(slot)):
            value = node.get(at)
            if value is None:
                continue
            self.flops += node.input(slot).size
            number = scalar(value)
            if number is not None:
                self.scalars, self.constants = (*self.scalars, number), (*self.constants, at)
            elif value.size == 1:
                space.read(at, value, [None] * len(value.shape))
            else:
                space.read(at, value, along)
