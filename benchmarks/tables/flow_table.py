"""How far the fidelities `core` and `flows` of the simulator are apart, as Markdown.

python benchmarks/flow_table.py [--topologies all_to_all,mesh2d,torus2d,ring] [--models WORD,WORD]
    [--policy NAME] [--links shared|exclusive] [--decode BATCH,PAST]

One chip of `ipu-pod4-hbm` with its cores in each topology; language models are two layers deep. A
row also says which reasons of `Run.stalls` grew, so that a difference can be explained: seconds of
flows less seconds of core, over the latency at core.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import elk
from cases import CASES, OTHERS, Case
from elk.model.model import Model

TOPOLOGIES = ("all_to_all", "mesh2d", "torus2d", "ring")
HOP = "1 ns"
EXPLAINED = 0.03
# Files of whole language models, and what writes the same with two layers.
SHALLOW = {
    "llama2-13b-decode.onnx": "llama2-13b",
    "gemma2-27b-decode.onnx": "gemma2-27b",
    "opt-30b-decode.onnx": "opt-30b",
    "llama2-70b-decode.onnx": "llama2-70b",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--topologies", default=",".join(TOPOLOGIES), help="with commas")
    parser.add_argument("--models", default="", help="words in names of model files, with commas")
    parser.add_argument("--policy", default="elk-full", help="whose plans are run")
    parser.add_argument("--links", default="shared", choices=("shared", "exclusive"))
    parser.add_argument("--decode", default="32,2048", help="batch and past of decode steps")
    arguments = parser.parse_args()
    words = arguments.models.split(",")
    cases = [case for case in (*CASES, *OTHERS) if any(word in case.file for word in words)]
    print("| model | network | core ms | flows ms | difference | where | flows simulated in |")
    print("| --- |" + " --- |" * 6)
    found = []
    for case in cases:
        model = loaded(case, arguments.decode)
        for topology in arguments.topologies.split(","):
            print(f"{case.title} on {topology}", file=sys.stderr)
            found += row(case, model, topology, arguments)
    if found:
        sizes = [abs(difference) for difference in found]
        print(
            f"\n{len(sizes)} plans: mean |difference| {100 * statistics.mean(sizes):.2f} %, "
            f"{sum(size > EXPLAINED for size in sizes)} above {100 * EXPLAINED:.0f} %"
        )


def loaded(case: Case, decode: str) -> Model:
    """The model of a case, a language model with two layers."""
    bindings = dict(case.bindings)
    if "past" in bindings:
        bindings["batch"], bindings["past"] = map(int, decode.split(","))
    if case.file not in SHALLOW:
        return elk.load_model(case.path, bindings=bindings)
    graph = elk.models.get(SHALLOW[case.file], layers=2, phase="decode")
    return elk.load_model(graph, bindings=bindings)


def chip_of(topology: str) -> elk.Chip:
    """One chip whose 1,472 cores are connected so."""
    chip = elk.chips.get("ipu-pod4-hbm").replace(chips=1)
    if topology == "all_to_all":
        return chip
    return chip.replace(topology=topology, hop_latency_s=HOP)


def row(case: Case, model: Model, topology: str, arguments: argparse.Namespace) -> list[float]:
    """Prints how far the two are apart, and returns it unless the model does not fit."""
    try:
        plan = elk.compile(model, chip_of(topology), policy=arguments.policy, threads=1)
    except elk.InfeasibleError:
        print(f"| {case.title} | {topology} | does not fit |" + " |" * 4)
        return []
    core = plan.simulate(fidelity="core")
    start = time.process_time()
    flows = plan.simulate(fidelity="flows", links=arguments.links)
    seconds = time.process_time() - start
    difference = flows.latency_s / core.latency_s - 1
    print(
        f"| {case.title} | {topology} | {core.latency_s * 1e3:.3f} | "
        f"{flows.latency_s * 1e3:.3f} | {100 * difference:+.2f} % | {grown(core, flows)} | "
        f"{seconds:.1f} s |",
        flush=True,
    )
    return [difference]


def grown(core: elk.Run, flows: elk.Run) -> str:
    """By which reasons flows take longer, largest first, those below a thousandth left out."""
    times: Callable[[elk.Run], dict[str, float]] = lambda run: {  # noqa: E731
        **run.stalls(),
        "calls": float((run.columns["compute_ps"] - run.columns["sram_contention_ps"]).sum())
        / 1e12,
    }
    before, after = times(core), times(flows)
    shares = {reason: (after[reason] - before[reason]) / core.latency_s for reason in before}
    large = sorted(shares.items(), key=lambda one: -abs(one[1]))
    return ", ".join(f"{name} {100 * share:+.1f} %" for name, share in large if abs(share) >= 1e-3)


if __name__ == "__main__":
    main()
