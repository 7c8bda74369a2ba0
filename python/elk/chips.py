"""Chips by name, the presets that come with ELK, and chip files: see `elk.chip.presets`."""

from __future__ import annotations

from elk.chip.presets import find, get, load_chip, names, preset_file
from elk.chip.tables import SCHEMA

__all__ = ["SCHEMA", "find", "get", "load_chip", "names", "preset_file"]
