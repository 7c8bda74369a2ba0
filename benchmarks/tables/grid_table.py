"""How near to the best ELK-Full comes, as Markdown: where HBM binds, and where the chip does.

Five models x four batches x three HBM rates on a sharded pod, every plan simulated; then the
paper's own machine and its figures beside ours. --all prints docs/grid.md: how long compiles take,
and the grid on each of the presets that the paper's evaluation spans.

python benchmarks/tables/grid_table.py [--chip NAME] [--blocks] [--batches 8,16,32,64]
    [--rates 8,16,24] [--models llama2-13b,...] [--effort default] [--paper] [--all]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import elk
from cases import GRID, Case, machine, named

BASELINES = ("static", "basic")
TIE = 0.001  # of a forecast: Full takes what simulates best
SECTIONS = {  # heading: preset, remote access blocks
    "ipu-pod4-hbm, remote access blocks off": ("ipu-pod4-hbm", False),
    "ipu-pod4-hbm as shipped, remote access blocks": ("ipu-pod4-hbm", True),
    "ipu-pod4-hbm-mesh, remote access blocks": ("ipu-pod4-hbm-mesh", True),
    "ipu-pod4-hbm-mesh-wide, remote access blocks": ("ipu-pod4-hbm-mesh-wide", True),
}
HBM_BINDS = 0.7  # execution of Ideal over HBM time, below which HBM clearly binds
PAPER = {  # ELK, section 6.2: of ELK-Full, decode on four chips at 16 TB/s
    "x Static": 1.37,
    "x Basic": 1.87,
    "of Ideal": 0.948,
}
TABLE_2 = {  # ELK, Table 2: C, H, P, K, N at batch 32 and 2,048 tokens
    "llama2-13b": (6, 6, 66, 88, 1928),
    "gemma2-27b": (6, 6, 206, 128, 2216),
    "opt-30b": (5, 6, 58, 46, 2269),
    "llama2-70b": (6, 6, 168, 86, 3808),
    "dit-xl-2": (4, 4, 123, 136, 1521),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model at one batch and HBM rate, simulated; times in seconds."""

    name: str
    batch: int
    rate: str
    latency: float
    forecast: float
    ideal: float
    bound: float
    binding: float  # execution of Ideal over HBM time
    raw: dict[str, float]  # each baseline's own result, forecast
    compile: float
    orders: str

    @property
    def contested(self) -> bool:
        return self.binding >= HBM_BINDS


def main() -> None:
    parser = argparse.ArgumentParser(description="How near to the best ELK-Full comes")
    parser.add_argument("--chip", default="ipu-pod4-hbm", help="name of a preset")
    parser.add_argument("--blocks", action="store_true", help="remote access blocks, as shipped")
    parser.add_argument("--batches", default="8,16,32,64")
    parser.add_argument("--rates", default="8,16,24", help="TB/s, all chips together")
    parser.add_argument("--models", default=",".join(GRID))
    parser.add_argument("--effort", default="default", help="fast, default or max")
    parser.add_argument("--paper", action="store_true", help="only the paper's own machine")
    parser.add_argument(
        "--all", action="store_true", help="every section, then the paper's machine"
    )
    arguments = parser.parse_args()
    print(f"{machine()}; elk {elk.__version__}, effort {arguments.effort}\n")
    if arguments.all:
        print("## Compile\n")
        print(compiles())
        for heading, (arguments.chip, arguments.blocks) in SECTIONS.items():
            print(f"## {heading}\n")
            section(arguments)
        print("## The paper's own machine\n")
    if arguments.all or arguments.paper:
        paper()
    else:
        section(arguments)


