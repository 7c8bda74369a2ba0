"""Whether lower bounds hold: plans of random models on random machines, simulated, as Markdown.

python benchmarks/tables/bound_check.py [--cases 3000] [--seed 1]

A case is a model, a machine, a policy and how chips work together: small models of every kind,
layers of published ones at batch 1 and more, random chains of operators; presets and small
machines of every topology, with HBM and without, with fields changed. Every plan is held against
its own bound and against the bounds of the other policies' plans, since `elk.compile` may return
any of them for the same model and machine. Exits with 1 if a bound is above a simulated time.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from bound_cases import Finding, beaten, cases, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    wrong: list[str] = []
    count = 0
    for case in cases(arguments.seed, small=arguments.small):
        found: list[Finding] = list(findings(case))
        count += len(found)
        if found:  # There are none where no plan fits.
            ratios[case.machine.kind].extend(one.of_bound for one in found)
        for line in beaten(found):
            print(line, file=sys.stderr, flush=True)
            wrong.append(line)
        if count >= arguments.cases:
            break
    print("| machine | cases | mean of bound | largest of bound |")
    print("| --- | ---: | ---: | ---: |")
    for kind, all_of in sorted(ratios.items()):
        mean = sum(all_of) / len(all_of)
        print(f"| {kind} | {len(all_of)} | {100 * mean:.1f} % | {100 * max(all_of):.2f} % |")
    print(f"\n{count} cases, {len(wrong)} above what a plan takes")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
