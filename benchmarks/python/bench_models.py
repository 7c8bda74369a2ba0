"""How long elk.models takes to build each model, and what it then consists of.

    python benchmarks/python/bench_models.py [--repeats N]
    python benchmarks/python/bench_models.py --facts

Times are the least of the repeats, of the slowest graph of each model; the bar is a second. The
facts are the table in docs/models.md: parameters beside those of data/models.csv, bytes of fp16
weights, bytes that one token adds to the caches of one sequence, and FLOPs of a decode step of 32
sequences with 2,048 tokens each (of one pass where there is no such step).
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import elk
from elk import models

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import machine

BAR_S = 1.0
TABLE = Path(__file__).parents[2] / "data" / "models.csv"
SIZES = {"batch": 32, "past": 2048}
PASS = {"batch": 1, "seq": 512, "rows": 1920 * 1080}
SHORT = {"gpt2": {"batch": 32, "past": 1023}}  # GPT-2 has 1,024 positions.


def seconds(name: str, phase: str, repeats: int) -> float:
    """The least time that one graph of a model takes."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        models.get(name, phase)
        times.append(time.perf_counter() - start)
    return min(times)


def show_times(repeats: int) -> None:
    print(machine())
    start = time.perf_counter()
    models.get("nerf-t10")
    print(f"first model, which imports onnx: {time.perf_counter() - start:.2f} s\n")
    print("| model | graph | nodes | build ms | bar |\n| --- | --- | --- | --- | --- |")
    for name in models.names():
        times = {phase: seconds(name, phase, repeats) for phase in models.phases(name)}
        phase = max(times, key=times.__getitem__)
        nodes = len(models.get(name, phase).graph.node)
        bar = "<= 1 s" if times[phase] <= BAR_S else "<= 1 s MISSED"
        print(f"| {name} | {phase} | {nodes:,} | {1e3 * times[phase]:.0f} | {bar} |")


def show_facts() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        known = {row["model"]: int(row["params"]) for row in csv.DictReader(file)}
    head = "model", "parameters", "of the table", "weight bytes", "KV bytes a token", "GFLOP"
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for name in models.names():
        sizes = SHORT.get(name, SIZES if "decode" in models.phases(name) else PASS)
        proto = models.get(name)
        facts = elk.load_model(
            proto, bindings={symbol: sizes[symbol] for symbol in models.symbols(proto)}
        ).facts
        own = facts.external_parameters - known.get(name, facts.external_parameters)
        table = "not in it" if name not in known else f"{own:+,}" if own else "the same"
        added = "" if models.kind(name) != "transformer" else f"{facts.appended_bytes // 32:,}"
        cells = (name, f"{facts.external_parameters:,}", table, f"{facts.external_bytes:,}")
        print(f"| {' | '.join(cells)} | {added} | {facts.flops / 1e9:,.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--facts", action="store_true", help="what models consist of, no times")
    options = parser.parse_args()
    if options.facts:
        show_facts()
    else:
        show_times(options.repeats)


if __name__ == "__main__":
    main()
