"""Predicted latency of every policy on every model and chip, as Markdown.

The chips of a pod share the model; the last column is elk-full with all cores as one machine.

python benchmarks/tables/policy_table.py [--chips NAME,NAME] [--threads N] > table.md
"""

from __future__ import annotations

import argparse
import sys

import elk
from cases import CASES, Case

POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")
CHIPS = ("ipu-pod4-hbm", "ipu-pod4-hbm-mesh")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(CHIPS), help="names of presets, with commas")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    for name in arguments.chips.split(","):
        table(elk.chips.get(name), arguments.threads)


def table(chip: elk.Chip, threads: int | None) -> None:
    """Prints one table: milliseconds as forecast by the planner, on one chip preset."""
    print(f"\n### {chip.name}\n")
    heads = " | ".join(f"{policy} ms" for policy in POLICIES)
    print(f"| model | {heads} | bound ms | elk-full of ideal | elk-full of bound | pooled ms |")
    print("| --- |" + " --- |" * (len(POLICIES) + 4))
    for case in CASES:
        print(row(case, chip, threads), flush=True)


def row(case: Case, chip: elk.Chip, threads: int | None) -> str:
    print(f"{case.title} on {chip.name}", file=sys.stderr)
    model = elk.load_model(case.path, bindings=case.bindings)
    try:
        plans = {
            policy: elk.compile(model, chip, policy=policy, threads=threads) for policy in POLICIES
        }
    except elk.InfeasibleError as error:
        return f"| {case.title} | does not fit: {error.message} |" + " |" * (len(POLICIES) + 3)
    cells = " | ".join(f"{plan.latency_s * 1e3:.3f}" for plan in plans.values())
    full = plans["elk-full"]
    bounds = full.bounds
    pooled = elk.compile(model, chip, pod="pooled", threads=threads)
    return (
        f"| {case.title} | {cells} | {bounds.lower_bound_s * 1e3:.3f} | "
        f"{100 * bounds.ideal_s / full.latency_s:.1f} % | "
        f"{100 * bounds.lower_bound_s / full.latency_s:.1f} % | {pooled.latency_s * 1e3:.3f} |"
    )


if __name__ == "__main__":
    main()
