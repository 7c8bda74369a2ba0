"""Chips that are small enough to plan and to run in a moment."""

from __future__ import annotations

from typing import Any

import elk


def tiny_pod(chips: int = 4, **changes: Any) -> elk.Chip:
    """Chips of 64 cores, with slow HBM: it pays to read every weight once."""
    tiny = elk.chips.get("tiny")
    between = {
        "bytes_per_s": 20e9,
        "latency_s": 100e-9,
        "sync_latency_s": 100e-9,
        "port_cores": 64,
        "topology": "all_to_all",
    }
    pod = {**tiny.to_dict(), "chips": chips, "inter_chip": between}
    return elk.Chip.from_dict(pod).replace(name="tiny-pod", **changes)


def bare(sram: str | int, **changes: Any) -> elk.Chip:
    """The tiny chip without HBM, on which a model lives in SRAM."""
    return elk.chips.get("tiny").replace(hbm=None, sram_bytes=sram, **changes)
