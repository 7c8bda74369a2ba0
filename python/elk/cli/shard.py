"""`elk shard`: how a model is cut over the chips of a pod."""

from __future__ import annotations

import typer

from elk.cli.output import print_json
from elk.cli.reading import (
    AsJson,
    Bind,
    ChipName,
    LimitWords,
    ModelFile,
    State,
    Weights,
    parse_bindings,
    parse_limits,
)


def shard_command(  # noqa: PLR0913 - every option is a flag of its own
    model: ModelFile,
    *,
    chip: ChipName,
    bind: Bind = None,
    weights: Weights = None,
    state: State = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Show the axis that each operator splits over the chips of a pod, and what they exchange.

    An estimate, without plans: `elk compile` makes those of the same split.
    """
    from elk.plan.sharding import shard  # noqa: PLC0415 help does not wait for the core

    found = shard(
        model,
        chip,
        bindings=parse_bindings(bind or []),
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
    )
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.summary())
