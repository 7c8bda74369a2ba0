"""How long ELK takes to cut a loaded model over the chips of a pod, and what it finds.

    python benchmarks/bench_shard.py

Bar: 0.5 s for the 80 layers of Llama2-70B, on two cores.
"""

from __future__ import annotations

import time
from collections import Counter

import elk
from cases import CASES, machine

CHIP = "ipu-pod4-hbm"
REPEATS = 3
BARS_S = {"llama2-70b-decode.onnx": 0.5}


def main() -> None:
    print(f"{machine()}, {CHIP}, least of {REPEATS}\n")
    print("| model | ops | seconds | estimate ms | if replicated ms | collectives |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        model = elk.load_model(case.path, bindings=case.bindings)
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            found = elk.shard(model, CHIP)
            times.append(time.perf_counter() - start)
        kinds = sorted(Counter(x.kind for x in found.collectives).items())
        bar_s = BARS_S.get(case.file)
        bar = "" if bar_s is None else f" <= {bar_s:g}{'' if min(times) <= bar_s else ' MISSED'}"
        print(
            f"| {case.title} | {len(found.ops):,} | {min(times):.2f}{bar} | "
            f"{found.seconds * 1e3:.3f} | {found.replicated_seconds * 1e3:.3f} | "
            f"{', '.join(f'{count} {kind}' for kind, count in kinds) or 'none'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
