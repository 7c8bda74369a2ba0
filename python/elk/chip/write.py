"""Chip files as text: TOML, YAML or JSON, every quantity with its unit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elk.base import atomic_file
from elk.errors import ChipFileError


def as_toml(tables: dict[str, Any]) -> str:
    """The text of a TOML file.

    Example:
        >>> print(as_toml({"name": "x", "host": {"bytes_per_s": "1 GB/s"}}), end="")
        name = "x"
        <BLANKLINE>
        [host]
        bytes_per_s = "1 GB/s"
    """
    lines = []
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]"]
            lines += [f"{name} = {_toml_value(leaf)}" for name, leaf in value.items()]
        else:
            lines.append(f"{key} = {_toml_value(value)}")
    return "\n".join([*lines, ""])


def as_yaml(tables: dict[str, Any]) -> str:
    """The text of a YAML file."""
    import yaml  # noqa: PLC0415 - `import elk` stays small

    return yaml.safe_dump(tables, sort_keys=False, allow_unicode=False, width=100)


def as_json(tables: dict[str, Any]) -> str:
    """The text of a JSON file."""
    return json.dumps(tables, indent=2) + "\n"


_WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    ".toml": as_toml,
    ".yaml": as_yaml,
    ".yml": as_yaml,
    ".json": as_json,
}


def write_tables(tables: dict[str, Any], path: Path) -> None:
    """Writes the tables of a chip to `path`, in the format of its suffix.

    Raises:
        ChipFileError: The suffix names no format, or the file cannot be written.
    """
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ChipFileError(
            f"the name of a chip file ends in .toml, .yaml, .yml or .json, not in {path.suffix!r}",
            place=str(path),
            remedy="name the file by the format that you want",
        )
    tile_model = tables["core"]["tile_model"]
    if tile_model.endswith(".json"):  # a file of the caller's, none that ships with ELK
        core = {**tables["core"], "tile_model": os.path.relpath(tile_model, path.parent)}
        tables = {**tables, "core": core}
    atomic_file.write_text(path, writer(tables), "the chip", ChipFileError)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return str(value)


def _toml_text(text: str) -> str:
    """`text` as a basic string; what cannot be printed as its code."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in quoted) + '"'
