"""ONNX's own node tests by emulation, as Markdown.

python benchmarks/tables/emulation_coverage.py > docs/emulation_coverage.md
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from emulated_cases import rows

HEAD = """# Operators by emulation

All node tests of the `onnx` package through `elk.onnx_backend`: planned on the preset `tiny` (64
cores of 64 KiB) by the policy `basic`, then run with real numbers, every byte moved, and compared
with what ONNX expects. `python benchmarks/tables/emulation_coverage.py` prints this page.

- *partitioned*: right, and some operator ran on more than one core;
- *one core*: right, on one core: a plan may leave cores idle;
- *only copied*: right, and nothing to compute: copies of inputs and of folded constants;
- *no kernel*: an opaque operator, or an eight-bit float, that no kernel of the emulator computes;
- *refused*: it cannot be planned (docs/operators.md says why);
- *no numbers*: inputs or outputs that are no tensors, or no expected outputs.
"""

COLUMNS = (
    "partitioned", "one core", "only copied", "no kernel", "refused", "no numbers",
    "mismatch", "crash",
)  # fmt: skip


def main() -> None:
    """Prints the page."""
    table = rows()
    total: Counter[str] = sum((row.found for row in table), Counter())
    print(HEAD)
    print("| type | cases | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " ---: |" * (len(COLUMNS) + 1))
    for name, found in [("**all**", total), *((row.name, row.found) for row in table)]:
        print(
            f"| {name} | {found.total():,} | " + " | ".join(f"{found[c]:,}" for c in COLUMNS) + " |"
        )
    reasons: Counter[str] = Counter()
    for row in table:
        for reason, count in row.reasons.items():
            if reason.startswith(("no kernel", "crash")):
                reasons[reason] += count
    print("\n## What has no kernel\n")
    for reason, count in sorted(reasons.items(), key=lambda x: (-x[1], x[0])):
        print(f"- {count} cases: {reason.partition(': ')[2]}")


if __name__ == "__main__":
    main()
