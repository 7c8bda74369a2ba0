"""Many mutants of models, each read in a process that may end: says which do harm.

    PYTHONPATH=tests/support python tests/fuzz/mutants.py [COUNT] [SEED]

A mutant that ends its process, or raises anything but an error of ELK that says everything, is
written to the folder `mutants_found`; add it to tests/fuzz/corpus/model.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

from malformed_models import mutants
from malformed_worker import outcomes, problem

FOUND = Path("mutants_found")
_BATCH = 1_000
_CPU_S = 8.0  # Beside other work.


def main(count: int = 30_300, seed: int = 0) -> int:
    """Reads `count` mutants; how many did harm."""
    kinds: Counter[str] = Counter()
    harmful = 0
    made = mutants(count, seed)
    with tempfile.TemporaryDirectory() as folder:
        while batch := list(islice(made, _BATCH)):
            files = [Path(folder) / f"{number}.onnx" for number in range(len(batch))]
            for file, (_, data) in zip(files, batch, strict=True):
                file.write_bytes(data)
            found = outcomes("model", files, Path(folder), cpu_s=_CPU_S)
            for (name, data), one in zip(batch, found, strict=True):
                kinds[one.kind] += 1
                if why := problem(one):
                    harmful += 1
                    FOUND.mkdir(exist_ok=True)
                    (FOUND / f"{name}_{seed}.onnx").write_bytes(data)
                    _say(f"{name}: {why}"[:600])
    _say(f"{count:,} mutants of seed {seed}: {dict(kinds)}; {harmful} did harm")
    return harmful


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
