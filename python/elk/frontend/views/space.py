"""Iteration spaces: from views of operands to the named axes of an op and its index maps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from elk.frontend.views.node import UnplannableError
from elk.frontend.views.views import Atom, Shape, View, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from elk.frontend.views.values import Pick, Value


class LoopAxis(NamedTuple):
    """A loop of an op: its `role` is Parallel, Reduction or Row, `tile` its place in the call."""

    name: str
    size: int
    role: str
    tile: str


class Dim(NamedTuple):
    """Index of one stored dimension: offset + sum of coef[i] * axes[i], largest steps first."""

    axes: tuple[int, ...]
    coef: tuple[int, ...]
    offset: int


class Indirect(NamedTuple):
    """Dimension `dim` is picked by an index, one pick for each point of `axes`.

    The index is the tensor of input `slot`; where that is -1, the one that picks the piece itself.
    """

    slot: int
    dim: int
    axes: tuple[int, ...]
    expected_picks: float


class Read(NamedTuple):
    """One operand that is read: piece number `piece` of input number `slot`, or what picks it.

    One that `covers` others is read where the mask behind it is true; that is an index, too.
    """

    slot: int
    piece: int
    dims: tuple[Dim, ...]
    indirect: Indirect | None = None
    is_index: bool = False
    covers: bool = False

    @property
    def axes(self) -> frozenset[int]:
        """The axes that the index depends on."""
        return frozenset(a for dim in self.dims for a in dim.axes)


class Write(NamedTuple):
    """One result: a new tensor of this type and shape."""

    dtype: str
    shape: Shape
    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """An op without names: what all nodes of the same type, shapes and views share."""

    kind: str
    function: str
    compute: str
    accumulate: str
    axes: tuple[LoopAxis, ...]
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    flops: int
    params: tuple[int, ...] = ()
    scalars: tuple[float, ...] = ()
    constants: tuple[int, ...] = ()


class MisalignedError(Exception):
    """Inputs `slots` do not fit the loops of their op as they lie, and have to be copied first."""

    def __init__(self, *slots: int) -> None:
        super().__init__(*slots)
        self.slots = slots


class Term(NamedTuple):
    """`coef` steps along a loop for each of its positions."""

    loop: int
    coef: int


class Affine(NamedTuple):
    """offset + sum of the terms: a dimension that several loops run along."""

    terms: tuple[Term, ...]
    offset: int


# What runs along a dimension of a value: one loop, several, or (None) nothing because it is
# broadcast or of size one.
Along: TypeAlias = "int | Affine | None"


@dataclass(slots=True)
class _Loop:
    """A loop before it is cut: `cuts` are the products of the atoms inside each boundary."""

    name: str
    size: int
    role: str
    cuts: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Access:
    slot: int
    piece: int
    view: View
    along: tuple[Along, ...]
    write: tuple[str, Shape] | None = None
    is_index: bool = False
    pick: Pick | None = None


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of an op, cut into axes, and what it reads and writes."""

    axes: tuple[LoopAxis, ...]
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    loop_of: tuple[int, ...]

    def tagged(self, tile: Callable[[int], str]) -> tuple[LoopAxis, ...]:
        """The axes with the place in the kernel call that `tile` gives each."""
        return tuple(a._replace(tile=tile(i)) for i, a in enumerate(self.axes))

    def points(self) -> int:
        """The size of the whole space."""
        return math.prod(axis.size for axis in self.axes)


