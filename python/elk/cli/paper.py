"""`elk paper`: figures of papers, made again, with each paper's claims beside ELK's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.base.choices import one_of
from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.figures.figure import PaperFigure
    from elk.figures.paper import Written

_ACTIONS = ("list", "run")

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="list | run FIGURE|elk|t10...", help="What there is, or what to make."),
]
Every = Annotated[bool, typer.Option("--all", help="Make all figures of all papers.")]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where to write them.")]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Processes of sweeps; one a core by default.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="One layer and few points, to see that figures work.")
]


def paper_command(
    words: Words = None,
    *,
    every: Every = False,
    out: Out = Path("elk-paper"),
    workers: Workers = None,
    quick: Quick = False,
    json: AsJson = False,
) -> None:
    """Make figures of ELK's and T10's papers again, with their claims beside ELK's numbers.

    The name of a paper, elk or t10, stands for all its figures. What was interrupted goes on where
    it stopped: sweeps lie in FOLDER/stores.
    """
    from elk import figures  # noqa: PLC0415 help does not wait for it

    action, *names = words or ["run" if every else "list"]
    one_of("action", action, _ACTIONS)
    if action == "list":
        _list([*figures.figures().values()], as_json=json)
        return
    if not names and not every:
        raise InvalidInputError(
            "no figure is named", code="usage", remedy="see elk paper list, or give --all"
        )
    chosen = [figure for name in names for figure in figures.of_page(name) or [figures.get(name)]]
    if every:
        chosen = [*figures.figures().values()]
    _run(chosen, out, workers, quick=quick, as_json=json)


def _list(known: list[PaperFigure], *, as_json: bool) -> None:
    if as_json:
        print_json([{"name": f.name, "title": f.title, "shows": f.shows} for f in known])
    else:
        print_table([[figure.name, figure.title] for figure in known])


def _run(
    chosen: list[PaperFigure], out: Path, workers: int | None, *, quick: bool, as_json: bool
) -> None:
    from elk.figures import paper  # noqa: PLC0415 `list` does without
    from elk.figures.figure import Study  # noqa: PLC0415 - `list` does without

    study = Study(folder=out / "stores", workers=workers, quick=quick)
    found = {}
    for written in paper.run(chosen, out, study):
        found[written.name] = written.to_dict()
        if not as_json:
            _print(written)
    if as_json:
        print_json(found)
    else:
        for page in dict.fromkeys(figure.page for figure in chosen):
            typer.echo(f"{out / f'{page}_figures.md'} has the page")


def _print(written: Written) -> None:
    typer.echo(f"{written.name}: {written.note}")
    rows = [[c.what, c.paper, c.ours, c.verdict] for c in written.claims]
    if rows:
        print_table([["claim", "paper", "ours", "verdict"], *rows], indent="  ")
