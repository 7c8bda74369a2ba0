"""A plan file as text and back: bounded, digested, and held to its schema as it is parsed."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Final,
    NoReturn,
    cast,
    get_args,
    get_origin,
)

from elk.base.regular_file import regular_file
from elk.document.rules import dotted, shown
from elk.document.schema import SCHEMA, PlanDocument
from elk.errors import LimitError, PlanFileError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from elk.limits import Limits

_SHOWN_PROBLEMS: Final = 3
_MOST_UNKNOWN: Final = 1 << 20  # characters of a key that the schema does not know
_SPACES: Final = frozenset(" \t\n\r")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_CHUNK: Final = 1 << 20
_ROWS: Final = 64  # as many as are parsed before they are checked
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^"\[\]{}]+')
_AGAIN: Final = "save the plan again with plan.save(path) or `elk compile -o path`"


def read_text(path: Path, limits: Limits) -> str:
    """The JSON text of a plan file, plain or gzipped.

    Raises:
        PlanFileError: The file is none, cannot be read, is damaged, or larger than the limit
            `plan_bytes`.
    """
    given = "give a file that plan.save wrote"
    with regular_file(path, "the plan", given, PlanFileError) as file:
        return text_of(file, limits, str(path))


def text_of(file: IO[bytes], limits: Limits, place: str) -> str:
    """The JSON text that is in `file`, plain or gzipped.

    Raises:
        PlanFileError: It is damaged, or larger than the limit `plan_bytes`.
    """
    try:
        return _inflated(file, limits).decode()
    except LimitError as error:
        raise PlanFileError(
            error.message, code=error.code, place=place, remedy=error.remedy
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
        raise damaged(place, error) from error


def damaged(place: str, error: Exception) -> PlanFileError:
    """What is said of a file whose parts cannot be told apart."""
    return PlanFileError(
        f"the file is no plan, or a damaged one: {error}", place=place, remedy=_AGAIN
    )


def _inflated(file: IO[bytes], limits: Limits) -> bytes:
    """The bytes of a file, unpacked; no more of them than the limit are ever held."""
    packed = file.peek(2)[:2] == b"\x1f\x8b" if hasattr(file, "peek") else False
    source = cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb")) if packed else file
    chunks, size = [], 0
    while chunk := source.read(_CHUNK):  # A read of the limit at once would take that much memory.
        chunks.append(chunk)
        size += len(chunk)
        limits.check("plan_bytes", size, "the bytes of a plan")
    return b"".join(chunks)


def to_text(document: Mapping[str, Any]) -> str:
    """The document as JSON on one line with its digest, without how long the search took."""
    text = _joined(_bare(document))
    return f'{text[:-1]},"digest":"{_sha256(text)}"}}'


def digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document but for its digest and for how long the search took.

    Of its JSON in UTF-8, without spaces, the keys in the order in which the document has them.
    """
    return _sha256(_joined(_bare(document)))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    search = {key: value for key, value in document["search"].items() if key != "seconds"}
    return {key: value for key, value in document.items() if key != "digest"} | {"search": search}