class LoopSpace:
    """Collects loops and accesses, then cuts loops where the views of operands need it."""

    def __init__(self) -> None:
        self._loops: list[_Loop] = []
        self._accesses: list[_Access] = []

    def loop(self, name: str, size: int, role: str = "Parallel") -> int:
        """A new loop; its number stands for it in `read` and `write`."""
        self._loops.append(_Loop(name, size, role))
        return len(self._loops) - 1

    def read(
        self, slot: int, value: Value, along: Sequence[Along], *, clipped: bool = False
    ) -> None:
        """Reads `value`, which is input `slot`, with loops `along` its dimensions.

        Raises:
            UnplannableError: It has more or fewer dimensions, or, unless it is `clipped`, positions
                along a loop.
        """
        if len(along) != len(value.shape):
            raise UnplannableError(
                f"input {slot} has {len(value.shape)} dimensions where {len(along)} are read"
            )
        for dim, (size, loop) in enumerate(zip(value.shape, along, strict=True)):
            if isinstance(loop, int) and not clipped and self._loops[loop].size != size:
                raise UnplannableError(
                    f"dimension {dim} of input {slot} must have {self._loops[loop].size} "
                    f"positions, got {size}"
                )
        for number, piece in enumerate(value.pieces):
            pick, mask = piece.pick, piece.mask
            self._access(_Access(slot, number, piece.view, tuple(along), pick=pick))
            for index in (pick, mask):
                if index is not None:
                    self._access(_Access(slot, number, index.view, tuple(along), is_index=True))

    def write(self, dtype: str, shape: Shape, along: Sequence[Along]) -> None:
        """Writes a new tensor with loops `along` its dimensions."""
        self._access(_Access(-1, 0, identity(shape), tuple(along), (dtype, shape)))

    def _access(self, access: _Access) -> None:
        for atoms, along in zip(access.view.dims, access.along, strict=True):
            if isinstance(along, int):
                self._cut(self._loops[along], atoms, access.slot)
            elif along is not None and len(atoms) > 1:
                raise MisalignedError(access.slot)
        self._accesses.append(access)

    @staticmethod
    def _cut(loop: _Loop, atoms: tuple[Atom, ...], slot: int) -> None:
        inner, cuts = 1, set(loop.cuts)
        for atom in reversed(atoms[1:]):
            inner *= atom.size
            cuts.add(inner)
        chain = [1, *sorted(cuts), loop.size]
        if any(b % a for a, b in pairwise(chain)):
            raise MisalignedError(slot)
        loop.cuts = cuts

    def nest(self) -> Nest:
        """The axes and index maps of everything collected."""
        axes: list[LoopAxis] = []
        loop_of: list[int] = []
        inside: list[dict[int, int]] = []  # For each loop: the cut inside an axis -> the axis.
        for number, loop in enumerate(self._loops):
            inside.append({})
            cuts = [*sorted(loop.cuts, reverse=True), 1] if loop.size != 1 else []
            outer = loop.size
            for i, cut in enumerate(cuts):
                name = loop.name if len(cuts) == 1 else f"{loop.name}_{i}"
                inside[-1][cut] = len(axes)
                axes.append(LoopAxis(name, outer // cut, loop.role, "None"))
                loop_of.append(number)
                outer = cut
        reads, writes = [], []
        for access in self._accesses:
            dims = _index(access, inside)
            if access.write is not None:
                writes.append(Write(*access.write, dims))
                continue
            reads.append(Read(access.slot, access.piece, dims, None, access.is_index))
            if access.is_index:
                pick = self._accesses[len(reads) - 2].pick
                read = reads[-2]
                reads[-2] = _indirect(read, reads[-1], pick) if pick else read._replace(covers=True)
        return Nest(tuple(axes), tuple(reads), tuple(writes), tuple(loop_of))


def _indirect(read: Read, index: Read, pick: Pick) -> Read:
    """`read` with the dimension that `index` picks."""
    axes = tuple(sorted(index.axes))
    return read._replace(indirect=Indirect(-1, pick.dim, axes, pick.expected))


def _index(access: _Access, inside: list[dict[int, int]]) -> tuple[Dim, ...]:
    """The index map of one operand: its view, with axes put in the place of atoms."""
    offsets = list(access.view.offsets)
    moves: list[dict[int, int]] = [{} for _ in offsets]
    for atoms, along in zip(access.view.dims, access.along, strict=True):
        if isinstance(along, int):
            steps = _steps(atoms, inside[along])
        elif along is not None and atoms:
            steps = [
                (atoms[0].coefs, axis, term.coef * cut)
                for term in along.terms
                for cut, axis in inside[term.loop].items()
            ]
            for d, c in enumerate(atoms[0].coefs):
                offsets[d] += c * along.offset
        else:
            continue
        for coefs, axis, factor in steps:
            for d, c in enumerate(coefs):
                if c:
                    moves[d][axis] = moves[d].get(axis, 0) + c * factor
    return tuple(map(_dim, moves, offsets))


def _steps(atoms: tuple[Atom, ...], axes: dict[int, int]) -> list[tuple[tuple[int, ...], int, int]]:
    """Coefficients, axis and factor of each step that the axes of one loop make along `atoms`."""
    out = []
    inner = 1
    for atom in reversed(atoms):
        for cut, axis in axes.items():
            if inner <= cut < inner * atom.size:
                out.append((atom.coefs, axis, cut // inner))
        inner *= atom.size
    return out


def _dim(moves: dict[int, int], offset: int) -> Dim:
    order = sorted(moves, key=lambda axis: (-moves[axis], axis))
    return Dim(tuple(order), tuple(moves[axis] for axis in order), offset)


def with_indirect(nest: Nest, read: int, indirect: Indirect) -> Nest:
    """`nest` whose operand number `read` has a dimension that is picked by an index tensor."""
    reads = list(nest.reads)
    reads[read] = reads[read]._replace(indirect=indirect)
    return replace(nest, reads=tuple(reads))


def with_shape(pattern: Pattern, shape: Shape) -> Pattern:
    """`pattern` whose one result is stored in `shape`: the same but for dimensions of size one."""
    (write,) = pattern.writes
    moving = iter(dim for dim, n in zip(write.dims, write.shape, strict=True) if n != 1)
    dims = tuple(next(moving) if n != 1 else Dim((), (), 0) for n in shape)
    return replace(pattern, writes=(Write(write.dtype, shape, dims),))
