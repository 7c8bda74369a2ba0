"""The one place that writes files: a reader sees the old file or the whole new one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from elk.errors import ElkError, OutputFileError

if TYPE_CHECKING:
    from typing import BinaryIO

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_STANDARD: Final = (1, 2)  # the descriptors of standard output and standard error


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], what: str = "the file", error: type[ElkError] = OutputFileError
) -> Iterator[BinaryIO]:
    """A binary file that takes the place of the one at `path` when the block ends.

    The bytes go to a file of another name in the same folder, are brought to disk, and the file
    is renamed. If anything fails, the old file stays as it was and the new one is removed. The
    old file's mode stays, a new one's is the usual one; what a symbolic link points to is
    replaced, not the link. What is no regular file, such as a pipe, is written straight.

    Args:
        path: Where the file is to be.
        what: What is written, as the subject of a sentence.
        error: What is raised.

    Raises:
        ElkError: `error`: the file cannot be written; the message says why.

    Example:
        >>> with replacing("letters.txt") as file:
        ...     _ = file.write(b"abc")
    """
    try:
        with _opened(path) as file:
            yield file
    except BrokenPipeError:  # Whoever reads a pipe has read enough: no fault of the file.
        raise
    except OSError as found:
        raise error(
            f"{what} cannot be written: {found.strerror or found}",
            place=os.fspath(path),
            remedy=_remedy(found),
        ) from found


def write_bytes(
    path: str | os.PathLike[str],
    data: bytes,
    what: str = "the file",
    error: type[ElkError] = OutputFileError,
) -> None:
    """Writes `data`, as `replacing` does."""
    with replacing(path, what, error) as file:
        file.write(data)


def write_text(
    path: str | os.PathLike[str],
    text: str,
    what: str = "the file",
    error: type[ElkError] = OutputFileError,
) -> None:
    """Writes `text` in UTF-8, as `replacing` does."""
    write_bytes(path, text.encode(), what, error)


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Within, no other process has the lock at `path`, a file that holds who has it.

    The lock goes with the process, however that ends.

    Raises:
        OSError: the file cannot be written.
        BlockingIOError: another process has the lock; its number is the error's text.
    """
    with open(path, "a+", encoding="ascii") as file:  # noqa: PTH123 - as `Path.open`, here alone
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as found:
            file.seek(0)
            raise BlockingIOError(found.errno, file.read().strip() or "unknown") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    old = _status(path)
    if old is None or stat.S_ISREG(old.st_mode):
        stream = None if old is None else _stream(old)
        opened = _beside(path, old) if stream is None else _straight(stream)
    else:
        opened = _straight(path)
    with opened as file:
        yield file


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What is at `path`, links followed."""
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None
    except ValueError as found:  # A path with a zero byte, or with text that no name can have.
        raise OSError(errno.EINVAL, str(found)) from found


def _stream(old: os.stat_result) -> int | None:
    """A descriptor of its own of the standard stream that goes to this file, if one does."""
    for descriptor in _STANDARD:
        with contextlib.suppress(OSError):
            if os.path.samestat(old, os.fstat(descriptor)):
                return os.dup(descriptor)
    return None


@contextlib.contextmanager
def _straight(place: str | os.PathLike[str] | int) -> Iterator[BinaryIO]:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with open(place, "wb") as file:  # noqa: PTH123 - also descriptors
        yield file


@contextlib.contextmanager
def _beside(path: str | os.PathLike[str], old: os.stat_result | None) -> Iterator[BinaryIO]:
    """A new file in the folder of `path`, which takes its place when the block ends well."""
    target = Path(os.path.realpath(path))
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    part = target.with_name(f".elk-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            _inherit(file, old)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _inherit(file: IO[bytes], old: os.stat_result | None) -> None:
    """Gives the new file the owner, where that is allowed, and the mode of the old one."""
    if old is None:
        return
    new = os.fstat(file.fileno())
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def _sync(folder: Path) -> None:
    """Brings a rename to disk; not every file system does that of folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remedy(found: OSError) -> str:
    if found.errno in _FULL:
        return "make room on the disk, or write elsewhere; an old file is left as it was"
    if found.errno in _REFUSED:
        return "write to a file and a folder that you may change"
    if found.errno == errno.ENOENT:
        return "make its folder first"
    return "check the path"
