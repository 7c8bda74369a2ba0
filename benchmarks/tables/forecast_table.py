"""The planner's forecast against the simulator, for models, chips and policies, as Markdown.

python benchmarks/tables/forecast_table.py [--chips NAME,NAME|all] [--policies NAME,NAME]
    [--models WORD,WORD] [--fidelity core|symmetric|auto] [--pod sharded|pooled] [--small]

`--small` takes models at sizes that every preset plans in seconds, among them two that attend in
windows and at several scales, and ends with the plans that are furthest off; it exits with 1 where
one is off by more than 3 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import elk
from cases import CASES, OTHERS, Case
from elk.model.model import Model

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from window_models import many_scales, shifted_windows

BAR = 0.03
WORST = 10  # rows
SMALL = (
    Case(title="NeRF, 1,000 rows", file="nerf.onnx", bindings={"rows": 1_000}),
    Case(title="GPT-2, batch 1, 64 tokens", file="gpt2.onnx", bindings={"batch": 1, "seq": 64}),
    Case(title="BERT-large, 128 tokens", file="bert-large.onnx", bindings={"batch": 1, "seq": 128}),
    Case(title="DiT-XL/2, batch 1", file="dit-xl-2.onnx", bindings={"batch": 1}),
    Case(title="ResNet-18, batch 1", file="resnet18.onnx", bindings={"batch": 1}),
    Case(title="ResNet-50, batch 2", file="resnet50.onnx", bindings={"batch": 2}),
    Case(
        title="Mixtral 8x7B decode, 2 layers, batch 8, 256 past",
        file="mixtral-8x7b-2layers-decode.onnx",
        bindings={"batch": 8, "past": 256},
    ),
    Case(title="RetNet-1.3B layer, batch 8", file="retnet-1.3b-layer.onnx", bindings={"batch": 8}),
    Case(title="shifted windows", file="(built: windows)"),
    Case(title="many scales", file="(built: scales)"),
)
CHIPS = ("ipu-pod4-hbm",)
POLICIES = ("basic", "static", "elk-dyn", "elk-full")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(CHIPS), help="names of presets, with commas")
    parser.add_argument("--policies", default=",".join(POLICIES), help="policies, with commas")
    parser.add_argument("--models", default="", help="words in names of model files, with commas")
    parser.add_argument("--fidelity", default="auto", help="core, symmetric or auto")
    parser.add_argument("--pod", default="sharded", choices=("sharded", "pooled"))
    parser.add_argument("--small", action="store_true", help="small models, and the worst at last")
    arguments = parser.parse_args()
    words = arguments.models.split(",")
    known = SMALL if arguments.small else (*CASES, *OTHERS)
    cases = [case for case in known if any(word in case.file for word in words)]
    names = elk.chips.names() if arguments.chips == "all" else arguments.chips.split(",")
    print(
        "| model | chip | policy | forecast ms | simulated ms | error | of bound | simulated in |"
    )
    print("| --- |" + " --- |" * 7)
    found: list[tuple[float, str]] = []
    for chip in map(elk.chips.get, names):
        for case in cases:
            found += rows(case, chip, arguments)
    sizes = [abs(error) for error, _ in found]
    if sizes:
        print(
            f"\n{len(sizes)} plans: mean |error| {100 * statistics.mean(sizes):.2f} %, "
            f"largest {100 * max(sizes):.2f} %"
        )
    if arguments.small:
        beyond = sum(size > BAR for size in sizes)
        print(f"{beyond} of them off by more than {100 * BAR:.0f} %; the furthest off:")
        for _, row in sorted(found, key=lambda one: -abs(one[0]))[:WORST]:
            print(row)
        sys.exit(1 if beyond else 0)


def loaded(case: Case) -> Model:
    """The model of a case: from its file, or built."""
    if case.path.exists():
        return elk.load_model(case.path, bindings=case.bindings)
    small = {"windows": lambda: shifted_windows(batch=1, side=28), "scales": many_scales}
    return elk.load_model(next(build for word, build in small.items() if word in case.file)())


def rows(case: Case, chip: elk.Chip, arguments: argparse.Namespace) -> list[tuple[float, str]]:
    """Prints a row for each policy and returns the errors with them."""
    print(f"{case.title} on {chip.name}", file=sys.stderr)
    model = loaded(case)
    found = []
    for policy in arguments.policies.split(","):
        try:
            plan = elk.compile(model, chip, policy=policy, pod=arguments.pod)
        except elk.InfeasibleError:
            print(f"| {case.title} | {chip.name} | {policy} | does not fit |" + " |" * 4)
            continue
        start = time.perf_counter()
        run = plan.simulate(fidelity=arguments.fidelity)
        seconds = time.perf_counter() - start
        error = plan.forecast_error()
        row = (
            f"| {case.title} | {chip.name} | {policy} | {plan.latency_s * 1e3:.3f} | "
            f"{run.latency_s * 1e3:.3f} | {100 * error:+.2f} % | "
            f"{100 * plan.bounds.lower_bound_s / run.latency_s:.1f} % | {seconds:.2f} s |"
        )
        print(row, flush=True)
        found.append((error, row))
    return found


if __name__ == "__main__":
    main()
