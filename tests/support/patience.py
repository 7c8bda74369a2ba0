"""Waiting for what another thread or process does, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object]) -> None:
    """Returns once the condition holds; an error after ten minutes."""
    end_s = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end_s, "ten minutes have passed"
        time.sleep(0.01)
