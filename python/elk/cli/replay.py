"""`elk replay`: plays a trace file again, perhaps on a slower machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elk.cli.output import print_json
from elk.cli.reading import AsJson, LimitWords, parse_limits
from elk.errors import InvalidInputError


def replay_command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace of elk record.")],
    *,
    slow: Annotated[
        list[str] | None,
        typer.Option("--slow", metavar="NAME=SHARE", help="The share of its speed that one keeps."),
    ] = None,
    limit: LimitWords = None,
    json: AsJson = False,
) -> None:
    """Play a trace again, and say how long it takes and what it stalls for."""
    from elk.analyze.load import load_trace  # noqa: PLC0415 help does not wait for the core
    from elk.analyze.trace import Trace  # noqa: PLC0415 as above

    loaded = load_trace(trace, limits=parse_limits(limit or []))
    if not isinstance(loaded, Trace):
        raise InvalidInputError(
            "a trace of the PyTorch profiler cannot be played again",
            place=str(trace),
            remedy="see elk analyze for what it says",
        )
    again = loaded.replay(slow=dict(_share(word) for word in slow or []))
    if json:
        print_json({"total_ps": again.total_ps, "recorded_ps": loaded.total_ps})
    else:
        typer.echo(f"{again.summary()}\n  recorded   {loaded.total_ps / 1e6:,.3f} µs")


def _share(word: str) -> tuple[str, float]:
    name, _, share = word.rpartition("=")
    try:
        return name, float(share)
    except ValueError:
        raise InvalidInputError(
            f"{word!r} is no share of a speed",
            code="usage",
            place="--slow",
            remedy="write the name of a resource and a share, as in --slow hbm=0.5",
        ) from None
