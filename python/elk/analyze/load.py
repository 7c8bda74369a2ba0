"""Trace files of any kind that ELK reads."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from elk.analyze.stored import read_trace
from elk.base.regular_file import regular_file
from elk.errors import TraceFileError
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from elk.analyze.trace import Trace
    from elk.foreign.kineto import KinetoTrace

_ARCHIVE: Final = b"PK"


def load_trace(path: str | PathLike[str], *, limits: Limits | None = None) -> Trace | KinetoTrace:
    """Reads a trace that `Trace.save` wrote, or one of the PyTorch profiler.

    Args:
        path: An `.elktrace` file, or the `.json` or `.json.gz` of one rank that
            `torch.profiler` exported.
        limits: What the file may have at most: `plan_bytes`; None for the default of `elk.Limits`.

    Raises:
        TraceFileError: the file is missing, damaged, or lacks what a trace needs; the message says
            what, and the rule that it breaks.

    Example:
        >>> trace.save("nerf.elktrace")
        >>> elk.load_trace("nerf.elktrace").total_ps == trace.total_ps
        True
    """
    target = Path(path)
    given = "give a file that trace.save or torch.profiler wrote"
    with regular_file(target, "the trace", given, TraceFileError) as file:
        if file.read(len(_ARCHIVE)) == _ARCHIVE:
            file.seek(0)
            return read_trace(file, limits or DEFAULT, str(path))
    from elk.foreign.kineto import KinetoTrace  # noqa: PLC0415 - reads one kind alone

    return KinetoTrace.read(target, limits or DEFAULT)
