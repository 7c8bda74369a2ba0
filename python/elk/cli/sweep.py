"""`elk sweep`: does the sweep of a file, goes on with a store, shows, exports and draws it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from elk.cli.output import print_json
from elk.cli.reading import AsJson, LimitWords, parse_limits

if TYPE_CHECKING:
    from elk.sweeps.sweep import Sweep

_NOT_ALL_DONE = 1  # `elk.cli.NO`: points failed or are open, or the chip holds none


class _FileFirst(TyperGroup):
    """A group of which `elk sweep FILE` is short for `elk sweep run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `run` before words that begin with a file, or with an option of `run`."""
        first = args[0] if args else "--help"
        is_option = first.startswith("-") and first != "--help"
        is_file = first not in self.commands and (Path(first).suffix or Path(first).exists())
        return super().parse_args(ctx, ["run", *args] if is_option or is_file else args)


sweep_app = typer.Typer(
    cls=_FileFirst,
    help="Plan and simulate a model on a chip at every point of a space that a file describes: "
    "elk sweep FILE.toml is elk sweep run FILE.toml. Exit code of run, resume and status: "
    "0 where all points are answered, none failed and some fit; else 1.",
    rich_markup_mode=None,
)

StoreFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="STORE", help="The .elksweep file of a sweep.")
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Processes of this machine; 0: none but this one; else one a core."
    ),
]
Executor: TypeAlias = Annotated[
    str | None,
    typer.Option("--executor", metavar="ADDRESS", help="A scheduler of Dask: tcp://host:8786."),
]
TimeoutS: TypeAlias = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help='What a point may take: "90 s".')
]
MemoryBytes: TypeAlias = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help='What a worker may hold: "2 GB".')
]
Retries: TypeAlias = Annotated[
    int | None, typer.Option("--retries", help="Tries of a point more whose worker died.")
]


@sweep_app.command("run")
def run_command(  # noqa: PLR0913 - every option is a flag of its own
    spec: Annotated[Path, typer.Argument(metavar="FILE", help="A sweep file: docs/sweeps.md.")],
    *,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="STORE", help="Where to keep it; else FILE's name.elksweep."
        ),
    ] = None,
    workers: Workers = None,
    executor: Executor = None,
    timeout: TimeoutS = None,
    memory: MemoryBytes = None,
    retries: Retries = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Do the sweep of a file, or what is left of it in its store, and print its card."""
    from elk.sweeps.spec import load_sweep  # noqa: PLC0415 help does not wait for the core

    path = store or Path(f"{spec.stem}.elksweep")
    how = _how(workers, executor, timeout, memory, retries)
    try:
        sweep = load_sweep(spec).run(path, limits=parse_limits(limit or []), **how)
    except KeyboardInterrupt:
        _say_interrupted(path)
        raise
    _report(sweep, json=json)


@sweep_app.command("resume")
def resume_command(  # noqa: PLR0913 - every option is a flag of its own
    store: StoreFile,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Do points again that failed.")] = False,
    older: Annotated[
        str | None,
        typer.Option("--older", help="Results of another ELK: keep them, or find them again."),
    ] = None,
    workers: Workers = None,
    executor: Executor = None,
    timeout: TimeoutS = None,
    memory: MemoryBytes = None,
    retries: Retries = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Do the points of a store that have no answer yet, and print its card."""
    from elk.sweeps.entry import sweep as sweeps  # noqa: PLC0415 help does not wait for the core

    how = _how(workers, executor, timeout, memory, retries)
    found = sweeps.open(store)
    try:
        found.resume(failed=failed, older=older, limits=parse_limits(limit or []), **how)
    except KeyboardInterrupt:
        _say_interrupted(store)
        raise
    _report(found, json=json)


@sweep_app.command("status")
def status_command(store: StoreFile, *, json: AsJson = False) -> None:
    """Print the card of a store, whether or not it is being filled."""
    from elk.sweeps.entry import sweep as sweeps  # noqa: PLC0415 help does not wait for the core

    _report(sweeps.open(store), json=json)


@sweep_app.command("export")
def export_command(
    store: StoreFile,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="A .parquet, .csv or .nc file.")
    ],
    timed: Annotated[
        bool,
        typer.Option(
            "--timed/--untimed", help="With seconds, workers and times of day, or without."
        ),
    ] = True,
    json: AsJson = False,
) -> None:
    """Write the table of a store: a row a point, columns in SI units."""
    from elk.sweeps.entry import sweep as sweeps  # noqa: PLC0415 help does not wait for the core

    found = sweeps.open(store)
    found.save(output, timed=timed)
    if json:
        print_json({"saved": str(output), "points": len(found)})
    else:
        typer.echo(f"wrote {output}: {len(found):,} points")


@sweep_app.command("plot")
def plot_command(  # noqa: PLR0913 - every option is a flag of its own
    store: StoreFile,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="A .png, .svg or .pdf file.")
    ],
    x: Annotated[str | None, typer.Option("--x", help="The column along the bottom.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="The column along the side.")] = None,
    hue: Annotated[str | None, typer.Option("--hue", help="The column told by colour.")] = None,
    col: Annotated[
        str | None, typer.Option("--col", help="The axis with a column of panels a value.")
    ] = None,
    row: Annotated[
        str | None, typer.Option("--row", help="The axis with a row of panels a value.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="line, scatter or heatmap.")] = None,
    json: AsJson = False,
) -> None:
    """Draw the points of a store that are done."""
    from elk.base import atomic_file  # noqa: PLC0415 help does not wait for it
    from elk.cli.compare import check_picture  # noqa: PLC0415 as above
    from elk.sweeps.entry import sweep as sweeps  # noqa: PLC0415 help does not wait for the core

    check_picture(output, "--output")
    axes = sweeps.open(store).plot(x=x, y=y, hue=hue, col=col, row=row, kind=kind)
    figure = getattr(axes, "flat", [axes])[0].figure
    with atomic_file.replacing(output, "the plot") as file:
        figure.savefig(file, format=output.suffix[1:], dpi=150)
    if json:
        print_json({"saved": str(output)})
    else:
        typer.echo(f"wrote {output}")


def _how(
    workers: int | None,
    executor: str | None,
    timeout: str | None,
    memory: str | None,
    retries: int | None,
) -> dict[str, Any]:
    """How the sweep is run, as far as the command says."""
    given = {
        "workers": workers,
        "executor": executor,
        "timeout_s": timeout,
        "memory_bytes": memory,
        "retries": retries,
    }
    return {name: value for name, value in given.items() if value is not None}


def _report(sweep: Sweep, *, json: bool) -> None:
    """Prints the card; exit code 1 unless the answer is there."""
    if json:
        print_json(_facts(sweep))
    else:
        typer.echo(sweep.summary())
    now = sweep.progress
    if now.open or now.failed or not now.done:
        raise typer.Exit(_NOT_ALL_DONE)


def _facts(sweep: Sweep) -> dict[str, Any]:
    from elk.errors import InvalidInputError  # noqa: PLC0415 help does not wait for it

    now = sweep.progress
    codes = Counter(row["code"] for row in sweep.rows() if row["code"] is not None)
    try:
        best = dict(sweep.best().row)
    except InvalidInputError:
        best = None
    return {
        "store": str(sweep.path),
        "axes": sweep.axes,
        **asdict(now),
        "open": now.open,
        "not_done": dict(codes),
        "versions": sweep.store.versions(),
        "best": best,
    }


def _say_interrupted(store: Path) -> None:
    typer.echo(f"interrupted; what is done is kept: elk sweep resume {store}", err=True)
