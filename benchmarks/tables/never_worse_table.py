"""Simulated times of every policy's plan, of small models on all presets, as Markdown.

python benchmarks/tables/never_worse_table.py [--chips NAME,NAME] [--models NAME,NAME]
    [--pods POD,POD] [--threads N] [--all]

Each policy's plan may take no longer than that of the policy below it, to the picosecond, at the
fidelity at which the search compares plans ("symmetric"). At fidelity "core", where equal pieces of
cores are not taken for equal, `core` is by how much the worst policy is slower than one below.
Prints the cases that break this, with `--all` every case, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import elk
import small_models

POLICIES = ("basic", "static", "elk-dyn", "elk-full")
MOST_NODES = 10_000  # nodes of graphs that are simulated one by one
CASES = {
    "nerf-16": ("nerf", {"rows": 16}),
    "nerf-1000": ("nerf", {"rows": 1000}),
    **{name: (name, {}) for name in small_models.NAMES if name != "nerf"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model on one chip under all policies."""

    model: str
    chip: str
    pod: str
    picoseconds: tuple[int, ...]  # by policy; those that fit nothing have none
    core: float  # share by which the worst policy is slower at fidelity "core"

    @property
    def worse(self) -> float:
        """The share by which a policy is slower than one below."""
        return steps(self.picoseconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(elk.chips.names()), help="names of presets")
    parser.add_argument("--models", default=",".join(CASES), help="names of models")
    parser.add_argument("--pods", default="sharded,pooled", help="how chips of pods work together")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    parser.add_argument("--all", action="store_true", help="print every case")
    arguments = parser.parse_args()
    print("| model | chip | pod | " + " ps | ".join(POLICIES) + " ps | worse | core |")
    print("| --- | --- | --- |" + " ---: |" * (len(POLICIES) + 2))
    count = 0
    worse = []
    for name in arguments.models.split(","):
        for chip in arguments.chips.split(","):
            pods = arguments.pods.split(",") if elk.chips.get(chip).chips > 1 else ["sharded"]
            for pod in pods:
                row = row_of(name, chip, pod, threads=arguments.threads)
                if row is None:
                    continue
                count += 1
                worse += [row] if row.worse > 0 else []
                if arguments.all or row.worse > 0:
                    print(line(row), flush=True)
    print(f"\nOf {count} cases, a policy is slower than one below it in {len(worse)}.")
    sys.exit(1 if worse else 0)


def row_of(name: str, chip: str, pod: str, *, threads: int | None = None) -> Row | None:
    """Plans and simulates a model under all policies; None where it fits under none."""
    kind, sizes = CASES[name]
    model = small_models.load(kind, **sizes)
    machine = elk.chips.get(chip)
    all_at_once: list[int] = []
    one_by_one: list[int] = []
    for policy in POLICIES:
        try:
            plan = elk.compile(model, machine, policy=policy, pod=pod, threads=threads)
        except elk.InfeasibleError:
            if all_at_once:
                raise
            continue
        all_at_once.append(plan.simulate(fidelity="symmetric").total_ps)
        if machine.chips * machine.core.cores <= MOST_NODES:
            one_by_one.append(plan.simulate(fidelity="core").total_ps)
    if not all_at_once:
        return None
    return Row(
        model=name,
        chip=chip,
        pod=pod,
        picoseconds=tuple(all_at_once),
        core=steps(one_by_one),
    )


def steps(times: tuple[int, ...] | list[int]) -> float:
    """The largest share by which a time is above one before it; negative or 0: none is."""
    return max((later / min(times[:i]) - 1 for i, later in enumerate(times) if i > 0), default=0.0)


def line(row: Row) -> str:
    missing = len(POLICIES) - len(row.picoseconds)
    cells = ["-"] * missing + [f"{time:,}" for time in row.picoseconds]
    return (
        f"| {row.model} | {row.chip} | {row.pod} | {' | '.join(cells)} | "
        f"{100 * max(row.worse, 0):.2f} % | {100 * max(row.core, 0):.2f} % |"
    )


if __name__ == "__main__":
    main()
