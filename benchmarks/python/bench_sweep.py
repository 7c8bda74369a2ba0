"""Measures sweeps against their bars, as Markdown; ends with 1 where one is missed.

points: Llama2-13B decode at 10 HBM rates x 10 link rates x 2 chips x 5 policies, on two workers.
scale: 100,000 points that are answered at once, through definition, store and table.
plot: a picture of 1,000 such points, in a process that has drawn nothing before.
kills: 25 kills of coordinators and workers over 1,000 points of a small model.
faults: one point of each fault among 200, on workers of this machine and of Dask.

python benchmarks/python/bench_sweep.py [--part NAME,NAME] [--quick] [--seed N] > sweep.md
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import elk
import numpy as np
from elk.sweeps.coordinator import Coordinator, Queue
from elk.sweeps.definition import Base, define
from elk.sweeps.engine import Batch, Lost
from elk.sweeps.evaluate import DONE, Answer
from elk.sweeps.store import Store
from hunted import Hunted, children

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

import sweep_faults
from cases import MODELS, machine

MIB = 1 << 20
POLICIES = ["basic", "static", "elk-dyn", "elk-full", "ideal"]
CHIPS = ("ipu-pod4-hbm", "ipu-pod4-hbm-mesh-wide")
NERF = MODELS / "nerf.onnx"


@dataclass
class Table:
    """What a part found, with the bar of each figure that has one."""

    rows: list[str] = field(default_factory=list)
    missed: int = 0

    def add(self, what: str, found: str, bar: str = "", *, is_met: bool = True) -> None:
        self.missed += not is_met
        self.rows.append(f"| {what} | {found} | {bar}{'' if is_met else ' (missed)'} |")

    def most(self, what: str, found: float, most: float, unit: str) -> None:
        self.add(what, f"{found:,.1f} {unit}", f"<= {most:g} {unit}", is_met=found <= most)

    def none(self, what: str, found: int) -> None:
        self.add(what, str(found), "0", is_met=found == 0)

    def show(self, title: str) -> int:
        print(f"\n### {title}\n\n| what | found | bar |\n| --- | --- | --- |")
        print("\n".join(self.rows), flush=True)
        return 1 if self.missed else 0


def rss_bytes(pid: int | str) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


@contextmanager
def watched() -> Iterator[list[tuple[int, int]]]:
    """Yields what this process and the largest of its workers hold, twice a second."""
    seen: list[tuple[int, int]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            workers = [rss_bytes(pid) for pid in children("self")]
            seen.append((rss_bytes("self"), max(workers, default=0)))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def rates(own: float, steps: int) -> Any:
    """Rates from 0.36 to 4 times a preset's own; a few of them from inside that range."""
    return elk.logspace(0.36 * own, 4 * own, 10) if steps == 10 else [0.6 * own, 2.4 * own]


def llama_space(steps: int) -> Any:
    parts = []
    for name in CHIPS:
        chip = elk.chips.get(name)
        assert chip.hbm is not None
        parts.append(
            {
                "chip": [name],
                "hbm_bandwidth": rates(chip.hbm.bytes_per_s, steps),
                "link_bandwidth": rates(chip.interconnect.link_bytes_per_s, steps),
                "policy": POLICIES,
            }
        )
    return elk.union(*parts)


