"""`elk record`: plays a saved plan and writes what was played as a trace file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.cli.output import print_json
from elk.cli.reading import AsJson, Fidelity, LimitWords, PlanFile, parse_limits


def record_command(  # noqa: PLR0913 - every option is a flag of its own
    plan: PlanFile,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The .elktrace file to write.")
    ],
    fidelity: Fidelity = "auto",
    first: Annotated[
        str | None,
        typer.Option(
            "--first", help="The operator, by name or number, with which a window begins."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", help="Instructions of the window; all from there on.")
    ] = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Play a saved plan and write a trace, which can be played again and analysed anywhere."""
    from elk.plan.plan import load_plan  # noqa: PLC0415 help does not wait for the core

    run = load_plan(plan, limits=parse_limits(limit or [])).simulate(fidelity=fidelity)
    begin = int(first) if first is not None and first.isdecimal() else first
    trace = run.trace(first=begin, count=count)
    trace.save(output)
    if json:
        facts = {"total_ps": trace.total_ps, "transfers": trace.transfers().count}
        print_json({**facts, "saved": str(output)})
    else:
        typer.echo(f"{trace.summary()}\nsaved {output}")
