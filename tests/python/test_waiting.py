"""Waiting for the core: results, errors, Ctrl-C and the bar."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import elk
import pytest
from elk import _core
from elk.base import waiting
from elk.base.waiting import interruptible, watched
from patience import wait_until


@pytest.fixture(autouse=True)
def interruptible_process() -> Iterator[None]:
    """A shell starts what runs in the background with interrupts ignored; the tests send some."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def small() -> elk.Model:
    return elk.load_model("models/nerf.onnx", bindings={"rows": 64})


def test_watched_returns_what_the_work_returns() -> None:
    assert watched(lambda watch: watch.done, progress=False, title="none") == (0, False)


def test_watched_raises_what_the_work_raises() -> None:
    def fail(watch: _core.Watch) -> None:
        raise TimeoutError(str(watch.done))

    with pytest.raises(TimeoutError, match="0"):
        watched(fail, progress=False, title="none")


def test_interrupt_asks_for_the_best_so_far() -> None:
    """The first Ctrl-C stops the watch, and the work's result still arrives."""

    def work(watch: _core.Watch) -> str:
        interrupt()
        wait_until(lambda: watch.stopped)
        return "the best so far"

    assert watched(work, progress=False, title="none") == ("the best so far", True)


def test_an_interrupt_that_comes_when_the_work_is_done_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait = waiting._wait

    def late(*given: Any) -> Any:
        found = wait(*given)
        interrupt()
        return found

    def fail(watch: _core.Watch) -> None:
        interrupt()
        wait_until(lambda: watch.stopped)
        raise TimeoutError

    with pytest.raises(KeyboardInterrupt):
        watched(fail, progress=False, title="none")
    monkeypatch.setattr(waiting, "_wait", late)
    assert watched(lambda _: "all", progress=False, title="none") == ("all", True)


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


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def wait_for_the_end() -> None:
    """Until no thread works in the core any more; that may take a moment."""
    wait_until(
        lambda: not any(one.name.startswith(waiting.WORKER) for one in threading.enumerate())
    )


def test_a_second_interrupt_is_raised_at_once(small: elk.Model) -> None:
    def work(watch: _core.Watch) -> None:
        interrupt()
        wait_until(lambda: watch.stopped)
        interrupt()
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        watched(work, progress=False, title="none")
    wait_for_the_end()


def test_an_interrupt_is_raised_when_there_is_no_best_so_far(
    small: elk.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_GRACE_S", 0.0)

    def work(_: _core.Watch) -> None:
        interrupt()
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        watched(work, progress=False, title="none")
    wait_for_the_end()


def test_what_has_no_best_so_far_is_interrupted_at_once(small: elk.Model) -> None:
    def work() -> None:
        interrupt()
        endless(small)

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    wait_for_the_end()


def watched_quietly(run: Callable[[_core.Watch], None]) -> None:
    watched(run, progress=False, title="none")


def test_what_another_signal_raises_ends_the_work(
    small: elk.Model, subtests: pytest.Subtests
) -> None:
    waits: list[Callable[[Callable[..., None]], object]] = [watched_quietly, interruptible]
    for wait in waits:
        with subtests.test(wait=wait):

            def late(*_: object) -> None:
                raise TimeoutError("the alarm")

            def work(*_: object) -> None:
                os.kill(os.getpid(), signal.SIGALRM)
                endless(small)

            with handling(signal.SIGALRM, late), pytest.raises(TimeoutError, match="the alarm"):
                wait(work)
            wait_for_the_end()


def test_a_process_that_does_not_handle_interrupts_is_left_alone() -> None:
    def work(_: _core.Watch) -> None:
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
            interrupt()
            interrupt()

    for action in (signal.SIG_IGN, signal.SIG_DFL):
        with handling(signal.SIGINT, action):
            assert watched(work, progress=False, title="none") == (None, False)
            assert signal.getsignal(signal.SIGINT) == action


def test_a_stopped_search_says_so(
    small: elk.Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    search = _core.compile

    def stopped(*asked: Any) -> _core.Plan:
        interrupt()
        return search(*asked)

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
            watched(lambda _: threading.current_thread().name, progress=False, title="none")[0]
        ),
        name="mine",
    )
    thread.start()
    thread.join()
    assert names == ["mine"]


def test_a_bar_shows_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    watched(lambda _: None, progress=True, title="planning it")
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
