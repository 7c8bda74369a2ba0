"""What commands print: tables for people, JSON for programs, errors for both."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import typer

from elk.errors import ElkError


def print_json(value: Any) -> None:
    """`value` as one JSON text on standard output; infinities and not-a-numbers become null."""
    typer.echo(json.dumps(_finite(value), indent=2, allow_nan=False, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
    """`rows` in columns as wide as they need to be; the last one runs on."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.echo((indent + "  ".join(cells)).rstrip())


def print_error(error: ElkError, exit_code: int, *, as_json: bool) -> None:
    """`error` on standard error, and with `as_json` as an object on standard output too."""
    lines = [f"error: {error.message}", f"  code: {error.code}"]
    if error.place:
        lines.append(f"  place: {error.place}")
    if error.remedy:
        lines.append(f"  remedy: {error.remedy}")
    typer.echo("\n".join(lines), err=True)
    if as_json:
        print_json({"error": {**error.to_dict(), "exit_code": exit_code}})


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
