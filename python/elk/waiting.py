"""Waiting for the core: a progress bar, and Ctrl-C that asks for the best so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

from tqdm import tqdm

from elk import _core

_LOOK_S: Final = 0.1  # how often the bar moves
_PATIENCE_S: Final = 1.0  # before there is a bar

Result = TypeVar("Result")


def watched(run: Callable[[_core.Watch], Result], *, progress: bool | None, title: str) -> Result:
    """What `run` returns, with a bar while it runs and its watch stopped by Ctrl-C.

    A second Ctrl-C is raised at once. In a thread other than the main one, which Ctrl-C does not
    reach, `run` is just called.

    Args:
        run: Work in the core that lets Python go on.
        progress: Whether there is a bar; None: on a terminal, for work of over a second.
        title: What the bar says.
    """
    watch = _core.Watch()
    if threading.current_thread() is not threading.main_thread():
        return run(watch)
    with _stopping(watch), ThreadPoolExecutor(max_workers=1) as pool:
        return _wait(pool.submit(run, watch), watch, progress, title)


@contextmanager
def _stopping(watch: _core.Watch) -> Iterator[None]:
    """Within, the first Ctrl-C stops the watch and the next does what it did before."""
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: FrameType | None) -> None:
        if not watch.stopped:
            watch.stop()
        elif callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def _wait(future: Future[Result], watch: _core.Watch, progress: bool | None, title: str) -> Result:
    hidden = None if progress is None else not progress
    delay = 0.0 if progress else _PATIENCE_S
    with tqdm(desc=title, disable=hidden, delay=delay, leave=False, unit_scale=True) as bar:
        while True:
            done, _ = wait([future], timeout=_LOOK_S)
            if done:
                return future.result()
            bar.total = watch.all or None
            bar.update(watch.done - bar.n)
