"""Every model on every chip preset, pooled and sharded, as Markdown.

python benchmarks/tables/machine_table.py [--models PART,PART] [--chips NAME,NAME]
    [--pods pooled,sharded] [--policy NAME] [--threads N] [--matrix] > table.md

One line says the predicted time, how near it is to the ideal and to the bound, what binds, and
whether `tests/oracle/check_plan.py`, which shares no code with ELK, accepts the plan; or why there
is no plan. Exit code 1 if a plan is refused, or, with `--matrix`, where sharing a model takes
longer than pooling the chips.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import elk
from cases import CASES, Case
from elk.base.readable import amount

ORACLE = Path(__file__).parents[2] / "tests" / "oracle" / "check_plan.py"
PODS = ("pooled", "sharded")
CORNERS = {"hbm_s": "HBM", "execute_s": "execution", "link_s": "links"}
REASON = 110  # characters of a reason
LONG = re.compile(r"\b(\d{4,})(?: bytes)?\b")  # sizes in messages


@dataclass(frozen=True, kw_only=True)
class Row:
    """One model on one machine: a plan, or why there is none."""

    model: str
    chip: str
    pod: str
    plan: elk.Plan | None
    why: str
    broken: str


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default="", help="parts of file names, with commas")
    parser.add_argument("--chips", default=",".join(elk.chips.names()), help="presets, with commas")
    parser.add_argument("--pods", default=",".join(PODS), help="pooled, sharded")
    parser.add_argument("--policy", default="elk-full", help="whose schedules")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    parser.add_argument("--matrix", action="store_true", help="a row a machine, a column a model")
    arguments = parser.parse_args()
    parts = arguments.models.split(",")
    cases = [case for case in CASES if any(part in case.file for part in parts)]
    found = rows(cases, arguments)
    return matrix(cases, list(found)) if arguments.matrix else table(found)


def rows(cases: list[Case], arguments: argparse.Namespace) -> Iterator[Row]:
    check = oracle()
    for case in cases:
        model = elk.load_model(case.path, bindings=case.bindings)
        for name in arguments.chips.split(","):
            chip = elk.chips.get(name)
            for pod in arguments.pods.split(",") if chip.chips > 1 else PODS[:1]:
                print(f"{case.title} on {name}, {pod}", file=sys.stderr)
                shown = pod if chip.chips > 1 else "one chip"
                plan, why, broken = None, "", ""
                try:
                    plan = elk.compile(
                        model, chip, pod=pod, policy=arguments.policy, threads=arguments.threads
                    )
                except elk.ElkError as error:
                    why = reason(error)
                else:
                    broken = problems(check, plan)
                yield Row(model=case.title, chip=name, pod=shown, plan=plan, why=why, broken=broken)


def table(found: Iterator[Row]) -> int:
    """Prints a line for each row as it comes; 1 if a plan is refused."""
    print("| model | chip | pod | predicted ms | of ideal | of bound | bound by | check_plan |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- | --- |")
    refused = 0
    for row in found:
        start = f"| {row.model} | `{row.chip}` | {row.pod} | "
        if row.plan is None:
            print(f"{start}{row.why} |  |  |  |  |", flush=True)
            continue
        print(f"{start}{numbers(row.plan)} | {row.broken or 'accepts'} |", flush=True)
        refused += bool(row.broken)
    return 1 if refused else 0


def matrix(cases: list[Case], found: list[Row]) -> int:
    """Prints a row for each machine that can run any of the models; 1 if a plan is refused."""
    titles = [case.title for case in cases]
    print(f"| chip | pod | {' | '.join(title.split(',')[0] for title in titles)} |")
    print(f"| --- | --- |{' ---: |' * len(titles)}")
    for chip, pod in dict.fromkeys((row.chip, row.pod) for row in found):
        cells = [row for row in found if (row.chip, row.pod) == (chip, pod)]
        if any(row.plan for row in cells):
            print(f"| `{chip}` | {pod} | {' | '.join(cell(row) for row in cells)} |")
    planned = [row for row in found if row.plan]
    refused = sum(bool(row.broken) for row in planned)
    above = longer(found)
    print(f"\n{len(planned)} plans, {refused} refused by check_plan.")
    print(f"Shared slower than pooled: {', '.join(above) or 'none'}.", end=" ")
    print("A star: all chips as one machine.")
    return 1 if refused or above else 0


def longer(found: list[Row]) -> list[str]:
    """Where sharing a model is forecast to take longer than pooling, or cannot be done."""
    times = {
        (row.model, row.chip, row.pod): row.plan.latency_s if row.plan else math.inf
        for row in found
    }
    return [
        f"{model} on {chip}"
        for (model, chip, pod), time_s in times.items()
        if pod == "sharded" and time_s > times.get((model, chip, "pooled"), math.inf)
    ]


def cell(row: Row) -> str:
    """Milliseconds, and the share that no plan can save."""
    if row.plan is None:
        return "-"
    bound = row.plan.bounds.lower_bound_s / row.plan.latency_s
    star = "*" if (row.pod, row.plan.pod) == ("sharded", "pooled") else ""
    return f"{row.plan.latency_s * 1e3:.3f}{star} ({100 * bound:.0f} %)"


def numbers(plan: elk.Plan) -> str:
    bounds = plan.bounds
    binds = max(CORNERS, key=lambda corner: getattr(bounds, corner))
    return (
        f"{plan.latency_s * 1e3:.3f} | {100 * bounds.ideal_s / plan.latency_s:.1f} % | "
        f"{100 * bounds.lower_bound_s / plan.latency_s:.1f} % | {CORNERS[binds]}"
    )


def reason(error: elk.ElkError) -> str:
    """Why there is no plan, on one short line of a table."""
    if isinstance(error, elk.InfeasibleError):
        text = LONG.sub(lambda found: amount(int(found[1])), " ".join(error.message.split()))
    else:
        text = f"refused: {error.message}"
    text = text.replace("|", "/")
    return text if len(text) <= REASON else f"{text[:REASON].rsplit(' ', 1)[0]} ..."


def oracle() -> ModuleType:
    """The checker that trusts no plan's writer."""
    spec = importlib.util.spec_from_file_location("check_plan", ORACLE)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(check: ModuleType, plan: elk.Plan) -> str:
    """How many rules a plan breaks, and the first; empty if none."""
    found = check.Check(plan.to_json())
    found.run()
    return f"refuses, {len(found.bad)}: {found.bad[0]}" if found.bad else ""


if __name__ == "__main__":
    sys.exit(main())
