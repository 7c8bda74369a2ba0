"""`elk train`: how long a training step takes on a cluster or a tiled accelerator."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elk.cli.output import print_json
from elk.cli.reading import (
    AsJson,
    Bind,
    LimitWords,
    ModelFile,
    State,
    Weights,
    parse_bindings,
    parse_limits,
)
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.training.job import Training
    from elk.training.step import TrainingRun


def train_command(  # noqa: PLR0913 - every option is a flag of its own
    model: ModelFile,
    *,
    on: Annotated[
        str, typer.Option("--on", metavar="NAME|FILE", help="A chip or a cluster, or its file.")
    ],
    batch: Annotated[int, typer.Option("--batch", help="Samples of a step.")],
    pp: Annotated[int, typer.Option("--pp", help="Stages of the pipeline.")] = 1,
    tp: Annotated[int, typer.Option("--tp", help="Devices that share every operator.")] = 1,
    dp: Annotated[int, typer.Option("--dp", help="Replicas of the model.")] = 1,
    chunks: Annotated[int, typer.Option("--chunks", help="Parts of the model a stage.")] = 1,
    micro_batch: Annotated[
        int, typer.Option("--micro-batch", help="Samples that pass the pipeline at once.")
    ] = 1,
    schedule: Annotated[
        str, typer.Option("--schedule", help="gpipe, 1f1b or interleaved.")
    ] = "1f1b",
    zero: Annotated[int, typer.Option("--zero", help="What replicas share: 0 to 3.")] = 0,
    recompute: Annotated[
        str, typer.Option("--recompute", help="What is made again: none, full or auto.")
    ] = "none",
    optimizer: Annotated[
        str, typer.Option("--optimizer", help="adam, sgd, or none to infer.")
    ] = "adam",
    overlap: Annotated[
        list[str] | None,
        typer.Option("--overlap", help="What runs beside computation: dp, pp; repeat it."),
    ] = None,
    layout: Annotated[
        str, typer.Option("--layout", help="How stages lie on a grid: s-shape or line.")
    ] = "s-shape",
    groups: Annotated[
        str, typer.Option("--groups", help="Whose devices are neighbours: near or far.")
    ] = "near",
    degrees: Annotated[
        str | None,
        typer.Option("--degrees", metavar="JSON", help='Parts of axes: {"MatMul": {"m": 2}}.'),
    ] = None,
    stages: Annotated[
        str | None,
        typer.Option("--stages", metavar="JSON", help="Operators of each part: [[0, 1], [2]]."),
    ] = None,
    fidelity: Annotated[
        str, typer.Option("--fidelity", help="symmetric, flows, or auto by their number.")
    ] = "auto",
    links: Annotated[
        str, typer.Option("--links", help="How transfers meet: shared or exclusive.")
    ] = "shared",
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write the timeline.")
    ] = None,
    bind: Bind = None,
    weights: Weights = None,
    state: State = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Cut a model over devices, play a training step, and print what it does with its time."""
    from elk.training.job import train  # noqa: PLC0415 help does not wait for the core
    from elk.training.strategy import Strategy  # noqa: PLC0415 as above

    strategy = Strategy(
        pp=pp,
        tp=tp,
        dp=dp,
        chunks=chunks,
        micro_batch=micro_batch,
        schedule=schedule,
        zero=zero,
        recompute=recompute,
        optimizer=optimizer,
        overlap=overlap or (),
        layout=layout,
        groups=groups,
        degrees=_parsed("degrees", degrees),
        stages=_parsed("stages", stages),
    )
    training = train(
        model,
        on,
        strategy,
        batch=batch,
        bindings=parse_bindings(bind or []),
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
    )
    run = training.simulate(fidelity=fidelity, links=links)
    if trace is not None:
        run.save_trace(trace)
    if json:
        print_json(_report(training, run))
    else:
        typer.echo(f"{training.summary()}\n\n{run.summary()}")


def _parsed(name: str, text: str | None) -> Any:
    """What the JSON of an option says."""
    if text is None:
        return None
    try:
        return json_format.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{name} must be JSON, got {text!r}: {error}", place=f"--{name}"
        ) from error


def _report(training: Training, run: TrainingRun) -> dict[str, Any]:
    return {
        "strategy": training.strategy.to_dict(),
        "latency_s": run.latency_s,
        "samples_per_s": run.samples_per_s,
        "mfu": run.mfu,
        "hfu": run.hfu,
        "forecast_s": training.forecast_s,
        "fidelity": run.fidelity,
        "split_ps": run.split_ps,
        "sent_bytes": run.sent_bytes,
        "memory": training.memory(),
    }
