"""ONNX Runtime runs in a process of its own, whose end is an error and nothing worse."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from each_case import each
from elk.emulation import reference
from elk.emulation.reference import _Process
from emulated_models import product
from onnx import parser

NEG = "g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }"
X = np.arange(6, dtype=np.float32).reshape(2, 3)
# What stands for ONNX Runtime: it ends its process as `ENDS` says.
FALSE = (
    "import os\nclass SessionOptions: pass\nclass GraphOptimizationLevel: ORT_DISABLE_ALL = 0\n"
    "class InferenceSession:\n    def __init__(self, *_): "
)
ENDS = {
    "signal 11 (SIGSEGV)": "os.kill(os.getpid(), 11)",
    "signal 6 (SIGABRT)": "os.abort()",
    "signal 9 (SIGKILL)": "os.kill(os.getpid(), 9)",
    "status 3": "os._exit(3)",
}


def model(text: str = NEG) -> bytes:
    head = '<ir_version: 10, opset_import: ["": 20]>'
    return bytes(parser.parse_model(head + text).SerializeToString())


@pytest.fixture
def process() -> Iterator[_Process]:
    made = _Process()
    yield made
    made.close()


def false_runtime(folder: Path, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "onnxruntime.py").write_text(FALSE + ENDS[ends])
    monkeypatch.syspath_prepend(folder)


@each("ends", list(ENDS))
def test_the_end_of_onnx_runtime_is_an_error_that_says_how(
    process: _Process, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.close()
    with monkeypatch.context() as patch:
        false_runtime(tmp_path, ends, patch)
        for _ in range(2):
            with pytest.raises(elk.ReferenceRunError) as caught:
                process.run(model(), {"x": X})
            assert f"ended its process with {ends}" in caught.value.message
            assert caught.value.remedy
    np.testing.assert_array_equal(process.run(model(), {"x": X})["y"], -X)


def test_emulation_survives_the_end_of_onnx_runtime(
    process: _Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = elk.compile(product(), "tiny", policy="basic", threads=1)
    x = np.ones((12, 20), np.float32)
    monkeypatch.setattr(reference, "_PROCESS", process)
    with monkeypatch.context() as patch:
        false_runtime(tmp_path, "signal 11 (SIGSEGV)", patch)
        with pytest.raises(elk.ReferenceRunError, match="SIGSEGV"):
            plan.emulate({"x": x}, check=True)
    assert plan.emulate({"x": x}, check=True).passed


def test_what_onnx_runtime_refuses_is_an_error_with_its_reason() -> None:
    with pytest.raises(elk.ReferenceRunError, match=r"cannot run the model: .*ONNXRuntimeError"):
        reference.run(b"no model", {})
    with pytest.raises(elk.ReferenceRunError, match="INVALID_ARGUMENT"):
        reference.run(model(), {"x": X[:1]})
    np.testing.assert_array_equal(reference.run(model(), {"x": X, "unread": X})["y"], -X)


@each("dtype", ["float32", "float16", "float64", "int64", "bool", "uint8"])
@each("shape", [(), (3,), (0, 2), (2, 3)])
def test_arrays_of_every_type_and_shape_arrive(dtype: str, shape: tuple[int, ...]) -> None:
    kind = {"float32": "float", "float64": "double"}.get(dtype, dtype)
    sizes = ", ".join(map(str, shape))
    text = f"g ({kind}[{sizes}] x) => ({kind}[{sizes}] y) {{ y = Identity(x) }}"
    x = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2, dtype).T.copy().T
    y = reference.run(model(text.replace("[]", "")), {"x": x})["y"]
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y, x)


def test_threads_take_turns() -> None:
    def one(i: int) -> bool:
        found = reference.run(model(), {"x": X + i})["y"]
        return bool((found == -(X + i)).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(one, range(40)))


def test_an_interrupted_run_leaves_no_answer_behind(
    process: _Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    process.run(model(), {"x": X})
    with monkeypatch.context() as patch:
        patch.setattr(reference, "_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.run(model(), {"x": X + 1})
    np.testing.assert_array_equal(process.run(model(), {"x": X})["y"], -X)


def test_a_fork_starts_a_process_of_its_own(process: _Process) -> None:
    process.run(model(), {"x": X})
    parent, process._owner = process._running, -1
    np.testing.assert_array_equal(process.run(model(), {"x": X})["y"], -X)
    assert parent is not None
    assert process._running is not parent
    os.kill(parent.pid, signal.SIGKILL)
    os.waitpid(parent.pid, 0)
    for pipe in (parent.stdin, parent.stdout):
        assert pipe is not None
        pipe.close()


def test_a_missing_package_is_named(process: _Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(elk.MissingPackageError, match="onnxruntime"):
        process.run(model(), {"x": X})


_PARENT = """
import os, signal, sys
import numpy as np
from elk.emulation import reference
reference.run(bytes.fromhex(sys.argv[1]), {"x": np.zeros((2, 3), np.float32)})
print(reference._PROCESS._running.pid, flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@each("how", ["done", "killed"])
def test_the_process_ends_with_its_parent(how: str) -> None:
    command = [sys.executable, "-c", _PARENT, model().hex(), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if how == "done" else -signal.SIGKILL), done.stderr
    stat = Path(f"/proc/{int(done.stdout)}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
        pass  # The test's own timeout ends what never comes.
