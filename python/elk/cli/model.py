"""`elk model`: what a model consists of, and what became of each of its nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson, Bind, LimitWords, State, Weights, parse_bindings, parse_limits

if TYPE_CHECKING:
    from elk.model.model import Model


def model_command(  # noqa: PLR0913 - every option is a flag of its own
    model: Annotated[Path, typer.Argument(metavar="FILE", help="An ONNX file.")],
    *,
    bind: Bind = None,
    weights: Weights = None,
    state: State = None,
    limit: LimitWords = None,
    ops: Annotated[
        bool, typer.Option("--ops", help="Print every op with its axes and index maps.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show ops by kind, bytes by home, FLOPs, the repeat, what was folded and what is a view.

    A model with nodes that cannot be planned is an error that lists all of them and why.
    """
    from elk.model.model import load_model  # noqa: PLC0415 help does not wait for onnx

    loaded = load_model(
        model,
        bindings=parse_bindings(bind or []),
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
    )
    if json:
        print_json(_document(loaded, ops=ops))
        return
    typer.echo(repr(loaded))
    print_table(loaded.facts.rows(), indent="  ")
    if ops:
        typer.echo(loaded.table())


def _document(model: Model, *, ops: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "name": model.name,
        "onnx_sha256": model.onnx_sha256,
        "bindings": dict(model.bindings),
        "op_count": len(model.graph.ops),
        **model.facts.to_dict(),
    }
    if ops:
        document["ops"] = model.table().splitlines()
    return document
