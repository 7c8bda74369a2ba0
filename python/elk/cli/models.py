"""`elk models`: the published models that ELK can write as ONNX, without weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.base import atomic_file
from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson

models_app = typer.Typer(
    help="List published models, and write them as ONNX graphs without weights.",
    rich_markup_mode=None,
)


@models_app.command("list")
def list_command(*, json: AsJson = False) -> None:
    """List the models: kind, parameters, graphs, and where their sizes were published."""
    from elk import models  # noqa: PLC0415 help does not wait for it

    if json:
        found = [
            {
                "name": name,
                "kind": models.kind(name),
                "parameters": models.parameters(name),
                "phases": list(models.phases(name)),
                "source": models.source(name),
            }
            for name in models.names()
        ]
        print_json(found)
        return
    rows = [["name", "kind", "parameters", "phases", "source"]]
    for name in models.names():
        count, phases = f"{models.parameters(name):,}", ", ".join(models.phases(name))
        rows.append([name, models.kind(name), count, phases, models.source(name)])
    print_table(rows)


@models_app.command("write")
def write_command(  # noqa: PLR0913 - every option is a flag of its own
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of the list.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ONNX file to write.")],
    *,
    phase: Annotated[
        str | None,
        typer.Option("--phase", metavar="PHASE", help="decode, prefill or train; see the list."),
    ] = None,
    layers: Annotated[
        int | None, typer.Option("--layers", metavar="COUNT", help="How many layers; else all.")
    ] = None,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="TYPE", help="f16, bf16 or f32.")
    ] = "f16",
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="TYPE",
            help="Matrices are stored as int8 or int4; else as --dtype.",
        ),
    ] = None,
    body: Annotated[
        bool, typer.Option("--body", help="Only the blocks: no embedding, pooler or head.")
    ] = False,
    dropout: Annotated[
        float | None,
        typer.Option("--dropout", metavar="SHARE", help="What training drops; else as published."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a model as ONNX, without weights."""
    from elk import models  # noqa: PLC0415 help does not wait for onnx

    proto = models.get(
        name, phase, layers=layers, dtype=dtype, weights=weights, body=body, dropout=dropout
    )
    data = proto.SerializeToString(deterministic=True)
    atomic_file.write_bytes(file, data, "the model")
    symbols = models.symbols(proto)
    if json:
        print_json({"file": str(file), "bytes": len(data), "symbols": symbols})
        return
    binds = " ".join(f"--bind {symbol}=..." for symbol in symbols)
    typer.echo(f"wrote {file}: {len(proto.graph.node):,} nodes, {len(data):,} bytes")
    typer.echo(f"next: elk model {file} {binds}".rstrip())
