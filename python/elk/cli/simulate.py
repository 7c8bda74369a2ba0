"""`elk simulate`: runs a saved plan on the simulator and prints the run's card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.cli.output import print_json
from elk.cli.reading import AsJson, Fidelity, LimitWords, PlanFile, parse_limits


def simulate_command(
    plan: PlanFile,
    *,
    fidelity: Fidelity = "auto",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PLAN", help="Save the plan with its simulation."),
    ] = None,
    plan_json: Annotated[
        Path | None, typer.Option("--plan-json", metavar="FILE", help="Write that as JSON.")
    ] = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Run a saved plan on the simulator and print what it does with its time."""
    from elk.document.file import write_json  # noqa: PLC0415 as above
    from elk.plan.plan import load_plan  # noqa: PLC0415 help does not wait for the core

    loaded = load_plan(plan, limits=parse_limits(limit or []))
    run = loaded.simulate(fidelity=fidelity)
    if output is not None:
        loaded.save(output)
    if plan_json is not None:
        write_json(loaded.to_json(), plan_json)
    if json:
        print_json(
            {
                "latency_s": run.latency_s,
                "fidelity": run.fidelity,
                "split_ps": run.split_ps,
                "utilisation": run.utilisation,
                "stalls_s": run.stalls(),
                "energy_j": run.energy_j,
                "energy_parts_j": run.energy_parts_j,
                "power_w": run.power_w,
                "peak_power_w": run.peak_power_w,
                "forecast_error": loaded.forecast_error(),
            }
        )
    else:
        typer.echo(run.summary())
