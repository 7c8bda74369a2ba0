"""What each mechanism of the planner buys, on contested models and chips.

A build with `-D ELK_ABLATION=ON` can switch mechanisms off one at a time; any build gives the
panel as it is. `table` prints what `run` measured, each mechanism against all of them together.

python benchmarks/tables/ablation.py run [--mechanism NAME,NAME|all] [--seeds N] -o panel.csv
python benchmarks/tables/ablation.py compare before.csv after.csv
python benchmarks/tables/ablation.py table panel.csv > docs/what_each_mechanism_buys.md
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import elk
from cases import MODELS
from elk import _core

POLICIES = ("elk-full", "elk-dyn")
LISTED = Path(__file__).parents[2] / "cpp" / "elk" / "base" / "mechanisms.def"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested:
    """A model on a chip where HBM, exchanges and compute all take about as long."""

    name: str
    model: str
    sizes: dict[str, int]
    chip: str = "ipu-pod4-hbm"
    bandwidth: str = ""  # of all HBM; empty: the preset's

    def on(self) -> elk.Chip:
        chip = elk.chips.get(self.chip)
        return chip.replace(hbm_bandwidth=self.bandwidth) if self.bandwidth else chip


def decode(name: str, model: str, batch: int, bandwidth: int) -> Contested:
    sizes = {"batch": batch, "past": 2048}
    return Contested(name=name, model=f"{model}-decode", sizes=sizes, bandwidth=f"{bandwidth} TB/s")


BERT = {"batch": 8, "seq": 512}
SHORT = {"batch": 8, "seq": 128}
SMALL = {"batch": 1, "seq": 64}

PANEL = (
    decode("l13-b32-16", "llama2-13b", 32, 16),
    decode("l13-b64-24", "llama2-13b", 64, 24),
    decode("l70-b64-16", "llama2-70b", 64, 16),
    decode("g27-b64-24", "gemma2-27b", 64, 24),
    decode("opt-b32-24", "opt-30b", 32, 24),
    decode("opt-b64-24", "opt-30b", 64, 24),
    Contested(name="dit-b8", model="dit-xl-2", sizes={"batch": 8}),
    Contested(name="bert-b8", model="bert-large", sizes=BERT),
    Contested(name="rn50-b8", model="resnet50", sizes={"batch": 8}),
    Contested(name="vit-b8", model="vit-base-16", sizes={"batch": 8}),
    Contested(name="bert-mesh", model="bert-large", sizes=BERT, chip="ipu-pod4-hbm-mesh"),
    Contested(
        name="dit-meshw", model="dit-xl-2", sizes={"batch": 8}, chip="ipu-pod4-hbm-mesh-wide"
    ),
    Contested(name="bert-bhole", model="bert-large", sizes=SHORT, chip="blackhole-p150"),
    Contested(name="bert-mk2", model="bert-large", sizes=SHORT, chip="ipu-mk2"),
    Contested(name="nerf-wafer", model="nerf", sizes={"rows": 16}, chip="palm-wafer"),
    Contested(name="gpt2-n300", model="gpt2", sizes=SMALL, chip="wormhole-n300"),
    Contested(name="nerf-mesh", model="nerf", sizes={"rows": 1024}, chip="ipu-pod4-hbm-mesh"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A plan that was compiled and simulated; `off`: the mechanism that was switched off."""

    off: str
    case: str
    policy: str
    seed: int
    latency_s: float  # infinite: the model does not fit
    bound_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one run of the panel has over another, in percent of each case."""

    latency: dict[str, float]  # by policy: mean
    most: dict[str, tuple[float, str]]  # by policy, with its case
    bound: float  # points of latency over bound under elk-full, in the mean
    cpu: float  # times, in the mean
    most_cpu: float
    unfit: list[str]  # cases that fit no more, which count in none of the others


def measured(one: Contested, policy: str, off: str, seed: int) -> Measured:
    """A row; what a compile leaves for the next goes with its model, so each loads its own."""
    model = elk.load_model(MODELS / f"{one.model}.onnx", bindings=one.sizes)
    plan: elk.Plan | None = None
    begin = time.process_time()
    with contextlib.suppress(elk.InfeasibleError):
        plan = elk.compile(model, one.on(), policy=policy, progress=False, threads=1)
    cpu = time.process_time() - begin
    return Measured(
        off=off,
        case=one.name,
        policy=policy,
        seed=seed,
        latency_s=plan.simulate().latency_s if plan else math.inf,
        bound_s=plan.bounds.lower_bound_s if plan else math.inf,
        cpu_s=cpu,
    )


def run(mechanisms: list[str], seeds: int, cases: Iterable[Contested]) -> Iterable[Measured]:
    for one in cases:
        for off in mechanisms:
            for seed in range(seeds):
                switch(off, seed)
                for policy in POLICIES:
                    print(one.name, off or "everything on", seed, policy, file=sys.stderr)
                    yield measured(one, policy, off, seed)


def switch(off: str, seed: int) -> None:
    """Switches one mechanism off, or none, where this build can."""
    switch_off = getattr(_core, "switch_off", None)
    if switch_off is not None:
        switch_off(off, seed)
    elif off or seed:
        raise SystemExit("mechanisms and seeds need a build with -D ELK_ABLATION=ON")


def known_mechanisms() -> dict[str, tuple[str, str]]:
    """Title and files of each mechanism, from the list that the core is built with."""
    found = re.findall(
        r'^ELK_MECHANISM\((\w+), "(.*)", "(.*)"\)$', LISTED.read_text(), re.MULTILINE
    )
    return {name: (title, files) for name, title, files in found}


def means(rows: Iterable[Measured]) -> dict[tuple[str, str], Measured]:
    """The mean of all seeds, by case and policy."""
    found: defaultdict[tuple[str, str], list[Measured]] = defaultdict(list)
    for row in rows:
        found[row.case, row.policy].append(row)
    return {
        key: Measured(
            off=some[0].off,
            case=key[0],
            policy=key[1],
            seed=-1,
            latency_s=statistics.fmean(row.latency_s for row in some),
            bound_s=statistics.fmean(row.bound_s for row in some),
            cpu_s=statistics.fmean(row.cpu_s for row in some),
        )
        for key, some in found.items()
    }


def change(before: Iterable[Measured], after: Iterable[Measured]) -> Change:
    old, new = means(before), means(after)
    both = [(old[key], new[key]) for key in old if key in new]
    unfit = sorted({b.case for _, b in both if math.isinf(b.latency_s)})
    both = [(a, b) for a, b in both if not math.isinf(b.latency_s)]
    latency, most = {}, {}
    for policy in POLICIES:
        each = [
            (100 * (b.latency_s / a.latency_s - 1), a.case) for a, b in both if a.policy == policy
        ]
        latency[policy] = statistics.fmean(share for share, _ in each)
        most[policy] = max(each)
    full = [(a, b) for a, b in both if a.policy == "elk-full"]
    cpu = [b.cpu_s / a.cpu_s for a, b in full]
    return Change(
        latency=latency,
        most=most,
        bound=statistics.fmean(
            100 * (b.latency_s / b.bound_s - a.latency_s / a.bound_s) for a, b in full
        ),
        cpu=statistics.fmean(cpu),
        most_cpu=max(cpu),
        unfit=unfit,
    )


def read(path: Path) -> list[Measured]:
    kinds = {"seed": int, "latency_s": float, "bound_s": float, "cpu_s": float}
    with path.open(newline="") as file:
        return [
            Measured(**{name: kinds.get(name, str)(value) for name, value in row.items()})
            for row in csv.DictReader(file)
        ]


def write(rows: Iterable[Measured], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([one.name for one in fields(Measured)])
        for row in rows:
            writer.writerow(astuple(row))
            file.flush()


def compare(before: list[Measured], after: list[Measured]) -> None:
    """Prints case by case what changed, and the means."""
    old, new = means(before), means(after)
    for key in (key for key in old if key in new):
        a, b = old[key], new[key]
        print(
            f"{key[0]:12} {key[1]:9} latency {100 * (b.latency_s / a.latency_s - 1):+7.2f} % "
            f"bound {100 * (b.bound_s / a.bound_s - 1):+7.2f} % CPU {b.cpu_s / a.cpu_s:5.2f} x"
        )
    all_in_all = change(before, after)
    for policy in POLICIES:
        share, case = all_in_all.most[policy]
        print(f"{policy}: mean {all_in_all.latency[policy]:+.2f} %, most {share:+.2f} % ({case})")
    print(f"latency / bound {all_in_all.bound:+.2f} points")
    print(f"CPU {all_in_all.cpu:.2f} x in the mean, {all_in_all.most_cpu:.2f} x at most")


def table(rows: list[Measured], titles: dict[str, tuple[str, str]]) -> None:
    """Prints the page of docs/: a line a mechanism, the ones that buy most first."""
    everything = [row for row in rows if not row.off]
    seeds = len({row.seed for row in everything})
    print(HEAD.format(cases=len({row.case for row in rows}), seeds=seeds))
    changes = [
        (off, change(everything, [row for row in rows if row.off == off]))
        for off in dict.fromkeys(row.off for row in rows if row.off)
    ]
    for off, one in sorted(changes, key=lambda entry: -sum(entry[1].latency.values())):
        title, files = titles[off]
        cells = [f"{one.latency[policy]:+.2f} / {one.most[policy][0]:.1f}" for policy in POLICIES]
        case = ", ".join([one.most["elk-full"][1], *(f"{name} does not fit" for name in one.unfit)])
        print(
            f"| {title} | `{files}` | {cells[0]} | {case} | {cells[1]} "
            f"| {one.bound:+.2f} | {100 * (one.cpu - 1):+.0f} |"
        )


HEAD = """# What each mechanism buys

