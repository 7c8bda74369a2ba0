"""How long simulations take and how much memory, for Llama2-13B's decode step, as Markdown.

python benchmarks/python/bench_simulate.py [--policy NAME] [--rounds N]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import elk

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import CASES, machine

CHIP = "ipu-pod4-hbm"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--policy", default="elk-full")
    parser.add_argument("--rounds", type=int, default=5, help="runs, of which the quickest counts")
    arguments = parser.parse_args()
    case = CASES[0]
    model = elk.load_model(case.path, bindings=case.bindings)
    print(f"{case.title} on {CHIP}, policy {arguments.policy}; {machine()}\n")
    print("| pod | fidelity | simulated | CPU time | memory so far |")
    print("| --- | --- | ---: | ---: | ---: |")
    for pod in ("sharded", "pooled"):
        plan = elk.compile(model, CHIP, policy=arguments.policy, pod=pod)
        for fidelity in ("symmetric", "core"):
            seconds = []
            for _ in range(arguments.rounds):
                start = time.process_time()
                run = plan.simulate(fidelity=fidelity)
                seconds.append(time.process_time() - start)
            peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            print(
                f"| {pod} | {fidelity} | {run.latency_s * 1e3:.3f} ms | {min(seconds):.3f} s | "
                f"{peak_bytes / 2**20:.0f} MiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
