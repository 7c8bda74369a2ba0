"""Regular files, opened to be read; what is wrong with a path is said with a typed error."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from elk.errors import InvalidInputError


@contextmanager
def regular_file(
    path: Path, what: str, remedy: str, error: type[InvalidInputError]
) -> Iterator[BinaryIO]:
    """A regular file, open to be read.

    Args:
        path: Where it lies.
        what: What it is to be, as the subject of a sentence.
        remedy: What to give instead of something that is no regular file.
        error: What is raised, with the path as its place.

    Raises:
        InvalidInputError: of kind `error`: there is no such file, or it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise error(
                f"{what} cannot be read: it is no regular file", place=str(path), remedy=remedy
            )
        with path.open("rb") as file:
            yield file
    except (OSError, ValueError) as cause:  # ValueError: a path with a zero byte.
        if isinstance(cause, error):
            raise
        raise error(
            f"{what} cannot be read: {getattr(cause, 'strerror', None) or cause}",
            place=str(path),
            remedy="check the path",
        ) from cause
