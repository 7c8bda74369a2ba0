"""Workers that are processes of this machine: one that dies or hangs costs its own point."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from elk.errors import ElkError
from elk.sweeps.definition import Task
from elk.sweeps.engine import GIVEN_BACK, Batch, Caps, Lost, Pace, Work
from elk.sweeps.evaluate import Answer

_AHEAD_S: Final = 1.0  # work that waits at a worker, so that it does not wait for the coordinator
_LOOK_S: Final = 0.1  # how often the memory and the time of workers are looked at
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of Linux's prctl
_READY: Final = "ready"
_MOST_STARTS: Final = 3  # starts of workers that fail in a row before the sweep is given up
_EXIT_S: Final = 5.0  # how long a worker that closed its end may take to be gone


def serve(descriptor: int) -> None:
    """What a worker process does: answers tasks until the other end closes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection = Connection(descriptor)
        work: Work = connection.recv()
        evaluator = work.evaluator()
        connection.send(_READY)
        while True:
            batch: Batch = connection.recv()
            evaluator.know(batch.chips)
            for task in batch.tasks:
                connection.send(evaluator.answer(task))


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    is_ready: bool = False
    tasks: deque[Task] = field(default_factory=deque)
    begun_s: float = 0.0
    _outbox: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    _sender: threading.Thread | None = None

    def send(self, message: object) -> None:
        """Sends from a thread of its own: a worker that does not read holds nobody up."""
        if self._sender is None:
            self._sender = threading.Thread(target=self._send_all, daemon=True)
            self._sender.start()
        self._outbox.put(message)

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):  # The worker is gone: `wait` finds it dead.
            for message in iter(self._outbox.get, None):
                self.connection.send(message)

    @property
    def name(self) -> str:
        return f"pid {self.process.pid}"

    def memory_bytes(self) -> int:
        try:
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):  # Not Linux, or the process is gone.
            return 0
        return int(pages) * _PAGE_BYTES

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._sender is not None:
            self._outbox.put(None)
            self._sender.join()
        self.connection.close()


class LocalEngine:
    """Processes of this machine, started afresh where one had to be ended.

    A worker is a new interpreter that imports ELK and nothing of the caller's: scripts need no
    `if __name__ == "__main__"`, and no threads are forked.
    """

    def __init__(self, workers: int, work: Work, caps: Caps) -> None:
        self._work = work
        self._caps = caps
        self._looked_s = 0.0
        self._pace = Pace(_AHEAD_S)
        self._failed_starts = 0
        self._workers: list[_Worker] = []
        for _ in range(workers):
            self._workers.append(self._started())

    def wanted(self) -> list[object]:
        """A slot for each worker with little before it, the idlest first."""
        few = self._pace.batch_size()
        free = [worker for worker in self._workers if len(worker.tasks) <= few]
        free.sort(key=lambda worker: len(worker.tasks))
        return list(free)

    def batch_size(self) -> int:
        """As many tasks as take a second."""
        return self._pace.batch_size()

    def give(self, slot: object, batch: Batch) -> None:
        """Sends a batch to a worker."""
        worker = next(one for one in self._workers if one is slot)
        if not worker.tasks:
            worker.begun_s = time.monotonic()
        worker.tasks.extend(batch.tasks)
        worker.send(batch)

    def wait(self, seconds: float) -> list[Answer | Lost]:
        """Answers, and tasks lost with the worker that had them.

        Raises:
            ElkError: workers cannot start.
        """
        ready = wait([worker.connection for worker in self._workers], min(seconds, _LOOK_S))
        found: list[Answer | Lost] = []
        for worker in list(self._workers):
            if worker.connection in ready:
                found += self._received(worker)
        if time.monotonic() >= self._looked_s + _LOOK_S:
            self._looked_s = time.monotonic()
            for worker in list(self._workers):
                found += self._capped(worker)
        return found

    def close(self) -> None:
        """Kills all workers."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _started(self) -> _Worker:
        here, there = socket.socketpair()
        with there:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    f"from elk.sweeps.local import serve; serve({there.fileno()})",
                ],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the coordinator's to deal with.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        worker = _Worker(process, Connection(here.detach()))
        worker.send(self._work)
        return worker

    def _received(self, worker: _Worker) -> list[Answer | Lost]:
        found: list[Answer | Lost] = []
        try:
            while worker.connection.poll():
                answer = worker.connection.recv()
                worker.begun_s = time.monotonic()
                if answer == _READY:
                    worker.is_ready = True
                    self._failed_starts = 0
                    continue
                worker.tasks.popleft()
                self._pace.learn([answer])
                found.append(replace(answer, worker=worker.name))
        except (EOFError, OSError):
            how = _how_it_died(worker.process)
            if worker.is_ready:
                return [*found, *self._replaced(worker, "worker_died", how, again=True)]
            self._failed_starts += 1
            if self._failed_starts >= _MOST_STARTS:
                raise ElkError(
                    f"workers cannot start: {how}",
                    code="worker_start",
                    remedy=f"run {sys.executable} -c 'import elk.sweeps.local' to see why",
                ) from None
            found += self._replaced(worker, GIVEN_BACK, "")
        return found

    def _capped(self, worker: _Worker) -> list[Lost]:
        if not worker.tasks or not worker.is_ready:
            return []
        most_s, most_bytes = self._caps.seconds, self._caps.memory_bytes
        if most_s is not None and time.monotonic() - worker.begun_s > most_s:
            return self._replaced(worker, "timeout", f"took over {most_s:g} s")
        if most_bytes is not None and worker.memory_bytes() > most_bytes:
            return self._replaced(worker, "memory", f"its worker held over {most_bytes:,} bytes")
        return []

    def _replaced(
        self, worker: _Worker, code: str, message: str, *, again: bool = False
    ) -> list[Lost]:
        """Ends a worker, whose first task is to blame; the others are given again."""
        worker.end()
        self._workers[self._workers.index(worker)] = self._started()
        tasks = list(worker.tasks)
        blamed = [Lost(task, code, message, again) for task in tasks[:1]]
        return [*blamed, *(Lost(task, GIVEN_BACK, "", again=True) for task in tasks[1:])]


def _how_it_died(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(_EXIT_S)
    except subprocess.TimeoutExpired:
        return "its worker closed its end and did not exit"
    if code < 0:
        return f"its worker was ended by {signal.Signals(-code).name}"
    return f"its worker exited with code {code}"
