"""How much of a Pareto front `elk.search` finds in a third of a space, against even samples.

Every space is small enough to be planned whole. Prints, as means over seeds, the part of the
front's different results that is found, and the part of the hypervolume below it.

Usage: python benchmarks/tables/search_table.py
"""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
from elk.sweeps.analysis.pareto import front_of, hypervolume
from elk.sweeps.analysis.selection import Row

ENERGY = {
    "pj_per_flop": 0.5,
    "pj_per_sram_byte": 1.0,
    "pj_per_link_byte_hop": 2.0,
    "pj_per_hbm_byte": 30.0,
    "pj_per_inter_chip_byte": 50.0,
    "static_w": 0.5,
}
SPACES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "clock, links, HBM": (
        {
            "clock_hz": [0.5e9, 0.75e9, 1e9, 1.25e9, 1.5e9],
            "link_bytes_per_s": elk.logspace("1 GB/s", "16 GB/s", 5),
            "hbm_bandwidth": elk.logspace("4 GB/s", "64 GB/s", 5),
        },
        ("latency_s", "link_bytes_per_s"),
    ),
    "cores, HBM, policy": (
        {
            "cores": [8, 16, 24, 32, 48, 64, 96, 128],
            "hbm_bandwidth": elk.logspace("2 GB/s", "128 GB/s", 8),
            "policy": ["basic", "static", "elk-dyn"],
        },
        ("latency_s", "cores"),
    ),
    "cores, SRAM, links": (
        {
            "cores": [16, 32, 48, 64, 96, 128],
            "sram": ["24 KiB", "32 KiB", "64 KiB", "128 KiB"],
            "link_bytes_per_s": elk.logspace("1 GB/s", "16 GB/s", 6),
        },
        ("latency_s", "energy_j"),
    ),
    "cores, links, three aims": (
        {
            "cores": [8, 16, 24, 32, 48, 64, 96, 128],
            "link_bytes_per_s": elk.logspace("1 GB/s", "16 GB/s", 8),
            "policy": ["basic", "static"],
        },
        ("latency_s", "cores", "link_bytes_per_s"),
    ),
}
SEEDS = 4


def vectors(rows: list[Row], objectives: tuple[str, ...]) -> np.ndarray:
    return np.array([[row[name] for name in objectives] for row in rows if row["latency_s"]])


def parts(found: np.ndarray, whole: np.ndarray) -> tuple[float, float]:
    front = {tuple(row) for row in whole[front_of(whole)]}
    logs = np.log(whole)
    corner = (logs.max(axis=0) + 1e-9).tolist()
    share = hypervolume(np.log(found), corner) / hypervolume(logs, corner)
    return len(front & {tuple(row) for row in found}) / len(front), share


def main() -> None:
    chip = elk.chips.get("tiny").replace(energy=ENERGY)
    print(f"{'space':<26}{'points':>7}{'front':>6}{'third':>6}{'search':>16}{'even sample':>16}")
    for name, (space, objectives) in SPACES.items():
        how: dict[str, Any] = {"bindings": {"rows": 512}, "workers": 0, "progress": False}
        how |= {} if "policy" in space else {"policy": "static"}
        rows = elk.sweep("models/nerf.onnx", chip, space, **how).rows()
        whole = vectors(rows, objectives)
        third = len(rows) // 3
        results = []
        for seed in range(SEEDS):
            found = elk.search(
                "models/nerf.onnx",
                chip,
                space,
                points=third,
                objectives=objectives,
                seed=seed,
                **how,
            )
            drawn = np.random.default_rng(seed).permutation(len(rows))[:third]
            results.append(
                [
                    *parts(vectors(found.rows(), objectives), whole),
                    *parts(vectors([rows[i] for i in drawn], objectives), whole),
                ]
            )
        told = 100 * np.mean(results, axis=0)
        size = len({tuple(row) for row in whole[front_of(whole)]})
        print(
            f"{name:<26}{len(rows):>7}{size:>6}{third:>6}"
            f"{told[0]:>7.1f} %{told[1]:>6.2f} %{told[2]:>7.1f} %{told[3]:>6.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
