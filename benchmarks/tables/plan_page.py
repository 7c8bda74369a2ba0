"""The pictures of docs/how_elk_plans.md, each drawn from plans that ELK makes.

python benchmarks/tables/plan_page.py [--into docs] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import elk
import matplotlib as mpl
from cases import GRID, named

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "elk"  # equal names in every file
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["font.size"] = 9

LAYER = 30  # one in the middle
LONG_PS = 1_500_000  # executes worth a bar
SRAM_KIB = 624
ROWS = ("preload", "execute")
PARTS = {  # of a simulated execute: colour
    "distribute": "tab:orange",
    "gather": "gold",
    "compute": "tab:blue",
    "shift": "tab:green",
    "reduce": "tab:olive",
}
MEMORY = {
    "activation": "tab:green",
    "execute": "tab:blue",
    "preload": "tab:orange",
    "store": "tab:red",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("docs"), help="folder of the pictures")
    parser.add_argument("--only", help="names of pictures")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(PICTURES)
    for name in names:
        page = io.StringIO()
        PICTURES[name]().savefig(page, format="svg", metadata={"Date": None})
        lines = (line.rstrip() for line in page.getvalue().splitlines())
        path = arguments.into / f"how_elk_plans_{name}.svg"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def planned(
    name: str, *, batch: int, rate: str, policy: str = "elk-full", effort: str = "default"
) -> elk.Plan:
    """A simulated plan on `ipu-pod4-hbm`; `rate` in TB/s."""
    case = named(name)
    model = elk.load_model(case.path, bindings={**case.bindings, "batch": batch})
    chip = elk.chips.get("ipu-pod4-hbm").replace(
        hbm_bandwidth=f"{rate} TB/s", remote_access_blocks=False
    )
    plan = elk.compile(model, chip, policy=policy, effort=effort)
    plan.simulate(fidelity="symmetric")
    return plan


def sheet(rows: int = 1, *, height: float = 3.0, **more: Any) -> tuple[Any, Any]:
    """A figure with one column of axes."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    return plt.subplots(rows, 1, figsize=(10, height), layout="constrained", **more)


