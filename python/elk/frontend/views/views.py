"""Views: how the elements of an ONNX value lie in a stored tensor.

A value is a box of dimensions. Each dimension is a product of *atoms*, outermost first, and each
atom steps through the stored tensor with one coefficient a stored dimension:

    stored[d] = offsets[d] + sum over atoms of position * coefs[d]

so Reshape merges and splits atoms, Transpose moves them, Expand adds an atom that steps nowhere,
and Slice shortens one. What cannot be said this way is None, and becomes a copy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Shape: TypeAlias = tuple[int, ...]


class Atom(NamedTuple):
    """A loop of `size` positions that steps `coefs[d]` along stored dimension `d`."""

    size: int
    coefs: tuple[int, ...]

    def scaled(self, size: int, factor: int) -> Atom:
        """An atom of `size` positions that steps `factor` times as far."""
        return Atom(size, tuple(c * factor for c in self.coefs))


@dataclass(frozen=True, slots=True)
class View:
    """A value as loops over a stored tensor.

    Attributes:
        dims: The atoms of each dimension of the value; none where its size is one.
        offsets: Where the first element lies in each dimension of the stored tensor.
    """

    dims: tuple[tuple[Atom, ...], ...]
    offsets: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """The sizes of the value's dimensions."""
        return tuple(math.prod(atom.size for atom in dim) for dim in self.dims)


@lru_cache(maxsize=4096)
def identity(shape: Shape) -> View:
    """A stored tensor of `shape` seen as it is."""
    rank = len(shape)
    units = [tuple(int(i == d) for i in range(rank)) for d in range(rank)]
    dims = tuple((Atom(n, unit),) if n != 1 else () for n, unit in zip(shape, units, strict=True))
    return View(dims, (0,) * rank)


def _joined(atoms: list[Atom]) -> list[Atom]:
    """`atoms` with neighbours made one where the outer one goes on where the inner one ends."""
    out: list[Atom] = []
    for atom in atoms:
        if out and out[-1].coefs == tuple(c * atom.size for c in atom.coefs):
            out[-1] = Atom(out[-1].size * atom.size, atom.coefs)
        else:
            out.append(atom)
    return out


