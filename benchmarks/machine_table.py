"""Every model on every chip preset, pooled and sharded, as Markdown.

python benchmarks/machine_table.py [--models PART,PART] [--chips NAME,NAME] [--pods pooled,sharded]
    [--policy NAME] [--threads N] > table.md

One line says the predicted time, how near it is to the ideal and to the bound, what binds, and
whether `tests/oracle/check_plan.py`, which shares no code with ELK, accepts the plan; or why there
is no plan. Exit code 1 if a plan is refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import elk
from cases import CASES
from elk.readable import amount

ORACLE = Path(__file__).parents[1] / "tests" / "oracle" / "check_plan.py"
PODS = ("pooled", "sharded")
CORNERS = {"hbm_s": "HBM", "execute_s": "execution", "link_s": "links"}
REASON = 110  # characters of a reason
LONG = re.compile(r"\b(\d{4,})(?: bytes)?\b")  # sizes in messages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--models", default="", help="parts of file names, with commas")
    parser.add_argument("--chips", default=",".join(elk.chips.names()), help="presets, with commas")
    parser.add_argument("--pods", default=",".join(PODS), help="pooled, sharded")
    parser.add_argument("--policy", default="elk-full", help="whose schedules")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    parts = arguments.models.split(",")
    cases = [case for case in CASES if any(part in case.file for part in parts)]
    check = oracle()
    accepted = True
    print("| model | chip | pod | predicted ms | of ideal | of bound | bound by | check_plan |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- | --- |")
    for case in cases:
        model = elk.load_model(case.path, bindings=case.bindings)
        for name in arguments.chips.split(","):
            chip = elk.chips.get(name)
            for pod in arguments.pods.split(",") if chip.chips > 1 else PODS[:1]:
                print(f"{case.title} on {name}, {pod}", file=sys.stderr)
                start = f"| {case.title} | `{name}` | {pod if chip.chips > 1 else 'one chip'} "
                try:
                    plan = elk.compile(
                        model, chip, pod=pod, policy=arguments.policy, threads=arguments.threads
                    )
                except elk.ElkError as error:
                    print(f"{start}| {reason(error)} |  |  |  |  |", flush=True)
                    continue
                broken = problems(check, plan)
                accepted = accepted and not broken
                print(f"{start}| {numbers(plan)} | {broken or 'accepts'} |", flush=True)
    return 0 if accepted else 1


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
