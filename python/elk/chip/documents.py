"""TOML, YAML and JSON files, read with the line of every key. No path leads from them to code."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from elk.chip.check import FieldComplaint, first
from elk.errors import ChipFileError, InvalidInputError

MOST_BYTES = 1 << 16
_SHOWN_REMEDIES = 10
_DEEPEST = 32  # tables within tables

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What files are for.

    Attributes:
        noun: What such a file is called in messages.
        error: What is raised about one.
        begin: What to write in an empty one.
    """

    noun: str
    error: type[InvalidInputError]
    begin: str


CHIP_FILE = FileKind(
    noun="chip file", error=ChipFileError, begin='begin with schema = "elk.chip/1"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed file.

    Attributes:
        path: The file.
        data: What it holds.
        lines: The line of each key, by its path; tables in an array are keys "0", "1" and so on.
        kind: What it is for.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    kind: FileKind = CHIP_FILE

    def place(self, path: KeyPath) -> str:
        """File and line of the key at `path`, or of the table that should hold it."""
        return f"{self.path}:{self.line(path)}"

    def line(self, path: KeyPath) -> int:
        """The line of the key at `path`, or of the table that should hold it."""
        known = (self.lines.get(path[:length]) for length in range(len(path), 0, -1))
        return next((line for line in known if line), 1)

    def tables(self, schema: str) -> dict[str, Any]:
        """What the file holds besides its schema.

        Raises:
            InvalidInputError: `kind.error`: the file is of another schema than this one.
        """
        tables = dict(self.data)
        given = tables.pop("schema", None)
        if given == schema:
            return tables
        found = "is missing" if given is None else f"must be {schema!r}, got {given!r}"
        raise self.kind.error(
            f"schema {found}",
            place=self.place(("schema",)),
            remedy=f'write schema = "{schema}" first',
        )

    def error(self, complaints: list[FieldComplaint]) -> InvalidInputError:
        """What is wrong in the file, in the order of its lines."""
        ordered = sorted(complaints, key=lambda complaint: self.line(complaint.path))
        place = self.place(ordered[0].path)
        if len(ordered) == 1:
            return self.kind.error(str(ordered[0]), place=place, remedy=ordered[0].remedy)
        lines = [f"  {self.place(complaint.path)}: {complaint}" for complaint in ordered]
        remedies = list(dict.fromkeys(c.remedy for c in ordered if c.remedy))
        return self.kind.error(
            "\n".join([f"{len(lines)} fields are wrong:", *first(lines)]),
            place=place,
            remedy="; ".join(remedies[:_SHOWN_REMEDIES]) or None,
        )


def read_document(path: Path, kind: FileKind = CHIP_FILE) -> Document:
    """The contents of a TOML, YAML or JSON file of at most 64 KiB.

    Raises:
        InvalidInputError: `kind.error`: the file cannot be read, is not text, or breaks the rules
            of its format. YAML aliases and duplicate keys are refused.
    """
    readers = {".toml": _read_toml, ".yaml": _read_yaml, ".yml": _read_yaml, ".json": _read_json}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise kind.error(
            f"the name of a {kind.noun} ends in {', '.join(readers)}, not in {path.suffix!r}",
            place=str(path),
            remedy="rename the file by what it holds",
        )
    text = _text(path, kind)
    try:
        data, lines = reader(text)
    except _SyntaxError as error:
        raise kind.error(str(error), place=f"{path}:{error.line}", remedy=error.remedy) from None
    except RecursionError:
        raise kind.error(
            "tables lie too deep in one another", place=f"{path}:1", remedy="use flat tables"
        ) from None
    if not isinstance(data, dict):
        raise kind.error("the file must hold a table of keys", place=f"{path}:1", remedy=kind.begin)
    return Document(path=path, data=data, lines=lines, kind=kind)


class _SyntaxError(Exception):
    def __init__(self, message: str, line: int, remedy: str) -> None:
        super().__init__(message)
        self.line = line
        self.remedy = remedy


def _duplicate(path: KeyPath, line: int) -> _SyntaxError:
    return _SyntaxError(f"{'.'.join(path)} is given twice", line, "keep one of them")


def _text(path: Path, kind: FileKind) -> str:
    place = str(path)
    try:
        if not path.is_file():
            problem = "it is not a file" if path.exists() else "it does not exist"
            raise FileNotFoundError(0, problem)
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte.
        reason = getattr(error, "strerror", None) or str(error)
        raise kind.error(
            f"the file cannot be read: {reason}", place=place, remedy="check the path"
        ) from None
    if len(content) > MOST_BYTES:
        raise kind.error(
            "the file must have at most 64 KiB, and has more",
            place=place,
            remedy=f"a {kind.noun} is a page long: check it",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise kind.error(
            f"the file is not text: byte {content[error.start]:#04x} is no UTF-8",
            place=f"{place}:{line}",
            remedy="save it as UTF-8 text",
        ) from None


def _read_toml(text: str) -> tuple[Any, dict[KeyPath, int]]:
    for number, row in enumerate(text.splitlines(), start=1):
        parts = _TOML_ENDS.split("".join(row.split()))
        if max(part.count(".") for part in parts) > _DEEPEST:
            raise _SyntaxError("a key has too many parts", number, "use flat tables")
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        message = re.sub(r" \(at .*\)", "", str(error))
        remedy = "write TOML: one key = value a line; texts in quotes, each key once"
        raise _SyntaxError(f"this is not TOML: {message}", line, remedy) from None
    return data, dict(_toml_lines(text))


_BARE = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_TOML_KEY = re.compile(rf"\s*({_BARE}(?:\s*\.\s*{_BARE})*)\s*=")
_TOML_TABLE = re.compile(rf"\s*\[\[?\s*({_BARE}(?:\s*\.\s*{_BARE})*)\s*\]")
_TOML_ENDS = re.compile(r"[=,{}\[\]#]")  # What no key goes on behind.
_TOML_INNER = re.compile(rf"[{{,]\s*({_BARE})\s*=")


def _toml_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """The keys of a valid TOML text and their lines, as a reader finds them."""
    table: KeyPath = ()
    counts: Counter[KeyPath] = Counter()
    quote = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if header := _TOML_TABLE.match(line):
            table = _toml_path(header[1])
            yield table, number
            if line.lstrip().startswith("[["):
                counts[table] += 1
                table = (*table, str(counts[table] - 1))
                yield table, number
        elif key := _TOML_KEY.match(line):
            path = (*table, *_toml_path(key[1]))
            yield path, number
            for inner in _TOML_INNER.finditer(line, key.end()):
                yield (*path, *_toml_path(inner[1])), number
        quote = next((q for q in ('"""', "'''") if line.count(q) % 2), "")


def _toml_path(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_BARE, dotted))


class _Loader(yaml.SafeLoader):
    """A loader of plain YAML: no aliases, no duplicate keys, no depth without end."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            line = self.current_event.start_mark.line + 1
            raise _SyntaxError("YAML aliases are not read", line, "write the value out")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RecursionError
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _read_yaml(text: str) -> tuple[Any, dict[KeyPath, int]]:
    lines: dict[KeyPath, int] = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return {}, lines
            _yaml_lines(node, (), lines)
            return loader.construct_document(node), lines
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark else 1
        raise _SyntaxError(
            f"this is not YAML: {problem}", line, "write YAML: key: value, texts in quotes"
        ) from None
    except ValueError as error:  # A scalar that only looks like a date or a number.
        raise _SyntaxError(f"this is not YAML: {error}", 1, "put texts in quotes") from None


def _yaml_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.tag != "tag:yaml.org,2002:str":
            raise _SyntaxError("a key must be a plain text", line, "name one of the keys")
        inner = (*path, key.value)
        if inner in lines:
            raise _duplicate(inner, line)
        lines[inner] = line
        _yaml_lines(value, inner, lines)


_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\]:,\n]')


def _read_json(text: str) -> tuple[Any, dict[KeyPath, int]]:
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        remedy = "write JSON: keys and texts in double quotes, no comments"
        raise _SyntaxError(f"this is not JSON: {error.msg}", error.lineno, remedy) from None
    except ValueError as error:
        raise _SyntaxError(f"this is not JSON: {error}", 1, "write finite numbers") from None
    return data, _json_lines(text)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _json_lines(text: str) -> dict[KeyPath, int]:
    """The keys of a valid JSON text and their lines; refuses one that is given twice."""
    lines: dict[KeyPath, int] = {}
    frames: list[str | int] = []  # The key, or the index, at which each open bracket stands.
    line, before = 1, ""
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
            continue
        if token in "{[":
            frames.append("" if token == "{" else 0)
        elif token in "}]":
            frames.pop()
        elif token == "," and isinstance(frames[-1], int):
            frames[-1] += 1
        elif token == ":":
            frames[-1] = json.loads(before)
            path = tuple(map(str, frames))
            if path in lines:
                raise _duplicate(path, line)
            lines[path] = line
        before = token
    return lines
