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

    Of each tensor `wave_dims` has the dimension of which it is a wave's part, or -1; it is empty
    where nothing runs in waves.
    """

    model: Model
    chip: _core.Chip
    program: _core.Program
    shard: _core.OneChip | None = None
    chips: int = 1
    wave_dims: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A tensor as the chips hold it.

    Attributes:
        number: Its position in the graph of a chip.
        name: The name of the whole tensor.
        form: "whole", "partial" (addends of it), or the dimension of which each has a part.
    """

    number: int
    name: str
    form: str | int


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
        versions = [Version(i, name, "whole") for i, name in enumerate(names)]
        return Parts(plan.model.graph, 1, shapes, [], versions)
    whole = set(names)
    waves = plan.wave_dims or [-1] * len(plan.shard.forms)
    versions = [
        Version(i, t.name if t.name in whole else t.name.rpartition("@")[0], form)
        for i, (t, form, dim) in enumerate(
            zip(plan.shard.graph.tensors, plan.shard.forms, waves, strict=True)
        )
        if dim < 0  # A wave's part of a tensor is no version of it.
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
        dtype = tensors[version.number].dtype.name
        for own, array in zip(given, _cut(arrays[version.name], version.form, chips), strict=True):
            own[version.number] = to_bytes(array, dtype)
    found = _best_versions(parts, set(wanted))
    numbers = [version.number for version in found]
    ran = interruptible(
        lambda: _core.emulate(parts.graph, chip, program, parts.slices, given, numbers)
    )
    whole = {}
    for version in found:
        tensor = tensors[version.number]
        pieces = [
            from_bytes(own[version.number], tensor.dtype.name, tensor.shape)
            for own, _ in ran
            if version.number in own
        ]
        if pieces:
            whole[version.name] = _joined(pieces, version.form, parts.shapes[version.name])
    return whole, tuple(tape for _, tape in ran)


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


def _best_versions(parts: Parts, names: set[str]) -> list[Version]:
    """Of each tensor the version to read: a whole one if there is one, addends if nothing else."""
    order = {"whole": 0, "partial": 2}
    best: dict[str, Version] = {}
    for version in parts.versions:
        if version.name in names:
            known = best.get(version.name)
            if known is None or order.get(str(version.form), 1) < order.get(str(known.form), 1):
                best[version.name] = version
    return list(best.values())