def compiles() -> str:
    """What `bench_compile.py --full` prints."""
    script = Path(__file__).parents[1] / "python" / "bench_compile.py"
    command = [sys.executable, str(script), "--full"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def section(arguments: argparse.Namespace) -> None:
    cells = list(grid(arguments))
    summary("HBM clearly binds", [cell for cell in cells if not cell.contested])
    summary("Contested", [cell for cell in cells if cell.contested])
    beaten = [
        f"{cell.name} b{cell.batch} {cell.rate} TB/s"
        for cell in cells
        if min(cell.raw.values()) < cell.forecast * (1.0 - TIE)
    ]
    print(f"\nFull does not win: {', '.join(beaten) or 'never'}\n", flush=True)


def grid(arguments: argparse.Namespace) -> Iterator[Cell]:
    """Prints a row for each cell."""
    print(
        "| model | batch | HBM TB/s | simulated ms | forecast | Ideal / latency | latency / bound "
        "| Ideal's execution / HBM | x Static | x Basic | orders generated, pruned; moved by "
        "| compile s |"
    )
    print("| --- |" + " ---: |" * 11)
    for name in arguments.models.split(","):
        case = named(name)
        for batch in map(int, arguments.batches.split(",")):
            model = elk.load_model(case.path, bindings={**case.bindings, "batch": batch})
            for rate in arguments.rates.split(","):
                chip = elk.chips.get(arguments.chip).replace(
                    hbm_bandwidth=f"{rate} TB/s", remote_access_blocks=arguments.blocks
                )
                try:
                    cell = measured(model, chip, (name, batch, rate), arguments.effort)
                except elk.InfeasibleError as error:
                    print(f"| {name} | {batch} | {rate} | does not fit: {error.code} |" + " |" * 8)
                    continue
                print(row(cell), flush=True)
                yield cell


def measured(model: elk.Model, chip: elk.Chip, at: tuple[str, int, str], effort: str) -> Cell:
    began = time.perf_counter()
    plan = elk.compile(model, chip, effort=effort)
    took = time.perf_counter() - began
    run = plan.simulate(fidelity="symmetric")
    ideal = elk.compile(model, chip, policy="ideal").to_json()
    execution = sum(row["execute"]["time_s"] for row in ideal["ops"])
    orders = plan.to_json()["search"]["orders"]
    return Cell(
        name=at[0],
        batch=at[1],
        rate=at[2],
        latency=run.latency_s,
        forecast=plan.latency_s,
        ideal=plan.bounds.ideal_s,
        bound=plan.bounds.lower_bound_s,
        binding=execution / plan.bounds.hbm_s,
        raw={
            policy: elk.compile(model, chip, policy=policy).to_json()["raw_s"]
            for policy in BASELINES
        },
        compile=took,
        orders=f"{orders['generated']:,}, {orders['pruned']:,}; {orders['edit_distance']:.1f}",
    )


def row(cell: Cell) -> str:
    gains = " | ".join(f"{cell.raw[policy] / cell.forecast:.2f}" for policy in BASELINES)
    return (
        f"| {cell.name} | {cell.batch} | {cell.rate} | {cell.latency * 1e3:.3f} "
        f"| {cell.forecast * 1e3:.3f} | {cell.ideal / cell.latency:.3f} "
        f"| {cell.latency / cell.bound:.3f} | {cell.binding:.2f} | {gains} | {cell.orders} "
        f"| {cell.compile:.2f} |"
    )


def summary(title: str, cells: list[Cell]) -> None:
    if not cells:
        return
    ideal = [cell.ideal / cell.latency for cell in cells]
    bound = [cell.latency / cell.bound for cell in cells]
    print(
        f"\n{title}, {len(cells)} cases: Ideal / latency {statistics.mean(ideal):.3f} on average, "
        f"{min(ideal):.3f} at least; latency / bound {statistics.mean(bound):.3f} on average, "
        f"{max(bound):.3f} at most"
    )


def paper() -> None:
    """The authors' own terms: their tile and exchange model, all cores as one machine."""
    chip = elk.chips.get("ipu-pod4-hbm-paper").replace(hbm_bandwidth="16 TB/s")
    print("| model | Full ms | x Static | x Basic | of Ideal | compile s |")
    print("| --- |" + " ---: |" * 5)
    for name in ("llama2-13b", "opt-30b"):
        case = named(name)
        print(paper_row(case, chip), flush=True)
    theirs_too = " | ".join(str(figure) for figure in PAPER.values())
    print(f"| the paper | 6.72 (Llama2-13B) | {theirs_too} | |")
    print("\n| model | C H P K N | the paper's |\n| --- | --- | --- |")
    for name, theirs in TABLE_2.items():
        case = named(name)
        model = elk.load_model(case.path, bindings={**case.bindings, "batch": 32})
        plan = elk.compile(model, elk.chips.get("ipu-pod4-hbm"), effort="fast")
        ours = plan.to_json()["search"]["orders"]
        keys = ("heavy_fit", "heavy", "plans", "fit", "ops")
        numbers = " ".join(str(ours[key]) for key in keys)
        print(f"| {name} | {numbers} | {' '.join(map(str, theirs))} |", flush=True)


def paper_row(case: Case, chip: elk.Chip) -> str:
    model = elk.load_model(case.path, bindings={**case.bindings, "batch": 32})
    began = time.perf_counter()
    full = elk.compile(model, chip, pod="pooled")
    took = time.perf_counter() - began
    raw = {
        policy: elk.compile(model, chip, pod="pooled", policy=policy).to_json()["raw_s"]
        for policy in BASELINES
    }
    own = full.to_json()["raw_s"]
    gains = " | ".join(f"{raw[policy] / own:.2f}" for policy in BASELINES)
    ideal = full.bounds.ideal_s / own
    return f"| {case.file} | {own * 1e3:.2f} | {gains} | {ideal:.3f} | {took:.2f} |"


if __name__ == "__main__":
    main()
