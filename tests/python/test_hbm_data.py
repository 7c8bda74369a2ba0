"""The HBM's read time against what two cycle-level memory simulators measured (data/hbm)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import elk
import pytest
from elk import _core

DATA = Path(__file__).parents[2] / "data" / "hbm"
LATENCY_S = 33e-9
REOPEN_S = 40e-9  # rows are closed by a refresh
T_REFI_S = 3.9e-6

# The refresh time of each set, and the shortest request queue that does not limit it.
SETS = {
    "HBM2_8Gb_x128_2Gbps": (260e-9, 32),
    "HBM2_8Gb_2000Mbps": (350e-9, 32),
    "HBM3_16Gb_8hi_6400Mbps": (350e-9, 64),
    "HBM3E-like_9600Mbps_own_scaling": (350e-9, 128),
    "HBM4_32Gb_8Hi_8000Mbps": (450e-9, 128),
}


class Read(NamedTuple):
    """One measured read of a whole stack."""

    config: str
    size_bytes: int
    peak_bytes_per_s: float
    time_s: float


def sequential_reads() -> Iterator[Read]:
    for file in ("dramsim3_hbm2.csv", "ramulator21_hbm.csv"):
        with (DATA / file).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                plain = row["pattern"] == "sequential" and float(row["write_fraction"]) == 0
                tuned = row["mapping"] != "column_first" and row.get("issue_mode") != "in_order"
                _, queue = SETS[row["config"]]
                long_enough = int(row.get("queue_depth") or queue) >= queue
                large = int(row["tensor_bytes"]) >= 65536
                if plain and tuned and row["refresh"] == "allbank" and long_enough and large:
                    yield Read(
                        row["config"],
                        int(row["tensor_bytes"]),
                        float(row["peak_GBps"]) * 1e9,
                        float(row["time_ns"]) * 1e-9,
                    )


def stack(config: str, peak_bytes_per_s: float) -> _core.Chip:
    t_rfc_s, _ = SETS[config]
    return (
        elk.chips.get("ipu-pod4-hbm")
        .replace(
            chips=1,
            modules=1,
            hbm_bytes_per_s=peak_bytes_per_s,
            port_bytes_per_s=peak_bytes_per_s,
            hbm_latency_s=LATENCY_S,
            refresh_interval_s=T_REFI_S,
            refresh_stall_s=t_rfc_s + REOPEN_S,
        )
        .to_core()
    )


def test_reads_of_64_kib_and_more_are_met_within_two_percent() -> None:
    reads = list(sequential_reads())
    assert {read.config for read in reads} == set(SETS)
    for read in reads:
        chip = stack(read.config, read.peak_bytes_per_s)
        took_s = _core.hbm_time(chip, read.size_bytes, True)
        assert took_s == pytest.approx(read.time_s, rel=0.02), read
