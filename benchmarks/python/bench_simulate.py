"""How long simulations take and how much memory, for Llama2-13B's decode step, as Markdown.

python benchmarks/python/bench_simulate.py [--policy NAME] [--rounds N]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
import time
from pathlib import Path

import elk

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import CASES, machine

CHIP = "ipu-pod4-hbm"


def saved(plan: elk.Plan) -> Path:
    """The file of a plan."""
    path = Path(tempfile.gettempdir()) / "bench_simulate.elkplan"
    plan.save(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--policy", default="elk-full")
    parser.add_argument("--rounds", type=int, default=5, help="runs, of which the quickest counts")
    arguments = parser.parse_args()
    case = CASES[0]
    model = elk.load_model(case.path, bindings=case.bindings)
    print(f"{case.title} on {CHIP}, policy {arguments.policy}; {machine()}\n")
    print("| pod | fidelity | simulated | CPU time | to record | to replay | memory so far |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for pod in ("sharded", "pooled"):
        plan = elk.compile(model, CHIP, policy=arguments.policy, pod=pod)
        for fidelity in ("symmetric", "core"):
            rounds = []
            for _ in range(arguments.rounds):
                again = elk.Plan.load(saved(plan))  # nothing of it is known yet
                times = [time.process_time()]
                run = again.simulate(fidelity=fidelity)
                times.append(time.process_time())
                trace = run.trace()
                times.append(time.process_time())
                trace.replay()
                times.append(time.process_time())
                rounds.append([end - begin for begin, end in itertools.pairwise(times)])
            spent = " | ".join(f"{min(column):.3f} s" for column in zip(*rounds, strict=True))
            peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            print(
                f"| {pod} | {fidelity} | {run.latency_s * 1e3:.3f} ms | {spent} | "
                f"{peak_bytes / 2**20:.0f} MiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
