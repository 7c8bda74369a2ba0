"""Plan files: a plan's JSON, gzipped, the same bytes for equal plans."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from elk import _core
from elk.base import atomic_file
from elk.document.audit import audited
from elk.document.rebuild import placed, problems
from elk.document.schema import PlanDocument
from elk.document.text import damaged, digest, parse, read_text, to_text
from elk.errors import InvalidInputError, PlanFileError
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from elk.document.listing import PlacedProgram
    from elk.document.simulated import How


@dataclass(frozen=True)
class StoredPlan:
    """A plan as read from a file. What the core runs is rebuilt once, when first asked for."""

    text: str

    @staticmethod
    def read(path: Path, limits: Limits = DEFAULT) -> StoredPlan:
        """Reads a plan file, all of which is checked before anything is made of it.

        Raises:
            PlanFileError: the file is none, is damaged, too large, or breaks a rule.
        """
        stored = StoredPlan(read_text(path, limits))
        stored.__dict__["_placed"] = stored.audited(str(path))
        return stored

    def audited(self, place: str) -> PlacedProgram:
        """The program of a plan all of which was checked.

        Raises:
            PlanFileError: the text is no plan, is damaged, or breaks a rule.
        """
        try:
            return audited(parse(self.text))
        except PlanFileError as error:
            raise PlanFileError(
                error.message, code=error.code, place=place, remedy=error.remedy
            ) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise damaged(place, error) from error

    def document(self) -> PlanDocument:
        """The plan as a document of its own."""
        document = json.loads(self.text)
        document.pop("digest", None)
        return cast("PlanDocument", document)

    def sections(self) -> Mapping[str, Any]:
        """The document: a file has all of it."""
        return self.document()

    def planned_graph(self) -> _core.Graph:
        """The graph whose operators are planned."""
        return self._placed.graph

    def simulate(self, tiles: _core.TileModel | None, how: How) -> _core.Run:
        """Runs the plan on the simulator, with the tile model that its chip names."""
        from elk.document.simulated import run_program  # noqa: PLC0415 - few files are simulated

        return run_program(self._placed, tiles or self._named_tiles(), how)

    def record(self, tiles: _core.TileModel | None, fidelity: _core.Fidelity) -> _core.Recording:
        """What `simulate` plays at a fidelity other than flows."""
        asked = self._placed
        return _core.record(
            asked.graph, asked.chip, asked.program, tiles or self._named_tiles(), fidelity
        )

    def _named_tiles(self) -> _core.TileModel:
        """The tile model that the chip names."""
        from elk.tile.tilemodel import load_tile_model  # noqa: PLC0415 - few files are simulated

        return load_tile_model(self._placed.chip.core.tile_model)

    def placed(self) -> PlacedProgram:
        """The program, with the graph and the chip that it is for."""
        return self._placed

    @cached_property
    def _placed(self) -> PlacedProgram:
        return placed(self.document())

    def emulated(self) -> NoReturn:
        """Refuses: a document has no kernels and no weights."""
        raise InvalidInputError(
            "a plan from a file or from another process cannot be emulated: it does not say what "
            "its operators compute",
            code="emulate_plan",
            remedy="emulate the plan that elk.compile returns",
        )

    def problems(self) -> list[str]:
        """Every rule of the program's semantics that the plan breaks."""
        return problems(self.document())


def packed(document: PlanDocument, *, level: int = 9) -> bytes:
    """The bytes of the `.elkplan` file of a document, compressed to a level of zlib's."""
    return gzip.compress(to_text(document).encode(), compresslevel=level, mtime=0)


def write_plan(document: PlanDocument, path: Path) -> None:
    """Writes an `.elkplan` file; a reader sees the old file or the whole new one."""
    atomic_file.write_bytes(path, packed(document), "the plan", PlanFileError)


def write_json(document: Mapping[str, Any], path: Path) -> None:
    """Writes a plan's document as plain JSON, as `write_plan` its file."""
    signed = {**document, "digest": digest(document)}
    text = json.dumps(signed, allow_nan=False, ensure_ascii=False)
    atomic_file.write_text(path, text, "the plan", PlanFileError)
