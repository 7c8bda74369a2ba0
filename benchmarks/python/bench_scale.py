"""How the time from an ONNX file to a plan grows with the number of ops, where nothing repeats.

    python benchmarks/python/bench_scale.py [--ops N ...]

The models are chains of products, elementwise ops and row ops drawn at random, their widths among
eight: no stretch of a chain repeats another, and equal ops share at most 112 fronts. Each is
measured in a process of its own. Bar: 100,000 ops in 30 s on two cores, near linear from 1,000 up.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from bench_compile import in_a_process, weight
from onnx import ModelProto, TensorProto, helper

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import machine

WIDTHS = tuple(range(128, 1025, 128))
ROWS = 32
TYPES = ("MatMul", "Add", "Mul", "Relu", "Gelu", "Softmax", "LayerNormalization")
WEIGHTED = ("MatMul", "Add", "Mul", "LayerNormalization")
BAR_S = {100_000: 30.0}


def chain(ops: int) -> ModelProto:
    """A model of `ops` nodes, each reading the one before it."""
    draw = random.Random(ops)
    width = first = draw.choice(WIDTHS)
    nodes, weights = [], []
    for i in range(ops):
        kind = draw.choice(TYPES)
        inputs = [f"x{i}"]
        if kind in WEIGHTED:
            after = draw.choice(WIDTHS) if kind == "MatMul" else width
            weights.append(weight(f"w{i}", (width, after) if kind == "MatMul" else (width,)))
            inputs.append(f"w{i}")
            width = after
        nodes.append(helper.make_node(kind, inputs, [f"x{i + 1}"], name=f"node{i}"))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, [ROWS, size])
        for name, size in (("x0", first), (f"x{ops}", width))
    ]
    graph = helper.make_graph(nodes, f"chain-{ops}", ends[:1], ends[1:], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ops", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    print("| ops | load s | plan s | together s | ms each | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for ops in arguments.ops:
            path = Path(folder) / f"chain-{ops}.onnx"
            path.write_bytes(chain(ops).SerializeToString())
            run = in_a_process(path, {}, None, 1)
            total_s = run["load_s"] + run["plan_s"]
            bar_s = BAR_S.get(ops)
            bar = "" if bar_s is None else f" <= {bar_s:g}{'' if total_s <= bar_s else ' MISSED'}"
            print(
                f"| {ops:,} | {run['load_s']:.2f} | {run['plan_s']:.2f} | {total_s:.2f}{bar} | "
                f"{total_s / ops * 1e3:.2f} | {run['rss_mib']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
