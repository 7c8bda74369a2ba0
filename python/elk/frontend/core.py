"""Patterns and tensors handed to the core, each distinct pattern once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from elk.frontend.ops.assembled import Op
    from elk.frontend.views.space import Dim, Pattern, Read
    from elk.frontend.views.values import Stored, Value

_HOMES = {home.name.lower(): home for home in _core.Home}
_ROLES = {role.name: role for role in _core.AxisRole}
_TILES = {tile.name.rstrip("_"): tile for tile in _core.TileDim}
_KINDS = {kind.name: kind for kind in _core.OpKind}
_DTYPES = {dtype.name: dtype for dtype in _core.DType}


def core_graph(
    name: str, ops: list[Op], stores: list[tuple[Stored, int]], outputs: list[Value]
) -> tuple[_core.Graph, list[Stored]]:
    """The graph of `ops`, and its tensors in order: numbered as ops first touch them."""
    numbers: dict[Stored, int] = {}  # By identity.
    patterns: list[_core.Op] = []
    known: dict[int, int] = {}
    rows = []
    for op in ops:
        key = id(op.pattern)
        if key not in known:
            known[key] = len(patterns)
            patterns.append(_core_op(op))
        touched = [numbers.setdefault(t, len(numbers)) for t in _touched(op)]
        rows.append((op.name, known[key], touched))
    pieces = [p.tensor for value in outputs for p in value.pieces]
    leaving = dict.fromkeys(
        [numbers.setdefault(t, len(numbers)) for t in pieces if t.home == "output"]
    )
    tensors = list(numbers)
    stored = {t for t, _ in stores}
    maker = {t: i for i, op in enumerate(ops) for t in op.writes if t in stored}
    _rename_twice(tensors)
    graph = _core.Graph(
        name=name,
        tensors=[
            _core.Tensor(
                name=t.name, dtype=_DTYPES[t.dtype], shape=list(t.shape), home=_HOMES[t.home]
            )
            for t in tensors
        ],
        patterns=patterns,
        ops=rows,
        stores=[(numbers[t], maker[t], run, -1, []) for t, run in stores],
        outputs=list(leaving),
    )
    return graph, tensors


def _touched(op: Op) -> Iterable[Stored]:
    """The tensors of an op in the order in which its pattern counts them."""
    return (*op.reads, *[index for index in op.indices if index is not None], *op.writes)


def _rename_twice(tensors: list[Stored]) -> None:
    """Makes names unique: a folded constant may carry the name of the weight it was made from."""
    seen: dict[str, int] = {}  # How often a name was asked for.
    for tensor in tensors:
        name, again = tensor.name, seen.get(tensor.name, 0)
        while tensor.name in seen:
            again += 1
            tensor.name = f"{name}#{again + 1}"
        seen[name] = again
        seen.setdefault(tensor.name, 0)


def _core_op(op: Op) -> _core.Op:
    pattern = op.pattern
    index = len(pattern.reads)
    operands = []
    for position, read in enumerate(pattern.reads):
        operands.append(_operand(read, position, index))
        index += read.indirect is not None
    for position, write in enumerate(pattern.writes):
        operands.append(
            _core.Operand(
                tensor=index + position,
                access=_core.Access.Write,
                dims=[_dim(dim) for dim in write.dims],
                input=position,
            )
        )
    return _core.Op(
        name="",
        kind=_KINDS[pattern.kind],
        onnx_type=op.onnx_type,
        function=pattern.function,
        params=list(pattern.params),
        compute=_DTYPES[pattern.compute],
        accumulate=_DTYPES[pattern.accumulate],
        axes=_axes(pattern),
        operands=operands,
        flops=pattern.flops,
        scalars=list(pattern.scalars),
        constants=list(pattern.constants),
    )


def _axes(pattern: Pattern) -> list[_core.Axis]:
    return [
        _core.Axis(name=a.name, size=a.size, role=_ROLES[a.role], tile_dim=_TILES[a.tile])
        for a in pattern.axes
    ]


def _operand(read: Read, position: int, index: int) -> _core.Operand:
    indirect = None
    if read.indirect is not None:
        indirect = _core.Indirect(
            index=index,
            dim=read.indirect.dim,
            axes=list(read.indirect.axes),
            expected_picks=read.indirect.expected_picks,
        )
    return _core.Operand(
        tensor=position,
        access=_core.Access.Read,
        dims=[_dim(dim) for dim in read.dims],
        indirect=indirect,
        input=-1 if read.is_index else read.slot,
        covers=read.covers,
    )


def _dim(dim: Dim) -> _core.Dim:
    return _core.Dim(axes=list(dim.axes), coef=list(dim.coef), offset=dim.offset)
