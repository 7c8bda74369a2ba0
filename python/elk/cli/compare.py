"""`elk compare`: every policy on one model and chip, simulated, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.base import atomic_file
from elk.cli.output import print_json
from elk.cli.reading import (
    AsJson,
    Bind,
    ChipName,
    Effort,
    Fidelity,
    LimitWords,
    ModelFile,
    Pod,
    State,
    Threads,
    Weights,
    parse_bindings,
    parse_limits,
)
from elk.errors import InvalidInputError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from elk.plan.comparison import Comparison

_PICTURES = (".png", ".svg", ".pdf")


def compare_command(  # noqa: PLR0913 - every option is a flag of its own
    model: ModelFile,
    *,
    chip: ChipName,
    bind: Bind = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="A policy to compare; repeat it. All without it."),
    ] = None,
    fidelity: Fidelity = "auto",
    effort: Effort = "default",
    pod: Pod = "sharded",
    threads: Threads = None,
    weights: Weights = None,
    state: State = None,
    limit: LimitWords = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw breakdown and utilisation (.png, .svg, .pdf)."
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="FOLDER", help="Write POLICY.pftrace of every run."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Plan a model under every policy, simulate the plans, and print one table."""
    from elk.plan.comparison import compare  # noqa: PLC0415 help does not wait for the core

    figure = None if plot is None else _figure(plot)
    found = compare(
        model,
        chip,
        bindings=parse_bindings(bind or []),
        policies=policy or None,
        fidelity=fidelity,
        effort=effort,
        pod=pod,
        threads=threads,
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
    )
    if plot is not None and figure is not None:
        _draw(found, figure)
        with atomic_file.replacing(plot, "the plot") as file:
            figure.savefig(file, format=plot.suffix[1:], dpi=150)
    if traces is not None:
        traces.mkdir(parents=True, exist_ok=True)
        for row in found.rows:
            row.run.save_trace(traces / f"{row.policy}.pftrace")
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.text)


def check_picture(path: Path, option: str) -> None:
    """Refuses a file whose suffix is none of a picture.

    Raises:
        InvalidInputError: it is not.
    """
    if path.suffix not in _PICTURES:
        raise InvalidInputError(
            f"a plot is no {path.suffix or 'file without a suffix'}: {path}",
            code="usage",
            place=option,
            remedy=f"end it in one of {', '.join(_PICTURES)}",
        )


def _figure(path: Path) -> Figure:
    """An empty figure; refuses what could not be drawn before minutes have gone into plans."""
    check_picture(path, "--plot")
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 optional, and slow to import
    except ImportError as error:
        raise MissingPackageError(
            "plots need matplotlib, which is not installed", remedy="pip install 'elk-icca[viz]'"
        ) from error
    return Figure(figsize=(12.0, 4.0), layout="constrained")


def _draw(found: Comparison, figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    found.plot("breakdown", left)
    found.plot("utilisation", right)
    right.set_title("")  # The left one names both.
