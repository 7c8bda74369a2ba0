"""How far the shares of `Sweep.sensitivity` are off on few points: against SALib's RBD-FAST.

The truth is the exact decomposition of the variance over a whole product of 1,536 points of NeRF;
samples are drawn from it. Prints, for each size of sample, the mean over samples of the largest
error of a first-order index.

Usage: python benchmarks/tables/sensitivity_table.py
"""

from __future__ import annotations

from typing import Any

import elk
import numpy as np
from elk.sweeps.analysis.selection import Row
from elk.sweeps.analysis.sensitivity import sensitivity
from SALib.analyze import rbd_fast

AXES = {
    "cores": [8, 16, 24, 32, 48, 64, 96, 128],
    "hbm_bandwidth": elk.logspace("2 GB/s", "128 GB/s", 8),
    "link_bytes_per_s": elk.logspace("0.5 GB/s", "16 GB/s", 8),
    "policy": ["basic", "static", "elk-dyn"],
}
SIZES = (32, 64, 128, 256)
SAMPLES = 20


class Part:
    """Some points of a sweep."""

    def __init__(self, sweep: elk.Sweep, rows: list[Row]) -> None:
        self.axes, self.fixed, self.is_real = sweep.axes, sweep.fixed, sweep.is_real
        self._rows = rows

    def rows(self) -> list[Row]:
        return self._rows


def truth(rows: list[Row], axes: list[str]) -> dict[str, float]:
    table = np.log([row["latency_s"] for row in rows]).reshape([len(AXES[a]) for a in axes])
    found = {}
    for i, axis in enumerate(axes):
        others = tuple(j for j in range(len(axes)) if j != i)
        found[axis] = float(table.mean(axis=others).var() / table.var())
    return found


def by_surface(part: Part) -> dict[str, float]:
    return {share.axis: share.alone for share in sensitivity(part, "latency_s", None).shares}


def by_rbd_fast(part: Part) -> dict[str, float]:
    words: dict[Any, float] = {name: float(i) for i, name in enumerate(AXES["policy"])}
    inputs = np.array(
        [[words.get(row[a], row[a]) for a in part.axes] for row in part.rows()], dtype=float
    )
    problem = {
        "num_vars": len(part.axes),
        "names": part.axes,
        "bounds": [[low, high] for low, high in zip(inputs.min(0), inputs.max(0), strict=True)],
    }
    result = np.log([row["latency_s"] for row in part.rows()])
    harmonics = min(10, (len(result) - 1) // 16)
    shares = rbd_fast.analyze(problem, inputs, result, M=harmonics, num_resamples=2, seed=1)["S1"]
    return dict(zip(part.axes, map(float, shares), strict=True))


def main() -> None:
    sweep = elk.sweep(
        "models/nerf.onnx", "tiny", AXES, bindings={"rows": 256}, workers=1, progress=False
    )
    rows = sweep.rows()
    wanted = truth(rows, sweep.axes)
    print("truth: " + ", ".join(f"{axis} {100 * part:.1f} %" for axis, part in wanted.items()))
    print(f"{'points':>8}{'surface':>10}{'RBD-FAST':>10}   largest error of a share")
    for size in SIZES:
        errors = []
        for seed in range(SAMPLES):
            drawn = np.random.default_rng(seed).choice(len(rows), size, replace=False)
            part = Part(sweep, [rows[i] for i in sorted(drawn)])
            pair = [by_surface(part), by_rbd_fast(part)]
            errors.append([max(abs(one[a] - wanted[a]) for a in wanted) for one in pair])
        surface, rbd = 100 * np.mean(errors, axis=0)
        print(f"{size:>8}{surface:>8.1f} %{rbd:>8.1f} %")


if __name__ == "__main__":
    main()
