"""How near the proved lower bound comes to the ideal, as Markdown.

Five models on a sharded pod, where HBM binds and where the chip does. The ideal is no bound: it
has interconnect and SRAM twice. No plan is known to beat it by much, so that what lies between the
two is mostly what the bound does not see.

python benchmarks/tables/bound_table.py [--chip NAME] [--models NAME,NAME]
    [--batches 32,64] [--rates 8,16]
"""

from __future__ import annotations

import argparse
import statistics

import elk
from cases import GRID, Case, named

HEADS = ("model", "batch", "HBM TB/s", "HBM ms", "execution ms", "links ms", "bound ms", "ideal ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chip", default="ipu-pod4-hbm", help="name of a preset")
    parser.add_argument("--models", default=",".join(GRID), help="starts of file names")
    parser.add_argument("--batches", default="32,64")
    parser.add_argument("--rates", default="8,16,24", help="TB/s, all chips together")
    arguments = parser.parse_args()
    print("| " + " | ".join(HEADS) + " | ideal / bound |")
    print("| --- |" + " --- |" * len(HEADS))
    ratios = []
    for case in map(named, arguments.models.split(",")):
        for batch in map(int, arguments.batches.split(",")):
            model = elk.load_model(case.path, bindings={**case.bindings, "batch": batch})
            for rate in arguments.rates.split(","):
                chip = elk.chips.get(arguments.chip).replace(hbm_bandwidth=f"{rate} TB/s")
                bounds = elk.compile(model, chip, policy="ideal").bounds
                ratios.append(bounds.ideal_s / bounds.lower_bound_s)
                print(row(case, batch, rate, bounds), flush=True)
    print(f"\nideal / bound: mean {statistics.mean(ratios):.3f}, largest {max(ratios):.3f}")


def row(case: Case, batch: int, rate: str, bounds: elk.Bounds) -> str:
    parts = (bounds.hbm_s, bounds.execute_s, bounds.link_s, bounds.lower_bound_s, bounds.ideal_s)
    cells = " | ".join(f"{1e3 * seconds:.3f}" for seconds in parts)
    ratio = bounds.ideal_s / bounds.lower_bound_s
    return f"| {case.title.split(',')[0]} | {batch} | {rate} | {cells} | {ratio:.3f} |"


if __name__ == "__main__":
    main()
