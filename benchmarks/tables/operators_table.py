"""What becomes of ONNX's own test models, planned and emulated, as Markdown.

python benchmarks/tables/operators_table.py > docs/operators.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from elk.frontend.runtime.operators import ENTRIES
from emulated_cases import PASSED, EmulatedRow
from emulated_cases import rows as emulated_rows
from onnx_coverage import KINDS, Row, rows

HEAD = """# Operators

What becomes of the test models of the `onnx` package, which
`python benchmarks/tables/operators_table.py` prints as this page. A case is

- *planned*: every op is a tensor expression, cut along any of its axes;
- *opaque*: some op is planned whole for each independent row, and timed by the declared rule of
  opaque kernels (a call, its bytes, one pass over its elements; `log2 n` passes for a sort);
- *view*: only index maps of what reads it, and copies where a result has to lie in order;
- *folded*: computed from constants and shapes before anything is planned;
- *refused*: an error names node, type, shapes and the reason.

A plan needs shapes that are numbers. *Constants* counts the cases among them that are planned or
folded only when inputs that decide shapes are constants: the shape of a Reshape, the k of a TopK,
the scales of a Resize (`DECIDING` in `tests/support/onnx_cases.py`). The numbers of every case that
is not refused are compared with those that ONNX expects (`tests/python/test_frontend_nodes.py`).

Node tests are also run with real numbers ([emulation.md](emulation.md)): planned on the preset
`tiny` (64 cores of 64 KiB) by the policy `basic`, every byte moved. *Right* counts those whose
results are what ONNX expects, which is all that run; *on many cores* those of them in which some op
ran on more than one core, for a plan may leave cores idle or have nothing to compute; *no kernel*
those with an op or an eight-bit float that the emulator does not compute.
"""

LEGEND = """
*Numeric* are the cases whose inputs and outputs are all tensors of numbers or truth values; the
last three columns are of these. The models of kind `real` are those that the package holds in
their place: the same nodes, with weights that are constants of the graph."""

ENDS = ("planned", "opaque", "view", "folded", "refused")

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
        "Div, Round, Add, Clip, Cast; Cast, Sub, Mul. Stored integers stay integers in HBM, and "
        "products (MatMul, Gemm, Conv, Einsum, experts) read them as they are stored",
    ),
    (
        "Cast that widens, or a Mul of what lies in HBM by few elements, before a product",
        "no op: the product reads what is stored, and converts each tile",
    ),
    (
        "TensorScatter, ScatterElements, ScatterND, Where on positions: rows of a state",
        "no op: readers see the new rows in place of the old ones by a mask of positions; the new "
        "rows are stored. More than eight rows at positions that are not known: an opaque op",
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


RUNTIME = """
## Operators of ONNX Runtime

Models that are published as ONNX files are written for ONNX Runtime. Its operators, of domain
`com.microsoft` unless a row says otherwise, are planned as the functions of ONNX's operators in
`python/elk/frontend/runtime`; their numbers are compared with ONNX Runtime's on a CPU, or with
their definition where that has no kernel (`tests/practice/test_runtime_operators.py`). Numbers of
four bits that the file packs into bytes are read as they are stored. A type without a row is
refused, with its name and the reason.
"""


def runtime_table() -> Iterator[str]:
    yield from (RUNTIME, "| type | becomes |", "| --- | --- |")
    for name, entry in sorted((entry.name, entry) for entry in ENTRIES):
        domains = [f"`{x}`" if x else "ONNX's own" for x in entry.domains]
        where = "" if domains == ["`com.microsoft`"] else f" ({', '.join(domains)})"
        yield f"| {name}{where} | {entry.says} |"


def listed(reasons: Counter[str]) -> str:
    return "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common())


def line(row: Row, emulated: EmulatedRow) -> str:
    """A row of the table of types."""
    counts = [row.cases, *(row.found[end] for end in ENDS), row.constants]
    kinds = ", ".join(sorted(row.op_kinds))
    right = sum(emulated.found[end] for end in PASSED)
    numbers = (right, emulated.found["partitioned"], emulated.found["no kernel"])
    cells = [row.name, *(f"{n:,}" if n else "" for n in counts), kinds, listed(row.reasons)]
    cells += [f"{n:,}" if n else "" for n in numbers] + [listed(missing(emulated))]
    return "| " + " | ".join(cells) + " |"


def missing(row: EmulatedRow) -> Counter[str]:
    """What kept cases from a kernel."""
    kinds = {why.partition(": ")[2]: n for why, n in row.reasons.items() if "no kernel: " in why}
    return Counter({why.removeprefix("no kernel for "): n for why, n in kinds.items()})


def totals(name: str, found: Sequence[Row]) -> str:
    total: Counter[str] = sum((row.found for row in found), Counter())
    numeric: Counter[str] = sum((row.numeric for row in found), Counter())
    count = sum(row.cases for row in found)
    inside = sum(numeric.values())
    covered = inside - numeric["refused"]
    share = f"{100 * covered / inside:.1f} %" if inside else ""
    opaque = f"{100 * numeric['opaque'] / inside:.1f} %" if inside else ""
    constants = sum(row.constants for row in found)
    cells = (count, *(total[end] for end in ENDS), constants, inside, covered)
    numbers = " | ".join(f"{n:,}" for n in cells)
    return f"| {name} | {numbers} | {share} | {opaque} |"


def table_of_types(found: Sequence[Row], emulated: Sequence[EmulatedRow]) -> Iterator[str]:
    planned = "type | cases | planned | opaque | view | folded | refused | constants"
    run = "right | on many cores | no kernel | no kernel for"
    yield f"| {planned} | kinds of ops | refused because | {run} |"
    yield "| --- |" + " ---: |" * 7 + " --- | --- |" + " ---: |" * 3 + " --- |"
    every = Row("**all**")
    runs = EmulatedRow(every.name)
    for row in found:
        every.found += row.found
        every.constants += row.constants
    for one in emulated:
        runs.found += one.found
    yield line(every, runs)
    by_name = {row.name: row for row in emulated}
    for row in found:
        yield line(row, by_name[row.name])


def page(found: Mapping[str, Sequence[Row]], emulated: Sequence[EmulatedRow]) -> Iterator[str]:
    yield from (HEAD, "## Totals", "")
    yield (
        "| kind | cases | planned | opaque | view | folded | refused | of all, constants "
        "| numeric | not refused | share | opaque share |"
    )
    yield "| --- |" + " ---: |" * 11
    for kind, table in found.items():
        yield totals(kind, table)
    yield LEGEND
    yield from ("", "## How composed types are planned", "")
    yield from ("| types | become |", "| --- | --- |")
    for types, become in COMPOSED:
        yield f"| {types} | {become} |"
    yield from runtime_table()
    yield from ("", "## Node tests by operator type", "")
    yield from table_of_types(found["node"], emulated)


def main() -> None:
    emulated = emulated_rows()
    for row in emulated:
        if row.found["mismatch"] or row.found["crash"]:
            sys.exit(f"{row.name} is wrong: {dict(row.found)}, {dict(row.reasons)}")
    print("\n".join(page({kind: rows(kind) for kind in KINDS}, emulated)))


if __name__ == "__main__":
    main()
