"""Trace files: what was played in columns, and a header in JSON, as one compressed archive."""

from __future__ import annotations

import io
import tokenize
import warnings
import zipfile
import zlib
from array import array
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from elk import _core
from elk.analyze.accessed import Accessed
from elk.analyze.machine_trace import MachineTrace
from elk.analyze.played_instructions import PlayedInstructions
from elk.analyze.program_trace import ProgramTrace
from elk.analyze.trace_facts import TraceFacts
from elk.analyze.writing import ACCESSES, HEADER, LIST, ROWS
from elk.base.waiting import interruptible
from elk.errors import ElkError, LimitError, TraceFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elk.limits import Limits

_STEPS: Final = 2  # of the lists, for each instruction of a program
_MOST_MEMBERS: Final = 256
_AGAIN: Final = "save the trace again with trace.save(path) or `elk record -o path`"
_Whole = Annotated[int, Field(ge=0, le=1 << 50)]
_Name = Annotated[str, Field(max_length=4096)]
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Header(BaseModel):
    """What a trace file says besides its columns."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal["elk.trace/1"] = Field(alias="schema")
    elk_version: str
    model: _Name
    chip: _Name
    policy: _Name
    ops: list[_Name]
    matrix: list[bool]
    instructions: list[tuple[Literal["preload_async", "store_async", "execute"], _Whole | _Name]]
    before: list[tuple[Literal["preload", "store"], _Name]]
    copies: Annotated[int, Field(ge=1, le=1 << 30)]
    hbm_bytes_per_s: _Number
    cores: Annotated[int, Field(ge=1, le=1 << 40)]
    link_bytes_per_s: _Number
    sram_bytes: _Whole
    memories: Annotated[list[_Name], Field(min_length=1)]


class _MachineHeader(BaseModel):
    """What the file of anybody's accelerator says besides its columns."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal["elk.trace/1"] = Field(alias="schema")
    elk_version: str
    machine: _Name
    memories: Annotated[list[_Name], Field(min_length=1)]
    rates: list[Annotated[float, Field(ge=1, le=2**62, allow_inf_nan=False)] | None]
    sizes: list[Annotated[int, Field(ge=1, le=1 << 60)]]
    latency_ps: _Whole
    units: list[_Name]
    names: dict[str, _Name]
    speeds: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


def read_trace(file: IO[bytes], limits: Limits, place: str) -> ProgramTrace | MachineTrace:
    """The trace that `write_trace` or `write_machine_trace` wrote, all of it checked.

    Raises:
        TraceFileError: it is damaged, larger than the limit `plan_bytes`, or breaks a rule.
    """
    try:
        columns = _columns(file, limits)
        text = columns.pop(HEADER).tobytes()
        if ROWS in columns:
            return _machine_trace(_MachineHeader.model_validate_json(text), columns)
        return _program_trace(_Header.model_validate_json(text), columns)
    except LimitError as error:
        raise TraceFileError(
            error.message, code=error.code, place=place, remedy=error.remedy
        ) from error
    except ElkError as error:
        raise TraceFileError(error.message, place=place, remedy=_AGAIN) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TraceFileError(
            f"the header breaks a rule: {where}: {first['msg']}", place=place, remedy=_AGAIN
        ) from error
    except (
        zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError,
        NotImplementedError, RuntimeError, MemoryError, RecursionError, TypeError, IndexError,
    ) as error:  # fmt: skip
        raise TraceFileError(
            f"the file is no trace, or a damaged one: {error}", place=place, remedy=_AGAIN
        ) from error


def _program_trace(header: _Header, columns: dict[str, NDArray[Any]]) -> ProgramTrace:
    recording = _core.Recording.of_columns(columns)
    facts = _facts(header)
    _check(facts, columns)
    accessed = Accessed(
        lists={
            name.removeprefix(LIST): column.astype(np.int64, casting="safe")
            for name, column in columns.items()
            if name.startswith(LIST)
        },
        memories=tuple(header.memories),
        main=header.memories[0],
        steps=_STEPS,
    )
    _check_lists(accessed, facts)
    begin_ps = int(columns["state_now"][0])
    ran = interruptible(recording.play)
    return ProgramTrace(recording, ran, facts, begin_ps, accessed)


