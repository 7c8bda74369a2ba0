"""Arguments and options that several commands share: models, chips, plans, how to plan and run."""

from __future__ import annotations

import difflib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

import typer

from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.limits import Limits
    from elk.plan.given import OperatorPlans

ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file.")]
PlanFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PLAN", help="An .elkplan file, or its JSON.")
]
ChipName: TypeAlias = Annotated[
    str, typer.Option("--chip", metavar="NAME|FILE", help="A preset or a chip file.")
]
Effort: TypeAlias = Annotated[
    str, typer.Option("--effort", help="Work that elk-full does: fast, default or max.")
]
Objective: TypeAlias = Annotated[
    str, typer.Option("--objective", help="What the plan has least of: latency, energy or edp.")
]
Pod: TypeAlias = Annotated[
    str, typer.Option("--pod", help="How chips work together: sharded or pooled.")
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option("--threads", help="Threads of the search; all cores by default.")
]
Fidelity: TypeAlias = Annotated[
    str, typer.Option("--fidelity", help="core, symmetric, auto by the size of the chip, or flows.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Bind: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--bind", metavar="NAME=SIZE", help="A dimension's size, or an input's value; repeat it."
    ),
]
Weights: TypeAlias = Annotated[
    list[str] | None, typer.Option("--weights", help="Glob of inputs that are weights.")
]
State: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--state", help="Glob of inputs that are state; !GLOB: of inputs that are none."),
]
LimitWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=N", help="A limit of elk.Limits; repeat it."),
]


OwnPlans: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--plans", metavar="FILE", help="Plans of operators to keep to: JSON, or a plan file."
    ),
]


def read_plans(path: Path | None) -> OperatorPlans | None:
    """Plans of operators from a file: a table of them by name, or a plan, all of whose it has.

    Raises:
        InvalidInputError: the file cannot be read, or is no JSON.
    """
    from elk.document.text import read_text  # noqa: PLC0415 - few commands read plans
    from elk.limits import DEFAULT  # noqa: PLC0415 - as above

    if path is None:
        return None
    try:
        found = json.loads(read_text(path, DEFAULT))
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInputError(
            f"the file holds no JSON: {error}",
            code="given_plan",
            place=str(path),
            remedy='write it as in {"operator": [{"factors": {"m": 4}}]}',
        ) from error
    if isinstance(found, dict) and isinstance(found.get("ops"), list):
        return {row["name"]: [row["execute"]] for row in found["ops"]}
    return cast("OperatorPlans", found)


def parse_bindings(words: list[str]) -> dict[str, int]:
    """The numbers that `NAME=SIZE` words give to symbolic dimensions.

    Example:
        >>> parse_bindings(["batch=32"])
        {'batch': 32}

    Raises:
        InvalidInputError: a word is no NAME=SIZE, or names a dimension again.
    """
    bindings: dict[str, int] = {}
    for word in words:
        name, equals, size = word.partition("=")
        if not equals or not name or not size.isascii() or not size.isdecimal():
            raise InvalidInputError(
                f"--bind must be NAME=SIZE with an integer, got {word!r}",
                code="usage",
                remedy="write it as in --bind batch=32",
            )
        if name in bindings:
            raise InvalidInputError(f"--bind gives {name!r} twice", code="usage")
        bindings[name] = int(size)
    return bindings


def parse_limits(words: list[str]) -> Limits:
    """The limits that `NAME=N` words change.

    Example:
        >>> parse_limits(["nodes=500000"]).nodes
        500000

    Raises:
        InvalidInputError: a word is no NAME=N, or names no limit.
    """
    from elk.limits import DEFAULT, Limits  # noqa: PLC0415 help does not wait for it

    known = [field.name for field in fields(Limits)]
    changed: dict[str, int] = {}
    for word in words:
        name, _, number = word.partition("=")
        if name not in known or not number.isascii() or not number.isdecimal():
            close = difflib.get_close_matches(name, known, n=1)
            raise InvalidInputError(
                f"--limit must be NAME=N with the name of a limit and an integer, got {word!r}",
                code="usage",
                place="--limit",
                remedy=f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}",
            )
        changed[name] = int(number)
    return replace(DEFAULT, **changed)
