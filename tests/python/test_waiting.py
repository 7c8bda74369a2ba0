"""Waiting for the core: results, errors, Ctrl-C and the bar."""

from __future__ import annotations

import _thread
import threading
import time

import elk
import pytest
from elk import _core
from elk.waiting import watched


def test_watched_returns_what_the_work_returns() -> None:
    assert watched(lambda watch: watch.done, progress=False, title="none") == 0


def test_watched_raises_what_the_work_raises() -> None:
    def fail(watch: _core.Watch) -> None:
        raise TimeoutError(str(watch.done))

    with pytest.raises(TimeoutError, match="0"):
        watched(fail, progress=False, title="none")


def test_interrupt_asks_for_the_best_so_far() -> None:
    """The first Ctrl-C stops the watch, and the work's result still arrives."""

    def work(watch: _core.Watch) -> str:
        _thread.interrupt_main()
        for _ in range(200):
            if watch.stopped:
                return "the best so far"
            time.sleep(0.05)
        return "was not told"

    assert watched(work, progress=False, title="none") == "the best so far"


def test_another_thread_just_works() -> None:
    names: list[str] = []
    thread = threading.Thread(
        target=lambda: names.append(
            watched(lambda _: threading.current_thread().name, progress=False, title="none")
        ),
        name="mine",
    )
    thread.start()
    thread.join()
    assert names == ["mine"]


def test_a_bar_shows_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    def work(_: _core.Watch) -> None:
        time.sleep(0.3)

    watched(work, progress=True, title="planning it")
    assert "planning it" in capsys.readouterr().err


def test_compile_takes_efforts_and_refuses_others() -> None:
    model = elk.load_model("models/nerf.onnx", bindings={"rows": 64})
    latencies = [
        elk.compile(model, "tiny", effort=effort, progress=False).simulate().latency_s
        for effort in ("fast", "default", "max")
    ]
    assert latencies[2] <= latencies[1] * 1.001
    with pytest.raises(elk.InvalidInputError, match="fast"):
        elk.compile(model, "tiny", effort="huge")
