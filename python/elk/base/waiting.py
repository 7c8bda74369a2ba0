"""Waiting for the core: a progress bar, and Ctrl-C that ends the work within two seconds."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import Final, Never, TypeVar

from tqdm import tqdm

from elk import _core

WORKER: Final = "elk-core"  # what the names of threads begin with that work in the core
_LOOK_S: Final = 0.1  # how often the bar moves
_PATIENCE_S: Final = 1.0  # before there is a bar
_GRACE_S: Final = 1.5  # for the best so far, after Ctrl-C

Result = TypeVar("Result")


def interruptible(run: Callable[[], Result]) -> Result:
    """What `run` returns, unless Ctrl-C or another signal raises something meanwhile.

    Then the core gives its work up, and what the signal raised goes on at once. Threads other than
    the main one are not reached by signals: there `run` is just called.

    Args:
        run: Work in the core that lets Python go on, and that has no best so far.
    """
    if threading.current_thread() is not threading.main_thread():
        return run()
    watch = _core.Watch()
    with _working(watch, run) as future:
        return future.result()


def watched(
    run: Callable[[_core.Watch], Result], *, progress: bool | None, title: str
) -> tuple[Result, bool]:
    """What `run` returns, with a bar while it runs, and whether Ctrl-C stopped its watch.

    KeyboardInterrupt is raised if there is no best so far within a second and a half, or none at
    all, and at once by a second Ctrl-C. A process that ignores SIGINT is not stopped.

    Args:
        run: Work in the core that lets Python go on.
        progress: Whether there is a bar; None: on a terminal, for work of over a second.
        title: What the bar says.
    """
    watch = _core.Watch()
    if threading.current_thread() is not threading.main_thread():
        return run(watch), False
    try:
        with _stopping(watch) as check, _working(watch, lambda: run(watch)) as future:
            found = _wait(future, watch, check, _bar(progress, title))
    except Exception as error:
        if watch.stopped:
            raise KeyboardInterrupt from error
        raise
    return found, watch.stopped  # Ctrl-C may have come when the work was done already.


@contextmanager
def _working(watch: _core.Watch, run: Callable[[], Result]) -> Iterator[Future[Result]]:
    """`run` in a thread of its own, which gives up when what is within raises."""
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=WORKER)
    try:
        yield pool.submit(watch.run, run)
    except BaseException:
        watch.abandon()
        raise
    finally:
        pool.shutdown(wait=False)


@contextmanager
def _stopping(watch: _core.Watch) -> Iterator[Callable[[], None]]:
    """Within, the first Ctrl-C stops the watch, and the next does what it did before.

    Yields what raises KeyboardInterrupt once the best so far is overdue. Where Python does not
    handle SIGINT, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield lambda: None
        return
    due_s: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if due_s:
            before(number, frame)
            raise KeyboardInterrupt
        watch.stop()
        due_s.append(time.monotonic() + _GRACE_S)

    def check() -> None:
        if due_s and time.monotonic() >= due_s[0]:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


def _bar(progress: bool | None, title: str) -> tqdm[Never]:
    hidden = None if progress is None else not progress
    delay = 0.0 if progress else _PATIENCE_S
    return tqdm(desc=title, disable=hidden, delay=delay, leave=False, unit_scale=True)


def _wait(
    future: Future[Result], watch: _core.Watch, check: Callable[[], None], bar: tqdm[Never]
) -> Result:
    with bar:
        while True:
            done, _ = wait([future], timeout=_LOOK_S)
            if done:
                return future.result()
            check()
            bar.total = watch.all or None
            bar.update(watch.done - bar.n)
