"""`elk compile`: plans a model for a chip, prints the plan's card, saves the plan."""

from __future__ import annotations

import difflib
import json as json_module
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elk.cli.output import print_json
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.limits import Limits
    from elk.plan import Plan


def compile_command(  # noqa: PLR0913 - every option is a flag of its own
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file.")],
    *,
    chip: Annotated[
        str, typer.Option("--chip", metavar="NAME|FILE", help="A preset or a chip file.")
    ],
    bind: Annotated[
        list[str] | None,
        typer.Option(
            "--bind", metavar="NAME=SIZE", help="A number for a symbolic dimension; repeat it."
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="basic, static, elk-dyn, elk-full or ideal.")
    ] = "elk-full",
    pod: Annotated[
        str, typer.Option("--pod", help="How chips work together: sharded or pooled.")
    ] = "sharded",
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the search; all cores by default.")
    ] = None,
    min_core_share: Annotated[
        float, typer.Option("--min-core-share", help="The least share of cores a plan uses.")
    ] = 0.0,
    max_padding: Annotated[
        float, typer.Option("--max-padding", help="The most that padding grows a tensor; 0: any.")
    ] = 0.0,
    weights: Annotated[
        list[str] | None, typer.Option("--weights", help="Glob of inputs that are weights.")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Glob of inputs that are state.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=N", help="A limit of elk.Limits; repeat it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PLAN", help="Save an .elkplan file.")
    ] = None,
    plan_json: Annotated[
        Path | None, typer.Option("--plan-json", metavar="FILE", help="Write the plan as JSON.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan a model for a chip and print the plan's card. Exit code 1 if the model does not fit."""
    from elk.plan import compile as compile_plan  # noqa: PLC0415 help does not wait for the core

    plan = compile_plan(
        model,
        chip,
        bindings=parse_bindings(bind or []),
        policy=policy,
        pod=pod,
        threads=threads,
        min_core_share=min_core_share,
        max_padding=max_padding,
        weights=weights,
        state=state,
        limits=parse_limits(limit or []),
    )
    if output is not None:
        plan.save(output)
    if plan_json is not None:
        text = json_module.dumps(plan.to_json(), allow_nan=False, ensure_ascii=False)
        plan_json.write_text(text, encoding="utf-8")
    if json:
        print_json(_facts(plan, output))
    else:
        typer.echo(plan.summary())
        if output is not None:
            typer.echo(f"saved {output}")


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


def _facts(plan: Plan, output: Path | None) -> dict[str, object]:
    document = plan.to_json()
    keys = ("policy", "origin", "pod", "model", "bounds", "raw_s", "host_s", "search")
    return {
        "latency_s": plan.latency_s,
        "chip": plan.chip.name,
        **{key: document[key] for key in keys},
        "saved": None if output is None else str(output),
    }
