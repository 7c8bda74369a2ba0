"""What a point of a sweep costs a worker: CPU seconds, by chip and policy.

    python benchmarks/python/sweep_points.py [--values 4] [--chips NAMES]
                                             [--policies NAMES] [--digests F]

Plans and simulates Llama2-13B decode at rates of HBM and links from 0.36 to 4 times those of each
chip, one point after another in one process with one thread, as a worker of a sweep does. With
--digests: a hash of every plan and its simulated time, to hold two versions of ELK against another.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import elk

MODEL = Path(__file__).parents[2] / "models" / "llama2-13b-decode.onnx"
CHIPS = "ipu-pod4-hbm,ipu-pod4-hbm-mesh-wide"
POLICIES = "basic,static,elk-dyn,elk-full,ideal"
LEAST, MOST = 0.36, 4.0  # times a preset's own rates


def points(name: str, values: int) -> Iterator[tuple[str, elk.Chip]]:
    """A preset at `values` rates of its HBM, each with as many of its links."""
    preset = elk.chips.get(name)
    assert preset.hbm is not None
    scales = [LEAST * (MOST / LEAST) ** (at / (values - 1)) for at in range(values)]
    for hbm in scales:
        for link in scales:
            yield (
                f"{name} {hbm:.3f} {link:.3f}",
                preset.replace(
                    hbm_bandwidth=preset.hbm.bytes_per_s * preset.chips * hbm,
                    link_bytes_per_s=preset.interconnect.link_bytes_per_s * link,
                ),
            )


def digest(plan: elk.Plan) -> str:
    """A hash of all of a plan and of its simulation."""
    document = plan.to_json()
    del document["search"]["seconds"]
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--values", type=int, default=4, help="of each rate")
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--digests", type=Path, help="a file for a hash of every plan")
    asked = parser.parse_args()
    model = elk.load_model(MODEL, bindings={"batch": 32, "past": 2048})
    took: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    lines = []
    for name in asked.chips.split(","):
        for title, chip in points(name, asked.values):
            row = []
            for policy in asked.policies.split(","):
                start = time.process_time()
                plan = elk.compile(model, chip, policy=policy, threads=1)
                planned = time.process_time()
                if policy != "ideal":
                    plan.simulate()
                times = (planned - start, time.process_time() - planned)
                took[name, policy].append(times)
                row.append("{:.2f}+{:.2f}".format(*times))
                if asked.digests:
                    lines.append(f"{title} {policy} {digest(plan)}\n")
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(title, *row, f"{rss} MiB", flush=True)
    for (name, policy), each in took.items():
        compiled, simulated = (sum(column) / len(each) for column in zip(*each, strict=True))
        print(f"{name} {policy}: compile {compiled:.3f} CPU s, simulate {simulated:.3f}")
    every = [sum(times) for each in took.values() for times in each]
    print(f"{len(every)} points, {sum(every) / len(every):.3f} CPU s each")
    print("found of asked:", model.kept.reuse())
    if asked.digests:
        asked.digests.write_text("".join(lines))


if __name__ == "__main__":
    main()
