"""Products summed over shared loops: MatMul, Gemm and Einsum are one expression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from elk.frontend.ops.conversions import Conversion
from elk.frontend.ops.elementwise import aligned, scalar
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.space import LoopSpace, Nest, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from elk.frontend.views.views import Shape

_FACTORS = 2
Labels: TypeAlias = "tuple[str | None, ...]"  # A loop name for each dimension; None: broadcast.


def matmul(node: Node) -> Pattern:
    """numpy.matmul: the last two dimensions are matrices, those in front broadcast."""
    a, b = node.input(0).shape, node.input(1).shape
    a_tail: Labels = ("m", "k")[-len(a) :]
    b_tail: Labels = ("k", "n") if len(b) > 1 else ("k",)
    front = max(len(a), len(b), 2) - 2
    names = [f"b{i}" for i in range(front)]
    lead_a, lead_b = a[: max(len(a) - 2, 0)], b[: max(len(b) - 2, 0)]
    sizes = dict.fromkeys(names, 1)
    for lead in (lead_a, lead_b):
        for name, size in zip(names[front - len(lead) :], lead, strict=True):
            sizes[name] = size if size != 1 else sizes[name]
    for labels, shape in ((a_tail, a), (b_tail, b)):
        _measure(sizes, [x for x in labels if x], shape[-len(labels) :])
    operands = [_led(lead_a, names, sizes) + a_tail, _led(lead_b, names, sizes) + b_tail]
    out = (*names, *(x for x in ("m", "n") if x in sizes))
    return contraction(node, operands, out, sizes)


def _led(lead: Shape, names: list[str], sizes: dict[str, int]) -> Labels:
    used = names[len(names) - len(lead) :]
    pairs = zip(used, lead, strict=True)
    return tuple(name if size == sizes[name] else None for name, size in pairs)


def gemm(node: Node) -> Pattern:
    """The Gemm alpha * A * B + beta * C, either matrix transposed."""
    a: Labels = ("k", "m") if node.attrs.get("transA", 0) else ("m", "k")
    b: Labels = ("n", "k") if node.attrs.get("transB", 0) else ("k", "n")
    sizes: dict[str, int] = {}
    for slot, labels in enumerate((a, b)):
        _measure(sizes, [x for x in labels if x], node.input(slot).shape)
    sizes = {name: sizes[name] for name in ("m", "n", "k")}
    scalars = (float(node.attrs.get("alpha", 1.0)), float(node.attrs.get("beta", 1.0)))
    return contraction(node, [a, b], ("m", "n"), sizes, scalars)


def einsum(node: Node) -> Pattern:
    """A product of two operands over labelled dimensions; no label twice in one operand."""
    equation = str(node.attrs["equation"]).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if "." in equation or not arrow:
        raise UnplannableError(f"equation '{equation}' leaves dimensions unnamed")
    if len(terms) != _FACTORS or any(len(set(term)) != len(term) for term in (*terms, right)):
        raise UnplannableError(f"equation '{equation}' is no product of two operands")
    sizes: dict[str, int] = {}
    for slot, term in enumerate(terms):
        _measure(sizes, term, node.input(slot).shape)
    return contraction(node, [tuple(term) for term in terms], tuple(right), sizes)


def _measure(sizes: dict[str, int], labels: Iterable[str], shape: Shape) -> None:
    """Enters the size of each label, which is the same in all operands."""
    for label, size in zip(labels, shape, strict=True):
        if sizes.setdefault(label, size) != size:
            raise UnplannableError(f"its inputs meet in dimensions of {sizes[label]} and {size}")


def contraction(
    node: Node,
    operands: list[Labels],
    out: Labels,
    sizes: dict[str, int],
    scalars: tuple[float, ...] = (),
) -> Pattern:
    """Inputs 0 and 1 multiplied and summed over what is not in `out`; input 2 is added."""
    space = LoopSpace()
    order = [*(x for x in out if x), *(x for x in sizes if x not in out)]
    loops = {x: space.loop(x, sizes[x], "Parallel" if x in out else "Reduction") for x in order}
    conversion = Conversion()
    for slot, labels in enumerate(operands):
        along = [loops[x] if x else None for x in labels]
        space.read(slot, node.input(slot), along)
        conversion.read(space, node, slot, along)
    result = [loops[x] for x in out if x]
    shape = tuple(sizes[x] for x in out if x)
    flops = 2 * math.prod(sizes.values()) + conversion.flops
    bias = node.get(2)
    if bias is not None:
        flops += math.prod(shape)
        number = scalar(bias)
        if number is None:
            space.read(2, bias, aligned(bias.shape, result))
        else:
            scalars = (*scalars, number)
    dtype = node.computes or node.input(0).dtype
    space.write(dtype, shape, result)
    nest = space.nest()
    tiles = _product_tiles(nest)
    return Pattern(
        kind="MatMul",
        function="matmul",
        compute=dtype,
        accumulate=dtype,
        axes=nest.tagged(tiles.__getitem__),
        reads=nest.reads,
        writes=nest.writes,
        flops=flops,
        scalars=(*scalars, *conversion.scalars),
        constants=conversion.constants,
    )


def _product_tiles(nest: Nest) -> list[str]:
    """Where each axis stands in the product: it follows from which operands it runs along.

    Tokens that pick a matrix each run along one operand only: those that pick the same one make up
    its rows.
    """
    in_a, in_b = (
        frozenset[int]().union(*(r.axes for r in nest.reads if r.slot == slot and not r.is_index))
        for slot in (0, 1)
    )
    tiles = []
    for i, axis in enumerate(nest.axes):
        if axis.role == "Reduction":
            tiles.append("K")
        elif i in in_a and i not in in_b:
            tiles.append("M")
        elif i in in_b and i not in in_a:
            tiles.append("N")
        else:
            tiles.append("Group")
    return tiles
