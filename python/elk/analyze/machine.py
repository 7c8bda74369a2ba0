"""Anybody's accelerator: its memories, and the instructions that it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from elk.analyze.machine_trace import MachineTrace
from elk.analyze.played_instructions import (
    COMPUTE,
    FIELDS,
    ISSUE,
    WAIT,
    PlayedInstructions,
)
from elk.base.waiting import interruptible
from elk.errors import ElkError, InvalidInputError

_MOST_PS: Final = 1 << 60
_MOST_BYTES: Final = 1 << 60
_SHAPE: Final = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
_Name = Annotated[str, Field(min_length=1, max_length=1024)]
_Time = Annotated[int, Field(strict=True, ge=0, le=_MOST_PS)]
_Size = Annotated[int, Field(strict=True, ge=0, le=_MOST_BYTES)]
Region = tuple[_Name, _Size, _Size]
"""Bytes of a memory: its name, the first of them, and the first behind them."""


class Memory(BaseModel):
    """A memory, or a set of registers.

    Attributes:
        bytes: Its size.
        bytes_per_s: What transfers move from and to it in a second, together; None for registers,
            which transfers do not reach.
    """

    model_config = _SHAPE

    bytes: Annotated[int, Field(ge=1, le=_MOST_BYTES)]
    bytes_per_s: Annotated[float, Field(ge=1, le=2**62, allow_inf_nan=False)] | None = None


class TracedMachine(BaseModel):
    """An accelerator that issues transfers and waits for them.

    Attributes:
        memories: By name.
        latency_ps: From the issue of a transfer until it asks for its turn; it passes side by side
            with the latencies of others.
        name: What it is called.
    """

    model_config = _SHAPE

    memories: dict[_Name, Memory]
    latency_ps: _Time = 0
    name: str = "machine"


class _Instruction(BaseModel):
    model_config = _SHAPE

    name: str = ""
    reads: list[Region] = []
    writes: list[Region] = []


class Compute(_Instruction):
    """What keeps a unit busy for a while.

    Attributes:
        ps: For how long.
        unit: Which unit.
        light: Whether it may move along with a transfer that it prepares.
        name: What it is called.
        reads: Bytes that it reads.
        writes: Bytes that it writes.
    """

    ps: _Time
    unit: _Name = "core"
    light: bool = False


class Issue(_Instruction):
    """Starts a transfer from one memory to another.

    Attributes:
        source: The memory that it comes from; `from` in a dictionary.
        target: The memory that it goes to; `to` in a dictionary.
        bytes: How many bytes move.
        name: What it is called.
        reads: Bytes that it reads, those that prepare it (addresses, registers) among them.
        writes: Bytes that it writes.
    """

    source: _Name = Field(alias="from")
    target: _Name = Field(alias="to")
    bytes: _Size


class Wait(BaseModel):
    """Waits until a transfer is over.

    Attributes:
        wait: The position of its issue among the instructions, from 0 on.
        name: What it is called.
    """

    model_config = _SHAPE

    wait: _Size
    name: str = ""


_MACHINE: Final = TypeAdapter(TracedMachine)
_KINDS: Final[dict[str, TypeAdapter[Any]]] = {
    "wait": TypeAdapter(Wait),
    "bytes": TypeAdapter(Issue),
    "ps": TypeAdapter(Compute),
}


def trace_of(
    machine: TracedMachine | Mapping[str, Any],
    instructions: Iterable[Compute | Issue | Wait | Mapping[str, Any]],
) -> MachineTrace:
    """Plays instructions of anybody's accelerator; the trace answers as that of a plan does.

    One instruction begins when the one before is over. An issue takes no time; its transfer waits
    out the latency of the machine, side by side with others, then for its turn among transfers from
    the same memory to the same memory, in the order of issue; transfers between other pairs share
    the memories that they meet at fairly.

    Args:
        machine: `TracedMachine`, or a dictionary of its fields.
        instructions: What it ran, in order: `Compute`, `Issue` and `Wait`, or dictionaries: with
            `ps` (and `unit`, `light`) a computation; with `from`, `to` and `bytes` an issue; with
            `wait`, the position of an issue, a wait. `reads` and `writes` are lists of `(memory,
            begin, end)` in bytes; registers are a memory, too.

    Raises:
        InvalidInputError: a field is missing or wrong; the message names the instruction.

    Example:
        >>> chip = {"memories": {"hbm": {"bytes": 1 << 30, "bytes_per_s": 1e12},
        ...                      "vmem": {"bytes": 1 << 20, "bytes_per_s": 1e12}},
        ...         "latency_ps": 1_000_000}
        >>> ran = elk.trace_of(chip, [{"from": "hbm", "to": "vmem", "bytes": 1000}, {"wait": 0}])
        >>> ran.total_ps
        1001000
    """
    try:
        known = machine if isinstance(machine, TracedMachine) else _MACHINE.validate_python(machine)
    except ValidationError as error:
        raise _refused(error, "machine") from error
    played = PlayedInstructions(
        memories=tuple(known.memories),
        rates=tuple(memory.bytes_per_s for memory in known.memories.values()),
        sizes=tuple(memory.bytes for memory in known.memories.values()),
        latency_ps=known.latency_ps,
        name=known.name,
    )
    places = {name: place for place, name in enumerate(known.memories)}
    for position, given in enumerate(instructions):
        try:
            _add(played, places, position, _checked(given))
        except ValidationError as error:
            raise _refused(error, f"instructions[{position}]") from error
        except KeyError as error:
            raise InvalidInputError(
                f"the machine has no memory {error.args[0]!r}",
                place=f"instructions[{position}]",
                remedy=f"name one of {', '.join(known.memories)}",
            ) from error
    played.check()
    try:
        return interruptible(lambda: MachineTrace.played(played))
    except ElkError as error:
        raise InvalidInputError(error.message, place="instructions", remedy=error.remedy) from error


def _checked(given: object) -> Compute | Issue | Wait:
    if isinstance(given, dict | Mapping):
        for key, adapter in _KINDS.items():
            if key in given:
                checked: Compute | Issue | Wait = adapter.validate_python(given)
                return checked
    if isinstance(given, Compute | Issue | Wait):
        return given
    raise InvalidInputError(
        f"{given!r} is no instruction",
        place="instructions",
        remedy="give dictionaries with ps, with from, to and bytes, or with wait",
    )


def _add(
    played: PlayedInstructions, places: dict[str, int], at: int, one: Compute | Issue | Wait
) -> None:
    if one.name:
        played.names[at] = one.name
    if isinstance(one, Wait):
        if one.wait >= at or played.rows[FIELDS * one.wait] != ISSUE:
            raise InvalidInputError(
                f"it waits for instruction {one.wait}, which is no issue before it",
                place=f"instructions[{at}]",
                remedy="write the position of the issue that it waits for, from 0 on",
            )
        played.rows.extend((WAIT, one.wait, 0, 0, 0))
        return
    if isinstance(one, Issue):
        played.rows.extend((ISSUE, places[one.source], places[one.target], one.bytes, 0))
    else:
        unit = played.units.setdefault(one.unit, len(played.units))
        played.rows.extend((COMPUTE, one.ps, unit, 0, one.light))
    for memory, begin, end in one.reads:
        played.accesses.extend((at, places[memory], begin, end, 0))
    for memory, begin, end in one.writes:
        played.accesses.extend((at, places[memory], begin, end, 1))


def _refused(error: ValidationError, place: str) -> InvalidInputError:
    first = error.errors(include_url=False)[0]
    where = ".".join([place, *(str(part) for part in first["loc"])])
    return InvalidInputError(
        f"{first['msg']}, got {first['input']!r}"[:500],
        place=where,
        remedy="see help(elk.trace_of) for the fields of machines and instructions",
    )
