"""A sweep in a process that is killed again and again, and what it had reported before."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SCRIPT = """
import sys, elk
elk.sweep({model!r}, "tiny", {space!r}, store=sys.argv[1], workers=2, progress=False)
"""


def children(pid: int | str) -> list[int]:
    """The processes that a process has started."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


class Hunted:
    """A sweep in a process of its own, started again whenever it was ended."""

    def __init__(self, path: Path, model: Path, space: dict[str, Any]) -> None:
        self.path = path
        self.changed = 0
        self._script = _SCRIPT.format(model=str(model), space=space)
        self._reported: dict[str, str] = {}
        self._process = self._started()

    def kill(self, kind: str, moment: int, part: float) -> bool:
        """Kills, once so many points are done or after a while, whether it was at work then."""
        if kind == "coordinator, by the clock":
            time.sleep(3 * part)
        else:
            while len(self._done()) < moment and self._process.poll() is None:
                time.sleep(0.02)
            time.sleep(0.3 * part)
        is_at_work = self._process.poll() is None
        workers = children(self._process.pid)
        if kind == "worker" and workers:
            os.kill(workers[int(part * len(workers))], signal.SIGKILL)
        else:
            if is_at_work:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._look()
            self._process = self._started()
        return is_at_work

    def finish(self) -> None:
        """Lets the sweep end."""
        while self._process.wait() != 0:
            self._process = self._started()
        self._look()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", self._script, str(self.path)]
        return subprocess.Popen(command, start_new_session=True)

    def _look(self) -> None:
        """Compares with what was reported before: all of it is there, and as it was."""
        now = self._done()
        self.changed += sum(now.get(key) != at for key, at in self._reported.items())
        self._reported = now

    def _done(self) -> dict[str, str]:
        if not self.path.exists():
            return {}
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            query = "SELECT point_key, finished_at || worker FROM results"
            return dict(connection.execute(query).fetchall())
        except sqlite3.OperationalError:  # The store is being made.
            return {}
        finally:
            connection.close()
