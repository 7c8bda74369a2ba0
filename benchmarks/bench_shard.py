"""How long ELK takes to cut a loaded model over the chips of a pod, and to plan it.

    python benchmarks/bench_shard.py

Bars, on two cores: 0.5 s to cut the 80 layers of Llama2-70B over 4 and 16 chips; 2 s to compile it
on the pod of 4.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import elk
from cases import CASES, machine

CHIP = "ipu-pod4-hbm"
PODS = (4, 16)
REPEATS = 3
LARGE = "llama2-70b-decode.onnx"
CUT_BAR_S = 0.5
COMPILE_BAR_S = 2.0

Result = TypeVar("Result")


def main() -> None:
    print(f"{machine()}, {CHIP}, least of {REPEATS}\n")
    print(
        "| model | chips | ops | cut s | compile s | estimate ms | if replicated ms | collectives |"
    )
    print("| --- |" + " --- |" * 7)
    for case in CASES:
        model = elk.load_model(case.path, bindings=case.bindings)
        for chips in PODS:
            print(row(case.title, model, chips, large=case.file == LARGE), flush=True)


def row(title: str, model: elk.Model, chips: int, *, large: bool) -> str:
    """Seconds and what was found, on a pod of `chips`; only the pod of 4 is compiled for."""
    pod = elk.chips.get(CHIP).replace(chips=chips)
    cut_s, found = least(lambda: elk.shard(model, pod))
    compiled = "-"
    if chips == PODS[0]:
        compile_s, _ = least(lambda: elk.compile(model, pod))
        compiled = timed(compile_s, COMPILE_BAR_S if large else None)
    kinds = sorted(Counter(x.kind for x in found.collectives).items())
    return (
        f"| {title} | {chips} | {len(found.ops):,} | {timed(cut_s, CUT_BAR_S if large else None)} "
        f"| {compiled} | {found.seconds * 1e3:.3f} | {found.replicated_seconds * 1e3:.3f} | "
        f"{', '.join(f'{count} {kind}' for kind, count in kinds) or 'none'} |"
    )


def least(run: Callable[[], Result]) -> tuple[float, Result]:
    """The least seconds of a few runs, and what the last returned."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def timed(seconds: float, bar_s: float | None) -> str:
    """Seconds, beside the bar where there is one."""
    if bar_s is None:
        return f"{seconds:.2f}"
    return f"{seconds:.2f} <= {bar_s:g}{'' if seconds <= bar_s else ' MISSED'}"


if __name__ == "__main__":
    main()
