"""What a plan is made from, and what it is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from elk import _core
    from elk.document.listing import PlacedProgram
    from elk.document.schema import PlanDocument
    from elk.document.simulated import How
    from elk.emulation.parts import EmulatedPlan


class PlanSource(Protocol):
    """Where a plan's content comes from: the compiler, or a file."""

    def document(self) -> PlanDocument:
        """The plan as a document of its own, which the caller may change."""

    def sections(self) -> Mapping[str, Any]:
        """The document, perhaps of sections that are made as they are asked for."""

    def problems(self) -> list[str]:
        """Every rule of the program's semantics that the plan breaks."""

    def planned_graph(self) -> _core.Graph:
        """The graph whose operators are planned."""

    def simulate(self, tiles: _core.TileModel | None, how: How) -> _core.Run:
        """Runs the plan on the simulator; None: with the tile model that it was planned with."""

    def record(self, tiles: _core.TileModel | None, fidelity: _core.Fidelity) -> _core.Recording:
        """What `simulate` plays at a fidelity other than flows."""

    def placed(self) -> PlacedProgram:
        """The program, with the graph and the chip that it is for: one chip's under `sharded`."""

    def emulated(self) -> EmulatedPlan:
        """What emulation needs of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a plan's latency is measured against, all in seconds.

    Attributes:
        ideal_s: The forecast for a chip that has its memory and interconnect twice, over all plans
            that the asked policy and those below it found. The plan neither runs nor is forecast
            to run in less; policy `ideal` has the one that no policy beats.
        lower_bound_s: No plan of the whole space is faster on this chip. What it counts from HBM is
            proved; its execute part rests on the best tile rates of a sample, less a margin.
        hbm_s: Its corner that counts only bytes from HBM, over all chips' peak rate.
        execute_s: Its corner that counts only execution alone.
        link_s: Its corner that counts only bytes over the cores' links.
        withheld: Why the bound is 0.0: a plan was simulated below what it was, which is a bug in
            ELK; None where that did not happen.
    """

    ideal_s: float
    lower_bound_s: float
    hbm_s: float
    execute_s: float
    link_s: float
    withheld: str | None = None
