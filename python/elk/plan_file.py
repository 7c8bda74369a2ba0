"""Plan files: a plan's JSON, gzipped, the same bytes for equal plans."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from elk import _core, atomic_file
from elk.errors import ElkError, InvalidInputError, PlanFileError
from elk.plan_schema import SCHEMA, OpRow, PlanDocument

if TYPE_CHECKING:
    from elk.listing import PlacedProgram

_LARGEST_BYTES: Final = 1 << 30
_SHOWN_PROBLEMS: Final = 3


@dataclass(frozen=True)
class StoredPlan:
    """A plan as read from a file. What the core runs is rebuilt once, when first asked for."""

    text: str

    @staticmethod
    def read(path: Path) -> StoredPlan:
        """Reads and validates a plan file."""
        try:
            text = _unpack(path.read_bytes()).decode()
            _validate(json.loads(text, parse_constant=_refuse))
        except PlanFileError as error:
            raise PlanFileError(error.message, place=str(path), remedy=error.remedy) from error
        except OSError as error:
            raise PlanFileError(
                f"the plan cannot be read: {error.strerror or error}", place=str(path)
            ) from error
        except (EOFError, zlib.error, ValueError, RecursionError) as error:
            raise PlanFileError(
                f"the file is no plan, or a damaged one: {error}",
                place=str(path),
                remedy="save the plan again with plan.save(path) or `elk compile -o path`",
            ) from error
        return StoredPlan(text)

    def document(self) -> PlanDocument:
        """The plan as a document of its own."""
        return cast("PlanDocument", json.loads(self.text))

    def planned_graph(self) -> _core.Graph:
        """The graph whose operators are planned."""
        return self._placed.graph

    def simulate(self, tiles: _core.TileModel | None, fidelity: _core.Fidelity) -> _core.Run:
        """Runs the plan on the simulator, with the tile model that its chip names."""
        from elk.tilemodel import load_tile_model  # noqa: PLC0415 - few files are simulated

        run = self._placed
        tiles = tiles or load_tile_model(run.chip.core.tile_model)
        return _core.simulate(run.graph, run.chip, run.program, tiles, fidelity)

    def placed(self) -> PlacedProgram:
        """The program, with the graph and the chip that it is for."""
        return self._placed

    @cached_property
    def _placed(self) -> PlacedProgram:
        from elk.plan_rebuild import placed  # noqa: PLC0415 - few files are run or listed

        return placed(self.document())

    def emulated(self) -> NoReturn:
        """Refuses: a file has no kernels and no weights."""
        raise InvalidInputError(
            "a plan from a file cannot be emulated: it does not say what its operators compute",
            code="emulate_plan",
            remedy="emulate the plan that elk.compile returns",
        )

    def problems(self) -> list[str]:
        """Every rule of the program's semantics that the plan breaks."""
        from elk.plan_rebuild import problems  # noqa: PLC0415 - few plans are checked again

        return problems(self.document())


def write_plan(document: PlanDocument, path: Path) -> None:
    """Writes an `.elkplan` file; a reader sees the old file or the whole new one."""
    data = gzip.compress(to_text(document).encode(), mtime=0)
    atomic_file.write_bytes(path, data, "the plan", PlanFileError)


def write_json(document: Mapping[str, Any], path: Path) -> None:
    """Writes a plan's document as plain JSON, as `write_plan` its file."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    atomic_file.write_text(path, text, "the plan", PlanFileError)


def to_text(document: PlanDocument) -> str:
    """The document as JSON on one line, without how long the search took."""
    search = {key: value for key, value in document["search"].items() if key != "seconds"}
    return json.dumps(
        {**document, "search": search}, allow_nan=False, ensure_ascii=False, separators=(",", ":")
    )


def _unpack(data: bytes) -> bytes:
    if data.lstrip()[:1] == b"{":
        return data
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        plain = file.read(_LARGEST_BYTES + 1)
    if len(plain) > _LARGEST_BYTES:
        raise PlanFileError(f"the plan is larger than {_LARGEST_BYTES} bytes")
    return plain


def _refuse(constant: str) -> NoReturn:
    raise PlanFileError(f"a plan holds finite numbers only, got {constant}")


def _validate(document: Any) -> None:
    """Refuses a document of another schema or shape."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - slow to import

    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise PlanFileError(
            f"schema must be {SCHEMA!r}, got {schema!r}",
            remedy="read it with the version of ELK that wrote it, or compile the model again",
        )
    try:
        TypeAdapter(PlanDocument).validate_python(document, strict=False)
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:_SHOWN_PROBLEMS]
        ]
        raise PlanFileError("; ".join(found)) from error
    _validate_positions(document)


def _validate_positions(document: PlanDocument) -> None:
    """Refuses positions that point outside the lists that they index."""
    count, end = len(document["ops"]), len(document["program"])
    names = {x["tensor"] for row in document["ops"] for x in row["operands"]}
    rules = {
        "ops: ids must count from 0": [row["id"] for row in document["ops"]] == [*range(count)],
        "predicted.ops: there must be one row an op, in order": (
            [row["id"] for row in document["predicted"]["ops"]] == [*range(count)]
        ),
        "ops.front: there is no such front or choice": all(
            _is_choice(document, row) for row in document["ops"]
        ),
        "buffers: they must lie within the program, on tensors of the plan": all(
            0 <= b["from"] <= b["to"] < end and b["tensor"] in names for b in document["buffers"]
        ),
        "program: instructions must name ops and tensors of the plan": all(
            _is_instruction(instruction, count, names) for instruction in document["program"]
        ),
    }
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        raise PlanFileError("; ".join(broken))
    _validate_chip(document["chip"])


def _is_choice(document: PlanDocument, row: OpRow) -> bool:
    if not 0 <= row["front"] < len(document["fronts"]):
        return False
    front = document["fronts"][row["front"]]
    size = len(front["time_s"])
    columns = [v for key, v in front.items() if key != "axes" and isinstance(v, list)]
    return 0 <= row["choice"] < size and all(len(column) == size for column in columns)


def _is_instruction(instruction: list[Any], ops: int, tensors: set[str]) -> bool:
    match instruction:
        case ["preload_async" | "execute", int(op)]:
            return 0 <= op < ops
        case ["store_async", str(tensor)]:
            return tensor in tensors
    return False


def _validate_chip(chip: dict[str, Any]) -> None:
    from elk.chip import Chip  # noqa: PLC0415 - beside its only user

    try:
        Chip.from_dict(chip)
    except ElkError as error:
        raise PlanFileError(f"chip: {error.message}") from error
