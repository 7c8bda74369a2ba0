"""Ops of a graph as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk import _core

if TYPE_CHECKING:
    from collections.abc import Iterator


def op_lines(graph: _core.Graph, op: _core.Op) -> Iterator[str]:
    """One line for the op, one for each operand.

    An axis is written as name:size, with `+` for one that is summed and `~` for one that is
    normalised along; a dimension of an operand as `offset + coefficient * axis`.
    """
    marks = {_core.AxisRole.Reduction: "+", _core.AxisRole.Row: "~"}
    axes = " ".join(
        f"{a.name}:{a.size}{marks.get(a.role, '')}/{a.tile_dim.name.rstrip('_')}" for a in op.axes
    )
    numbers = "".join(f" {x:.6g}" for x in op.scalars)
    params = f" {op.params}" if op.params else ""
    yield f"{op.name} = {op.kind.name} {op.function}{params}{numbers} {op.compute.name} [{axes}]"
    names = [axis.name for axis in op.axes]
    for operand in op.operands:
        tensor = graph.tensors[operand.tensor]
        dims = ", ".join(dim_text(dim, names) for dim in operand.dims)
        verb = "reads" if operand.access == _core.Access.Read else "writes"
        pick = ""
        if operand.indirect is not None:
            index = graph.tensors[operand.indirect.index].name
            pick = f", dim {operand.indirect.dim} picked by {index}"
        yield (
            f"    {verb} {tensor.name} {tensor.dtype.name}{tensor.shape} "
            f"{tensor.home.name.lower()} at [{dims}]{pick}"
        )


def dim_text(dim: _core.Dim, names: list[str]) -> str:
    """An index as it is written: `128 * h + d - 64`."""
    terms = [
        names[axis] if coef == 1 else f"{coef} * {names[axis]}"
        for axis, coef in zip(dim.axes, dim.coef, strict=True)
    ]
    text = " + ".join(terms)
    if not text:
        return str(dim.offset)
    if dim.offset:
        text += f" {'-' if dim.offset < 0 else '+'} {abs(dim.offset)}"
    return text
