"""From plan to program: one MatMul on a small chip, followed from its factors to its bytes.

python benchmarks/tables/program_page.py > docs/from_plan_to_program.md
python benchmarks/tables/program_page.py --svg > docs/from_plan_to_program.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import elk
import numpy as np
import onnx
from elk.document.listing import CoreInstruction, Listing
from onnx import TensorProto, helper

M, K, N = 16, 64, 32
CORES = 8
SRAM_BYTES, RESERVED_BYTES = 3072, 256
F32_BYTES = 4
SHOWN = 3  # A core whose list is printed: none of its places is the first.
_COLOURS = {
    "allocate": "#d9d9d9", "preload_async": "#80b1d3", "distribute_data": "#8dd3c7",
    "compute": "#fdb462", "shift": "#bebada", "reduce": "#fb8072", "store_async": "#b3de69",
}  # fmt: skip
_BOX_W, _BOX_H, _GAP, _LEFT, _TOP = 118, 40, 8, 60, 40
_CHARS = 19  # as many as fit in a box


def model() -> onnx.ModelProto:
    """y = x w."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "product",
        [value("x", TensorProto.FLOAT, [M, K])],
        [value("y", TensorProto.FLOAT, [M, N])],
        [onnx.numpy_helper.from_array(weight(), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def weight() -> np.ndarray:
    """Small whole numbers: their sums are exact in any order."""
    return (np.arange(K * N).reshape(K, N) % 7 - 3).astype(np.float32)


def plan() -> elk.Plan:
    """The plan of the MatMul on a chip with little memory: by hand, so that operands rotate."""
    chip = elk.chips.get("tiny").replace(
        core_count=CORES,
        sram_bytes=SRAM_BYTES,
        reserved_bytes=RESERVED_BYTES,
        hbm_capacity_bytes=K * N * F32_BYTES,
    )
    cut = {"factors": {"m": 2, "n": 2, "k": 2}, "temporal": {"x": [1, 2], "w": [2, 1]}}
    return elk.compile(model(), chip, plans={"product": [cut]})


def lists(made: elk.Plan) -> list[Listing]:
    return [made.listing(core=core) for core in range(CORES)]


def page(made: elk.Plan) -> str:
    """The page, from the plan that the compiler made."""
    document = made.to_json()
    execute = document["ops"][0]["execute"]
    every = lists(made)
    return "\n\n".join(
        [
            "# From plan to program",
            "<!-- Printed by benchmarks/tables/program_page.py. -->",
            f"One MatMul, `y[{M},{N}] = x[{M},{K}] w[{K},{N}]` in f32, is planned on {CORES} cores "
            f"of {SRAM_BYTES:,} bytes, {RESERVED_BYTES} of them reserved: memory for the operands "
            "once, but not for a copy on every core that needs them.",
            "## Factors",
            factors_text(execute),
            "## Space",
            space_text(document),
            "## Instructions",
            f"`plan.listing(core={SHOWN})` prints what core {SHOWN} does, at the addresses of its "
            "buffers; the number in front is the entry of the plan's `program` that it is part of.",
            f"```\n{every[SHOWN]}\n```",
            steps_text(every[SHOWN]),
            "![The instructions of all cores](from_plan_to_program.svg)",
            "## Bytes",
            bytes_text(made, every),
            "## Numbers",
            numbers_text(made),
        ]
    )


def factors_text(execute: dict[str, Any]) -> str:
    factors = execute["factors"]
    sizes = {"m": M, "n": N, "k": K}
    tiles = {axis: -(-size // factors[axis]) for axis, size in sizes.items()}
    rows = "\n".join(
        f"| {axis} | {size} | {factors[axis]} | {tiles[axis]} | {execute['pace'].get(axis, '-')} |"
        for axis, size in sizes.items()
    )
    turning = "; ".join(f"`{name}` {parts}" for name, parts in execute["temporal"].items())
    return (
        "The plan cuts every axis, so that each core has a tile of the product:\n\n"
        "| axis | size | factor | tile | pace |\n| --- | --- | --- | --- | --- |\n"
        f"{rows}\n\n"
        f"Temporal factors, one for each dimension: {turning}. So the cores that need one piece of "
        "an operand each hold a part of it, and the parts rotate among them: a step computes with "
        f"what a core holds, {execute['steps']} steps in all. The reduction axis is cut: cores end "
        "with partial sums, which a reduce-scatter adds up. The order of the axes in the core's id "
        f"is {', '.join(execute['order'])}, outermost first."
    )


def space_text(document: dict[str, Any]) -> str:
    row = document["ops"][0]["execute"]
    spaces = ", ".join(f"`{name}` {size:,}" for name, size in row["space_by_tensor"].items())
    return (
        f"While it runs a core holds {row['space_bytes']:,} bytes: {spaces}. A result has its tile "
        "of partial sums and the room in which parts from other cores arrive. The checker, the "
        "simulator and the emulator take the same buffers, at the offsets in the plan's `buffers`."
    )


def of(listing: Listing, action: str) -> list[CoreInstruction]:
    return [one for one in listing if one.action == action]


def steps_text(listing: Listing) -> str:
    computes, shifts = of(listing, "compute"), of(listing, "shift")
    ranges = [f"k[{b}:{e}]" for one in computes for b, e in [one.sub_tasks[0][2]]]
    turned = ", ".join(
        f"`{one.areas[0].tensor}` {one.received_bytes} B from core {one.received[0].cores[0]}, "
        f"{one.sent_bytes} B to core {one.sent[0].cores[0]}"
        for one in shifts
    )
    reduce = of(listing, "reduce")[0]
    return (
        f"The core computes {', then '.join(ranges)}; between the two it passes on what it is done "
        f"with and receives what comes next: {turned}. At last it receives "
        f"{reduce.received_bytes} B of partial sums and adds {reduce.parts} parts of "
        f"{reduce.elements} elements: its share of the result."
    )


def totals(every: list[Listing]) -> dict[str, int]:
    """Bytes that all cores receive, by action."""
    found: dict[str, int] = {}
    for listing in every:
        for one in listing:
            if one.action not in {"allocate", "compute"}:
                moved = one.received_bytes or one.bytes
                found[one.action] = found.get(one.action, 0) + moved
    return found


def bytes_text(made: elk.Plan, every: list[Listing]) -> str:
    run = made.simulate(fidelity="core")
    found = totals(every)
    most = max(sum(one.received_bytes for one in listing) for listing in every)
    rows = "\n".join(f"| `{action}` | {count:,} |" for action, count in found.items())
    return (
        "What all cores receive:\n\n| instruction | bytes |\n| --- | --- |\n"
        f"{rows}\n| all | {sum(found.values()):,} |\n\n"
        f"The weight has {K * N * F32_BYTES:,} bytes and comes from HBM once: a part that several "
        f"cores hold is multicast. By its list the busiest core receives {most:,} bytes from "
        "others. The simulator, which times the same expansion, counts "
        f"{int(run.columns['received_bytes'][0]):,} for it."
    )


def numbers_text(made: elk.Plan) -> str:
    x = (np.arange(M * K).reshape(M, K) % 5 - 2).astype(np.float32)
    result = made.emulate({"x": x})
    equal = bool(np.array_equal(result["y"], x @ weight()))
    moved = int(sum(tape["bytes"].sum() for tape in result.tapes))
    return (
        f"The emulator runs the same program on memories of bytes: it moves {moved:,} bytes "
        f"between them, and the result {'equals' if equal else 'DIFFERS FROM'} numpy's, bit for "
        "bit."
    )


def drawn(made: elk.Plan) -> str:
    """All cores' instructions, a row for each core, a column for each place in the lists."""
    every = lists(made)
    columns = max(len(listing) for listing in every)
    width = _LEFT + columns * (_BOX_W + _GAP)
    height = _TOP + CORES * (_BOX_H + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="8" y="20" font-size="13">{made.model_name}: what {CORES} cores do, in order'
        "</text>",
    ]
    for listing in every:
        top = _TOP + listing.core * (_BOX_H + _GAP)
        parts.append(f'<text x="8" y="{top + 24}">core {listing.core}</text>')
        for place, one in enumerate(listing):
            left = _LEFT + place * (_BOX_W + _GAP)
            parts.append(
                f'<rect x="{left}" y="{top}" width="{_BOX_W}" height="{_BOX_H}" rx="3" '
                f'fill="{_COLOURS[one.action]}"/>'
            )
            for line, text in enumerate(lines_of(one)):
                parts.append(f'<text x="{left + 4}" y="{top + 16 + 15 * line}">{text}</text>')
    return "\n".join([*parts, "</svg>"])


def lines_of(one: CoreInstruction) -> Iterator[str]:
    """What is written in a box."""
    yield f"{one.action}"
    name = one.areas[0].tensor
    if one.action == "compute":
        ranges = zip("mnk", one.sub_tasks[0], strict=True)
        yield " ".join(f"{a}{b}:{e}" for a, (b, e) in ranges)[:_CHARS]
    elif one.received:
        peers = [p.cores[0] for p in one.received if p.cores]
        sender = f"core {peers[0]}" if peers else "all"
        yield f"{name} {one.received_bytes} B from {sender}"[: _CHARS + 3]
    else:
        yield f"{name} {one.bytes} B"


def main() -> None:
    made = plan()
    print(drawn(made) if "--svg" in sys.argv[1:] else page(made))


if __name__ == "__main__":
    main()
