"""Fuzzing of the plan reader, of the core behind it and of the simulator, with values that change:

    PYTHONPATH=tests/support python tests/fuzz/fuzz_plan.py SECONDS FOLDER

It takes files of tests/fuzz/corpus/plan, changes one to three values of each, and loads, simulates
and lists what comes of it. The file in hand lies in FOLDER: the one that ends the process, or that
raises what is no error of ELK, stays there; add it to the corpus. `scripts/fuzz_plans.sh` runs this
on a core with address and undefined-behaviour sanitizers, whose runtime hides the coverage that
libFuzzer counts: changes follow the document's structure instead.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from fuzz_targets import CORPUS, changed_plan, read_plan


def fuzz(seconds: float, folder: Path) -> int:
    """How many files were read; seeds begin anew each time."""
    seed = random.SystemRandom().getrandbits(48)
    files = [path.read_bytes() for path in sorted((CORPUS / "plan").iterdir())]
    for data in files:
        read_plan(data)
    current, count, end = folder / "current.json", 0, time.monotonic() + seconds
    while time.monotonic() < end:
        data = changed_plan(files[count % len(files)], seed + count) or b""
        current.write_bytes(data)
        read_plan(data)
        count += 1
    current.unlink(missing_ok=True)
    return count


if __name__ == "__main__":
    read = fuzz(float(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.write(f"read {read:,} changed plan files\n")
