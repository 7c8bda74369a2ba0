"""When the parts of a program run: the rules of order, and the port shared as a fluid.

Written apart from ELK's forecast, from what its documentation says: an exchange and a preload that
meet on a port get equal shares of it at most, compute is dragged by the share of the port that the
preload takes, and the HBM pays its latency after it was idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schedule_costs import Load, Work


@dataclass(slots=True)
class _Chip:
    """A chip while it runs a program."""

    drag: float  # compute lost per share of the port in use
    latency_s: float
    now_s: float = 0.0
    queue: list[tuple[int, Load]] = field(default_factory=list)
    coming_s: float | None = None  # until the first byte of the head; None: not begun
    left_s: float = 0.0  # of the preload at the head from then on
    free_since_s: float | None = None
    loaded: set[int] = field(default_factory=set)

    def begin(self) -> float:
        """Seconds until the first byte of the preload at the head comes."""
        if self.coming_s is None:
            idle = self.free_since_s is None or self.free_since_s < self.now_s
            self.coming_s = self.latency_s if idle else 0.0
            self.left_s = self.queue[0][1].time_s
        return self.coming_s

    def end(self) -> None:
        self.loaded.add(self.queue.pop(0)[0])
        self.coming_s = None
        self.free_since_s = self.now_s

    def wait_for(self, op: int) -> None:
        while op not in self.loaded:
            self.now_s += self.begin() + self.left_s
            self.end()

    def run(self, amount_s: float, *, wire: bool = False, compute: bool = False) -> None:
        while amount_s > 0.0:
            if not self.queue:
                self.now_s += amount_s
                return
            coming = self.begin()
            if coming > 0.0:  # Nothing streams yet.
                step = min(coming, amount_s)
                self.coming_s = coming - step
                self.now_s += step
                amount_s -= step
                continue
            execute, load = self._rates(wire=wire, compute=compute)
            step = min(self.left_s / load, amount_s / execute)
            self.now_s += step
            amount_s -= step * execute
            if self.left_s / load <= step:
                self.end()
            else:
                self.left_s -= step * load
                amount_s = 0.0

    def _rates(self, *, wire: bool, compute: bool) -> tuple[float, float]:
        """Of the execute and of the preload that streams beside it."""
        share = self.queue[0][1].share
        if wire and share > 0.0:
            return 1.0 - min(share, 0.5), min(1.0, 0.5 / share)
        if compute:
            return 1.0 - min(self.drag * share, 0.99), 1.0
        return 1.0, 1.0


def forecast_s(
    works: Sequence[Work],
    loads: dict[int, Load],
    order: Sequence[int],
    issued_before: Sequence[int],
    *,
    drag: float,
    latency_s: float,
) -> float:
    """Seconds until the last execute has ended; `loads` of the ops that have one."""
    chip = _Chip(drag, latency_s)
    issued = 0
    for op, work in enumerate(works):
        chip.queue += [(other, loads[other]) for other in order[issued : issued_before[op]]]
        issued = issued_before[op]
        if op in loads:
            chip.wait_for(op)
        chip.run(work.in_before_s)
        chip.run(work.in_wire_s, wire=True)
        chip.run(work.in_after_s)
        chip.run(work.compute_s, compute=True)
        chip.run(work.out_before_s)
        chip.run(work.out_wire_s, wire=True)
        chip.run(work.out_after_s)
    return chip.now_s
