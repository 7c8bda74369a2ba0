"""Nine models on the presets with HBM that hold most of them: plans, or why there is none.

python benchmarks/tables/fits.py [--models PART,PART] [--chips NAME,NAME] [--policy NAME]
    [--effort NAME] [--jobs N] > table.md

A line a model and chip: milliseconds as forecast and as simulated, the bound's and the HBM's share
of the forecast, operators in the plan, CPU seconds and memory of the compile (each in a process of
its own, with one thread), and whether `tests/oracle/check_plan.py` accepts it. Exit code 1 if it
refuses one, or if a model has no plan for another reason than that the HBM does not hold it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from dataclasses import dataclass

import elk
from machine_table import oracle, problems, reason

CHIPS = (
    "blackhole-p150",
    "wormhole-n150",
    "wormhole-n300",
    "grayskull-e150",
    "a100",
    "h100",
    "trainium2",
    "mtia-v2",
    "maia100",
    "sn40l",
    "ipu-pod4-hbm",
    "ipu-pod4-hbm-mesh",
    "palm-wafer",
)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A model of `elk.models` and numbers for its symbolic dimensions."""

    title: str
    name: str
    phase: str | None = None
    bindings: dict[str, int]


WORKLOADS = (
    Workload(
        title="GPT-2 prefill, 1 x 1,023",
        name="gpt2",
        phase="prefill",
        bindings={"batch": 1, "seq": 1023},
    ),
    Workload(title="BERT-large, 8 x 384", name="bert-large", bindings={"batch": 8, "seq": 384}),
    Workload(title="BERT-large, 8 x 512", name="bert-large", bindings={"batch": 8, "seq": 512}),
    Workload(title="ResNet-50, batch 1", name="resnet-50", bindings={"batch": 1}),
    Workload(title="ResNet-50, batch 16", name="resnet-50", bindings={"batch": 16}),
    Workload(title="ResNet-50, batch 32", name="resnet-50", bindings={"batch": 32}),
    Workload(title="ViT-Base, batch 8", name="vit-base-16", bindings={"batch": 8}),
    Workload(
        title="Llama-3.1-8B decode, 1 x 2,048",
        name="llama3.1-8b",
        phase="decode",
        bindings={"batch": 1, "past": 2048},
    ),
    Workload(
        title="Llama2-7B prefill, 1 x 2,048",
        name="llama2-7b",
        phase="prefill",
        bindings={"batch": 1, "seq": 2048},
    ),
)


def row(job: tuple[Workload, str, str, str]) -> tuple[str, bool]:
    """A line of the table, and whether it is as it should be."""
    workload, chip, policy, effort = job
    start = f"| {workload.title} | `{chip}` |"
    found = elk.models.get(workload.name, phase=workload.phase)
    model = elk.load_model(found, bindings=workload.bindings)
    before = time.process_time()
    try:
        plan = elk.compile(model, elk.chips.get(chip), policy=policy, effort=effort, threads=1)
    except elk.ElkError as error:
        cpu_s = time.process_time() - before
        wanted = getattr(error, "code", "") == "hbm_overflow"
        return f"{start} {reason(error)} |  |  |  |  | {cpu_s:.1f} |  |  |", wanted
    cpu_s = time.process_time() - before
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    simulated_s = plan.simulate(fidelity="symmetric").latency_s
    broken = problems(oracle(), plan)
    bounds = plan.bounds
    return (
        f"{start} {plan.latency_s * 1e3:.3f} | {simulated_s * 1e3:.3f} | "
        f"{100 * bounds.lower_bound_s / plan.latency_s:.0f} % | "
        f"{100 * bounds.hbm_s / plan.latency_s:.0f} % | {len(plan.op_names)} | {cpu_s:.1f} | "
        f"{mib:.0f} | {broken or 'accepts'} |",
        not broken,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default="", help="parts of titles, with semicolons")
    parser.add_argument("--chips", default=",".join(CHIPS), help="presets, with commas")
    parser.add_argument("--policy", default="elk-dyn")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    arguments = parser.parse_args()
    parts = arguments.models.casefold().split(";")
    jobs = [
        (workload, chip, arguments.policy, arguments.effort)
        for workload in WORKLOADS
        if any(part in workload.title.casefold() for part in parts)
        for chip in arguments.chips.split(",")
    ]
    columns = ("forecast ms", "simulated ms", "bound", "HBM", "ops", "CPU s", "MiB", "check_plan")
    print(f"| model | chip | {' | '.join(columns)} |")
    print("| --- | --- |" + " ---: |" * 7 + " --- |")
    wrong = 0
    context = multiprocessing.get_context("spawn")
    with context.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for line, right in pool.imap(row, jobs):
            print(line, flush=True)
            wrong += not right
    print(f"\n{len(jobs)} cells, {wrong} without a plan that the HBM would hold, or refused.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