def points(*, quick: bool, seed: int) -> int:  # noqa: ARG001 - parts have one signature
    """The sweep of Llama2-13B decode; a sample of it has its share of the seconds."""
    model = MODELS / "llama2-13b-decode.onnx"
    before = cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    with watched() as seen:
        sweep = elk.sweep(
            model,
            None,
            llama_space(2 if quick else 10),
            bindings={"batch": 32, "past": 2048},
            workers=2,
        )
    wall_s = time.perf_counter() - begun
    here_s = cpu_s(resource.RUSAGE_SELF) - before[0]
    there_s = cpu_s(resource.RUSAGE_CHILDREN) - before[1]
    rows = sweep.rows()
    own_s = sum((row["compile_cpu_s"] or 0) + (row["simulate_cpu_s"] or 0) for row in rows)
    table = Table()
    table.none("points that are not done", len(rows) - sweep.progress.done)
    table.most("CPU of both workers", there_s, 480 * len(rows) / 1000, "s")
    table.add("of it planning and simulating", f"{own_s:,.1f} s")
    table.add("CPU of the coordinator", f"{here_s:,.1f} s")
    table.add("wall time", f"{wall_s:,.1f} s")
    starts_s = 2 * start_s(model) if quick else 0.0
    if quick:
        table.add("of it starts of workers and loads of the model", f"{starts_s:,.1f} s")
    share = 100 * (here_s + there_s - starts_s - own_s) / own_s
    table.most("machinery, of planning and simulating", share, 5, "%")
    quarters = [seen[len(seen) * at // 4 : len(seen) * (at + 1) // 4] for at in range(4)]
    for place, (who, most) in enumerate((("coordinator", 300), ("worker", 600))):
        table.most(f"memory of a {who}", max(one[place] for one in seen) / MIB, most, "MiB")
        held = [max((one[place] for one in quarter), default=0) / MIB for quarter in quarters]
        told = ", ".join(f"{one:.0f}" for one in held)
        table.add(f"memory of a {who}, by quarter", f"{told} MiB")
    return table.show(f"{len(rows):,} points of Llama2-13B decode on two workers")


def start_s(model: Path) -> float:
    """CPU seconds of a process that imports what workers do and loads the model."""
    before = cpu_s(resource.RUSAGE_CHILDREN)
    load = "import sys, elk.sweeps.local, elk; elk.load_model(sys.argv[1], bindings={'batch': 32, "
    script = load + "'past': 2048})"
    subprocess.run([sys.executable, "-c", script, str(model)], check=True)
    return cpu_s(resource.RUSAGE_CHILDREN) - before


class Instant:
    """An engine that answers at once."""

    def __init__(self) -> None:
        self._answers: list[Answer | Lost] = []

    def wanted(self) -> list[object]:
        return [self]

    def batch_size(self) -> int:
        return 512

    def give(self, slot: object, batch: Batch) -> None:  # noqa: ARG002 - there is one slot
        self._answers += [Answer(task.key, DONE, row={"latency_s": 1e-3}) for task in batch.tasks]

    def wait(self, seconds: float) -> list[Answer | Lost]:  # noqa: ARG002 - nothing to wait for
        found, self._answers = self._answers, []
        return found

    def close(self) -> None:
        self._answers = []


def answered(store: Store) -> None:
    """Has every point of a store answered at once."""
    queue = Queue.of(store.open_tasks(), store.chips())
    with store.coordinating():
        Coordinator(store=store, engine=Instant(), retries=0, report=lambda _: None).run(queue)


def scale(*, quick: bool, seed: int) -> int:  # noqa: ARG001 - parts have one signature
    """100,000 points through definition, store and table; quickly, a tenth of them."""
    space = {
        "rows": [64 * (1 + at) for at in range(2 if quick else 20)],
        "hbm_bandwidth": elk.logspace("8 GB/s", "512 GB/s", 100),
        "link_bandwidth": elk.logspace("1 GB/s", "16 GB/s", 10),
        "policy": POLICIES,
    }
    share = 0.1 if quick else 1.0
    table = Table()
    begun = last = time.perf_counter()

    def lap(what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        table.add(what, f"{now - last:.1f} s")
        last = now

    with tempfile.TemporaryDirectory() as folder:
        definition = define(Base(model=NERF, chip="tiny", bindings={}, options={}), space)
        lap("definition")
        store = Store.create(Path(folder) / "s.elksweep", definition)
        count = len(definition.points)
        del definition
        lap("points to the store")
        answered(store)
        lap("answers to the store")
        sweep = elk.sweep.open(store.path)
        done = int((sweep.to_pandas()["status"] == "done").sum())
        lap("table")
        store.close()
    table.none("points without an answer", count - done)
    table.most("all, wall time", time.perf_counter() - begun, 60 * share, "s")
    table.add("all, CPU", f"{cpu_s(resource.RUSAGE_SELF):.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    table.most("memory, at most", peak / MIB, 1024, "MiB")
    return table.show(f"{count:,} points that are answered at once")


def plot(*, quick: bool, seed: int) -> int:  # noqa: ARG001 - a sample takes no less
    """A line for each link rate and policy, a panel for each chip."""
    model = MODELS / "llama2-13b-decode.onnx"
    base = Base(
        model=model,
        chip=None,
        bindings={"batch": 32, "past": 2048},
        options={},
        columns=("latency_s",),
    )
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "s.elksweep", define(base, llama_space(10)))
        answered(store)
        sweep = elk.sweep.open(store.path)
        before = cpu_s(resource.RUSAGE_SELF)
        axes = sweep.plot(x="hbm_bandwidth", y="latency_s", hue="policy", col="chip")
        np.ravel(axes)[0].figure.savefig(Path(folder) / "s.png")
        table.most(
            "CPU to a PNG file, imports among it", cpu_s(resource.RUSAGE_SELF) - before, 3, "s"
        )
        store.close()
    return table.show(f"A picture of {len(sweep):,} points")


def kills(*, quick: bool, seed: int) -> int:
    """Kills at random moments of a sweep of a small model."""
    space = {"rows": [*range(64, 104 if quick else 564)], "policy": ["static", "elk-full"]}
    chance, count = random.Random(seed), 5 if quick else 25
    with tempfile.TemporaryDirectory() as folder:
        hunted = Hunted(Path(folder) / "killed.elksweep", NERF, space)
        size = len(space["rows"]) * 2
        # A third of the moments are of the clock, soon after a start; the others of the sweep.
        moments = sorted(chance.randrange(size * 9 // 10) for _ in range(count))
        kinds = {"coordinator": 0, "worker": 0, "coordinator, by the clock": 0}
        for moment in moments:
            kind = chance.choice(list(kinds))
            kinds[kind] += hunted.kill(kind, moment, chance.random())
        hunted.finish()
        whole = elk.sweep(NERF, "tiny", space, store=Path(folder) / "whole.elksweep", workers=2)
        killed = elk.sweep.open(hunted.path)
        for sweep, name in ((killed, "killed.parquet"), (whole, "whole.parquet")):
            sweep.save(Path(folder) / name, timed=False)
        is_equal = len({(Path(folder) / f"{n}.parquet").read_bytes() for n in ("killed", "whole")})
        keys = [row["point"] for row in killed.rows()]
        table = Table()
        for kind, done in kinds.items():
            table.add(f"kills of a {kind}", str(done))
        met = sum(kinds.values()) == count
        table.add(
            "kills that met a sweep at work", str(sum(kinds.values())), str(count), is_met=met
        )
        table.none("points lost", size - killed.progress.done)
        table.none("points doubled", len(keys) - len(set(keys)))
        table.none("points done again, or changed, after they were reported", hunted.changed)
        table.add(
            "Parquet beside the sweep that ran through",
            "equal" if is_equal == 1 else "differs",
            "equal",
            is_met=is_equal == 1,
        )
    return table.show(f"{count} kills over {size:,} points of NeRF, seed {seed}")


def faults(*, quick: bool, seed: int) -> int:  # noqa: ARG001 - parts have one signature
    """One point of each fault among 200, locally and on Dask."""
    rows = [*range(60, 70), *range(71, 91 if quick else 261)]
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, sweep_faults.install(Path(folder)))
        missed = faulty("on two workers of this machine", rows, workers=2)
        with sweep_faults.two_dask_workers() as client:
            missed |= faulty("on two workers of Dask", rows, executor=client)
    return missed


def faulty(where: str, sizes: list[int], **how: Any) -> int:
    space = {"rows": sizes, "policy": ["static"]}
    caps = {"timeout_s": 20, "memory_bytes": "1 GiB", "retries": 1}
    sweep = elk.sweep(NERF, "tiny", space, **caps, **how)
    table = Table()
    rows = {row["rows"]: row for row in sweep.rows()}
    lost = [size for size, row in rows.items() if row["status"] != "done"]
    table.none("other points that are not done", len({*lost} - {*sweep_faults.EXPECTED}))
    for size, code in sweep_faults.EXPECTED.items():
        row = rows[size]
        told = f"{row['code']}: {row['message']}"
        table.add(f"row {size}", told, code, is_met=row["code"] == code)
    return table.show(f"One of each fault among {len(sizes)} points, {where}")


PARTS: dict[str, Callable[..., int]] = {
    "points": points,
    "scale": scale,
    "plot": plot,
    "kills": kills,
    "faults": faults,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", default=",".join(PARTS), help="names of parts, with commas")
    parser.add_argument("--quick", action="store_true", help="a sample of each part")
    parser.add_argument("--seed", type=int, default=17, help="of the moments of kills")
    arguments = parser.parse_args()
    names = arguments.part.split(",")
    if len(names) == 1:
        return PARTS[names[0]](quick=arguments.quick, seed=arguments.seed)
    print(f"Sweeps on {machine()}, {datetime.now(UTC):%Y-%m-%d}", flush=True)
    rest = [*(["--quick"] if arguments.quick else []), "--seed", str(arguments.seed)]
    # A process a part: what one holds is no memory of the next.
    ends = [
        subprocess.run([sys.executable, __file__, "--part", name, *rest], check=False).returncode
        for name in names
    ]
    return max(ends)


if __name__ == "__main__":
    sys.exit(main())
