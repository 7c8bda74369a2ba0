"""Progress of a sweep: a bar with what is done, what failed and the best so far."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from elk.base.readable import duration
from elk.points.columns import DONE, FAILED, INFEASIBLE
from elk.sweeps.evaluate import Answer

if TYPE_CHECKING:
    from elk.sweeps.coordinator import Report
    from elk.sweeps.store import Store


@contextmanager
def reporting(store: Store, progress: bool | None) -> Iterator[Report]:
    """Yields what is called with answers that are on disk, and moves a bar.

    Args:
        store: The sweep, whose answers so far count.
        progress: Whether there is a bar; None: on terminals and in notebooks.
    """
    from tqdm.auto import tqdm  # noqa: PLC0415 - looks for a notebook when it is imported

    now = store.progress()
    counts = {DONE: now.done, INFEASIBLE: now.infeasible, FAILED: now.failed}
    best: list[float] = []
    with tqdm(
        total=now.points,
        initial=now.points - now.open,
        desc="sweep",
        unit="point",
        disable=not is_shown(progress),
    ) as bar:

        def report(answers: list[Answer]) -> None:
            for answer in answers:
                counts[answer.status] += 1
                latency_s = answer.row.get("latency_s")
                if answer.is_forecast:
                    continue
                if latency_s is not None and (not best or latency_s < best[0]):
                    best[:] = [latency_s]
            bar.set_postfix_str(_told(counts, best), refresh=False)
            bar.update(len(answers))

        yield report


def _told(counts: dict[str, int], best: list[float]) -> str:
    missed = [f"{counts[status]} {status}" for status in (INFEASIBLE, FAILED) if counts[status]]
    return ", ".join([*missed, *(f"best {duration(seconds)}" for seconds in best)])


def is_shown(progress: bool | None) -> bool:
    """Whether a bar is shown: as asked, else on terminals and in notebooks."""
    if progress is not None:
        return progress
    if "PYTEST_CURRENT_TEST" in os.environ or os.environ.get("CI"):
        return False
    return "ipykernel" in sys.modules or sys.stderr.isatty()