def layer_of(document: dict[str, Any]) -> tuple[range, float, float]:
    """The operators of one layer in the middle, and its first and last picosecond, simulated."""
    repeat = document["repeat"]
    first = repeat["begin"] + min(LAYER, repeat["count"] // 2) * repeat["period"]
    ops = range(first, first + repeat["period"])
    times = {row["id"]: row for row in document["simulated"]["ops"]}
    return ops, times[ops[0]]["execute"][0], times[ops[-1]]["execute"][1]


def draw_layer(
    ax: Any, document: dict[str, Any], color_of: Callable[[dict[str, Any]], str]
) -> float:
    """The executes and preloads of one layer. Returns its microseconds."""
    _, start, end = layer_of(document)
    times = {row["id"]: row for row in document["simulated"]["ops"]}
    for row in document["ops"]:
        for height, part in enumerate(ROWS):
            span = times[row["id"]].get(part)
            if span is None or span[1] <= start or span[0] >= end:
                continue
            left, right = (min(max(t, start), end) for t in span)
            ax.barh(
                height,
                (right - left) / 1e6,
                left=(left - start) / 1e6,
                color="tab:orange" if part == "preload" else color_of(row),
                edgecolor="white",
                linewidth=0.3,
            )
    ax.set_yticks(range(len(ROWS)), ROWS)
    return float(end - start) / 1e6


def by_kind(row: dict[str, Any]) -> str:
    return "tab:blue" if row["kind"] == "matmul" else "lightgray"


def layer() -> Any:
    figure, axes = sheet(2, height=4, sharex=True)
    for ax, policy in zip(axes, ("static", "elk-full"), strict=True):
        plan = planned("llama2-70b", batch=64, rate="24", policy=policy)
        long_us = draw_layer(ax, plan.to_json(), by_kind)
        ax.set_title(f"{policy}: {long_us:.1f} microseconds a layer", loc="left")
    axes[-1].set_xlabel("microseconds from the start of the layer")
    return figure


def cuts() -> Any:
    plan = planned("llama2-70b", batch=64, rate="24")
    ops, _, _ = layer_of(plan.to_json())
    rows = {row["id"]: row for row in plan.to_json()["ops"]}
    heaviest = max(ops, key=lambda op: rows[op]["flops"])
    figure, ax = sheet()
    plan.explain(heaviest).plot(ax)
    ax.set_xlim(0, SRAM_KIB)
    return figure


def contention() -> Any:
    plan = planned("llama2-70b", batch=64, rate="24")
    ops, _, _ = layer_of(plan.to_json())
    table = plan.simulate(fidelity="symmetric").table().loc[list(ops)]
    table = table[table["execute_end_ps"] - table["execute_begin_ps"] > LONG_PS]
    figure, ax = sheet(height=3.6)
    left = 0 * table["compute_ps"]
    contended = table["link_contention_ps"] + table["sram_contention_ps"]
    shown = {name: table[f"{name}_ps"] for name in PARTS} | {"of all that, contention": contended}
    for name, part in shown.items():
        on_top = name in PARTS
        ax.barh(
            range(len(table)),
            part / 1e6,
            left=left / 1e6 if on_top else 0,
            height=0.8 if on_top else 0.3,
            color=PARTS.get(name, "black"),
            label=name,
        )
        left = left + part if on_top else left
    ax.set_yticks(range(len(table)), table["name"], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlabel("microseconds of the execute, simulated")
    ax.legend(fontsize=7)
    return figure


def induction() -> Any:
    plan = planned("llama2-70b", batch=64, rate="24", policy="elk-dyn")
    run = plan.simulate(fidelity="symmetric")
    _, start, end = layer_of(plan.to_json())
    memory = run.memory()
    shown = (memory["time_ps"] >= start) & (memory["time_ps"] <= end)
    kinds = [kind for kind in MEMORY if kind in memory and memory[kind][shown].any()]
    figure, ax = sheet()
    ax.stackplot(
        (memory["time_ps"][shown] - start) / 1e6,
        *(memory[kind][shown] / 1024 for kind in kinds),
        labels=kinds,
        colors=[MEMORY[kind] for kind in kinds],
        step="post",
    )
    ax.set_xlabel("microseconds from the start of the layer")
    ax.set_ylabel("KiB of a core")
    ax.legend(fontsize=7, loc="lower right")
    return figure


def orders() -> Any:
    plan = planned("llama2-13b", batch=8, rate="8")
    document = plan.to_json()
    order = document["preload_order"]
    ops, _, _ = layer_of(document)
    mine = [op for op in order if op in ops]
    executed = sorted(mine)
    names = {row["id"]: row["name"] for row in document["ops"]}
    figure, ax = sheet(height=3.6)
    for op in mine:
        places = (mine.index(op), executed.index(op))
        moved = places[0] != places[1]
        ax.plot((0, 1), places, color="tab:orange" if moved else "lightgray", marker="o")
        ax.annotate(names[op], (1, places[1]), (6, -3), textcoords="offset points", fontsize=7)
    ax.set_xticks((0, 1), ("preloads in this order", "executes in this order"))
    ax.set_xlim(-0.2, 2)
    ax.set_yticks(())
    ax.invert_yaxis()
    return figure


def bars(columns: dict[str, list[float]], unit: str) -> Any:
    """A group of bars for each of `GRID`."""
    figure, ax = sheet()
    width = 0.8 / len(columns)
    for number, (name, values) in enumerate(columns.items()):
        places = [at + number * width for at in range(len(GRID))]
        ax.bar(places, values, width=width, label=name)
    ax.set_xticks([at + 0.4 - width / 2 for at in range(len(GRID))], GRID)
    ax.set_ylabel(unit)
    ax.set_ylim(bottom=0.9)
    figure.legend(fontsize=7, ncols=len(columns), loc="outside upper right")
    return figure


def annealing() -> Any:
    tried = {
        "elk-dyn": ("elk-dyn", "default"),
        "elk-full, effort fast": ("elk-full", "fast"),
        "default": ("elk-full", "default"),
    }
    return bars(
        {
            label: [over_bound(name, policy, effort) for name in GRID]
            for label, (policy, effort) in tried.items()
        },
        "latency / bound",
    )


def over_bound(name: str, policy: str, effort: str) -> float:
    plan = planned(name, batch=32, rate="24", policy=policy, effort=effort)
    return plan.simulate(fidelity="symmetric").latency_s / plan.bounds.lower_bound_s


def never_worse() -> Any:
    figure, ax = sheet()
    policies = ("basic", "static", "elk-dyn", "elk-full")
    plans = [planned("opt-30b", batch=64, rate="16", policy=policy) for policy in policies]
    raw = [1e3 * plan.to_json()["raw_s"] for plan in plans]
    final = [1e3 * plan.simulate(fidelity="symmetric").latency_s for plan in plans]
    ax.bar(policies, raw, width=0.6, color="lightgray", label="found by itself, forecast")
    ax.bar(policies, final, width=0.3, color="tab:blue", label="the plan, simulated")
    ax.set_ylabel("ms")
    ax.legend(fontsize=7)
    return figure


def waves() -> Any:
    plan = planned("opt-30b", batch=64, rate="16")
    figure, ax = sheet(height=2.2)
    draw_layer(ax, plan.to_json(), by_wave)
    ax.set_xlabel("microseconds from the start of the layer")
    return figure


def by_wave(row: dict[str, Any]) -> str:
    _, mark, wave = row["name"].rpartition("#")
    return {"0": "tab:blue", "1": "tab:green"}[wave] if mark else "lightgray"


def near() -> Any:
    plans = {
        policy: [planned(name, batch=32, rate="24", policy=policy) for name in GRID]
        for policy in ("basic", "static", "elk-full")
    }
    bounds = [plan.bounds for plan in plans["elk-full"]]
    least = [bound.lower_bound_s for bound in bounds]
    columns = {"ideal": ratios([bound.ideal_s for bound in bounds], least)}
    for policy, found in reversed(plans.items()):
        times = [plan.simulate(fidelity="symmetric").latency_s for plan in found]
        columns[policy] = ratios(times, least)
    return bars(columns, "latency / bound")


def ratios(times: Iterable[float], least: Iterable[float]) -> list[float]:
    return [time / bound for time, bound in zip(times, least, strict=True)]


PICTURES: dict[str, Callable[[], Any]] = {
    "layer": layer,
    "cuts": cuts,
    "contention": contention,
    "induction": induction,
    "orders": orders,
    "annealing": annealing,
    "never_worse": never_worse,
    "waves": waves,
    "near": near,
}

if __name__ == "__main__":
    main()
