"""Writes trace files: columns and a header in JSON, as one compressed archive."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk import _core
from elk.base import atomic_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from elk.analyze.accessed import Accessed
    from elk.analyze.played_instructions import PlayedInstructions
    from elk.analyze.trace_facts import TraceFacts

SCHEMA: Final = "elk.trace/1"
HEADER: Final = "header"
LIST: Final = "list_"
ROWS, ACCESSES = "rows", "accesses"  # of anybody's accelerator


def write_machine_trace(given: PlayedInstructions, speeds: Mapping[str, float], path: Path) -> None:
    """Writes the trace of anybody's accelerator, as `write_trace` that of a plan.

    Raises:
        OutputFileError: the file cannot be written.
    """
    header = {
        "schema": SCHEMA,
        "elk_version": _core.__version__,
        "machine": given.name,
        "memories": given.memories,
        "rates": given.rates,
        "sizes": given.sizes,
        "latency_ps": given.latency_ps,
        "units": [*given.units],
        "names": given.names,
        "speeds": speeds,
    }
    columns = {ROWS: given.rows, ACCESSES: given.accesses}
    _write(header, {name: np.frombuffer(c, np.int64) for name, c in columns.items()}, path)


def _write(header: Mapping[str, Any], columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    text = json.dumps(header, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    file = io.BytesIO()
    named = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **columns}
    np.savez_compressed(file, allow_pickle=False, **named)
    atomic_file.write_bytes(path, file.getvalue(), "the trace")


def write_trace(
    recording: _core.Recording, accessed: Accessed, facts: TraceFacts, path: Path
) -> None:
    """Writes a trace; a reader sees the old file or the whole new one.

    Raises:
        OutputFileError: the file cannot be written.
    """
    header = {"schema": SCHEMA, "elk_version": _core.__version__, **asdict(facts)}
    header["memories"] = accessed.memories
    lists = {f"{LIST}{name}": column for name, column in accessed.lists.items()}
    _write(header, {**recording.columns(), **lists}, path)
