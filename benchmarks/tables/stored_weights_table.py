"""What weights that are stored in fewer bits buy: Llama-3.1-8B decode on four chips.

python benchmarks/tables/stored_weights_table.py [--layers N]

A step of one sequence behind 2,048 tokens, by `elk-dyn` at effort `fast`. The head is cut into
parts along the vocabulary that fit the SRAM of each chip.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import elk

CHIPS = ("ipu-pod4-hbm", "blackhole-p150", "sn40l", "trainium2")
STORED = ("f16", "int8", "int4")
HEAD_PARTS = 16
BINDINGS = {"batch": 1, "past": 2048}


def latency(chip: str, stored: str, layers: int) -> tuple[float, float]:
    """Seconds of a step, and gigabytes of weights."""
    config = replace(elk.models.config("llama3.1-8b"), head_parts=HEAD_PARTS, layers=layers)
    proto = elk.models.transformer(config)
    if stored != "f16":
        proto = elk.models.store_weights(proto, stored)
    model = elk.load_model(proto, bindings=BINDINGS)
    plan = elk.compile(model, chip, policy="elk-dyn", effort="fast")
    return plan.simulate().latency_s, model.facts.weight_bytes / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=32)
    layers = parser.parse_args().layers
    print("| chip | weights | GB of weights | ms a step | of f16 |")
    print("| --- | --- | ---: | ---: | ---: |")
    for chip in CHIPS:
        first = None
        for stored in STORED:
            try:
                seconds, gigabytes = latency(chip, stored, layers)
            except elk.InfeasibleError as error:
                print(f"| {chip} | {stored} | | {error.code} | |", flush=True)
                continue
            first = first or seconds
            print(
                f"| {chip} | {stored} | {gigabytes:.2f} | {seconds * 1e3:.3f} "
                f"| {seconds / first:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
