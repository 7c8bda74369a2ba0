"""How long ELK takes for every decode model on every preset with HBM, against 5 s, as Markdown.

    python benchmarks/python/bench_chips.py [--chips NAME,NAME] [--threads N]

Seconds are those of reading the model and planning it, with policy elk-full, in one process.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import elk

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import CASES, OTHERS, Case, machine

BAR_S = 5.0
DECODERS = [case for case in (*CASES, *OTHERS) if "decode" in case.title]


def main() -> None:
    with_hbm = [name for name in elk.chips.names() if elk.chips.get(name).hbm]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(with_hbm), help="presets, with commas")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    print(f"{machine()}\n\n| model | chip | s | predicted |\n| --- | --- | ---: | --- |")
    missed = sum(
        row(case, name, arguments.threads)
        for case in DECODERS
        for name in arguments.chips.split(",")
    )
    print(f"\n{missed} above {BAR_S:g} s")


def row(case: Case, chip: str, threads: int | None) -> bool:
    """Prints one row; whether it took longer than the bar."""
    start = time.perf_counter()
    try:
        model = elk.load_model(case.path, bindings=case.bindings)
        plan = elk.compile(model, chip, threads=threads)
        predicted = f"{plan.latency_s * 1e3:.3f} ms"
    except elk.InfeasibleError as error:
        predicted = f"does not fit: {error.message.splitlines()[0].split(':')[0]}"
    seconds = time.perf_counter() - start
    missed = seconds > BAR_S
    print(
        f"| {case.title} | {chip} | {seconds:.2f}{' MISSED' if missed else ''} | {predicted} |",
        flush=True,
    )
    return missed


if __name__ == "__main__":
    main()
