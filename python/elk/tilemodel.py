"""Tile models and their files: see `elk.tile.tilemodel`."""

from __future__ import annotations

from elk.tile.tilemodel import (
    SCHEMA,
    AnalyticModel,
    FamilyRecord,
    FittedModel,
    KernelRecord,
    OpaqueRecord,
    TileModelFileError,
    find_record,
    load_tile_model,
    names,
    read_record,
    write_record,
)

__all__ = [
    "SCHEMA",
    "AnalyticModel",
    "FamilyRecord",
    "FittedModel",
    "KernelRecord",
    "OpaqueRecord",
    "TileModelFileError",
    "find_record",
    "load_tile_model",
    "names",
    "read_record",
    "write_record",
]
