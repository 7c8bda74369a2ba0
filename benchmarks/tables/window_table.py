"""Windows of every kind, planned on `tiny` and emulated, beside ONNX Runtime, as Markdown.

python benchmarks/tables/window_table.py [--kernels]   # --kernels: by the kernels alone, unplanned
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from window_cases import KINDS, difference, drawn, listed


def main(*, placed: bool) -> int:
    """Prints the table and every difference; how many there are."""
    sets = {"along a line": list(listed()), "random": list(drawn(160))}
    found: dict[str, list[str]] = {}
    print("| windows | " + " | ".join(KINDS) + " | in all | differ |")
    print("| --- |" + " ---: |" * (len(KINDS) + 2))
    for name, cases in sets.items():
        found[name] = [text for case in cases if (text := difference(case, placed=placed))]
        kinds = Counter(case.kind for case in cases)
        counts = " | ".join(f"{kinds[kind]:,}" for kind in KINDS)
        print(f"| {name} | {counts} | {len(cases):,} | {len(found[name]):,} |", flush=True)
    for texts in found.values():
        for text in texts:
            print(f"- {text}")
    return sum(map(len, found.values()))


if __name__ == "__main__":
    sys.exit(main(placed="--kernels" not in sys.argv) > 0)
