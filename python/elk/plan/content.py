"""What a plan holds: where it comes from, its last run, and what is left of its bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from elk.document.file import StoredPlan
from elk.document.source import PlanSource
from elk.document.withheld import hold

if TYPE_CHECKING:
    from elk.document.schema import BoundsRow, PlanDocument
    from elk.run.run import Run


class Content:
    """A plan's source, and what became known of the plan since.

    Attributes:
        source: The compiler, a file or another process.
        run: The last run on the simulator.
    """

    def __init__(self, source: PlanSource, run: Run | None = None) -> None:
        self.source = source
        self.run = run
        self._left: BoundsRow | None = None  # of bounds that a simulation undercut

    @cached_property
    def document(self) -> PlanDocument:
        """The document to look at, perhaps of sections that are made as they are asked for."""
        sections = cast("PlanDocument", self.source.sections())
        if self._left is not None:
            sections["bounds"] = self._left.copy()
        return sections

    def planned(self) -> PlanDocument:
        """The plan as a document of its own, without its last run."""
        document = self.source.document()
        if self._left is not None:
            document["bounds"] = self._left.copy()
        return document

    def whole(self) -> PlanDocument:
        """The plan as a document of its own, with its last run."""
        document = self.planned()
        if self.run is not None:
            document["simulated"] = self.run.document()
        return document

    def hold_against(self, simulated_s: float) -> None:
        """Withholds the bound if a plan of this model on this chip takes no more than that."""
        hold(self.document, simulated_s, read=isinstance(self.source, StoredPlan))
        if "withheld" in self.document["bounds"]:
            self._left = self.document["bounds"]

    def __copy__(self) -> Content:
        twin = Content(self.source, self.run)
        twin._left = self._left
        return twin

    def __reduce__(self) -> tuple[Callable[..., Content], tuple[Any, ...]]:
        from elk.document.carried import carried, parts_of  # noqa: PLC0415 - few plans are pickled

        run = self.run
        left = run is not None and (run._tiles is not None or run._tiles_left)
        return _arrived, (carried(self.planned()), run and parts_of(run._run), left)


def _arrived(data: bytes, parts: dict[str, Any] | None, left: bool) -> Content:
    """The content of a plan from another process, and its last run."""
    from elk.document.carried import arrived, run_of  # noqa: PLC0415 - few plans are pickled
    from elk.run.run import Run  # noqa: PLC0415 - `import elk` stays small

    source = arrived(data)
    return Content(
        source, Run(run_of(parts), source.document, source, None, left) if parts else None
    )
