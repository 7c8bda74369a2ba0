"""`elk shard`: how a model is cut over the chips of a pod."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.cli.compile import parse_bindings
from elk.cli.output import print_json


def shard_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file.")],
    *,
    chip: Annotated[
        str, typer.Option("--chip", metavar="NAME|FILE", help="A preset or a chip file.")
    ],
    bind: Annotated[
        list[str] | None,
        typer.Option(
            "--bind", metavar="NAME=SIZE", help="A number for a symbolic dimension; repeat it."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the axis that each operator splits over the chips of a pod, and what they exchange.

    An estimate, without plans: `elk compile` makes those of the same split.
    """
    from elk.sharding import shard  # noqa: PLC0415 help does not wait for the core

    found = shard(model, chip, bindings=parse_bindings(bind or []))
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.summary())