def _taken(atoms: list[Atom], size: int) -> list[Atom] | None:
    """Takes atoms of `size` positions in all from the end of `atoms`; None if they do not split."""
    out: list[Atom] = []
    while size != 1:
        if not atoms:
            return None
        atom = atoms.pop()
        if size % atom.size == 0:
            out.append(atom)
            size //= atom.size
        elif atom.size % size == 0:
            atoms.append(atom.scaled(atom.size // size, size))
            out.append(Atom(size, atom.coefs))
            size = 1
        else:
            return None
    return out[::-1]


@lru_cache(maxsize=4096)
def reshape(view: View, shape: Shape) -> View | None:
    """The elements of `view`, in the same order, in the box `shape`."""
    if 0 in shape:
        return None
    atoms = _joined([atom for dim in view.dims for atom in dim])
    dims: list[tuple[Atom, ...]] = []
    for size in reversed(shape):
        taken = _taken(atoms, size)
        if taken is None:
            return None
        dims.append(tuple(taken))
    return View(tuple(reversed(dims)), view.offsets)


@lru_cache(maxsize=4096)
def transpose(view: View, perm: tuple[int, ...]) -> View:
    """`view` with its dimensions in the order `perm`."""
    return View(tuple(view.dims[i] for i in perm), view.offsets)


@lru_cache(maxsize=4096)
def expand(view: View, shape: Shape) -> View:
    """`view` repeated along dimensions of size one, and along new ones in front."""
    still = (0,) * len(view.offsets)
    dims: list[tuple[Atom, ...]] = [()] * (len(shape) - len(view.dims)) + list(view.dims)
    for i, (dim, size) in enumerate(zip(dims, shape, strict=True)):
        if not dim and size != 1:
            dims[i] = (Atom(size, still),)
    return View(tuple(dims), view.offsets)


def _moved(offsets: tuple[int, ...], atom: Atom, steps: int) -> tuple[int, ...]:
    return tuple(o + c * steps for o, c in zip(offsets, atom.coefs, strict=True))


@lru_cache(maxsize=4096)
def take(view: View, dim: int, start: int, count: int, step: int = 1) -> View | None:
    """Positions `start`, `start + step`, ... of dimension `dim`, `count` of them."""
    atoms, offsets = view.dims[dim], view.offsets
    kept: tuple[Atom, ...] = ()
    while atoms:
        outer, rest = atoms[0], atoms[1:]
        inner = math.prod(atom.size for atom in rest)
        last = start + (count - 1) * step
        if start // inner == last // inner:  # One position of the outer atom: it is no loop.
            offsets = _moved(offsets, outer, start // inner)
            start, atoms = start % inner, rest
        elif not rest:
            offsets = _moved(offsets, outer, start)
            kept, atoms = (outer.scaled(count, step),), ()
        elif step == 1 and start % inner == 0 and count % inner == 0:
            offsets = _moved(offsets, outer, start // inner)
            kept, atoms = (Atom(count // inner, outer.coefs), *rest), ()
        else:
            return None
    return View((*view.dims[:dim], kept, *view.dims[dim + 1 :]), offsets)


@lru_cache(maxsize=4096)
def is_whole(view: View, stored: Shape) -> bool:
    """Whether `view` holds each element of the stored tensor exactly once."""
    if any(view.offsets) or math.prod(view.shape) != math.prod(stored):
        return False
    reach = [1] * len(stored)
    for atom in sorted((a for dim in view.dims for a in dim), key=lambda a: sum(a.coefs)):
        moved = [d for d, c in enumerate(atom.coefs) if c]
        if len(moved) != 1 or atom.coefs[moved[0]] != reach[moved[0]]:
            return False
        reach[moved[0]] *= atom.size
    return tuple(reach) == stored


@lru_cache(maxsize=4096)
def reaches(view: View, stored: Shape) -> bool:
    """Whether any element of `view` lies inside the stored tensor."""
    for d, size in enumerate(stored):
        low = high = view.offsets[d]
        for atom in (atom for dim in view.dims for atom in dim):
            high += atom.coefs[d] * (atom.size - 1)
        if high < 0 or low >= size:
            return False
    return True


@lru_cache(maxsize=4096)
def placed(view: View, stored: Shape, dim: int, start: int, total: int) -> View | None:
    """`view` as the part from `start` on of a value whose dimension `dim` has `total` positions.

    The result indexes outside `stored` at all other positions, where a reader drops it. None if no
    dimension of the stored tensor can say so.
    """
    atoms = view.dims[dim]
    if not atoms:
        guard = _still_dim(view, stored)
        return None if guard is None else _replaced(view, dim, (), (guard, total, start))
    axis = only_dim(view, stored, dim)
    if axis is None:
        return None
    offsets = tuple(o - start if d == axis else o for d, o in enumerate(view.offsets))
    longer = (Atom(total, atoms[0].coefs),)
    return View((*view.dims[:dim], longer, *view.dims[dim + 1 :]), offsets)


@lru_cache(maxsize=4096)
def placed_block(view: View, stored: Shape, dim: int, block: int, blocks: int) -> View | None:
    """`view` as block number `block` of `blocks` equal ones along dimension `dim`."""
    guard = _still_dim(view, stored)
    if guard is not None:
        return _replaced(view, dim, view.dims[dim], (guard, blocks, block))
    axis = only_dim(view, stored, dim)
    if axis is None:
        return None
    atom = view.dims[dim][0]
    offsets = tuple(o - block * atom.size if d == axis else o for d, o in enumerate(view.offsets))
    split = (atom.scaled(blocks, atom.size), atom)
    return View((*view.dims[:dim], split, *view.dims[dim + 1 :]), offsets)


@lru_cache(maxsize=4096)
def covers(view: View, stored: Shape, dim: int) -> bool:
    """Whether an index past dimension `dim` of the value is one past the stored tensor too."""
    if not view.dims[dim]:
        return False
    return only_dim(view, stored, dim) is not None


@lru_cache(maxsize=4096)
def guarded(view: View, stored: Shape, dim: int) -> View | None:
    """`view` whose dimension `dim`, of size one, has an index of its own that can be passed."""
    guard = _still_dim(view, stored)
    if guard is None:
        return None
    atom = Atom(1, tuple(int(d == guard) for d in range(len(stored))))
    return View((*view.dims[:dim], (atom,), *view.dims[dim + 1 :]), view.offsets)


def _still_dim(view: View, stored: Shape) -> int | None:
    """A stored dimension of size one that no atom moves along."""
    for d, size in enumerate(stored):
        if size == 1 and view.offsets[d] == 0 and not _moves(view, d):
            return d
    return None


def _moves(view: View, axis: int) -> int:
    """How many atoms move along stored dimension `axis`."""
    return sum(1 for dim in view.dims for atom in dim if atom.coefs[axis])


@lru_cache(maxsize=4096)
def only_dim(view: View, stored: Shape, dim: int) -> int | None:
    """The stored dimension that dimension `dim` of the value covers whole, alone and in order."""
    if len(view.dims[dim]) != 1:
        return None
    atom = view.dims[dim][0]
    axes = [d for d, c in enumerate(atom.coefs) if c]
    if len(axes) != 1:
        return None
    d = axes[0]
    exact = atom.coefs[d] == 1 and stored[d] == atom.size and view.offsets[d] == 0
    return d if exact and _moves(view, d) == 1 else None


def _replaced(view: View, dim: int, inner: tuple[Atom, ...], guard: tuple[int, int, int]) -> View:
    """`view` whose dimension `dim` is blocks of `inner`, read where `axis` is 0 only."""
    axis, count, at = guard
    rank = len(view.offsets)
    outer = (Atom(count, tuple(int(d == axis) for d in range(rank))),) if count != 1 else ()
    offsets = tuple(o - at if d == axis else o for d, o in enumerate(view.offsets))
    return View((*view.dims[:dim], (*outer, *inner), *view.dims[dim + 1 :]), offsets)
