"""Program files: the instructions of every core, schema `elk.program/1`, for other back ends."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from elk import _core
from elk.base import atomic_file
from elk.document.listing import (
    Area,
    Coder,
    CoreInstruction,
    ListedOp,
    Listing,
    Parcel,
    PlacedProgram,
)
from elk.errors import InvalidInputError, PlanFileError

SCHEMA: Final = "elk.program/1"
_EMPTY: Final = {f.name: f.default for f in fields(CoreInstruction)}


@dataclass(frozen=True)
class ProgramFile:
    """The instructions of every core of a plan, as a file holds them.

    Attributes:
        header: The file's first line: what the lists are of.
    """

    header: Mapping[str, Any]
    _lists: tuple[tuple[CoreInstruction, ...], ...]

    @property
    def cores(self) -> int:
        """How many cores have a list."""
        return len(self._lists)

    @cached_property
    def _ops(self) -> tuple[ListedOp, ...]:
        return tuple(
            ListedOp(name=op["name"], kind=op["kind"], axes=tuple(x["name"] for x in op["axes"]))
            for op in self.header["ops"]
        )

    def listing(self, core: int = 0) -> Listing:
        """The instructions of one core.

        Raises:
            InvalidInputError: there is no such core.
        """
        if not 0 <= core < self.cores:
            raise InvalidInputError(f"core must be from 0 to {self.cores - 1}, got {core}")
        return Listing(core, self._ops, self._lists[core])


def write_program(placed: PlacedProgram, document: Mapping[str, Any], path: Path) -> None:
    """Writes the instructions of every core; `document` is the plan's.

    Raises:
        PlanFileError: the file cannot be written.
    """
    with (
        atomic_file.replacing(path, "the program", PlanFileError) as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
    ):
        for row in _rows(placed, document):
            packed.write((json.dumps(row, separators=(",", ":")) + "\n").encode())


def _rows(placed: PlacedProgram, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a file."""
    cores = range(placed.chip.chips * placed.chip.core.count)
    yield {
        "schema": SCHEMA,
        "elk_version": document["elk_version"],
        "model": document["model"]["name"],
        "policy": document["policy"],
        "pod": document["pod"],
        "chip": {
            "name": document["chip"]["name"],
            "cores": len(cores),
            "sram_bytes": placed.chip.core.sram_bytes,
            "reserved_bytes": placed.chip.core.reserved_bytes,
        },
        "tensors": [
            {
                "name": tensor.name,
                "dtype": tensor.dtype.name,
                "shape": list(tensor.shape),
                "home": tensor.home.name.lower(),
            }
            for tensor in placed.graph.tensors
        ],
        "ops": [_op_row(i, op) for i, op in enumerate(placed.graph.ops)],
        "program": document["program"],
    }
    coder = Coder(placed)
    for position in range(len(document["program"])):
        lists = coder.at(position, cores)
        common = [one for one in lists[0] if one.action == "allocate"]
        yield {
            "at": position,
            "all": [_row(one) for one in common],
            "cores": [[_row(one) for one in found[len(common) :]] for found in lists],
        }


def _op_row(number: int, op: _core.Op) -> dict[str, Any]:
    return {
        "id": number,
        "name": op.name,
        "kind": op.kind.name.lower(),
        "onnx_type": op.onnx_type or None,
        "function": op.function,
        "axes": [{"name": x.name, "size": x.size, "role": x.role.name.lower()} for x in op.axes],
    }


def _row(one: CoreInstruction) -> dict[str, Any]:
    """An instruction without its place and what it has no use for."""
    return {
        key: value
        for key, value in asdict(one).items()
        if key != "at" and (key in {"action", "op"} or value != _EMPTY[key])
    }


def load_program(path: str | Path) -> ProgramFile:
    """Reads a file that `Plan.export_program` wrote.

    Raises:
        PlanFileError: the file is missing, damaged, or of another schema.

    Example:
        >>> from elk.program_file import load_program
        >>> plan.export_program("nerf.elkprogram")
        >>> load_program("nerf.elkprogram").listing(core=3) == plan.listing(core=3)
        True
    """
    place = Path(path)
    try:
        lines = gzip.decompress(place.read_bytes()).decode().splitlines()
        header = json.loads(lines[0])
        if header["schema"] != SCHEMA:
            raise PlanFileError(
                f"the file's schema is {header['schema']!r}, not {SCHEMA!r}", place=str(place)
            )
        lists: list[list[CoreInstruction]] = [[] for _ in range(header["chip"]["cores"])]
        for line in lines[1:]:
            row = json.loads(line)
            for instructions, own in zip(lists, row["cores"], strict=True):
                instructions += [_instruction(row["at"], one) for one in (*row["all"], *own)]
    except PlanFileError:
        raise
    except (
        gzip.BadGzipFile,
        EOFError,
        zlib.error,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
    ) as error:
        raise PlanFileError(
            f"the file is no program, or a damaged one: {error}",
            place=str(place),
            remedy="write it again with plan.export_program(path)",
        ) from error
    except OSError as error:
        raise PlanFileError(
            f"the program cannot be read: {error.strerror or error}", place=str(place)
        ) from error
    return ProgramFile(header, tuple(tuple(one) for one in lists))


def _instruction(at: int, row: Mapping[str, Any]) -> CoreInstruction:
    values: dict[str, Any] = {**row, "at": at}
    if "areas" in row:
        values["areas"] = tuple(
            Area(
                tensor=area["tensor"],
                box=tuple(_pairs(runs) for runs in area["box"]),
                places=_pairs(area["places"]),
            )
            for area in row["areas"]
        )
    for key in ("received", "sent"):
        if key in row:
            values[key] = tuple(
                Parcel(cores=tuple(x["cores"]), bytes=x["bytes"], runs=x["runs"]) for x in row[key]
            )
    if "sub_tasks" in row:
        values["sub_tasks"] = tuple(_pairs(ranges) for ranges in row["sub_tasks"])
    return CoreInstruction(**values)


def _pairs(runs: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((begin, end) for begin, end in runs)
