"""How long ELK takes to cut a loaded model over the chips of a pod, and to plan it.

    python benchmarks/bench_shard.py [--repeats N]

Bars, on two cores: 0.5 s to cut the 80 layers of Llama2-70B over 4 and 16 chips; 2 s to compile it
on the pod of 4; 5 s to compile any decode model of `models/` for any preset with HBM that can hold
it, the wafers of 850,000 and more cores among them.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import elk
from cases import CASES, OTHERS, machine

CHIP = "ipu-pod4-hbm"
PODS = (4, 16)
LARGE = "llama2-70b-decode.onnx"
CUT_BAR_S = 0.5
COMPILE_BAR_S = 2.0
PRESET_BAR_S = 5.0

Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds to cut and to plan models of pods.")
    parser.add_argument("--repeats", type=int, default=3, help="runs, of which the least counts")
    repeats = parser.parse_args().repeats
    print(f"{machine()}, {CHIP}, least of {repeats}\n")
    print(
        "| model | chips | ops | cut s | compile s | estimate ms | if replicated ms | collectives |"
    )
    print("| --- |" + " --- |" * 7)
    for case in CASES:
        model = elk.load_model(case.path, bindings=case.bindings)
        for chips in PODS:
            large = case.file == LARGE
            print(row(case.title, model, chips, large=large, repeats=repeats), flush=True)
    print("\n| decode model | preset with HBM | compile s | predicted ms |")
    print("| --- | --- | --- | --- |")
    for case in (case for case in CASES + OTHERS if case.file.endswith("-decode.onnx")):
        model = elk.load_model(case.path, bindings=case.bindings)
        for name in elk.chips.names():
            if elk.chips.get(name).hbm:
                print(preset_row(case.title, model, name, repeats), flush=True)


def preset_row(title: str, model: elk.Model, name: str, repeats: int) -> str:
    """Seconds to compile for a preset, or why it cannot hold the model."""
    try:
        seconds, plan = least(lambda: elk.compile(model, name), repeats)
    except elk.InfeasibleError as error:
        return f"| {title} | `{name}` | - | {error.code} |"
    return f"| {title} | `{name}` | {timed(seconds, PRESET_BAR_S)} | {plan.latency_s * 1e3:.3f} |"


def row(title: str, model: elk.Model, chips: int, *, large: bool, repeats: int) -> str:
    """Seconds and what was found, on a pod of `chips`; only the pod of 4 is compiled for."""
    pod = elk.chips.get(CHIP).replace(chips=chips)
    cut_s, found = least(lambda: elk.shard(model, pod), repeats)
    compiled = "-"
    if chips == PODS[0]:
        compile_s, _ = least(lambda: elk.compile(model, pod), repeats)
        compiled = timed(compile_s, COMPILE_BAR_S if large else None)
    kinds = sorted(Counter(x.kind for x in found.collectives).items())
    return (
        f"| {title} | {chips} | {len(found.ops):,} | {timed(cut_s, CUT_BAR_S if large else None)} "
        f"| {compiled} | {found.seconds * 1e3:.3f} | {found.replicated_seconds * 1e3:.3f} | "
        f"{', '.join(f'{count} {kind}' for kind, count in kinds) or 'none'} |"
    )


def least(run: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """The least seconds of a few runs, and what the last returned."""
    times = []
    for _ in range(repeats):
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
