"""Chip files as text: TOML, YAML or JSON, every quantity with its unit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elk.base import atomic_file, quantity
from elk.chip.check import unit_of
from elk.chip.chip import Chip
from elk.chip.presets import SCHEMA
from elk.errors import ChipFileError


def tables_of(chip: Chip) -> dict[str, Any]:
    """What a file says of `chip`: all keys, quantities as texts that read back exactly."""
    tables: dict[str, Any] = {"schema": SCHEMA}
    for key, value in chip.to_dict().items():
        inner = isinstance(value, dict)
        tables[key] = (
            {name: _written(leaf, (key, name)) for name, leaf in value.items()} if inner else value
        )
    if chip.streaming:
        tables = (
            {key: tables[key] for key in ("schema", "name")}
            | {"streaming": chip.streaming}
            | tables
        )
    if chip.published:
        totals = chip.published.model_dump(mode="json", exclude_none=True)
        tables["published"] = {
            name: _written(total, ("published", name)) for name, total in totals.items()
        }
    if chip.confidence:
        marks = chip.confidence.model_dump(mode="json")
        tables["confidence"] = {level: names for level, names in marks.items() if names}
    return tables


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


def write_chip(chip: Chip, path: Path) -> None:
    """Writes `chip` to `path`, in the format of its suffix.

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
    tables = tables_of(chip)
    if _is_file_name(chip.core.tile_model):
        tables["core"]["tile_model"] = os.path.relpath(chip.core.tile_model, path.parent)
    atomic_file.write_text(path, writer(tables), "the chip", ChipFileError)


def _is_file_name(tile_model: str) -> bool:
    """Whether a chip's tile model is a file, not one that ships with ELK."""
    return tile_model.endswith(".json")


def _written(value: Any, path: tuple[str, ...]) -> Any:
    unit = unit_of(Chip, path)
    return quantity.show_exactly(value, unit) if unit else value


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