def _machine_trace(header: _MachineHeader, columns: dict[str, NDArray[Any]]) -> MachineTrace:
    lists = {
        name: array("q", columns[name].astype(np.int64, casting="safe").tobytes())
        for name in (ROWS, ACCESSES)
    }
    given = PlayedInstructions(
        memories=tuple(header.memories),
        rates=tuple(header.rates),
        sizes=tuple(header.sizes),
        latency_ps=header.latency_ps,
        name=header.machine,
        units={name: place for place, name in enumerate(header.units)},
        names={int(at): name for at, name in header.names.items()},
        rows=lists[ROWS],
        accesses=lists[ACCESSES],
    )
    given.check()
    return MachineTrace.played(given, tuple(header.speeds.items()))


def _columns(file: IO[bytes], limits: Limits) -> dict[str, NDArray[Any]]:
    """The arrays of an archive; no more bytes than the limit are ever held."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS or len({one.filename for one in members}) < len(members):
            raise ValueError(f"{len(members):,} members, or two of one name")
        size = sum(member.file_size for member in members)
        limits.check("plan_bytes", size, "the bytes of a trace")
        return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is compressed as no trace is")
    with archive.open(member) as file:
        data = io.BytesIO(file.read(member.file_size + 1))
    if len(data.getbuffer()) != member.file_size:
        raise ValueError(f"{member.filename} has another length than it says")
    version = np.lib.format.read_magic(data)
    if version != (1, 0):
        raise ValueError(f"{member.filename} is of another format")
    try:
        with warnings.catch_warnings(action="error"):
            shape, _, dtype = np.lib.format.read_array_header_1_0(data)
    except (SyntaxError, TypeError, UserWarning, tokenize.TokenError) as error:
        raise ValueError(f"{member.filename} has no header: {error}") from error
    if len(shape) != 1 or dtype.hasobject:
        raise ValueError(f"{member.filename} is no list of numbers")
    if shape[0] * dtype.itemsize != member.file_size - data.tell():
        raise ValueError(f"{member.filename} has another length than it says")
    return np.frombuffer(data.getbuffer()[data.tell() :], dtype=dtype)


def _facts(header: _Header) -> TraceFacts:
    fields: dict[str, Any] = header.model_dump(exclude={"schema_", "elk_version", "memories"})
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return TraceFacts(**{**fields, **lists})


def _check(facts: TraceFacts, columns: dict[str, NDArray[Any]]) -> None:
    """Whether header and columns are of one trace."""
    opcodes = {"preload_async": 0, "store_async": 1, "execute": 2}
    said = [opcodes[opcode] for opcode, _ in facts.instructions]
    if said != columns["step_opcode"].tolist():
        raise ValueError("the header has other instructions than the columns")
    subjects = columns["step_subject"].tolist()
    for (opcode, subject), played in zip(facts.instructions, subjects, strict=True):
        if isinstance(subject, str) != (opcode == "store_async"):
            raise ValueError(f"{opcode} of {subject!r}")
        if not isinstance(subject, str) and subject != played:
            raise ValueError(f"the header has {opcode} of {subject}, the columns of {played}")
    ops = int(columns["ops"][0])
    if not (len(facts.ops) == len(facts.matrix) == ops):
        raise ValueError(f"the header has {len(facts.ops):,} operators, the columns {ops:,}")
    if len(facts.before) != len(columns["job_load"]):
        raise ValueError("the header has other transfers before the trace than the columns")


def _check_lists(accessed: Accessed, facts: TraceFacts) -> None:
    """Whether the accesses are those of as many instructions and memories as the header has."""
    _ = accessed.known
    if len(accessed.lists["issues"]) != _STEPS * len(facts.instructions):
        raise ValueError("there are accesses of another number of instructions")
    if len(accessed.lists["sizes"]) != len(accessed.memories):
        raise ValueError("there are sizes of another number of memories")
    if len(accessed.lists["accesses"]) % 5:
        raise ValueError("an access is not whole")
