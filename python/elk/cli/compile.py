"""`elk compile`: plans a model for a chip, prints the plan's card, saves the plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.cli.output import print_json
from elk.cli.reading import (
    AsJson,
    Bind,
    ChipName,
    Effort,
    LimitWords,
    ModelFile,
    Objective,
    OwnPlans,
    Pod,
    State,
    Threads,
    Weights,
    parse_bindings,
    parse_limits,
    read_plans,
)

if TYPE_CHECKING:
    from elk.plan.plan import Plan


def compile_command(  # noqa: PLR0913 - every option is a flag of its own
    model: ModelFile,
    *,
    chip: ChipName,
    bind: Bind = None,
    policy: Annotated[
        str,
        typer.Option("--policy", help="Who decides the schedule: `elk policies` lists them."),
    ] = "elk-full",
    effort: Effort = "default",
    objective: Objective = "latency",
    pod: Pod = "sharded",
    threads: Threads = None,
    min_core_share: Annotated[
        float, typer.Option("--min-core-share", help="The least share of cores a plan uses.")
    ] = 0.0,
    max_padding: Annotated[
        float, typer.Option("--max-padding", help="The most that padding grows a tensor; 0: any.")
    ] = 0.0,
    weights: Weights = None,
    state: State = None,
    limit: LimitWords = None,
    plans: OwnPlans = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PLAN", help="Save an .elkplan file.")
    ] = None,
    plan_json: Annotated[
        Path | None, typer.Option("--plan-json", metavar="FILE", help="Write the plan as JSON.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Plan a model for a chip and print the plan's card. Exit code 1 if the model does not fit."""
    from elk.document.file import write_json  # noqa: PLC0415 as above
    from elk.plan.planning import compile as compile_plan  # noqa: PLC0415 help does not wait for the core

    plan = compile_plan(
        model,
        chip,
        bindings=parse_bindings(bind or []),
        policy=policy,
        effort=effort,
        objective=objective,
        pod=pod,
        threads=threads,
        min_core_share=min_core_share,
        max_padding=max_padding,
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
        plans=read_plans(plans),
    )
    if output is not None:
        plan.save(output)
    if plan_json is not None:
        write_json(plan.to_json(), plan_json)
    if json:
        print_json(_facts(plan, output))
    else:
        typer.echo(plan.summary())
        if output is not None:
            typer.echo(f"saved {output}")


def _facts(plan: Plan, output: Path | None) -> dict[str, object]:
    document = plan.to_json()
    keys = ("policy", "origin", "pod", "model", "bounds", "raw_s", "host_s", "search")
    return {
        "latency_s": plan.latency_s,
        "chip": plan.chip.name,
        **{key: document[key] for key in keys},
        "saved": None if output is None else str(output),
    }
