"""Waiting for the core: results, errors, Ctrl-C and the bar."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import elk
import pytest
from elk import _core
from elk.base import waiting
from elk.base.waiting import interruptible, watched


@pytest.fixture(scope="module")
def small() -> elk.Model:
    return elk.load_model("models/nerf.onnx", bindings={"rows": 64})


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


def endless(model: elk.Model) -> None:
    """Work in the core that ends only when nobody waits for it."""
    while True:
        elk.compile(model, "tiny", policy="basic", threads=1)


@contextmanager
def handling(
    number: signal.Signals, handler: signal.Handlers | Callable[..., None]
) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def interrupt(times: int = 1) -> None:
    """Ctrl-C, so often, each after what the one before has led to."""
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def has_ended() -> bool:
    """Whether no thread works in the core any more; that may take a moment."""
    for _ in range(1000):
        if not any(thread.name.startswith(waiting.WORKER) for thread in threading.enumerate()):
            return True
        time.sleep(0.01)
    return False


def test_a_second_interrupt_is_raised_at_once(small: elk.Model) -> None:
    def work(_: _core.Watch) -> None:
        interrupt(times=2)
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        watched(work, progress=False, title="none")
    assert has_ended()


def test_an_interrupt_is_raised_when_there_is_no_best_so_far(
    small: elk.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_GRACE_S", 0.0)

    def work(_: _core.Watch) -> None:
        interrupt()
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        watched(work, progress=False, title="none")
    assert has_ended()


def test_what_has_no_best_so_far_is_interrupted_at_once(small: elk.Model) -> None:
    def work() -> None:
        interrupt()
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert has_ended()


def watched_quietly(run: Callable[[_core.Watch], None]) -> None:
    watched(run, progress=False, title="none")


@pytest.mark.parametrize("wait", [watched_quietly, interruptible])
def test_what_another_signal_raises_ends_the_work(
    small: elk.Model, wait: Callable[[Callable[..., None]], None]
) -> None:
    def late(*_: object) -> None:
        raise TimeoutError("the alarm")

    def work(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        endless(small)

    with handling(signal.SIGALRM, late), pytest.raises(TimeoutError, match="the alarm"):
        wait(work)
    assert has_ended()


@pytest.mark.parametrize("action", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_process_that_does_not_handle_interrupts_is_left_alone(action: signal.Handlers) -> None:
    def work(watch: _core.Watch) -> bool:
        if action == signal.SIG_IGN:
            interrupt(times=2)
        return watch.stopped

    with handling(signal.SIGINT, action):
        assert watched(work, progress=False, title="none") is False
        assert signal.getsignal(signal.SIGINT) == action


def test_a_stopped_search_says_so(
    small: elk.Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    search = _core.compile

    def stopped(*asked: object) -> _core.Plan:
        interrupt()
        return search(*asked)  # type: ignore[arg-type]

    assert not elk.compile(small, "tiny").stopped
    monkeypatch.setattr(_core, "compile", stopped)
    plan = elk.compile(small, "tiny")
    assert plan.stopped
    assert "the search was stopped" in plan.summary()
    plan.save(tmp_path / "stopped.elkplan")
    assert elk.load_plan(tmp_path / "stopped.elkplan").stopped
    with pytest.raises(KeyboardInterrupt):
        elk.compare(small, "tiny")


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
