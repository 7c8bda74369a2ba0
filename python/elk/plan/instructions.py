"""What every core does under a plan, listed for people and written for other back ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elk.base.policies import FORECASTS
from elk.document.file import StoredPlan
from elk.document.listing import Listing, PlacedProgram, listing
from elk.document.program_file import write_program
from elk.errors import InternalError, InvalidInputError, PlanFileError
from elk.report.explain import find_op

if TYPE_CHECKING:
    from elk.plan.content import Content


def list_core(content: Content, core: int, op: str | int | None) -> Listing:
    """The instructions of one core; see `Plan.listing`."""
    number = None if op is None else find_op(content.document, op)["id"]
    with _as_found(content):
        return listing(_placed(content), content.document["program"], core, number)


def export(content: Content, path: Path) -> None:
    """Writes the instructions of every core; see `Plan.export_program`."""
    with _as_found(content):
        write_program(_placed(content), content.document, path)


@contextmanager
def _as_found(content: Content) -> Iterator[None]:
    """Buffers that suffice in sum may still lie so that no list can name them: a file's fault."""
    try:
        yield
    except InternalError as error:
        if not isinstance(content.source, StoredPlan):
            raise
        raise PlanFileError(
            f"buffers: {error.message}",
            place="buffers",
            remedy="compile the model again, or correct the file",
        ) from error


def _placed(content: Content) -> PlacedProgram:
    if (policy := content.document["policy"]) in FORECASTS:
        raise InvalidInputError(
            f"a plan of policy {policy!r} is a forecast: it places no buffers", code="emulate_plan"
        )
    return content.source.placed()
