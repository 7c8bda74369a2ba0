"""The command `elk`. Each command has a file of its own and imports what it needs when it runs."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Annotated

import typer

from elk.cli.output import print_error
from elk.errors import ElkError, InfeasibleError, InternalError, InvalidInputError

OK = 0
NO = 1  # The command ran, and the answer is no.
USER_ERROR = 2
INTERNAL = 3
INTERRUPTED = 130

# A command and the function or group, in `elk.cli.<command>`, that is it.
_COMMANDS = {
    "compile": "compile_command",
    "simulate": "simulate_command",
    "compare": "compare_command",
    "model": "model_command",
    "shard": "shard_command",
    "trace": "trace_command",
    "record": "record_command",
    "replay": "replay_command",
    "analyze": "analyze_command",
    "train": "train_command",
    "fit": "fit_command",
    "doctor": "doctor_command",
    "paper": "paper_command",
    "policies": "policies_command",
}
_GROUPS = {"chip": "chip_app", "models": "models_app", "sweep": "sweep_app"}


def main(arguments: list[str] | None = None) -> int:
    """Runs `elk` with `arguments`, by default those of the process, and returns its exit code.

    0: done. 1: it ran, and the answer is no (it does not fit, it differs, a check failed).
    2: the caller can correct it; the error says how. 3: a bug in ELK.

    Example:
        >>> elk.cli.main(["chip", "list"])
        0
    """
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    try:
        return _run(words)
    except ElkError as error:
        code = exit_code(error)
        print_error(error, code, as_json=as_json)
        return code
    except BrokenPipeError:  # Whoever read our output has read enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        print_error(_of_system(error), USER_ERROR, as_json=as_json)
        return USER_ERROR
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        return _internal(error, as_json=as_json)


def exit_code(error: ElkError) -> int:
    """What the process exits with after `error`."""
    if isinstance(error, InfeasibleError):
        return NO
    return INTERNAL if isinstance(error, InternalError) else USER_ERROR


def _run(words: list[str]) -> int:
    command = typer.main.get_command(_app(words))
    try:
        result = command.main(args=words or ["--help"], prog_name="elk", standalone_mode=False)
    except Exception as error:
        say = getattr(error, "format_message", None)  # A usage error, wherever typer keeps them.
        if say is None:
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "elk"
        raise InvalidInputError(
            say() or "no command is given", code="usage", remedy=f"see {path} --help"
        ) from None
    sys.stdout.flush()
    return result if isinstance(result, int) else OK


def _app(words: list[str]) -> typer.Typer:
    """The command line that `words` need: one command, or all of them for an overview."""
    app = typer.Typer(
        help="Plans deep learning models for chips whose cores exchange data directly.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(_top)
    known = {**_COMMANDS, **_GROUPS}
    for name in [words[0]] if words and words[0] in known else known:
        target = getattr(importlib.import_module(f"elk.cli.{name}"), known[name])
        if name in _GROUPS:
            app.add_typer(target, name=name)
        else:
            app.command(name)(target)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from elk._core import __version__  # noqa: PLC0415 help does not wait for the core

        typer.echo(__version__)
        raise typer.Exit


def _top(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def _of_system(error: OSError) -> InvalidInputError:
    place = str(error.filename) if error.filename else None
    return InvalidInputError(
        (error.strerror or str(error)).lower(),
        code="file",
        place=place,
        remedy="check that the path exists and may be read and written",
    )


def _internal(error: Exception, *, as_json: bool) -> int:
    traceback.print_exception(error)
    found = InternalError(
        f"{type(error).__name__}: {error}",
        remedy="this is a bug in ELK: please report it with the lines above",
    )
    print_error(found, INTERNAL, as_json=as_json)
    return INTERNAL
