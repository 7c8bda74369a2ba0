"""Chips by name: the presets that come with ELK, and chip files."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

from elk.chip.check import ChipError, complaints_about_bare_numbers, nearest
from elk.chip.chip import Chip
from elk.chip.documents import Document, read_document
from elk.chip.tables import SCHEMA
from elk.errors import InvalidInputError

_PRESETS = Path(__file__).parents[1] / "data" / "chips"


def names() -> list[str]:
    """The presets, in alphabetical order.

    Example:
        >>> "tiny" in elk.chips.names()
        True
    """
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def get(name: str) -> Chip:
    """The preset `name`.

    Example:
        >>> elk.chips.get("ipu-pod4-hbm").total_cores
        5888

    Raises:
        InvalidInputError: There is no such preset; the message lists those that there are.
    """
    return load_chip(preset_file(name))


def preset_file(name: str) -> Path:
    """The chip file of the preset `name`.

    Raises:
        InvalidInputError: There is no such preset; the message lists those that there are.
    """
    known = names()
    if name not in known:
        raise InvalidInputError(
            f"no chip is called {name!r}; there are {', '.join(known)}",
            code="unknown_name",
            remedy=nearest(str(name), known),
        )
    return _PRESETS / f"{name}.toml"


def load_chip(path: str | PathLike[str]) -> Chip:
    """The chip that a TOML, YAML or JSON file of schema "elk.chip/1" describes.

    Every quantity in the file has a unit: `sram_bytes = "624 KiB"`. The keys are those of
    `Chip.to_dict`, and `[confidence]`, which lists the fields to be careful with. A tile model that
    is a file, `tile_model = "mine.json"`, lies where the chip file says, seen from its folder.

    Example:
        >>> elk.load_chip("mine.toml")
        Chip('mine': 64 cores, 64 KiB SRAM each, all_to_all at 4 GB/s, HBM 64 GB/s in all)

    Raises:
        ChipFileError: The file cannot be read, or describes no possible chip; the message names
            file, line and field.
    """
    document = read_document(Path(fspath(path)))
    tables = document.tables(SCHEMA)
    _find_tile_model(document, tables)
    bare = list(complaints_about_bare_numbers(tables, Chip))
    try:
        chip = Chip.from_dict(tables)
    except ChipError as error:
        paths = {complaint.path for complaint in bare}
        others = [complaint for complaint in error.complaints if complaint.path not in paths]
        raise document.error([*bare, *others]) from None
    if bare:
        raise document.error(bare)
    return chip


def find(chip: Chip | str | PathLike[str]) -> Chip:
    """`chip` itself, or the preset or the file that it names.

    Example:
        >>> elk.chips.find("tiny") == elk.chips.get("tiny")
        True

    Raises:
        InvalidInputError: It is neither a preset nor a file that describes a chip.
    """
    if isinstance(chip, Chip):
        return chip
    if not isinstance(chip, str | PathLike):
        raise InvalidInputError(
            f"a chip must be a preset, a chip file or an elk.Chip, got {type(chip).__name__}",
            place="chip",
            remedy='write it as in "ipu-pod4-hbm"; elk.chips.names() lists the presets',
        )
    text = fspath(chip)
    if isinstance(chip, str) and text in names():
        return get(text)
    if Path(text).suffix or "/" in text or Path(text).exists():
        return load_chip(text)
    return get(text)


def _find_tile_model(document: Document, tables: dict[str, Any]) -> None:
    """Makes the name of a file that holds the tile model one that the caller can open."""
    core = tables.get("core")
    if not isinstance(core, dict):
        return
    model = core.get("tile_model")
    if isinstance(model, str) and model.endswith(".json"):
        tables["core"] = {**core, "tile_model": str(document.path.parent / model)}
