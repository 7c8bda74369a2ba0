"""`elk trace`: writes when everything in a plan happens, as a trace to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.cli.output import print_json
from elk.cli.reading import AsJson, Fidelity, LimitWords, PlanFile, parse_limits
from elk.errors import InvalidInputError


def trace_command(  # noqa: PLR0913 - every option is a flag of its own
    plan: PlanFile,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .pftrace, .json or .html file to write."
        ),
    ],
    of: Annotated[
        str, typer.Option("--of", help="Which times: predicted, or simulated by a run for this.")
    ] = "predicted",
    fidelity: Fidelity = "auto",
    unfold: Annotated[
        bool, typer.Option("--unfold", help="Rows by which cores take part, not one for all.")
    ] = False,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Write a plan's timeline: for ui.perfetto.dev, Chrome's tracing page, or any browser."""
    from elk.plan.plan import load_plan  # noqa: PLC0415 help does not wait for the core

    loaded = load_plan(plan, limits=parse_limits(limit or []))
    if of == "simulated":  # A file holds no parts of executes.
        timeline = loaded.simulate(fidelity=fidelity).timeline(fold=not unfold)
    elif unfold:
        raise InvalidInputError(
            "--unfold shows the cores of a run",
            code="usage",
            place="--unfold",
            remedy="add --of simulated",
        )
    else:
        timeline = loaded.timeline(of=of)
    timeline.save(output)
    if json:
        facts = {
            "rows": len(timeline.tracks),
            "slices": len(timeline.slices),
            "counters": len(timeline.counters),
            "flows": len(timeline.flows),
            "end_ps": timeline.end_ps,
            "saved": str(output),
        }
        print_json(facts)
    else:
        typer.echo(f"{timeline!r}\nsaved {output}")
