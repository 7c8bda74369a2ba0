"""Faults of points that workers of a sweep must outlive, by the size of the point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

LARGE: Final = 58  # answered at once, with more than a pipe holds
SIGKILL: Final = 65
SIGSEGV: Final = 66
ENDLESS: Final = 67
MEMORY: Final = 68
EXCEPTION: Final = 69
PARENT: Final = 70  # ends the process that started the worker, too: on Dask, Dask's own worker

EXPECTED: Final = {
    SIGKILL: "worker_died",
    SIGSEGV: "worker_died",
    MEMORY: "memory",
    EXCEPTION: "exception",
}
"""The code of each row, of those that end without a limit and leave the worker of Dask alone."""

_FAULTS: Final = f"""
import os, signal, time
import elk.sweeps.evaluate as evaluate

answer = evaluate.Evaluator.answer

def faulty(self, task):
    rows = task.bindings["rows"]
    if rows == {LARGE}:
        return evaluate.Answer(task.key, "done", plan=b"x" * (4 << 20))
    if rows == {SIGKILL}:
        os.kill(os.getpid(), signal.SIGKILL)
    if rows == {SIGSEGV}:
        os.kill(os.getpid(), signal.SIGSEGV)
    if rows == {ENDLESS}:
        while True:
            pass
    if rows == {MEMORY}:
        held = []
        while True:
            held.append(b"x" * (16 << 20))
            time.sleep(0.005)
    if rows == {EXCEPTION}:
        self.plan = None
    if rows == {PARENT}:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    found = answer(self, task)
    self.__dict__.pop("plan", None)
    return found

evaluate.Evaluator.answer = faulty
"""


def install(folder: Path) -> str:
    """Writes what gives the faults to every interpreter that has this folder on its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_FAULTS, encoding="utf-8")
    return str(folder)


@contextmanager
def two_dask_workers() -> Iterator[Any]:
    """A client of Dask with two worker processes of one thread on this machine."""
    import distributed as untyped  # noqa: PLC0415 - as the package itself, optional
    from dask import config  # noqa: PLC0415 - as the package itself, optional

    distributed: Any = untyped
    with (
        # A busy machine may take long to start a worker anew; the cluster would drop it.
        config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
