"""What becomes of ONNX's own test models, as Markdown.

python benchmarks/tables/onnx_coverage.py > docs/operators.md
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from onnx_coverage import KINDS, Row, rows

HEAD = """# Models and operators

What becomes of the test models of the `onnx` package; `python benchmarks/tables/onnx_coverage.py`
prints this page. A case is

- *planned*: every op is a tensor expression, cut along any of its axes;
- *opaque*: some op is planned whole for each independent row, and timed by the declared rule of
  opaque kernels (a call, its bytes, one pass over its elements; `log2 n` passes for a sort);
- *view*: only index maps of what reads it, and copies where a result has to lie in order;
- *folded*: computed from constants and shapes before anything is planned;
- *refused*: an error names node, type, shapes and the reason.

A plan needs shapes that are numbers. "Constants" counts the cases among them that are planned or
folded only when inputs that decide shapes are constants: the shape of a Reshape, the k of a TopK,
the scales of a Resize. `DECIDING` in `tests/support/onnx_cases.py` lists these inputs.

The numbers of every case that is not refused are compared with those that ONNX expects in
`tests/python/test_frontend_nodes.py`.
"""

LEGEND = """
"Numeric" are the cases whose inputs and outputs are all tensors of numbers or truth values; the
last three columns are of these. The models of kind `real` are those that the package holds in
their place: the same nodes, with weights that are constants of the graph."""

COMPOSED = [
    (
        "functions of ONNX (Attention, RotaryEmbedding, GroupNormalization, ...)",
        "the nodes that ONNX defines them by, for the types and shapes at hand",
    ),
    (
        "If, Loop, Scan",
        "the branch of a known condition; all turns of a known number, up to 4,096 turns and "
        "100,000 nodes",
    ),
    ("sequences", "bookkeeping of their tensors, where positions and lengths are known"),
    (
        "RNN, GRU, LSTM",
        "one product of all steps with the input weights, then a product and gates a step",
    ),
    (
        "ConvTranspose",
        "one convolution whose result positions are `stride * q + r`: no zeros, no scattered sums; "
        "a kernel from the file lies in HBM in the order in which it is read",
    ),
    (
        "MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv",
        "one product of the integers as stored, accumulated in 32 bits, where zero points are "
        "known numbers; else the zero points are taken off before",
    ),
    (
        "QuantizeLinear, DequantizeLinear",
        "Div, Round, Add, Clip, Cast; Cast, Sub, Mul. Stored integers stay integers in HBM",
    ),
    (
        "Resize, Upsample",
        "one dimension after another: a view where each position is repeated, a gather for "
        "nearest, gathers and weighted sums up to four positions, else a product with the matrix "
        "of weights",
    ),
    ("DFT, STFT", "a product with the matrix of roots (up to 1,048,576 of them); frames are views"),
    ("Einsum", "sums, diagonals, then products of two operands at a time"),
    ("Trilu, OneHot, Hardmax", "comparisons with positions, then a choice"),
    ("Pad by edge, reflect, wrap; Slice backwards", "a gather by known positions"),
    ("GatherND along several dimensions", "a gather by one position along all of them"),
    ("random numbers", "an opaque op that reads nothing"),
]


def line(row: Row) -> str:
    refused = "; ".join(f"{reason} ({n})" for reason, n in row.reasons.most_common())
    kinds = ", ".join(sorted(row.op_kinds))
    counts = [row.found[kind] for kind in ("planned", "opaque", "view", "folded", "refused")]
    numbers = " | ".join(str(n) if n else "" for n in counts)
    cells = [row.name, str(row.cases), *numbers.split(" | "), str(row.constants or ""), kinds]
    return "| " + " | ".join([*cells, refused]) + " |"


def totals(name: str, found: list[Row]) -> str:
    total: Counter[str] = sum((row.found for row in found), Counter())
    numeric: Counter[str] = sum((row.numeric for row in found), Counter())
    count = sum(row.cases for row in found)
    inside = sum(numeric.values())
    covered = inside - numeric["refused"]
    share = f"{100 * covered / inside:.1f} %" if inside else ""
    opaque = f"{100 * numeric['opaque'] / inside:.1f} %" if inside else ""
    cells = [total[kind] for kind in ("planned", "opaque", "view", "folded", "refused")]
    constants = sum(row.constants for row in found)
    numbers = " | ".join(f"{n:,}" for n in (count, *cells, constants, inside, covered))
    return f"| {name} | {numbers} | {share} | {opaque} |"


def main() -> None:
    found = {kind: rows(kind) for kind in KINDS}
    print(HEAD)
    print("## Totals\n")
    print(
        "| kind | cases | planned | opaque | view | folded | refused | of all, constants "
        "| numeric | not refused | share | opaque share |"
    )
    print("| --- |" + " ---: |" * 11)
    for kind, table in found.items():
        print(totals(kind, table))
    print(LEGEND)
    print("\n## How composed types are planned\n")
    print("| types | become |\n| --- | --- |")
    for types, become in COMPOSED:
        print(f"| {types} | {become} |")
    print()
    print("## Node tests by operator type\n")
    print(
        "| type | cases | planned | opaque | view | folded | refused | constants | kinds of ops "
        "| reasons |"
    )
    print("| --- |" + " ---: |" * 7 + " --- | --- |")
    for row in found["node"]:
        print(line(row))


if __name__ == "__main__":
    main()
