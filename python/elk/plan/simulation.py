"""What `Plan.simulate` is given, checked and made ready for the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk import _core
from elk.base.choices import one_of
from elk.base.policies import FORECASTS
from elk.chip.transfers import LINKS
from elk.document.file import StoredPlan
from elk.errors import InvalidInputError
from elk.plan.functions import TileFunction, asked_model
from elk.tile.tilemodel import FUNCTION

if TYPE_CHECKING:
    from elk.chip.chip import Chip
    from elk.document.simulated import How
    from elk.document.source import PlanSource

_FIDELITIES: Final = {"core": _core.Fidelity.Core, "symmetric": _core.Fidelity.Symmetric}


def how_to_run(policy: str, chip: Chip, fidelity: object, links: object) -> How:
    """The fidelity that is meant, or how its flows share links; refuses plans that cannot run."""
    chosen = one_of("fidelity", fidelity, ("auto", *_FIDELITIES, "flows"))
    shared = LINKS[one_of("links", links, tuple(LINKS))]
    if chosen != "flows" and links != "shared":
        raise InvalidInputError(
            f"links={links!r} is for flows, not for fidelity {chosen!r}",
            remedy='simulate with fidelity="flows"',
        )
    if policy in FORECASTS:
        raise InvalidInputError(
            f"a plan of policy {policy!r} is a forecast without a program: no chip can run it",
            code="no_buffers",
            remedy='plan with another policy, such as "elk-full"',
        )
    if chosen == "flows":
        return shared
    if chosen != "auto":
        return _FIDELITIES[chosen]
    return _core.fidelity(chip.to_core())


def tiles_of(
    source: PlanSource, chip: Chip, function: TileFunction | None
) -> _core.TileModel | None:
    """The tile model to run with, where it is not the one that the plan's source knows."""
    if function is not None:
        return asked_model(source.planned_graph(), function)
    named = chip.core.tile_model
    if isinstance(source, StoredPlan) and named.startswith(FUNCTION):
        raise InvalidInputError(
            f"the plan was planned with {named}, which its file does not hold",
            place="tile_model",
            remedy="give the function: plan.simulate(tile_model=...)",
        )
    return None
