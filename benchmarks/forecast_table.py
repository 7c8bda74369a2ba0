"""The planner's forecast against the simulator, for models, chips and policies, as Markdown.

python benchmarks/forecast_table.py [--chips NAME,NAME] [--policies NAME,NAME] [--models WORD,WORD]
    [--fidelity core|symmetric|auto] [--pod sharded|pooled]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import elk
from cases import CASES, OTHERS, Case

CHIPS = ("ipu-pod4-hbm",)
POLICIES = ("basic", "static", "elk-dyn", "elk-full")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(CHIPS), help="names of presets, with commas")
    parser.add_argument("--policies", default=",".join(POLICIES), help="policies, with commas")
    parser.add_argument("--models", default="", help="words in names of model files, with commas")
    parser.add_argument("--fidelity", default="auto", help="core, symmetric or auto")
    parser.add_argument("--pod", default="sharded", choices=("sharded", "pooled"))
    arguments = parser.parse_args()
    words = arguments.models.split(",")
    cases = [case for case in (*CASES, *OTHERS) if any(word in case.file for word in words)]
    print(
        "| model | chip | policy | forecast ms | simulated ms | error | of bound | simulated in |"
    )
    print("| --- |" + " --- |" * 7)
    errors: list[float] = []
    for chip in map(elk.chips.get, arguments.chips.split(",")):
        for case in cases:
            errors += rows(case, chip, arguments)
    sizes = [abs(error) for error in errors]
    if sizes:
        print(
            f"\n{len(sizes)} plans: mean |error| {100 * statistics.mean(sizes):.2f} %, "
            f"largest {100 * max(sizes):.2f} %"
        )


def rows(case: Case, chip: elk.Chip, arguments: argparse.Namespace) -> list[float]:
    """Prints a row for each policy and returns the errors."""
    print(f"{case.title} on {chip.name}", file=sys.stderr)
    model = elk.load_model(case.path, bindings=case.bindings)
    errors = []
    for policy in arguments.policies.split(","):
        try:
            plan = elk.compile(model, chip, policy=policy, pod=arguments.pod)
        except elk.InfeasibleError:
            print(f"| {case.title} | {chip.name} | {policy} | does not fit |" + " |" * 4)
            continue
        start = time.perf_counter()
        run = plan.simulate(fidelity=arguments.fidelity)
        seconds = time.perf_counter() - start
        errors.append(plan.forecast_error())
        print(
            f"| {case.title} | {chip.name} | {policy} | {plan.latency_s * 1e3:.3f} | "
            f"{run.latency_s * 1e3:.3f} | {100 * errors[-1]:+.2f} % | "
            f"{100 * plan.bounds.lower_bound_s / run.latency_s:.1f} % | {seconds:.2f} s |",
            flush=True,
        )
    return errors


if __name__ == "__main__":
    main()
