"""ONNX Runtime in a process of its own: whatever it does to that process, this one goes on.

The process is started once, by the first `run`, and reads one request after another from a pipe.
The end of this process closes the pipe, and with it ends the other one.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from numpy.typing import NDArray

from elk.emulation.reference_process import listed, received
from elk.errors import MissingPackageError, ReferenceRunError

Array = NDArray[Any]

_PROGRAM: Final = Path(__file__).with_name("reference_process.py")
_CRASH_S: Final = 60.0  # A system may write what a process leaves behind before it is gone.


class _Process:
    """The process, started when it is needed and again after its end. One request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def run(self, model: bytes, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """What `elk.emulation.reference.run` does."""
        with self._lock:
            requests, answers = self._pipes()
            try:
                _send(requests, model, inputs)
                answer = _answer(answers)
            except BaseException:  # Ctrl-C, too: what the process says next would be out of turn.
                self._end(0.0)
                raise
            if answer is None:
                raise _ended(self._end(_CRASH_S))
        if isinstance(answer, str):
            raise ReferenceRunError(
                f"ONNX Runtime cannot run the model: {answer}",
                remedy="emulate without check=True, or change what it refuses",
            )
        return answer

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._end(1.0)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._owner != os.getpid():  # After a fork the process is that of the parent.
            if self._running is not None:
                self._running.returncode = 0
            self._running, self._owner = None, os.getpid()
        if self._running is not None and self._running.poll() is not None:
            self._end(0.0)
        if self._running is None:
            _check_package()
            self._running = subprocess.Popen(
                [sys.executable, "-I", str(_PROGRAM), json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process.
            )
        requests, answers = self._running.stdin, self._running.stdout
        assert requests is not None, "it is a pipe"
        assert answers is not None, "it is a pipe"
        return requests, answers

    def _end(self, patience_s: float) -> int:
        """Ends the process; its status, negative where a signal ended it."""
        running, self._running = self._running, None
        if running is None or self._owner != os.getpid():
            return 0
        for pipe in (running.stdin, running.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # What was not sent yet has no reader.
                    pipe.close()
        try:
            return running.wait(patience_s)
        except subprocess.TimeoutExpired:
            running.kill()
            return running.wait()


_PROCESS: Final = _Process()
atexit.register(_PROCESS.close)


def run(model: bytes, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a model, by name, as ONNX Runtime computes them.

    Args:
        model: The bytes of an ONNX model that holds all its weights.
        inputs: Arrays by name; those that are no inputs of the model are left out.

    Raises:
        MissingPackageError: ONNX Runtime is not installed.
        ReferenceRunError: ONNX Runtime refuses the model, or its process ended.

    Example:
        >>> import numpy as np
        >>> from onnx import parser
        >>> from elk.emulation import reference
        >>> head = '<ir_version: 10, opset_import: ["": 20]>'
        >>> model = parser.parse_model(head + "g (float[2] x) => (float[2] y) { y = Neg(x) }")
        >>> found = reference.run(model.SerializeToString(), {"x": np.ones(2, np.float32)})
        >>> found["y"].tolist()
        [-1.0, -1.0]
    """
    return _PROCESS.run(model, inputs)


def _check_package() -> None:
    try:
        found = importlib.util.find_spec("onnxruntime")
    except ValueError:  # Something of this name that has no place.
        found = None
    if found is None:
        raise MissingPackageError(
            "comparing with ONNX Runtime needs the package onnxruntime",
            remedy="pip install onnxruntime",
        )


def _send(requests: IO[bytes], model: bytes, inputs: Mapping[str, Array]) -> None:
    head = {"model": len(model), "arrays": listed(inputs)}
    with contextlib.suppress(BrokenPipeError):  # A process that ended is found not to answer.
        requests.write(json.dumps(head).encode() + b"\n")
        requests.write(model)
        for array in inputs.values():
            requests.write(array.tobytes())
        requests.flush()


def _answer(answers: IO[bytes]) -> dict[str, Array] | str | None:
    """The outputs, or why there are none; None where the process ended instead."""
    line = answers.readline()
    if not line.endswith(b"\n"):
        return None
    said = json.loads(line)
    return str(said["error"]) if "error" in said else received(answers, said["arrays"])


def _ended(status: int) -> ReferenceRunError:
    how = f"status {status}"
    if status < 0:
        name = next((s.name for s in signal.Signals if s == -status), "no name")
        how = f"signal {-status} ({name})"
    return ReferenceRunError(
        f"ONNX Runtime ended its process with {how} while it ran the model",
        remedy="emulate without check=True; ONNX Runtime cannot run this model",
    )
