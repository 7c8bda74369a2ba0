"""`elk fit`: tile models from profiles, and how well a model predicts one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.cli.output import print_json, print_table
from elk.cli.reading import AsJson
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.tile.fit import ErrorRow

_DEFAULT = "ipu-mk2"

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="CSV files of tile shapes and cycles.")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="MODEL", help="Where to write the model.")
]
Check = Annotated[
    bool, typer.Option("--check", help="Print the errors of a model on the files; fit nothing.")
]
ModelName = Annotated[str, typer.Option("--model", metavar="NAME|FILE", help="The model to check.")]


def fit_command(
    files: Files,
    *,
    output: Output = None,
    check: Check = False,
    model: ModelName = _DEFAULT,
    json: AsJson = False,
) -> None:
    """Fit a tile model to profiles, or check one against them.

    A fit leaves a fifth of the rows out, and prints its errors on them. Errors are in percent of
    the profile's cycles.
    """
    from elk.tile import fit  # noqa: PLC0415 help does not wait for numpy
    from elk.tile.tilemodel import load_tile_model, write_record  # noqa: PLC0415 as above

    if check:
        if output is not None:
            raise InvalidInputError("--check writes no model", code="usage", remedy="leave out -o")
        _print(fit.check(files, load_tile_model(model)), as_json=json)
        return
    if output is None:
        raise InvalidInputError(
            "a fit needs a file to write",
            code="usage",
            remedy="give -o MODEL, or --check to fit nothing",
        )
    fitted = fit.fit(files, name=output.stem)
    write_record(fitted, output)
    _print(fit.check(files, fitted.to_core(), held_out_only=True), as_json=json)


def _print(rows: list[ErrorRow], *, as_json: bool) -> None:
    fields = ("kind", "dtype", "rows", "mean_pct", "p95_pct", "max_pct", "r2")
    if as_json:
        print_json([{field: getattr(row, field) for field in fields} for row in rows])
        return
    numbers = [
        [
            row.kind,
            row.dtype,
            str(row.rows),
            f"{row.mean_pct:.3f}",
            f"{row.p95_pct:.3f}",
            f"{row.max_pct:.2f}",
            f"{row.r2:.5f}",
        ]
        for row in rows
    ]
    print_table([list(fields), *numbers])
