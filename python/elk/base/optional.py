"""Packages that ELK does without unless someone asks for what needs them."""

from __future__ import annotations

from typing import Any

from elk.errors import MissingPackageError


def pandas(instead: str) -> Any:
    """The package pandas, imported when a table is first asked for.

    Args:
        instead: What gives the same rows without it.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise MissingPackageError(
            "tables need pandas, which is not installed",
            remedy=f"pip install 'elk-icca[data]', or take {instead}",
        ) from error
    return pd
