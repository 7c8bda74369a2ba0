"""What waves gain where a cache takes a large share of SRAM, as Markdown: OPT-30B, simulated.

`remote_access_blocks` is off. Plans without waves come from the core, which is told to try none.

python benchmarks/tables/wave_table.py [--batches 64] [--rates 8,16,24] [--policy elk-full]
"""

from __future__ import annotations

import argparse

import elk
from cases import machine, named
from elk import _core
from elk.plan.options import Options
from elk.tile.tilemodel import load_tile_model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="opt-30b", help="start of a file name")
    parser.add_argument("--batches", default="64")
    parser.add_argument("--rates", default="8,16,24", help="TB/s, all chips together")
    parser.add_argument("--policy", default="elk-full")
    arguments = parser.parse_args()
    case = named(arguments.model)
    print(f"{machine()}; elk {elk.__version__}\n")
    print(
        "| batch | HBM TB/s | HBM ms | whole: ms | bound ms | ratio "
        "| waves | in waves: ms | bound ms | ratio |"
    )
    print("| ---: |" + " ---: |" * 9)
    for batch in map(int, arguments.batches.split(",")):
        model = elk.load_model(case.path, bindings={**case.bindings, "batch": batch})
        for rate in arguments.rates.split(","):
            chip = elk.chips.get("ipu-pod4-hbm").replace(
                hbm_bandwidth=f"{rate} TB/s", remote_access_blocks=False
            )
            plan = elk.compile(model, chip, policy=arguments.policy)
            waves = {name.rpartition("#")[2] for name in plan.op_names if "#" in name}
            latency_s = plan.simulate(fidelity="symmetric").latency_s
            cells = (
                f"{1e3 * plan.bounds.hbm_s:.3f}",
                pair(*whole(model, chip, arguments.policy)),
                str(max(1, len(waves))),
                pair(latency_s, plan.bounds.lower_bound_s),
            )
            print(f"| {batch} | {rate} | {' | '.join(cells)} |", flush=True)


def whole(model: elk.Model, chip: elk.Chip, policy: str) -> tuple[float, float]:
    """Simulated latency and bound, in seconds, of the plan without waves."""
    options = Options(policy=policy).to_core()
    options.waves = False
    tiles = load_tile_model(chip.core.tile_model)
    plan = _core.compile(model.graph, chip.to_core(), tiles, options)
    assert plan.shard is not None
    one = _core.one_of(chip.to_core())
    run = _core.simulate(plan.shard.graph, one, plan.program, tiles, _core.Fidelity.Symmetric)
    return run.total_ps * 1e-12, plan.bounds.lower_bound_s


def pair(latency_s: float, bound_s: float) -> str:
    return f"{1e3 * latency_s:.3f} | {1e3 * bound_s:.3f} | {latency_s / bound_s:.3f}"


if __name__ == "__main__":
    main()
