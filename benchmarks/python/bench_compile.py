"""How long ELK takes from an ONNX file to a plan, and what memory that needs.

    python benchmarks/python/bench_compile.py [--threads N] [--repeats N] [--second [--policy NAME]]
                                              [--full [--models llama2-13b,...]]

With --second: what a second compile of the same `elk.Model` takes, with another HBM bandwidth,
beside one afresh, and what it found of the first. The plans of both must be the same. With --full:
elk-full of the five models of the grid at batch 32, afresh and a second time.

Every row is measured in a process of its own, from a cold start of the compiler; the least of the
repeats is shown. The bars are those the project holds itself to on two cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import elk
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import CASES, GRID, OTHERS, machine, named

BARS_S = {
    "llama2-13b-decode.onnx": 2.0,
    "llama2-70b-decode.onnx": 3.0,
    "bert-large.onnx": 2.0,
    "resnet50.onnx": 2.0,
    "dit-xl-2.onnx": 2.0,
}
BAR_MIB = {"llama2-13b-decode.onnx": 500.0}
BAR_SECOND_S = 0.5
BAR_FULL_S, BAR_FULL_FILE_S, BAR_FULL_MIB = 1.0, 2.0, 1024.0
FIRST, SECOND = "8 TB/s", "16 TB/s"  # of HBM
BAR_OTHERS_S = 3.0  # every other file of models/
KEPT = ("fronts", "rates", "executes", "handovers", "gathers", "bounds", "passes")
LAYERS = (4, 16, 64, 256)


def measure(path: Path, bindings: dict[str, int], threads: int | None) -> dict[str, float]:
    """Seconds and MiB of one compilation in this process."""
    start, busy = time.perf_counter(), time.process_time()
    model = elk.load_model(path, bindings=bindings)
    loaded = time.perf_counter()
    plan = elk.compile(model, "ipu-pod4-hbm", policy="elk-dyn", threads=threads)
    planned, worked = time.perf_counter(), time.process_time()
    document = plan.to_json()
    return {
        "load_s": loaded - start,
        "plan_s": planned - loaded,
        "cpu_s": worked - busy,
        "json_s": time.perf_counter() - planned,
        "ops": len(document["ops"]),
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure_second(
    path: Path, bindings: dict[str, int], threads: int | None, policy: str
) -> dict[str, float]:
    """Seconds of a compile at a second HBM bandwidth, by a model that was compiled and afresh."""
    preset = elk.chips.get("ipu-pod4-hbm")
    first, second = (preset.replace(hbm_bandwidth=rate) for rate in (FIRST, SECOND))
    models, loads = [], []
    for _ in range(2):
        start = time.perf_counter()
        models.append(elk.load_model(path, bindings=bindings))
        loads.append(time.perf_counter() - start)
    elk.compile(models[0], first, policy=policy, threads=threads)
    before = models[0].kept.reuse()
    found, plans = {"load_s": loads[0]}, []
    for name, model in (("afresh", models[1]), ("second", models[0])):
        start, busy = time.perf_counter(), time.process_time()
        plans.append(elk.compile(model, second, policy=policy, threads=threads))
        found[f"{name}_s"] = time.perf_counter() - start
        found[f"{name}_cpu_s"] = time.process_time() - busy
    for kept, (hits, asked) in models[0].kept.reuse().items():
        found[kept] = hits - before[kept][0]
        found[f"{kept}_asked"] = asked - before[kept][1]
    return found | {
        "same": float(plans[0] == plans[1]),
        "ops": len(models[0].graph.ops),
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(
    path: Path,
    bindings: dict[str, int],
    threads: int | None,
    repeats: int,
    policy: str | None = None,
) -> dict[str, float]:
    """The fastest of `repeats` measurements, each in a process of its own.

    With a `policy`, of a second compile.
    """
    asked = {"path": str(path), "bindings": bindings, "threads": threads, "policy": policy}
    job = json.dumps(asked)
    runs = []
    for _ in range(repeats):
        command = [sys.executable, __file__, "--job", job]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(out))
    if policy is not None:
        return min(runs, key=lambda run: run["second_s"])
    return min(runs, key=lambda run: run["load_s"] + run["plan_s"])


def row(title: str, run: dict[str, float], bar_s: float | None, bar_mib: float | None) -> str:
    total_s = run["load_s"] + run["plan_s"]
    return (
        f"| {title} | {run['ops']:,} | {run['load_s']:.2f} | {run['plan_s']:.2f} | "
        f"{beside(total_s, bar_s)} | {run['cpu_s']:.2f} | {run['json_s']:.2f} | "
        f"{beside(run['rss_mib'], bar_mib, digits=0)} |"
    )


def stack(layers: int, path: Path) -> None:
    """Writes a model of `layers` equal layers: two products, a non-linearity and a residual."""
    width, wide, rows = 1024, 4096, 32
    nodes, weights = [], []
    for i in range(layers):
        weights.append(weight(f"up{i}", (width, wide)))
        weights.append(weight(f"down{i}", (wide, width)))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"up{i}"], [f"a{i}"], name=f"up_{i}"),
            helper.make_node("Relu", [f"a{i}"], [f"b{i}"], name=f"relu_{i}"),
            helper.make_node("MatMul", [f"b{i}", f"down{i}"], [f"c{i}"], name=f"down_{i}"),
            helper.make_node("Add", [f"x{i}", f"c{i}"], [f"x{i + 1}"], name=f"add_{i}"),
        ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, [rows, width])
        for name in ("x0", f"x{layers}")
    ]
    graph = helper.make_graph(nodes, f"stack-{layers}", ends[:1], ends[1:], initializer=weights)
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    path.write_bytes(model.SerializeToString())


def weight(name: str, shape: tuple[int, ...]) -> TensorProto:
    """A weight whose bytes are elsewhere, as in the models of this repository."""
    tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT16)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def import_s(code: str) -> float:
    """Seconds that `code` adds to the start of Python, the least of five."""

    def least(line: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", line], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    return least(code) - least("pass")


def table(threads: int | None, repeats: int) -> None:
    print(f"{machine()}, threads {threads or 'all'}, least of {repeats}\n")
    print("| model | ops | load s | plan s | together s | CPU s | to_json s | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        run = in_a_process(case.path, case.bindings, threads, repeats)
        print(row(case.title, run, BARS_S.get(case.file), BAR_MIB.get(case.file)), flush=True)
    for case in OTHERS:
        run = in_a_process(case.path, case.bindings, threads, repeats)
        print(row(case.title, run, BAR_OTHERS_S, None), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for layers in LAYERS:
            path = Path(folder) / f"stack-{layers}.onnx"
            stack(layers, path)
            run = in_a_process(path, {}, threads, repeats)
            print(row(f"{layers} equal layers", run, None, None), flush=True)
    print(f"\nimport elk: {import_s('import elk'):.2f} s <= 0.5")
    print(
        f"import elk, and all that elk.compile needs: {import_s('import elk.plan.planning'):.2f} s"
    )


def second_table(threads: int | None, repeats: int, policy: str) -> None:
    print(f"{machine()}, threads {threads or 'all'}, least of {repeats}; {policy}, {SECOND} of HBM")
    print(f"after {FIRST}\n")
    heads = ("model", "ops", "afresh s", "second s", "second / afresh", "CPU afresh s",
             "CPU second s", *KEPT, "same plan")  # fmt: skip
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for case in CASES:
        run = in_a_process(case.path, case.bindings, threads, repeats, policy)
        cells = (
            f"{run['ops']:,}", f"{run['afresh_s']:.2f}", beside(run["second_s"], BAR_SECOND_S),
            f"{run['second_s'] / run['afresh_s']:.2f}", f"{run['afresh_cpu_s']:.2f}",
            f"{run['second_cpu_s']:.2f}",
            *(f"{run[kept]:.0f} of {run[f'{kept}_asked']:.0f}" for kept in KEPT),
            "yes" if run["same"] else "NO",
        )  # fmt: skip
        print(f"| {case.title} | {' | '.join(cells)} |", flush=True)


def full_table(threads: int | None, repeats: int, names: Sequence[str] = GRID) -> None:
    """ELK-Full of the grid's models, each number the least of its own."""
    print(f"{machine()}, threads {threads or 'all'}, least of {repeats}; elk-full, batch 32,")
    print(f"{SECOND} of HBM, the second time after {FIRST}; memory of both models together\n")
    heads = ("model", "load s", "plan s", "from the file s", "second plan s", "same plan", "MiB")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for name in names:
        case = named(name)
        bindings = {**case.bindings, "batch": 32}
        runs = [in_a_process(case.path, bindings, threads, 1, "elk-full") for _ in range(repeats)]
        least = {key: min(run[key] for run in runs) for key in runs[0]}
        cells = (
            f"{least['load_s']:.2f}",
            beside(least["afresh_s"], BAR_FULL_S),
            beside(least["load_s"] + least["afresh_s"], BAR_FULL_FILE_S),
            beside(least["second_s"], BAR_SECOND_S),
            "yes" if least["same"] else "NO",
            beside(least["rss_mib"], BAR_FULL_MIB, digits=0),
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def beside(value: float, bar: float | None, digits: int = 2) -> str:
    """A number, beside the bar if there is one."""
    if bar is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} <= {bar:g}{'' if value <= bar else ' MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--threads", type=int, default=None, help="threads of the search")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each row")
    parser.add_argument("--second", action="store_true", help="what a second compile takes")
    parser.add_argument("--policy", default="elk-full", help="of the second compile")
    parser.add_argument("--full", action="store_true", help="elk-full of the grid's models")
    parser.add_argument("--models", default=",".join(GRID), help="of --full")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        job = json.loads(arguments.job)
        asked = (Path(job["path"]), job["bindings"], job["threads"])
        policy = job["policy"]
        print(json.dumps(measure_second(*asked, policy) if policy else measure(*asked)))
    elif arguments.full:
        full_table(arguments.threads, arguments.repeats, arguments.models.split(","))
    elif arguments.second:
        second_table(arguments.threads, arguments.repeats, arguments.policy)
    else:
        table(arguments.threads, arguments.repeats)


if __name__ == "__main__":
    main()
