"""How much of the compute time of plans is extrapolated, and of which operators, as Markdown.

python benchmarks/tables/extrapolated_table.py [--chips NAME,NAME] [--models FILE,FILE]
    [--policy NAME]

One row a model and chip whose plan times a tile beyond what the tile model was fitted on; models
that a chip does not hold are left out. Exits with 1 if a card does not name such an operator.
"""

from __future__ import annotations

import argparse
import sys

import elk
from cases import CASES, OTHERS

PODS = "ipu-pod4-hbm,ipu-pod4-hbm-mesh,ipu-pod4-hbm-mesh-wide,ipu-pod4-hbm-refresh,ipu-pod4"
CHIPS = f"{PODS},ipu-mk2,gc200,bow"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=CHIPS, help="names of presets, with commas")
    parser.add_argument("--models", default=None, help="files of cases.py, with commas")
    parser.add_argument("--policy", default="elk-dyn", help="policy of all plans")
    arguments = parser.parse_args()
    files = arguments.models.split(",") if arguments.models else None
    planned, silent = 0, []
    print("| model | chip | extrapolated | operators |")
    print("| --- | --- | ---: | --- |")
    for case in (*CASES, *OTHERS):
        if files is not None and case.file not in files:
            continue
        model = elk.load_model(case.path, bindings=case.bindings)
        for chip in arguments.chips.split(","):
            try:
                plan = elk.compile(model, chip, policy=arguments.policy)
            except elk.ElkError:
                continue
            planned += 1
            share, names = extrapolated(plan)
            card = plan.summary()
            silent += [f"{case.file} on {chip}: {name}" for name in names if name not in card]
            if names:
                print(f"| {case.title} | `{chip}` | {share:.1%} | {', '.join(names)} |")
    print(f"\n{planned} plans of {arguments.policy}.", *silent, sep="\n")
    sys.exit(1 if silent else 0)


def extrapolated(plan: elk.Plan) -> tuple[float, list[str]]:
    """The share of compute time, and the first operator of each Pareto front that has a part."""
    rows = plan.to_json()["ops"]
    names: dict[int, str] = {}
    outside = total = 0.0
    for row in rows:
        execute = row["execute"]
        total += execute["compute_s"]
        outside += execute["compute_s"] * execute["extrapolated"]
        if execute["extrapolated"] > 0:
            names.setdefault(row["front"], row["name"])
    return (outside / total if total else 0.0), [*names.values()]


if __name__ == "__main__":
    main()
