"""`elk analyze`: what stalled in a trace, and what its units and memories did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from elk.base import atomic_file
from elk.base.choices import one_of
from elk.cli.output import print_json
from elk.cli.reading import AsJson, LimitWords, parse_limits
from elk.errors import InvalidInputError

_SHOWN = 10
_TIMES = (
    *("span_ps", "idle_ps", "compute_ps", "communication_ps", "memory_ps", "other_ps"),
    "overlap",
)


def analyze_command(
    trace: Annotated[
        Path,
        typer.Argument(metavar="TRACE", help="A trace of elk record, or of the PyTorch profiler."),
    ],
    *,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the transfers.")
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", help="transfers, dependences, units, memory or heat.")
    ] = "transfers",
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Say what a trace stalled for, which transfers might have come earlier, what was busy."""
    from elk.analyze.load import load_trace  # noqa: PLC0415 help does not wait for the core
    from elk.analyze.pictures import KINDS  # noqa: PLC0415 as above
    from elk.analyze.trace import Trace  # noqa: PLC0415 as above
    from elk.cli.compare import check_picture  # noqa: PLC0415 as above

    one_of("kind", kind, tuple(KINDS))
    if plot is not None:
        check_picture(plot, "--plot")
    loaded = load_trace(trace, limits=parse_limits(limit or []))
    if not isinstance(loaded, Trace):
        if plot is not None:
            raise InvalidInputError(
                "a trace of the PyTorch profiler has no transfers to draw",
                place="--plot",
                remedy="leave --plot out, or write elk.load_trace(path).timeline() to a file",
            )
        if json:
            print_json({name: getattr(loaded, name) for name in _TIMES})
        else:
            typer.echo(loaded.summary())
        return
    if plot is not None:
        figure = loaded.plot(kind).get_figure(root=True)
        assert figure is not None
        with atomic_file.replacing(plot, "the plot") as file:
            figure.savefig(file, format=plot.suffix[1:], dpi=150)
    stalls = _stalls(loaded)
    if json:
        found = {"total_ps": loaded.total_ps, "stalls": stalls, "unread": loaded.unread().rows()}
        print_json(found)
        return
    typer.echo(loaded.summary())
    for row in stalls[:_SHOWN]:
        typer.echo(
            f"  {row['stall_ps'] / 1e3:12,.1f} ns  {row['kind']} {row['name']}: might have been "
            f"issued {row['back_tail_ps'] / 1e3:,.1f} ns earlier"
        )


def _stalls(trace: Any) -> list[dict[str, Any]]:
    """Transfers that the program waited for, longest first, with how early each might be issued."""
    limits = {row["instruction"]: row for row in trace.dependences().rows()}
    rows = sorted(trace.transfers().rows(), key=lambda row: (-row["stall_ps"], row["issued_ps"]))
    return [
        {**row, "back_tail_ps": limits.get(row["instruction"], {}).get("back_tail_ps", 0)}
        for row in rows
        if row["stall_ps"] > 0
    ]
