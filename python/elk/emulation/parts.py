"""What each chip of a plan is given, and how what they computed makes whole tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elk import _core
from elk.base.waiting import interruptible
from elk.emulation.elements import Array, from_bytes, to_bytes

if TYPE_CHECKING:
    from elk.model.model import Model

# What the cores of a chip received, in columns.
Tape = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class EmulatedPlan:
    """What emulation needs of a plan: the model's, or what one of its `chips` runs of it.

    Of each tensor `parts` has the name of the one of which it is a part, and where it begins there,
    by dimension; it is empty where nothing runs in waves.
    """

    model: Model
    chip: _core.Chip
    program: _core.Program
    shard: _core.OneChip | None = None
    chips: int = 1
    parts: Sequence[tuple[str, Sequence[int]]] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A tensor as the chips hold it.

    Attributes:
        number: Its position in the graph of a chip.
        name: The name of the whole tensor.
        form: "whole", "partial" (addends of it), or the dimension of which each has a part.
        begin: Where it begins in what a chip holds of it, by dimension.
        held: The name of what a chip holds of it.
    """

    number: int
    name: str
    form: str | int
    begin: tuple[int, ...]
    held: str


@dataclass(frozen=True, slots=True)
class Parts:
    """What each of `chips` runs, and what they hold of every tensor of the model.

    Attributes:
        graph: The graph of each chip.
        chips: How many there are.
        shapes: The sizes of the model's tensors, by name.
        slices: The ops by which a chip takes its part of a tensor that it holds whole.
        versions: Every tensor of the graph.
    """

    graph: _core.Graph
    chips: int
    shapes: dict[str, tuple[int, ...]]
    slices: list[int]
    versions: list[Version]


def parts_of(plan: EmulatedPlan) -> Parts:
    """What the chips of a plan compute: one of them the whole model, or each a part."""
    shapes = {tensor.name: tuple(tensor.shape) for tensor in plan.model.graph.tensors}
    names = [tensor.name for tensor in plan.model.graph.tensors]
    if plan.shard is None:
        versions = [
            Version(i, t.name, "whole", (0,) * len(t.shape), t.name)
            for i, t in enumerate(plan.model.graph.tensors)
        ]
        return Parts(plan.model.graph, 1, shapes, [], versions)
    whole, tensors = set(names), plan.shard.graph.tensors
    parts = plan.parts or [(t.name, (0,) * len(t.shape)) for t in tensors]
    copies = {store.into for store in plan.shard.graph.stores}
    versions = [
        Version(i, held if held in whole else held.rpartition("@")[0], form, tuple(begin), held)
        for i, ((held, begin), form) in enumerate(zip(parts, plan.shard.forms, strict=True))
        if i not in copies  # What stores fill is no version of its own.
    ]
    return Parts(plan.shard.graph, plan.chips, shapes, plan.shard.slices, versions)


def run_parts(
    parts: Parts,
    chip: _core.Chip,
    program: _core.Program,
    arrays: Mapping[str, Array],
    wanted: Iterable[str],
) -> tuple[dict[str, Array], tuple[Tape, ...]]:
    """Runs a program on all chips: whole tensors in by name, whole tensors out, and tapes."""
    tensors, chips = list(parts.graph.tensors), parts.chips
    given: list[dict[int, NDArray[np.uint8]]] = [{} for _ in range(chips)]
    for version in parts.versions:
        if version.name not in arrays:
            continue
        tensor = tensors[version.number]
        part = ... if tensor.name == version.held else _box(version.begin, tensor.shape)
        for own, array in zip(given, _cut(arrays[version.name], version.form, chips), strict=True):
            own[version.number] = to_bytes(array[part], tensor.dtype.name)
    found = _best_versions(parts, set(wanted))
    numbers = [version.number for pieces in found.values() for version in pieces]
    ran = interruptible(
        lambda: _core.emulate(parts.graph, chip, program, parts.slices, given, numbers)
    )
    whole = {}
    for name, pieces in found.items():
        held = [
            _put_together([(v, own[v.number]) for v in pieces], tensors)
            for own, _ in ran
            if all(version.number in own for version in pieces)
        ]
        if held:
            whole[name] = _joined(held, pieces[0].form, parts.shapes[name])
    return whole, tuple(tape for _, tape in ran)


def _put_together(
    pieces: list[tuple[Version, NDArray[np.uint8]]], tensors: Sequence[_core.Tensor]
) -> Array:
    """What a chip holds of a tensor, from its parts."""
    arrays = []
    for version, data in pieces:
        tensor = tensors[version.number]
        arrays.append((version.begin, from_bytes(data, tensor.dtype.name, tensor.shape)))
    ends = [np.add(begin, array.shape) for begin, array in arrays]
    held = np.empty(np.max(ends, axis=0).astype(int), arrays[0][1].dtype)
    for begin, array in arrays:
        held[_box(begin, array.shape)] = array
    return held


def _box(begin: Iterable[int], shape: Iterable[int]) -> tuple[slice, ...]:
    """Where a part of this shape lies."""
    return tuple(slice(b, b + n) for b, n in zip(begin, shape, strict=True))


def _cut(array: Array, form: str | int, chips: int) -> list[Array]:
    """What each chip has: equal lengths, with zeros beyond the end of the tensor."""
    if not isinstance(form, int):
        return [array] * chips
    length = -(-array.shape[form] // chips)
    pad = [(0, 0)] * array.ndim
    pad[form] = (0, length * chips - array.shape[form])
    return np.split(np.pad(array, pad), chips, axis=form)


def _joined(pieces: list[Array], form: str | int, shape: tuple[int, ...]) -> Array:
    """The whole tensor. Chips that hold all of it hold the same: the first one's."""
    if isinstance(form, int):
        return np.take(np.concatenate(pieces, axis=form), np.arange(shape[form]), axis=form)
    return pieces[0] if form == "whole" else np.sum(pieces, axis=0, dtype=pieces[0].dtype)


def _best_versions(parts: Parts, names: set[str]) -> dict[str, list[Version]]:
    """Of each tensor the version to read: a whole one if there is one, addends if nothing else."""
    order = {"whole": 0, "partial": 2}
    best: dict[str, list[Version]] = {}
    for version in parts.versions:
        if version.name not in names:
            continue
        known = best.get(version.name)
        if known is not None and known[0].held == version.held:
            known.append(version)
        elif known is None or order.get(str(version.form), 1) < order.get(str(known[0].form), 1):
            best[version.name] = [version]
    return best