def _joined(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def parse(text: str) -> PlanDocument:
    """The document of a text, each part of which is held to the schema before the next is parsed.

    Raises:
        PlanFileError: A part breaks the schema: the message names the key, the rule and the value.
        ValueError: The text is no JSON.
        RecursionError: Lists lie too deep in one another.
    """
    document: dict[str, Any] = {}
    for key, value in _Reader(text).parts():
        if key in document:
            raise _twice(key)
        document[key] = value
    if document.get("schema") != SCHEMA:
        raise PlanFileError(
            f"schema must be {SCHEMA!r}, got {document.get('schema')!r}",
            remedy="read it with the version of ELK that wrote it, or compile the model again",
        )
    missing = [key for key in _types() if key not in document and key != "digest"]
    if missing:
        raise PlanFileError(f"{missing[0]}: Field required", remedy=_AGAIN)
    _check_digest(text, document, document.pop("digest", None))
    return cast("PlanDocument", document)


def _check_digest(text: str, document: Mapping[str, Any], found: str | None) -> None:
    if found is None:  # A file of another tool has none.
        return
    end = f',"digest":"{found}"}}'
    if text.endswith(end) and _sha256(text[: -len(end)] + "}") == found:
        return  # The text as `to_text` makes it: its digest is that of the document.
    right = digest(document)
    if found != right:
        raise PlanFileError(
            f"digest: the file says {found!r}, the SHA-256 of its content is {right!r}: it was "
            "changed after it was saved",
            remedy=f"{_AGAIN}; a file without the key `digest` is held to its own rules alone",
        )


class _Reader:
    """Walks the outermost table of a text, and the lists of rows in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._scan = json.JSONDecoder(
            object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite
        ).raw_decode

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Keys and values; the value of a key that holds rows is made of rows that were checked."""
        at = self._expect(self._after(0), "{")
        first = True
        while self._text[at : at + 1] != "}":
            at = at if first else self._expect(at, ",")
            key, at = self._scan(self._text, at)
            if not isinstance(key, str):
                raise ValueError("a key must be a text")
            at = self._expect(self._after(at), ":")
            value, at = self._value(key, at)
            yield key, value
            at, first = self._after(at), False
        if self._after(at + 1) != len(self._text):
            raise ValueError("more follows the plan")

    def _value(self, key: str, at: int) -> tuple[Any, int]:
        kind = _kinds().get(key)
        if kind is None:
            self._bound(key, at)
            return self._scan(self._text, at)
        if get_origin(_types()[key]) is list and self._text[at : at + 1] == "[":
            return self._list(key, kind, at)
        value, at = self._scan(self._text, at)
        _hold(kind, value, (key,))
        return value, at

    def _list(self, key: str, rows: TypeAdapter[Any], at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at, held = self._after(at + 1), 0
        while self._text[at : at + 1] != "]":
            at = self._expect(at, ",") if found else at
            value, at = self._scan(self._text, at)
            found.append(value)
            at = self._after(at)
            if len(found) - held == _ROWS:
                _hold(rows, found[held:], (key,), held)
                held = len(found)
        _hold(rows, found[held:], (key,), held)
        return found, at + 1

    def _bound(self, key: str, at: int) -> None:
        """Refuses to parse what may be of any size and has no schema."""
        depth, end = 0, at
        for token in _TOKEN.finditer(self._text, at):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
            end = token.end()
            if depth <= 0:
                break
            if end - at > _MOST_UNKNOWN:
                raise PlanFileError(
                    f"{key}: a key that schema {SCHEMA} does not know may have at most "
                    f"{_MOST_UNKNOWN:,} characters",
                    remedy="leave it out",
                )

    def _after(self, at: int) -> int:
        if self._text[at : at + 1] not in _SPACES:
            return at
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _expect(self, at: int, mark: str) -> int:
        if self._text[at : at + 1] != mark:
            raise ValueError(f"expecting {mark!r} at character {at}")
        return self._after(at + 1)


@functools.cache
def _types() -> dict[str, Any]:
    """The types of the outermost keys."""
    from typing_extensions import get_type_hints  # noqa: PLC0415 - reading alone needs it

    hints = get_type_hints(PlanDocument, include_extras=True)
    return {
        key: get_args(kind)[0] if key == "digest" else kind  # What alone may be missing.
        for key, kind in hints.items()
    }


@functools.cache
def _kinds() -> dict[str, TypeAdapter[Any]]:
    """How to check the value of each outermost key."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import

    return {key: TypeAdapter(kind) for key, kind in _types().items()}


def _hold(
    kind: TypeAdapter[Any], value: Any, path: tuple[str | int, ...], first: int | None = None
) -> None:
    """Refuses a value that is not of a kind, or rows from number `first` on of which one is not.

    Nothing is taken for what it is not: a text that reads as a number is none.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    try:
        kind.validate_python(value, strict=True)
    except ValidationError as error:
        found = []
        for problem in error.errors(include_url=False)[:_SHOWN_PROBLEMS]:
            where = problem["loc"]
            if first is not None and where and isinstance(where[0], int):
                where = (first + where[0], *where[1:])
            found.append(
                f"{dotted((*path, *where))}: {problem['msg']}, got {shown(problem['input'])}"
            )
        raise PlanFileError("; ".join(found), remedy=_AGAIN) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _twice(max(Counter(key for key, _ in pairs).items(), key=itemgetter(1))[0])
    return found


def _twice(key: str) -> PlanFileError:
    return PlanFileError(f"{key}: the key is given twice", remedy="keep one of them")


def _refuse(constant: str) -> NoReturn:
    raise PlanFileError(f"a plan holds finite numbers only, got {constant}", remedy=_AGAIN)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse(text)
    return value
