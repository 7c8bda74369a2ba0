"""What `Plan.simulate` is given, checked and made ready for the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elk import _core
from elk.choices import one_of
from elk.errors import InvalidInputError
from elk.transfers import LINKS

if TYPE_CHECKING:
    from elk.compile_options import TileFunction
    from elk.listing import PlacedProgram
    from elk.plan import Plan

# How a plan is run: what is told apart, or that every send is a flow, and how flows share links.
How = _core.Fidelity | _core.Links

_FIDELITIES: Final = {"core": _core.Fidelity.Core, "symmetric": _core.Fidelity.Symmetric}
_FUNCTION: Final = "function "  # what the chip of a plan names as tile model before a function's


def how_to_run(plan: Plan, fidelity: object, links: object) -> How:
    """The fidelity that is meant, or how its flows share links; refuses plans that cannot run."""
    chosen = one_of("fidelity", fidelity, ("auto", *_FIDELITIES, "flows"))
    shared = LINKS[one_of("links", links, tuple(LINKS))]
    if chosen != "flows" and links != "shared":
        raise InvalidInputError(
            f"links={links!r} is for flows, not for fidelity {chosen!r}",
            remedy='simulate with fidelity="flows"',
        )
    if plan.policy == "ideal":
        raise InvalidInputError(
            "a plan of policy 'ideal' is a forecast for a chip with everything twice: "
            "no chip can run it",
            code="no_buffers",
            remedy='plan with another policy, such as "elk-full"',
        )
    if chosen == "flows":
        return shared
    if chosen != "auto":
        return _FIDELITIES[chosen]
    return _core.fidelity(plan.chip.to_core())


def run_program(
    placed: PlacedProgram, tiles: _core.TileModel, how: How, kept: _core.Kept | None = None
) -> _core.Run:
    """Runs a program on the simulator of its fidelity."""
    graph, chip, program = placed.graph, placed.chip, placed.program
    if isinstance(how, _core.Links):
        return _core.simulate_flows(graph, chip, program, tiles, how)
    return _core.simulate(graph, chip, program, tiles, how, kept)


def tiles_of(plan: Plan, function: TileFunction | None) -> _core.TileModel | None:
    """The tile model to run with, where it is not the one that the plan's source knows."""
    from elk.compile_options import asked_model  # noqa: PLC0415 - beside its only user
    from elk.plan_file import StoredPlan  # noqa: PLC0415

    source = plan._source
    if function is not None:
        return asked_model(source.planned_graph(), function)
    named = plan.chip.core.tile_model
    if isinstance(source, StoredPlan) and named.startswith(_FUNCTION):
        raise InvalidInputError(
            f"the plan was planned with {named}, which its file does not hold",
            place="tile_model",
            remedy="give the function: plan.simulate(tile_model=...)",
        )
    return None
