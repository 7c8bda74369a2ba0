"""Views say where each element of a value lies: compared with what numpy does to an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from each_case import each
from elk.frontend.views import views
from elk.frontend.views.views import Atom, View
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[Any]


def elements(view: View, stored: Array) -> Array:
    """The value that `view` shows of `stored`; -1 where it looks outside."""
    atoms = [atom for dim in view.dims for atom in dim]
    count = math.prod(atom.size for atom in atoms)
    grid = np.indices([atom.size for atom in atoms]).reshape(len(atoms), count)
    inside = np.ones(count, dtype=bool)
    index = []
    for d, size in enumerate(stored.shape):
        at = np.full(count, view.offsets[d])
        for position, atom in zip(grid, atoms, strict=True):
            at = at + position * atom.coefs[d]
        inside &= (at >= 0) & (at < size)
        index.append(np.clip(at, 0, size - 1))
    found = stored[tuple(index)] if index else np.full(1, stored)
    return np.where(inside, found, -1).reshape(view.shape)


def factors(size: int) -> list[int]:
    return [n for n in range(1, size + 1) if size % n == 0]


@st.composite
def shapes_of(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape of `size` elements, ones included."""
    out = []
    for _ in range(draw(st.integers(1, 4))):
        part = draw(st.sampled_from(factors(size)))
        out.append(part)
        size //= part
    return (*out, size)


def slices_of(size: int) -> st.SearchStrategy[tuple[int, int, int]]:
    """Start, count and step of a part of `size` positions."""
    return st.integers(0, size - 1).flatmap(
        lambda start: st.integers(1, 3).flatmap(
            lambda step: st.integers(1, 1 + (size - 1 - start) // step).map(
                lambda count: (start, count, step)
            )
        )
    )


def step(data: st.DataObject, view: View, array: Array) -> tuple[View | None, Array]:
    """One step of a chain, done to the view and to the array."""
    kind = data.draw(st.sampled_from(["reshape", "transpose", "expand", "take"]))
    shape = array.shape
    if kind == "reshape":
        target = data.draw(shapes_of(array.size))
        return views.reshape(view, target), array.reshape(target)
    if kind == "transpose":
        perm = tuple(data.draw(st.permutations(range(len(shape)))))
        return views.transpose(view, perm), array.transpose(perm)
    if kind == "expand":
        repeats = data.draw(st.integers(2, 3))
        target = (*((n if n != 1 else repeats) for n in shape),)
        return views.expand(view, target), np.broadcast_to(array, target)
    dim = data.draw(st.integers(0, len(shape) - 1))
    start, count, stride = data.draw(slices_of(shape[dim]))
    part = [slice(None)] * len(shape)
    part[dim] = slice(start, start + (count - 1) * stride + 1, stride)
    return views.take(view, dim, start, count, stride), array[tuple(part)]


@given(st.data())
def test_chains_of_views_show_what_numpy_shows(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple))
    stored: Array = np.arange(math.prod(shape)).reshape(shape)
    view, array = views.identity(shape), stored
    for _ in range(data.draw(st.integers(1, 6))):
        following, changed = step(data, view, array)
        if following is None or changed.size > 10_000:
            break  # No view can say it: an op will copy.
        view, array = following, changed
        assert view.shape == array.shape
        np.testing.assert_array_equal(elements(view, stored), array)


@given(st.data())
def test_a_view_that_is_whole_holds_each_element_once(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
    stored: Array = np.arange(math.prod(shape)).reshape(shape)
    view, array = views.identity(shape), stored
    for _ in range(data.draw(st.integers(1, 4))):
        following, changed = step(data, view, array)
        if following is None or changed.size > 10_000:
            break
        view, array = following, changed
    once = sorted(array.ravel().tolist()) == list(range(stored.size))
    assert views.is_whole(view, shape) == once


@given(st.data())
def test_placed_parts_make_up_a_concatenation(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(0, rank - 1))
    rest = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    shapes = [tuple(n if i == axis else m for i, m in enumerate(rest)) for n in sizes]
    arrays = [np.arange(math.prod(s)).reshape(s) + 100 * i for i, s in enumerate(shapes)]
    out: Array = np.full([sum(sizes) if i == axis else m for i, m in enumerate(rest)], -1)
    for i, array in enumerate(arrays):
        view = views.placed(
            views.identity(array.shape), array.shape, axis, sum(sizes[:i]), sum(sizes)
        )
        assert view is not None
        seen = elements(view, array)
        assert ((out == -1) | (seen == -1)).all()
        out = np.maximum(out, seen)
    np.testing.assert_array_equal(out, np.concatenate(arrays, axis=axis))


def test_blocks_of_slices_are_told_apart_by_a_dimension_of_size_one() -> None:
    stored: Array = np.arange(24).reshape(4, 1, 6)
    halves = [views.take(views.identity(stored.shape), 2, start, 3) for start in (3, 0)]
    out: Array = np.full((4, 1, 6), -1)
    for i, half in enumerate(halves):
        assert half is not None
        assert views.placed(half, stored.shape, 2, 3 * i, 6) is None
        view = views.placed_block(half, stored.shape, 2, i, 2)
        assert view is not None
        out = np.maximum(out, elements(view, stored))
    np.testing.assert_array_equal(out, np.concatenate([stored[..., 3:], stored[..., :3]], axis=2))


def test_reshape_splits_what_transpose_moved_only_where_it_can() -> None:
    moved = views.transpose(views.identity((4, 6)), (1, 0))
    assert views.reshape(moved, (3, 2, 4)) is not None
    assert views.reshape(moved, (8, 3)) is None


def test_reshape_of_a_transposed_cache_is_a_compound_of_its_dimensions() -> None:
    merged = views.reshape(views.transpose(views.identity((2, 5, 1, 3)), (0, 2, 1, 3)), (2, 1, 15))
    assert merged is not None
    assert merged.dims[2] == (Atom(5, (0, 1, 0, 0)), Atom(3, (0, 0, 0, 1)))
    assert views.reshape(merged, (2, 5, 1, 3)) == views.identity((2, 5, 1, 3))


@each("shape", [(0,), (3, 0)])
def test_no_view_without_elements(shape: tuple[int, ...]) -> None:
    assert views.reshape(views.identity((3, 1)), shape) is None
