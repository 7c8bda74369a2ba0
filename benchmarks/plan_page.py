"""The picture of docs/how_elk_plans.md: one layer under two policies, as an SVG on standard output.

python benchmarks/plan_page.py > docs/how_elk_plans.svg
"""

from __future__ import annotations

import io
import sys
from typing import Any

import elk
import matplotlib as mpl
from cases import CASES

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "elk"  # the same names in every file

POLICIES = ("static", "elk-full")
LAYER = 40
ROWS = ("preload", "execute")


def main() -> None:
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    case = next(case for case in CASES if case.file.startswith("llama2-70b"))
    model = elk.load_model(case.path, bindings={**case.bindings, "batch": 64})
    chip = elk.chips.get("ipu-pod4-hbm").replace(hbm_bandwidth="24 TB/s")
    figure, axes = plt.subplots(len(POLICIES), 1, figsize=(11, 5), sharex=True)
    for ax, policy in zip(axes, POLICIES, strict=True):
        plan = elk.compile(model, chip, policy=policy)
        plan.simulate(fidelity="symmetric")
        draw(ax, plan.to_json(), policy)
    axes[-1].set_xlabel("microseconds from the start of the layer")
    figure.tight_layout()
    page = io.StringIO()
    figure.savefig(page, format="svg", metadata={"Date": None})
    sys.stdout.write("\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n")


def draw(ax: Any, document: dict[str, Any], policy: str) -> None:
    """The executes and preloads of one layer, those of matrix products in colour."""
    repeat = document["repeat"]
    begin = repeat["begin"] + LAYER * repeat["period"]
    times = {row["id"]: row for row in document["simulated"]["ops"]}
    start = times[begin]["execute"][0]
    end = times[begin + repeat["period"] - 1]["execute"][1]
    for row in document["ops"]:
        color = "tab:blue" if row["kind"] == "matmul" else "lightgray"
        for height, part in enumerate(ROWS):
            span = times[row["id"]].get(part)
            if span is None or span[1] <= start or span[0] >= end:
                continue
            left, right = (min(max(t, start), end) for t in span)
            ax.barh(
                height,
                (right - left) / 1e6,
                left=(left - start) / 1e6,
                color="tab:orange" if part == "preload" else color,
                edgecolor="white",
                linewidth=0.3,
            )
    ax.set_yticks(range(len(ROWS)), ROWS)
    ax.set_title(f"{policy}: {(end - start) / 1e6:.1f} microseconds a layer", loc="left")


if __name__ == "__main__":
    main()
