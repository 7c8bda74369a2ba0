"""The rows of data/chips.csv beside the presets that ship for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import elk

_ROWS = Path(__file__).parents[2] / "data" / "chips.csv"


class Column(NamedTuple):
    """A column of the table, the field that holds it, and its unit in SI."""

    name: str
    field: str
    unit: float


COLUMNS = (
    Column("chips", "chips", 1),
    Column("cores", "core.cores", 1),
    Column("clock_ghz", "core.clock_hz", 1e9),
    Column("sram_kib_per_core", "core.sram_bytes", 1024),
    Column("sram_gbs_core", "core.sram_bytes_per_s", 1e9),
    Column("noc_link_gbs", "interconnect.link_bytes_per_s", 1e9),
    Column("noc_hop_ns", "interconnect.hop_latency_s", 1e-9),
    Column("noc_base_ns", "interconnect.sync_latency_s", 1e-9),
    Column("dram_gbs_chip", "hbm.bytes_per_s", 1e9),
    Column("dram_gb_chip", "hbm.capacity_bytes", 1e9),
    Column("dram_latency_ns", "hbm.latency_s", 1e-9),
    Column("c2c_gbs_chip", "inter_chip.bytes_per_s", 1e9),
    Column("host_gbs", "host.bytes_per_s", 1e9),
)


def rows() -> dict[str, dict[str, str]]:
    """The rows of the table by their id."""
    with _ROWS.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def presets() -> Iterator[tuple[dict[str, str], elk.Chip]]:
    """Each row that has a preset of its own, with it."""
    known = elk.chips.names()
    for key, row in rows().items():
        name = key.replace("_", "-")
        if name in known:
            yield row, elk.chips.get(name)
