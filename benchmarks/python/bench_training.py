"""How long ELK takes to plan and simulate training, in CPU time and memory.

    python benchmarks/python/bench_training.py

Bars, each in a process of its own: the step of T-1T that was measured, in 5 s with reading the
model; T-145B on palm-wafer, 21 micro-batches, every link, in 10 s and 1 GiB; T-1.7B on a mesh of
256 x 256 cores, each distinct thing alone, in 5 s and 2 GiB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import elk
from elk.figures.palm import MEASURED, on_wafer

MESH = 256
CORES = MESH * MESH
MODULES = 2 * MESH
CORE_BYTES = 1 << 36


def trillion() -> elk.TrainingRun:
    """The step of T-1T."""
    return MEASURED[-1].training().simulate()


def wafer() -> elk.TrainingRun:
    """T-145B on palm-wafer."""
    chip = elk.chips.get("palm-wafer")
    return on_wafer("145B", chip, tp=8, micro=1, zero=1).simulate(fidelity="flows")


def mesh() -> elk.TrainingRun:
    """T-1.7B on a mesh of 256 x 256 cores."""
    tables = elk.chips.get("palm-wafer").replace(chips=1).to_dict()
    tables["core"] = {**tables["core"], "grid": [MESH, MESH], "sram_bytes": CORE_BYTES}
    tables["hbm"] = {
        **tables["hbm"],
        "modules": MODULES,
        "bytes_per_s": 16e9 * CORES,
        "port_bytes_per_s": 16e9 * CORES / MODULES,
    }
    strategy = elk.Strategy(pp=8, tp=8, dp=1024, recompute="full")
    model = elk.models.get("megatron-T-1.7B", "train")
    chip = elk.Chip.from_dict(tables)
    training = elk.train(model, chip, strategy, batch=16 * 1024, bindings={"seq": 2048})
    return training.simulate(fidelity="symmetric")


# Each with the bars of its CPU seconds and GiB.
CASES: dict[str, tuple[Callable[[], elk.TrainingRun], float, float]] = {
    "trillion": (trillion, 5.0, 2.0),
    "wafer": (wafer, 10.0, 1.0),
    "mesh": (mesh, 5.0, 2.0),
}


def main() -> int:
    """Runs the case that is named, or each in a process of its own; 1 if a bar was missed."""
    if len(sys.argv) > 1:
        run, seconds, gib = CASES[sys.argv[1]]
        before_s = time.process_time()
        step = run()
        spent_s = time.process_time() - before_s
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        met = spent_s <= seconds and used <= gib
        print(
            f"{sys.argv[1]:<9} {spent_s:5.2f} s of {seconds:g}, {used:4.2f} GiB of {gib:g}: "
            f"{'met' if met else 'missed'}; {step}"
        )
        return 0 if met else 1
    return max(subprocess.call([sys.executable, __file__, name]) for name in CASES)


if __name__ == "__main__":
    sys.exit(main())
