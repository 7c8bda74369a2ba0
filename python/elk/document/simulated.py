"""A program on the simulator, at the fidelity that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elk import _core

if TYPE_CHECKING:
    from elk.document.listing import PlacedProgram

# How a plan is run: what is told apart, or that every send is a flow, and how flows share links.
How = _core.Fidelity | _core.Links


def run_program(
    placed: PlacedProgram, tiles: _core.TileModel, how: How, kept: _core.Kept | None = None
) -> _core.Run:
    """Runs a program on the simulator of its fidelity."""
    graph, chip, program = placed.graph, placed.chip, placed.program
    if isinstance(how, _core.Links):
        return _core.simulate_flows(graph, chip, program, tiles, how)
    return _core.simulate(graph, chip, program, tiles, how, kept)
