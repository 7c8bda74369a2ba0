"""How the file of a store is opened, beside others who read or write it."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

from elk.errors import SweepStoreError

_BUSY_S: Final = 30.0  # how long a reader or writer waits for the other
_RETRY_S: Final = 0.01


def connect(path: Path) -> sqlite3.Connection:
    """The file of a store: written by a log, or only read where it may not be written."""
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            _log_ahead(connection)
        except sqlite3.OperationalError:
            if os.access(path, os.W_OK):
                raise
            connection.close()
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        raise at_fault(path, "the store cannot be opened", error) from error
    return connection


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Has the file written by a log.

    SQLite does not wait for others here: of two that open a new file together, it refuses one.
    """
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def at_fault(path: Path, what: str, error: sqlite3.Error) -> SweepStoreError:
    """The error for one of SQLite's, which says what cannot be done."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return SweepStoreError(
            "the file is no store", place=str(path), remedy="give a file that elk.sweep wrote"
        )
    return SweepStoreError(
        f"{what}: {error}; all results that were reported as done are kept",
        place=str(path),
        remedy="make room on the disk or give a path that you may change, then resume the sweep",
    )
