"""What compiles of a model leave for the next: plans and costs that need not be found again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from elk import _core

if TYPE_CHECKING:
    from elk._core import TileModel

_MOST_MODELS: Final = 4  # tile models with something kept
_NAMES: Final = (
    "fronts", "rates", "executes", "handovers", "gathers", "preloads", "bounds", "executions",
    "loads", "passes",
)  # fmt: skip


class Kept:
    """What was found of a model's operators, by tile model; it goes when the model does.

    `elk.compile` looks here for fronts of operators, rates of tiles, times of parts of operators,
    what cores hand over and what operators take at least together, each by all that it depends on:
    a plan is the same with it as without. Another HBM bandwidth, policy or effort leaves most of it
    true, and policies continue where those below them ended. Its size is bounded by bytes, and
    threads may share it.
    """

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        self._known: dict[int, tuple[TileModel, _core.Kept]] = {}  # by identity, which they hold
        self._lock = threading.Lock()

    def of(self, tiles: TileModel) -> _core.Kept:
        """What is kept under a tile model; the one kept longest makes room for a new one."""
        with self._lock:
            if id(tiles) not in self._known:
                while len(self._known) >= _MOST_MODELS:
                    del self._known[next(iter(self._known))]
                self._known[id(tiles)] = (tiles, _core.Kept())
            return self._known[id(tiles)][1]

    def reuse(self) -> dict[str, tuple[int, int]]:
        """How many entries were found, of how many that were asked for, by what is kept."""
        with self._lock:
            each = [kept.reuse for _, kept in self._known.values()]
        return {
            name: (sum(one[name][0] for one in each), sum(one[name][1] for one in each))
            for name in _NAMES
        }