`python benchmarks/tables/ablation.py table` prints this page. Each mechanism of the planner was
switched off by itself, in a build with `-D ELK_ABLATION=ON`, on the {cases} cases of the panel in
`benchmarks/tables/ablation.py`; a row says what that does to simulated latency (mean and most over
the cases, in percent; more is worse), to latency over bound (points), and to the CPU seconds of a
compile (percent). Numbers are the mean over seeds of the annealer: {seeds} here. Another seed
moves one case by up to 0.8 %, BERT on the mesh by 3 %, and the mean by about 0.1 %.

A mechanism of over 100 lines enters with its row here, and leaves when its row says that it buys
nothing (`CONTRIBUTING.md`).

| mechanism | files | elk-full, mean / most % | most on | elk-dyn, mean / most % | bound | CPU % |
| --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="measure")
    running.add_argument("--mechanism", default="", help="names with commas, or 'all'")
    running.add_argument("--seeds", type=int, default=1)
    running.add_argument("--cases", default="", help="names with commas; all")
    running.add_argument("-o", dest="output", type=Path, required=True)
    comparing = commands.add_parser("compare", help="print one run against another")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    printing = commands.add_parser("table", help="print the page")
    printing.add_argument("measured", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "compare":
        compare(read(arguments.before), read(arguments.after))
        return
    if arguments.command == "table":
        table(read(arguments.measured), known_mechanisms())
        return
    some = [name for name in arguments.mechanism.split(",") if name]
    off = ["", *(known_mechanisms() if some == ["all"] else some)]
    wanted = arguments.cases.split(",") if arguments.cases else [one.name for one in PANEL]
    write(run(off, arguments.seeds, [one for one in PANEL if one.name in wanted]), arguments.output)


if __name__ == "__main__":
    main()
