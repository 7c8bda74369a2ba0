"""Plans and runs on their way to another process, and what arrives there of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Self, cast

from elk import _core
from elk.document.file import StoredPlan, packed
from elk.document.text import text_of
from elk.errors import InvalidInputError
from elk.limits import DEFAULT

if TYPE_CHECKING:
    from elk.document.listing import PlacedProgram
    from elk.document.schema import PlanDocument
    from elk.document.source import PlanSource

_PLACE: Final = "the pickled plan"
_QUICK: Final = 1  # level of compression: half again as large as a file, in an eighth of the time


class CarriedPlan(StoredPlan):
    """A plan that arrived; all of it is checked as a file's is, when it is first asked for."""

    def document(self) -> PlanDocument:
        """The plan as a document of its own.

        Raises:
            PlanFileError: it breaks a rule.
        """
        _ = self._placed
        return super().document()

    @cached_property
    def _placed(self) -> PlacedProgram:
        return self.audited(_PLACE)


@dataclass(frozen=True, eq=False, repr=False)
class Carried:
    """A run, all of which is only read, and how it is carried."""

    _run: _core.Run
    _read: Callable[[], PlanDocument]  # the plan's document, of a run that arrived checked here
    _source: PlanSource  # of the plan, and the tile model that it ran with, if that is another
    _tiles: _core.TileModel | None = None
    _tiles_left: bool = False  # whether the run arrived without the tile model that it ran with

    @cached_property
    def _plan(self) -> PlanDocument:
        return self._read()

    def __reduce__(self) -> tuple[Callable[..., Carried], tuple[Any, ...]]:
        left = self._tiles is not None or self._tiles_left
        return _arrived, (type(self), parts_of(self._run), carried(self._plan), left)

    def __copy__(self) -> Self:
        return type(self)(self._run, self._read, self._source, self._tiles, self._tiles_left)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)


def _arrived(kind: type[Carried], parts: dict[str, Any], plan: bytes, left: bool) -> Carried:
    source = arrived(plan)
    return kind(run_of(parts), source.document, source, None, left)


def carried(document: PlanDocument) -> bytes:
    """A plan as it is carried: as its file, without how long the search took."""
    return packed(document, level=_QUICK)


def arrived(data: bytes) -> CarriedPlan:
    """The plan that `carried` made `data` of.

    Raises:
        PlanFileError: it is damaged, or larger than the limit `plan_bytes`.
    """
    return CarriedPlan(text_of(io.BufferedReader(io.BytesIO(data)), DEFAULT, _PLACE))


def parts_of(run: _core.Run) -> dict[str, Any]:
    """A run as it is carried: every property by its name, and those of its totals."""
    return {name: getattr(run, name) for name in _names(_core.Run)} | {
        "totals": {name: getattr(run.totals, name) for name in _names(_core.RunTotals)}
    }


def run_of(parts: dict[str, Any]) -> _core.Run:
    """What `parts_of` made `parts` of: the same under the same names as in `_core.Run`.

    Raises:
        InvalidInputError: runs of this version consist of other parts.
    """
    totals = parts.get("totals", {})
    if parts.keys() != _names(_core.Run) or totals.keys() != _names(_core.RunTotals):
        raise InvalidInputError(
            "the pickled run is of another version of ELK",
            code="other_version",
            remedy="install one version of ELK on both sides",
        )
    for table in parts.values():  # A pickled array has forgotten that it is only to be read.
        for column in table.values() if isinstance(table, dict) else ():
            if hasattr(column, "setflags"):
                column.setflags(write=False)
    return cast("_core.Run", SimpleNamespace(**{**parts, "totals": SimpleNamespace(**totals)}))


def _names(struct: type) -> set[str]:
    """What the core tells of a struct."""
    return {name for name, value in vars(struct).items() if isinstance(value, property)}
