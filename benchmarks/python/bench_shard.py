"""How long ELK takes to cut a loaded model over the chips of a pod, and to plan it.

    python benchmarks/python/bench_shard.py [--repeats N] [--models PART,PART]

Bars, on two cores: 0.5 s to cut the 80 layers of Llama2-70B over 4 and 16 chips; 2 s to compile it
on the pod of 4; 5 s to compile any decode model of `models/` for any preset with HBM that can hold
it, the wafers of 750,000 and more cores among them.

Times are of a clock on the wall, and behind a slash of the processor: all threads' together. The
lesser is held against the bar: a search waits for nothing, so where the wall's is the longer one,
the machine had other work. A last line counts bars met and missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import elk

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import CASES, OTHERS, machine

CHIP = "ipu-pod4-hbm"
PODS = (4, 16)
LARGE = "llama2-70b-decode.onnx"
CUT_BAR_S = 0.5
COMPILE_BAR_S = 2.0
PRESET_BAR_S = 5.0

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Timed(Generic[Result]):
    """The least seconds of a few runs, on the wall and of the processor; what the last returned."""

    wall_s: float
    cpu_s: float
    result: Result


@dataclass
class Bars:
    """Which bars were met."""

    met: int = 0
    missed: list[str] = field(default_factory=list)

    def cell(self, timed: Timed[Result], bar_s: float | None, what: str) -> str:
        """Seconds, beside the bar where there is one."""
        text = f"{timed.wall_s:.2f} / {timed.cpu_s:.2f}"
        if bar_s is None:
            return text
        if min(timed.wall_s, timed.cpu_s) > bar_s:
            self.missed.append(what)
            return f"{text} > {bar_s:g} MISSED"
        self.met += 1
        return f"{text} <= {bar_s:g} pass"


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds to cut and to plan models of pods.")
    parser.add_argument("--repeats", type=int, default=3, help="runs, of which the least counts")
    parser.add_argument("--models", default="", help="parts of file names, with commas")
    arguments = parser.parse_args()
    repeats, parts = arguments.repeats, arguments.models.split(",")
    bars = Bars()
    print(f"{machine()}, {CHIP}, least of {repeats}\n")
    print(
        "| model | chips | ops | cut s | compile s | estimate ms | if replicated ms | collectives |"
    )
    print("| --- |" + " --- |" * 7)
    for case in (case for case in CASES if any(part in case.file for part in parts)):
        model = elk.load_model(case.path, bindings=case.bindings)
        for chips in PODS:
            large = case.file == LARGE
            print(row(case.title, model, chips, bars, large=large, repeats=repeats), flush=True)
    print("\n| decode model | preset with HBM | compile s | predicted ms |")
    print("| --- | --- | --- | --- |")
    decodes = [case for case in CASES + OTHERS if case.file.endswith("-decode.onnx")]
    for case in (case for case in decodes if any(part in case.file for part in parts)):
        model = elk.load_model(case.path, bindings=case.bindings)
        for name in elk.chips.names():
            if elk.chips.get(name).hbm:
                print(preset_row(case.title, model, name, bars, repeats), flush=True)
    print(f"\n{bars.met} bars met, {len(bars.missed)} missed: {'; '.join(bars.missed) or 'none'}")


def preset_row(title: str, model: elk.Model, name: str, bars: Bars, repeats: int) -> str:
    """Seconds to compile for a preset, or why it cannot hold the model."""
    try:
        found = least(lambda: elk.compile(model, name), repeats)
    except elk.InfeasibleError as error:
        return f"| {title} | `{name}` | - | {error.code} |"
    seconds = bars.cell(found, PRESET_BAR_S, f"{title} on {name}")
    return f"| {title} | `{name}` | {seconds} | {found.result.latency_s * 1e3:.3f} |"


def row(title: str, model: elk.Model, chips: int, bars: Bars, *, large: bool, repeats: int) -> str:
    """Seconds and what was found, on a pod of `chips`; only the pod of 4 is compiled for."""
    pod = elk.chips.get(CHIP).replace(chips=chips)
    cut = least(lambda: elk.shard(model, pod), repeats)
    found = cut.result
    compiled = "-"
    if chips == PODS[0]:
        plan = least(lambda: elk.compile(model, pod), repeats)
        compiled = bars.cell(plan, COMPILE_BAR_S if large else None, f"to compile {title}")
    kinds = sorted(Counter(x.kind for x in found.collectives).items())
    cut_s = bars.cell(cut, CUT_BAR_S if large else None, f"to cut {title} over {chips}")
    return (
        f"| {title} | {chips} | {len(found.ops):,} | {cut_s} "
        f"| {compiled} | {found.seconds * 1e3:.3f} | {found.replicated_seconds * 1e3:.3f} | "
        f"{', '.join(f'{count} {kind}' for kind, count in kinds) or 'none'} |"
    )


def least(run: Callable[[], Result], repeats: int) -> Timed[Result]:
    """Runs it a few times."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        result = run()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return Timed(wall_s=min(walls), cpu_s=min(processors), result=result)


if __name__ == "__main__":
    main()
