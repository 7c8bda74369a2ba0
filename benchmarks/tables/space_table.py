"""Plans of every operator, as in T10's Figure 17: complete, filtered and Pareto, as Markdown.

python benchmarks/tables/space_table.py [--model FILE] [--chip NAME] [--threads N] > table.md
python benchmarks/tables/space_table.py --summary    # a row a model, under three settings
"""

from __future__ import annotations

import argparse
import sys

import elk
from cases import CASES, Case
from elk.report.explain import Explanation

# The least share of cores, and the most by which padding grows a tensor; 0 is free.
SETTINGS = ((0.0, 0.0), (0.5, 1.2), (0.9, 1.05))
FEW = 50  # Pareto plans of most operators in T10


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="", help="only models whose file has this in its name")
    parser.add_argument("--chip", default="ipu-pod4-hbm", help="a preset or a chip file")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    parser.add_argument("--summary", action="store_true", help="a row a model and setting")
    arguments = parser.parse_args()
    cases = [case for case in CASES if arguments.model in case.file]
    if arguments.summary:
        summary(cases, arguments.chip, arguments.threads)
        return
    for case in cases:
        table(case, arguments.chip, arguments.threads)


def explanations(plan: elk.Plan) -> list[Explanation]:
    """One for each different operator, the first of its kind."""
    firsts: dict[int, int] = {}
    for row in plan.to_json()["ops"]:
        firsts.setdefault(row["front"], row["id"])
    return [plan.explain(op) for op in firsts.values()]


def compiled(case: Case, chip: str, setting: tuple[float, float], threads: int | None) -> elk.Plan:
    print(f"{case.title} on {chip}, {setting}", file=sys.stderr)
    share, padding = setting
    return elk.compile(
        case.path,
        chip,
        bindings=case.bindings,
        min_core_share=share,
        max_padding=padding,
        threads=threads,
    )


def table(case: Case, chip: str, threads: int | None) -> None:
    """Prints the operators of one model that differ."""
    plan = compiled(case, chip, SETTINGS[0], threads)
    print(f"\n### {case.title}, {chip}\n")
    print("| operator | kind | complete | filtered | Pareto | in space and time alone |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for found in explanations(plan):
        print(
            f"| `{found.name}` | {found.kind} | {count(found.plans_complete)} | "
            f"{count(found.plans_filtered)} | {found.plans_pareto:,} | {space_time(found):,} |"
        )


def space_time(found: Explanation) -> int:
    """Plans of the front that no other beats in space and time, the two that T10 weighs."""
    points = sorted({(c.space_bytes, c.time_s) for c in found.candidates if not c.added})
    return sum(all(time < other for _, other in points[:i]) for i, (_, time) in enumerate(points))


def summary(cases: list[Case], chip: str, threads: int | None) -> None:
    """Prints how far each setting narrows the spaces of each model, and what it costs."""
    print(
        f"| model | least share of cores, most padding | largest complete | largest filtered | "
        f"largest Pareto | in space and time alone | operators with < {FEW} of those | search s | "
        "predicted ms |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in cases:
        for setting in SETTINGS:
            print(summary_row(case, chip, setting, threads), flush=True)


def summary_row(case: Case, chip: str, setting: tuple[float, float], threads: int | None) -> str:
    plan = compiled(case, chip, setting, threads)
    found = explanations(plan)
    pairs = [space_time(explanation) for explanation in found]
    few = sum(pair < FEW for pair in pairs)
    asked = "free" if setting == SETTINGS[0] else f"{100 * setting[0]:g} %, x {setting[1]:g}"
    return (
        f"| {case.title} | {asked} | {count(max(e.plans_complete for e in found))} | "
        f"{count(max(e.plans_filtered for e in found))} | "
        f"{max(e.plans_pareto for e in found):,} | {max(pairs):,} | {few} of {len(found)} | "
        f"{plan.to_json()['search']['seconds']:.1f} | {plan.latency_s * 1e3:.3f} |"
    )


def count(number: int) -> str:
    """Small numbers whole, others with two digits."""
    return f"{number:,}" if number < 100_000 else f"{number:.1e}"


if __name__ == "__main__":
    main()
