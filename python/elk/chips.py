"""Chips by name, the presets that come with ELK, and chip files: see `elk.chip.presets`."""

from __future__ import annotations

from elk.chip.presets import SCHEMA, find, get, load_chip, names, preset_file

__all__ = ["SCHEMA", "find", "get", "load_chip", "names", "preset_file"]
