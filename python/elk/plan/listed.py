"""The part of a plan that says what every core does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from elk.errors import InternalError, InvalidInputError, PlanFileError

if TYPE_CHECKING:
    from elk.document.listing import Listing, PlacedProgram
    from elk.document.schema import PlanDocument
    from elk.document.source import PlanSource


class _Documented(Protocol):
    """What listing needs of a plan."""

    @property
    def _document(self) -> PlanDocument: ...
    @property
    def _source(self) -> PlanSource: ...


class Listed:
    """A plan whose instructions can be listed."""

    def listing(self: _Documented, *, core: int = 0, op: str | int | None = None) -> Listing:
        """What one core does: its instructions, at the addresses of the plan's buffers.

        The same steps and bytes that the simulator times; `print` shows them readably. Under
        `sharded` every chip runs the same lists.

        Args:
            core: The core's id.
            op: The name or the id of an operator to list alone; None for all.

        Raises:
            InvalidInputError: there is no such core or operator, or the plan is a forecast of
                policy `ideal`.

        Example:
            >>> plan.listing(core=0)[0].action
            'allocate'
        """
        from elk.document.listing import listing  # noqa: PLC0415
        from elk.report.explain import find_op  # noqa: PLC0415 - `import elk` stays small

        number = None if op is None else find_op(self._document, op)["id"]
        with _as_found(self):
            return listing(_placed(self), self._document["program"], core, number)

    def export_program(self: _Documented, path: str | Path) -> None:
        """Writes the instructions of every core for other back ends, schema `elk.program/1`.

        JSON, a line for each instruction of the program, gzipped; `docs/emulation.md` describes it
        and `elk.program_file.load_program` reads it.

        Raises:
            PlanFileError: the file cannot be written.
            InvalidInputError: as `listing`.
        """
        from elk.document.program_file import write_program  # noqa: PLC0415 - `import elk` stays small

        with _as_found(self):
            write_program(_placed(self), self._document, Path(path))


@contextmanager
def _as_found(plan: _Documented) -> Iterator[None]:
    """Buffers that suffice in sum may still lie so that no list can name them: a file's fault."""
    from elk.document.file import StoredPlan  # noqa: PLC0415 - few plans are listed

    try:
        yield
    except InternalError as error:
        if not isinstance(plan._source, StoredPlan):
            raise
        raise PlanFileError(
            f"buffers: {error.message}",
            place="buffers",
            remedy="compile the model again, or correct the file",
        ) from error


def _placed(plan: _Documented) -> PlacedProgram:
    if plan._document["policy"] == "ideal":
        raise InvalidInputError(
            "a plan of policy 'ideal' is a forecast: it places no buffers", code="emulate_plan"
        )
    return plan._source.placed()
