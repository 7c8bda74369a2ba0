"""How much slower plans get on better chips or smaller batches, as Markdown, worst first.

python benchmarks/tables/monotone_table.py [--models NAME,NAME] [--chips NAME,NAME]
    [--fields NAME,NAME] [--policies NAME,NAME] [--sample N] [--sweep] [--threads N]

Small models (`small_models.py`) are planned on a preset and on the same with more of one field; a
batch gets smaller. Times are simulated, in microseconds. With `--sample N` every Nth pair is taken.
`--sweep` plans Llama2-13B under elk-full at 10 to 33 TB/s of HBM instead, in steps of 1.

The bar: no pair is more than 1 % slower, at most 1 % of them more than 0.1 %; of the sweep, no step
more than 0.5 %. Exits with 1 where it is missed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import elk
import small_models
from cases import named

if TYPE_CHECKING:
    from collections.abc import Iterator

CHIPS: Final = (
    "a100",
    "blackhole-p150",
    "ipu-pod4-hbm",
    "maia100",
    "mtia-v2",
    "palm-wafer",
    "sn40l",
    "tiny",
    "trainium2",
    "wormhole-n300",
)
BETTER: Final = {"hbm": 1.25, "link": 1.5, "sram": 1.25, "count": 1.5, "sync": 0.5, "batch": 0.75}
WORST: Final = 0.01
NOTABLE: Final = 0.001
NOTABLE_SHARE: Final = 0.01
STEP: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model on a chip as it is and on a better one."""

    model: str
    chip: str
    policy: str
    field: str
    base_s: float
    better_s: float

    @property
    def slower(self) -> float:
        """The share by which the better one takes longer."""
        return self.better_s / self.base_s - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(small_models.NAMES), help="small models")
    parser.add_argument("--chips", default=",".join(CHIPS), help="names of presets")
    parser.add_argument("--fields", default=",".join(BETTER), help="what gets better")
    parser.add_argument("--policies", default="elk-dyn,elk-full")
    parser.add_argument("--sample", type=int, default=1, help="take every Nth pair")
    parser.add_argument("--sweep", action="store_true", help="Llama2-13B over HBM instead")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    sys.exit(0 if (sweep if arguments.sweep else pairs)(arguments) else 1)


def pairs(arguments: argparse.Namespace) -> bool:
    """Prints the table; whether the bar is met."""
    fields = arguments.fields.split(",")
    rows = [
        row
        for policy in arguments.policies.split(",")
        for number, (name, chip) in enumerate(
            (name, chip)
            for name in arguments.models.split(",")
            for chip in arguments.chips.split(",")
        )
        for row in rows_of(
            name,
            elk.chips.get(chip),
            [f for i, f in enumerate(fields) if (number + i) % arguments.sample == 0],
            policy=policy,
            threads=arguments.threads,
        )
    ]
    rows.sort(key=lambda row: -row.slower)
    print("| model | chip | policy | better | before us | after us | slower |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: |")
    for row in rows:
        if row.slower > NOTABLE:
            print(line(row))
    worst = sum(row.slower > WORST for row in rows)
    notable = sum(row.slower > NOTABLE for row in rows)
    print(
        f"\nOf {len(rows)} pairs, over {100 * WORST:g} % slower: {worst} (bar: 0), "
        f"over {100 * NOTABLE:g} %: {notable} (bar: {int(NOTABLE_SHARE * len(rows))})"
    )
    return worst == 0 and notable <= NOTABLE_SHARE * len(rows)


def rows_of(
    name: str, chip: elk.Chip, fields: list[str], *, policy: str, threads: int | None
) -> Iterator[Row]:
    """Plans a model on the chip and with each field better, where it fits."""

    def seconds(on: elk.Chip, **sizes: int) -> float:
        model = small_models.load(name, **sizes)
        plan = elk.compile(model, on, policy=policy, threads=threads)
        return plan.simulate(fidelity="symmetric").total_ps * 1e-12

    fields = [field for field in fields if field == "batch" or better(chip, field) is not None]
    if not fields:
        return
    try:
        base_s = seconds(chip)
    except elk.InfeasibleError:
        return
    for field in fields:
        if field == "batch":
            symbol, usual = small_models.batch_of(name)
            better_s = seconds(chip, **{symbol: int(usual * BETTER["batch"])})
        else:
            better_s = seconds(better(chip, field) or chip)
        row = Row(
            model=name,
            chip=chip.name,
            policy=policy,
            field=field,
            base_s=base_s,
            better_s=better_s,
        )
        print(line(row), file=sys.stderr, flush=True)
        yield row


def better(chip: elk.Chip, field: str) -> elk.Chip | None:
    """`chip` with more of `field`, or less time to synchronise; None where it has none of it."""
    factor = BETTER[field]
    if field == "hbm":
        rate = chip.hbm.bytes_per_s if chip.hbm is not None else None
        return None if rate is None else chip.replace(hbm_bytes_per_s=rate * factor)
    if field == "link":
        return chip.replace(link_bytes_per_s=chip.interconnect.link_bytes_per_s * factor)
    if field == "sram":
        return chip.replace(sram_bytes=int(chip.core.sram_bytes * factor))
    if field == "sync":
        sync = chip.interconnect.sync_latency_s
        return chip.replace(interconnect_sync_latency_s=sync * factor) if sync > 0 else None
    if chip.interconnect.topology != "all_to_all":
        return None
    return chip.replace(count=int(chip.core.cores * factor))


def sweep(arguments: argparse.Namespace) -> bool:
    """Prints Llama2-13B's times over HBM rates; whether no step is up by more than the bar."""
    case = named("llama2-13b")
    model = elk.load_model(case.path, bindings=case.bindings)
    print("| HBM TB/s | forecast us | simulated us | step |")
    print("| ---: | ---: | ---: | ---: |")
    worst = 0.0
    before: float | None = None
    for rate in range(10, 34):
        chip = elk.chips.get("ipu-pod4-hbm").replace(hbm_bandwidth=f"{rate} TB/s")
        plan = elk.compile(model, chip, policy="elk-full", threads=arguments.threads)
        now = plan.simulate(fidelity="symmetric").total_ps * 1e-6
        step = 0.0 if before is None else now / before - 1
        print(
            f"| {rate} | {1e6 * plan.latency_s:.3f} | {now:.3f} | {100 * step:+.2f} % |", flush=True
        )
        worst = max(worst, step)
        before = now
    print(f"\nThe largest step up: {100 * worst:.2f} % (bar: {100 * STEP:g} %)")
    return worst <= STEP


def line(row: Row) -> str:
    return (
        f"| {row.model} | {row.chip} | {row.policy} | {row.field} | {1e6 * row.base_s:.4f} | "
        f"{1e6 * row.better_s:.4f} | {100 * row.slower:+.2f} % |"
    )


if __name__ == "__main__":
    main()
