"""How much slower plans get on better chips, of one field each, as Markdown, worst first.

python benchmarks/monotone_table.py [--models FILE,FILE] [--fields NAME,NAME] [--threads N]

`from base` compares with the chip as it is, `from step` with the next smaller factor. Times are
forecasts, in milliseconds. Exits with 1 if a case is more than 1 % slower than on the chip as it
is.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import elk
from cases import CASES, Case

if TYPE_CHECKING:
    from collections.abc import Iterator

CHIP = "ipu-pod4-hbm"
FACTORS = (1.25, 1.5, 2.0, 4.0)
FIELDS = ("count", "sram_bytes", "link_bytes_per_s", "hbm_bytes_per_s")
SLACK = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model on one chip that is better than the base."""

    model: str
    field: str
    factor: float
    latency_s: float
    from_base: float  # share of the base's latency; above 0: slower
    from_step: float  # share of that on the next smaller factor


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=None, help="files of benchmarks/cases.py, with commas")
    parser.add_argument("--fields", default=",".join(FIELDS), help="what gets better, with commas")
    parser.add_argument("--policy", default="elk-dyn", help="policy of all plans")
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    arguments = parser.parse_args()
    files = arguments.models.split(",") if arguments.models else None
    cases = [case for case in CASES if files is None or case.file in files]
    fields = arguments.fields.split(",")
    rows = [
        row
        for case in cases
        for row in rows_of(case, fields, policy=arguments.policy, threads=arguments.threads)
    ]
    rows.sort(key=lambda row: -row.from_base)
    print("| model | better | factor | ms | from base | from step |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        print(line(row))
    slower = [row for row in rows if row.from_base > SLACK]
    steps = [row for row in rows if row.from_step > SLACK]
    print(
        f"\nOf {len(rows)} cases, more than {100 * SLACK:g} % slower than the base: {len(slower)}; "
        f"than the step before: {len(steps)}"
    )
    sys.exit(1 if slower else 0)


def rows_of(case: Case, fields: list[str], *, policy: str, threads: int | None) -> Iterator[Row]:
    """Plans a model on the base and on every better chip."""
    chip = elk.chips.get(CHIP)
    model = elk.load_model(case.path, bindings=case.bindings)

    def latency_s(on: elk.Chip) -> float:
        return elk.compile(model, on, policy=policy, threads=threads).latency_s

    base_s = latency_s(chip)
    for field in fields:
        step_s = base_s
        for factor in FACTORS:
            now_s = latency_s(better(chip, field, factor))
            row = Row(
                model=case.title,
                field=field,
                factor=factor,
                latency_s=now_s,
                from_base=now_s / base_s - 1,
                from_step=now_s / step_s - 1,
            )
            print(line(row), file=sys.stderr)
            yield row
            step_s = now_s


def line(row: Row) -> str:
    return (
        f"| {row.model} | {row.field} | {row.factor:g} | {1e3 * row.latency_s:.4f} | "
        f"{100 * row.from_base:+.2f} % | {100 * row.from_step:+.2f} % |"
    )


def better(chip: elk.Chip, field: str, factor: float) -> elk.Chip:
    """`chip` with `factor` times as much of `field`."""
    if field == "count":
        return chip.replace(count=int(chip.core.cores * factor))
    if field == "sram_bytes":
        return chip.replace(sram_bytes=int(chip.core.sram_bytes * factor))
    if field == "link_bytes_per_s":
        return chip.replace(link_bytes_per_s=chip.interconnect.link_bytes_per_s * factor)
    if chip.hbm is None:
        raise SystemExit(f"{chip.name} has no HBM")
    return chip.replace(hbm_bytes_per_s=chip.hbm.bytes_per_s * factor)


if __name__ == "__main__":
    main()
