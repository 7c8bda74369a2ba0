"""The process that `reference` starts: runs models with ONNX Runtime until its input ends.

It is a program of its own, which imports nothing of ELK: it is up in a fraction of a second. A
message is a line of JSON, then bytes: of a request the model, then of both the arrays it names.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def listed(arrays: Mapping[str, Any]) -> list[list[Any]]:
    """What a message says of arrays: name, type, shape and bytes of each."""
    return [[name, x.dtype.name, list(x.shape), x.nbytes] for name, x in arrays.items()]


def received(pipe: IO[bytes], names: list[list[Any]]) -> dict[str, Any] | None:
    """The arrays that stand behind a message; None where the pipe ends before they do."""
    import numpy as np  # noqa: PLC0415 - the path to it is set by then

    data = [pipe.read(size) for *_, size in names]
    if any(len(x) < size for x, (*_, size) in zip(data, names, strict=True)):
        return None
    return {
        name: np.frombuffer(x, _dtype(kind)).reshape(shape)
        for x, (name, kind, shape, _) in zip(data, names, strict=True)
    }


def _dtype(kind: str) -> Any:
    import numpy as np  # noqa: PLC0415 - the path to it is set by then

    try:
        return np.dtype(kind)
    except TypeError:
        import ml_dtypes  # noqa: PLC0415 - few models need it

        return np.dtype(getattr(ml_dtypes, kind))


def _main() -> None:
    """Answers requests from the standard input on what was the standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)  # What ONNX Runtime prints must not stand between answers.
    sys.path[:] = json.loads(sys.argv[1])
    requests = sys.stdin.buffer
    while line := requests.readline():
        head = json.loads(line)
        model, inputs = requests.read(head["model"]), received(requests, head["arrays"])
        said: dict[str, Any] = {"error": "its inputs are missing"}
        outputs: dict[str, Any] = {}
        try:
            outputs = _run(model, inputs or {})
            said = {"arrays": listed(outputs)}
        except Exception as error:
            said = {"error": str(error).strip().partition("\n")[0] or type(error).__name__}
        _write(answers, json.dumps(said).encode() + b"\n")
        for array in outputs.values():
            _write(answers, array.tobytes())


def _write(pipe: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(pipe, left) :]


def _run(model: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415 - the path to it is set by then
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 no stubs, the same

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Optimised graphs compute other functions: some round activations to eight bits.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    fed = {x.name for x in session.get_inputs()}
    names = [x.name for x in session.get_outputs()]
    found = session.run(names, {name: x for name, x in inputs.items() if name in fed})
    return {name: np.asarray(x) for name, x in zip(names, found, strict=True)}


if __name__ == "__main__":
    _main()
