"""How near policies come to the ideal, over all presets and small models, as Markdown.

python benchmarks/tables/ideal_table.py [--chips NAME,NAME] [--models NAME,NAME]
    [--pods sharded,pooled]

A row has the simulated time of each policy's plan over the ideal, which is the time of policy
`ideal`, and the least of what plans take, simulated or forecast, over the ideal that they know
themselves. None is under 1. Where a model does not fit a chip, there is no row.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import elk

POLICIES = ("basic", "static", "elk-dyn", "elk-full")
PODS = ("sharded", "pooled")
LARGEST = 10_000  # cores of a grid: searches on wafers take minutes

MODELS: dict[str, tuple[dict[str, object], dict[str, int]]] = {
    "nerf-t10": ({}, {"rows": 1000}),
    "bert-large": ({"layers": 1}, {"batch": 1, "seq": 128}),
    "gpt2": ({"layers": 1}, {"batch": 1, "past": 128}),
    "opt-6.7b": ({"layers": 1}, {"batch": 1, "past": 128}),
    "llama2-7b": ({"layers": 1}, {"batch": 8, "past": 512}),
    "vit-base-16": ({"layers": 1}, {"batch": 1}),
    "dit-xl-2": ({"layers": 1}, {"batch": 1}),
    "retnet-1.3b": ({"layers": 1}, {"batch": 8}),
    "resnet-18": ({}, {"batch": 1}),
}
"""What `elk.models.get` takes beside a name, and numbers for the model's symbolic dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A policy's plan: its simulated time over the ideal, and over the ideal that it knows."""

    of_all: float
    of_own: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chips", default=",".join(presets()), help="names of presets")
    parser.add_argument("--models", default=",".join(MODELS), help="names of models")
    parser.add_argument("--pods", default=",".join(PODS), help="sharded, pooled or both")
    arguments = parser.parse_args()
    print("| model | chip | pod | ideal µs | " + " | ".join(POLICIES) + " | least of own |")
    print("| --- | --- | --- |" + " --- |" * (len(POLICIES) + 2))
    found: list[dict[str, Cell]] = []
    for name in arguments.models.split(","):
        given, bindings = MODELS[name]
        model = elk.load_model(elk.models.get(name, **given), bindings=bindings)  # type: ignore[arg-type]
        for chip in map(elk.chips.get, arguments.chips.split(",")):
            for pod in arguments.pods.split(",") if chip.chips > 1 else PODS[:1]:
                found += row(name, model, chip, pod)
    print(f"\n{verdict(found)}")


def presets() -> list[str]:
    """All chips that are planned in seconds."""
    return [
        name
        for name in elk.chips.names()
        if elk.chips.get(name).interconnect.topology == "all_to_all"
        or elk.chips.get(name).to_core().core.count <= LARGEST
    ]


def row(name: str, model: elk.Model, chip: elk.Chip, pod: str) -> list[dict[str, Cell]]:
    """Prints a row and returns it, or nothing if the model does not fit."""
    print(f"{name} on {chip.name}, {pod}", file=sys.stderr)
    try:
        cells, ideal_s = against_ideal(model, chip, pod)
    except elk.InfeasibleError:
        return []
    shares = " | ".join(f"{cells[policy].of_all:.4f}" for policy in POLICIES)
    own = min(cell.of_own for cell in cells.values())
    print(
        f"| {name} | {chip.name} | {pod} | {ideal_s * 1e6:.2f} | {shares} | {own:.4f} |", flush=True
    )
    return [cells]


def against_ideal(model: elk.Model, chip: elk.Chip, pod: str) -> tuple[dict[str, Cell], float]:
    """Each policy's simulated time over the ideal, and the ideal in seconds.

    Example:
        >>> model = elk.load_model("models/nerf.onnx", bindings={"rows": 64})
        >>> cells, ideal_s = against_ideal(model, elk.chips.get("tiny"), "sharded")
        >>> min(cell.of_all for cell in cells.values()) >= 1
        True
    """
    ideal_s = elk.compile(model, chip, pod=pod, policy="ideal").latency_s
    cells = {}
    for policy in POLICIES:
        plan = elk.compile(model, chip, pod=pod, policy=policy)
        least_s = min(plan.simulate().latency_s, plan.latency_s)  # The card shows either.
        cells[policy] = Cell(
            of_all=plan.simulate().latency_s / ideal_s, of_own=least_s / plan.bounds.ideal_s
        )
    return cells, ideal_s


def verdict(found: list[dict[str, Cell]]) -> str:
    """In how many cases the ideal is beaten, and how near ELK-Full comes to it."""
    beaten = sum(min(cell.of_all for cell in cells.values()) < 1.0 for cells in found)
    own = sum(min(cell.of_own for cell in cells.values()) < 1.0 for cells in found)
    worst = min((cell.of_all for cells in found for cell in cells.values()), default=1.0)
    full = [cells["elk-full"].of_all for cells in found]
    mean = sum(full) / max(1, len(full))
    return (
        f"{len(found)} cases: the ideal is beaten in {beaten} of them, at most by "
        f"{1 / worst:.3f} x; a plan beats the ideal that it knows in {own}. elk-full takes "
        f"{mean:.3f} of the ideal on average"
    )


if __name__ == "__main__":
    main()
