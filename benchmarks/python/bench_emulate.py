"""How long the emulator takes for one layer of BERT-base, beside ONNX Runtime.

    python benchmarks/python/bench_emulate.py

The layer (batch 1, 128 tokens, f32, a small vocabulary) is planned on 256 cores. Bar, on two cores:
20 times ONNX Runtime's time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import elk
import numpy as np
import onnx
import onnxruntime
from elk import models

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))

from cases import machine

CORES = 256
TOKENS = 128
REPEATS = 3
RUNTIME_REPEATS = 20
THREADS = 2
BAR = 20.0
SRAM = "624 KiB"


def layer() -> onnx.ModelProto:
    """One layer of BERT-base with random weights in the file."""
    config = models.EncoderConfig(
        layers=1, hidden=768, heads=12, ffn=3072, vocab=256, positions=TOKENS
    )
    proto = models.encoder(config, dtype="f32")
    rng = np.random.default_rng(0)
    for tensor in proto.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            values = rng.standard_normal(tuple(tensor.dims), dtype=np.float32) / 32
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    return proto


def least_s(run: Callable[[], object], repeats: int) -> float:
    """The least seconds of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def runtime_s(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> float:
    """ONNX Runtime's seconds on two threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    names = {x.name for x in session.get_inputs()}
    given = {name: array for name, array in feeds.items() if name in names}
    return least_s(lambda: session.run(None, given), RUNTIME_REPEATS)


def main() -> None:
    proto = layer()
    model = elk.load_model(proto, bindings={"batch": 1, "seq": TOKENS})
    chip = elk.chips.get("tiny").replace(core_count=CORES, sram_bytes=SRAM)
    plan = elk.compile(model, chip, policy="basic")
    rng = np.random.default_rng(0)
    feeds = {
        "input_ids": rng.integers(0, 256, (1, TOKENS)),
        "attention_mask": np.ones((1, TOKENS), dtype=np.int64),
    }
    check = plan.emulate(feeds, check=True)
    emulated = least_s(lambda: plan.emulate(feeds), REPEATS)
    reference = runtime_s(proto, feeds)
    ratio = emulated / reference
    print(f"{machine()}\n")
    print(f"ops {len(plan.op_names)}, cores {CORES}, {TOKENS} tokens, agrees: {check.passed}")
    print(f"emulated {emulated:.3f} s, ONNX Runtime {reference:.4f} s: {ratio:.1f} x")
    print(f"bar {BAR:g} x: {'met' if ratio <= BAR else 'missed'}")


if __name__ == "__main__":
    main()
