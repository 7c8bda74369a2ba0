"""Einsum of any number of operands: sums, diagonals and products of two at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.ops.composed import ints, positions
from elk.frontend.views.node import Node, UnplannableError

if TYPE_CHECKING:
    from elk.frontend.ops.maker import Maker
    from elk.frontend.views.values import Value

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FACTORS = 2


def terms_of(node: Node) -> tuple[list[str], str]:
    """The labels of each operand and of the result, each dimension with a letter of its own."""
    equation = str(node.attrs["equation"]).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.inputs):
        raise UnplannableError(f"equation '{equation}' is not one of {len(node.inputs)} operands")
    fresh = [x for x in _LABELS if x not in equation]
    widths = [len(node.input(i).shape) - len(t.replace("...", "")) for i, t in enumerate(terms)]
    most = max((w for w, t in zip(widths, terms, strict=True) if "..." in t), default=0)
    if most > len(fresh) or min(widths) < 0:
        raise UnplannableError(f"equation '{equation}' does not fit the ranks of its operands")
    batch = "".join(fresh[:most])
    full = [t.replace("...", batch[most - w :]) for t, w in zip(terms, widths, strict=True)]
    if arrow:
        return full, right.replace("...", batch)
    every = "".join(full)
    once = sorted(x for x in set(every) if every.count(x) == 1 and x not in batch)
    return full, batch + "".join(once)


def einsum(node: Node, make: Maker) -> list[Value] | None:
    """Einsum; None where it is one product of two operands as it stands."""
    terms, right = terms_of(node)
    plain = ",".join(terms) + "->" + right
    values = [node.input(i) for i in range(len(terms))]
    sizes = _sizes(terms, values)
    parts = [_single(make, t, v, sizes) for t, v in zip(terms, values, strict=True)]
    simple = all(v is before for (_, v), before in zip(parts, values, strict=True))
    if simple and len(parts) == _FACTORS and plain == node.attrs["equation"]:
        return None
    while len(parts) > _FACTORS:
        (a, x), (b, y), rest = parts[0], parts[1], parts[2:]
        later = set(right).union(*(term for term, _ in rest))
        kept = "".join(dict.fromkeys(label for label in a + b if label in later))
        parts = [(kept, make("Einsum", x, y, equation=f"{a},{b}->{kept}")), *rest]
    if len(parts) == _FACTORS:
        (a, x), (b, y) = parts
        kept = "".join(label for label in right if label in a + b)
        result = make("Einsum", x, y, equation=f"{a},{b}->{kept}")
    else:
        result = _ordered(make, *parts[0], right)
    return [make("Reshape", result, ints(*(sizes[x] for x in right)))]


def _sizes(terms: list[str], values: list[Value]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, value in zip(terms, values, strict=True):
        for label, size in zip(term, value.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def _single(make: Maker, term: str, value: Value, sizes: dict[str, int]) -> tuple[str, Value]:
    """An operand without repeated labels, and without dimensions that it only repeats along."""
    for label in dict.fromkeys(x for x in term if term.count(x) > 1):
        term, value = _diagonal(make, term, value, label)
    still = [i for i, x in enumerate(term) if value.shape[i] == 1 and sizes[x] != 1]
    if still:
        value = make("Squeeze", value, ints(*still))
        term = "".join(x for i, x in enumerate(term) if i not in still)
    return term, value


def _diagonal(make: Maker, term: str, value: Value, label: str) -> tuple[str, Value]:
    """Where all dimensions called `label` have the same position; that dimension comes last."""
    at = [i for i, x in enumerate(term) if x == label]
    others = [i for i in range(len(term)) if i not in at]
    size, count = value.shape[at[0]], len(at)
    moved = make("Transpose", value, perm=(*others, *at))
    front = tuple(value.shape[i] for i in others)
    flat = make("Reshape", moved, ints(*front, size**count))
    step = sum(size**i for i in range(count))
    line = make("Gather", flat, positions(make, size) * step, axis=len(others))
    return "".join(term[i] for i in others) + label, line


def _ordered(make: Maker, term: str, value: Value, right: str) -> Value:
    """One operand summed over what is not wanted, in the order that is wanted."""
    gone = [i for i, x in enumerate(term) if x not in right]
    if gone:
        value = make("ReduceSum", value, ints(*gone), keepdims=0)
    term = "".join(x for x in term if x in right)
    if math.prod(value.shape) == 1 or term == right:
        return value
    return make("Transpose", value, perm=tuple(term.index(x) for x in right))
