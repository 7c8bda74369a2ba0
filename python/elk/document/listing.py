"""What every core of a chip does: its instructions, at the addresses of the plan's buffers."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from elk import _core
from elk.errors import InvalidInputError

# The words of the device interface; a gather distributes what rests on chip.
_WORDS: Final = {
    _core.Action.Allocate: "allocate",
    _core.Action.Preload: "preload_async",
    _core.Action.Store: "store_async",
    _core.Action.Distribute: "distribute_data",
    _core.Action.Gather: "distribute_data",
    _core.Action.Compute: "compute",
    _core.Action.Shift: "shift",
    _core.Action.Reduce: "reduce",
}
_SHOWN_CORES: Final = 4
_SHOWN_PARCELS: Final = 4
_SHOWN_LINES: Final = 200

Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One sending of the same bytes.

    Attributes:
        cores: Who receives it, all at once, or the one that sends it. Empty: all cores in equal
            shares, as an input lies; in a shift of a collective, other chips.
        bytes: Bytes that each receiver gets.
        runs: Contiguous runs of them at the receiver.
    """

    cores: tuple[int, ...]
    bytes: int
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A piece of an operand in the memory of a core.

    Attributes:
        tensor: The tensor.
        box: For each dimension the indices, as runs `(begin, end)`; their product is stored
            densely, row by row, rotating dimensions in a circle. Empty where the instruction does
            not depend on it.
        places: Where it lies, one behind the other: `(address, bytes)`.
    """

    tensor: str
    box: tuple[Runs, ...]
    places: Runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreInstruction:
    """One instruction of one core.

    Attributes:
        at: The program instruction that it is part of: an index into the plan's `program`.
        action: `allocate`, `preload_async`, `store_async`, `distribute_data`, `compute`, `shift` or
            `reduce`.
        op: The operator's id.
        number: The step that is computed, or after which is shifted; the round of a `reduce`.
        until: Of `allocate`: the last program instruction that needs the buffer, else -1.
        role: Of `allocate`: what the buffer is for, else empty.
        areas: What is allocated, filled or stored; of a `compute` all operands, in their order.
        bytes: Bytes that are allocated, loaded or stored.
        received: What arrives in an exchange.
        sent: What leaves.
        loads: Of a `shift`: how many times the transfer buffer is filled.
        sub_tasks: Of a `compute`: for each of its parts the range of each axis, `(begin, end)`.
        parts: Of a `reduce`: how many partial results are added up, each of `elements`.
        elements: Elements of each of them.
    """

    at: int
    action: str
    op: int
    number: int = 0
    until: int = -1
    role: str = ""
    areas: tuple[Area, ...] = ()
    bytes: int = 0
    received: tuple[Parcel, ...] = ()
    sent: tuple[Parcel, ...] = ()
    loads: int = 0
    sub_tasks: tuple[Runs, ...] = ()
    parts: int = 0
    elements: int = 0

    @property
    def received_bytes(self) -> int:
        """Bytes that the core receives."""
        return sum(parcel.bytes for parcel in self.received)

    @property
    def sent_bytes(self) -> int:
        """Bytes that the core sends: what several receive at once counts once."""
        return sum(parcel.bytes for parcel in self.sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOp:
    """What a listing says of an operator: its name, its kind and the names of its axes."""

    name: str
    kind: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedProgram:
    """A program with the graph and the chip that it is for."""

    graph: _core.Graph
    chip: _core.Chip
    program: _core.Program


class Coder:
    """Instructions of the cores of a chip, as the core writes them."""

    def __init__(self, placed: PlacedProgram) -> None:
        self._tensors = [tensor.name for tensor in placed.graph.tensors]
        self._coder = _core.Coder(placed.graph, placed.chip, placed.program)

    def at(self, position: int, cores: Sequence[int]) -> list[tuple[CoreInstruction, ...]]:
        """What each of `cores` does for the program instruction at `position`."""
        lists = self._coder.at(position, cores)
        return [tuple(self._instruction(position, one) for one in found) for found in lists]

    def _instruction(self, position: int, one: _core.CoreInstruction) -> CoreInstruction:
        is_allocation = one.action == _core.Action.Allocate
        return CoreInstruction(
            at=position,
            action=_WORDS[one.action],
            op=one.op,
            number=one.number,
            until=one.until,
            role=one.role.name.lower() if is_allocation else "",
            areas=tuple(self._area(area) for area in one.areas),
            bytes=one.bytes,
            received=_parcels(one.from_),
            sent=_parcels(one.to),
            loads=one.loads,
            sub_tasks=tuple(tuple(ranges) for ranges in one.sub_tasks),
            parts=one.parts,
            elements=one.elements,
        )

    def _area(self, area: _core.Area) -> Area:
        return Area(
            tensor=self._tensors[area.tensor],
            box=tuple(tuple(runs) for runs in area.box),
            places=tuple(area.places),
        )


def _parcels(parcels: list[_core.Parcel]) -> tuple[Parcel, ...]:
    return tuple(Parcel(cores=tuple(p.cores), bytes=p.bytes, runs=p.runs) for p in parcels)


class Listing(Sequence[CoreInstruction]):
    """The instructions of one core, in order; `str` prints them readably.

    Attributes:
        core: The core.
        ops: The operators, by id.
    """

    def __init__(
        self, core: int, ops: tuple[ListedOp, ...], instructions: tuple[CoreInstruction, ...]
    ) -> None:
        self.core = core
        self.ops = ops
        self._instructions = instructions

    def __len__(self) -> int:
        return len(self._instructions)

    def __getitem__(self, index: Any) -> Any:
        return self._instructions[index]

    def __iter__(self) -> Iterator[CoreInstruction]:
        return iter(self._instructions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listing):
            return NotImplemented
        return (self.core, self._instructions) == (other.core, other._instructions)

    def __hash__(self) -> int:
        return hash((self.core, self._instructions))

    def __repr__(self) -> str:
        return f"<Listing of core {self.core}: {len(self)} instructions>"

    def _repr_html_(self) -> str:
        lines = str(self).splitlines()
        more = [f"and {len(lines) - _SHOWN_LINES:,} more"] if len(lines) > _SHOWN_LINES else []
        return f"<pre>{html.escape(chr(10).join(lines[:_SHOWN_LINES] + more))}</pre>"

    def __str__(self) -> str:
        lines = [f"core {self.core}"]
        last = -1
        for one in self:
            if one.op != last:
                op = self.ops[one.op]
                lines.append(f"; op {one.op} {op.name} ({op.kind})")
                last = one.op
            lines.append(f"{one.at:5}  {one.action:16}{self._operands(one)}")
        return "\n".join(lines)

    def _operands(self, one: CoreInstruction) -> str:
        if one.action == "compute":
            axes = self.ops[one.op].axes
            parts = " and ".join(
                " ".join(f"{a}[{b}:{e}]" for a, (b, e) in zip(axes, ranges, strict=True))
                for ranges in one.sub_tasks
            )
            return f"{one.number}: {parts}; {', '.join(_area_text(area) for area in one.areas)}"
        if one.action == "allocate":
            area = one.areas[0]
            return (
                f"{area.tensor} {_places(area.places)}, {one.bytes:,} B, {one.role}, "
                f"until {one.until}"
            )
        if one.action in {"preload_async", "store_async"}:
            return f"{_area_text(one.areas[0])}, {one.bytes:,} B"
        return f"{_head(one)}{_exchange(one)}"


def _head(one: CoreInstruction) -> str:
    what = _area_text(one.areas[0]) if one.areas else "other chips"
    return what if one.action == "distribute_data" else f"{one.number}: {what}"


def _exchange(one: CoreInstruction) -> str:
    text = ""
    if one.received:
        text += f"; {one.received_bytes:,} B from {_peers(one.received)}"
    if one.sent:
        text += f"; {one.sent_bytes:,} B to {_peers(one.sent)}"
    if one.loads > 1:
        text += f"; in {one.loads} loads"
    if one.parts:
        text += f"; add {one.parts} x {one.elements}"
    return text


def _peers(parcels: tuple[Parcel, ...]) -> str:
    groups = list(dict.fromkeys(parcel.cores for parcel in parcels))
    shown = [_cores(cores) for cores in groups[:_SHOWN_PARCELS]]
    more = len(groups) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _cores(cores: tuple[int, ...]) -> str:
    if not cores:
        return "all"
    if len(cores) == 1:
        return f"core {cores[0]}"
    if len(cores) > _SHOWN_CORES:
        return f"{len(cores)} cores"
    return "cores " + "+".join(map(str, cores))


def _area_text(area: Area) -> str:
    box = ",".join("+".join(f"{b}:{e}" for b, e in runs) for runs in area.box)
    return f"{area.tensor}{f'[{box}]' if box else ''} {_places(area.places)}"


def _places(places: Runs) -> str:
    return "@" + "+".join(f"{address:#x}" for address, _ in places) if places else ""


def listed_ops(graph: _core.Graph) -> tuple[ListedOp, ...]:
    """The operators of a graph."""
    return tuple(
        ListedOp(name=op.name, kind=op.kind.name.lower(), axes=tuple(x.name for x in op.axes))
        for op in graph.ops
    )


def listing(
    placed: PlacedProgram, code: Sequence[Sequence[Any]], core: int, op: int | None
) -> Listing:
    """What `Plan.listing` does; `code` is the plan's program."""
    cores = placed.chip.chips * placed.chip.core.count
    if not 0 <= core < cores:
        raise InvalidInputError(f"core must be from 0 to {cores - 1}, got {core}")
    coder = Coder(placed)
    found = (
        one
        for position in range(len(code))
        for one in coder.at(position, [core])[0]
        if op is None or one.op == op
    )
    return Listing(core, listed_ops(placed.graph), tuple(found))
