"""What instructions do with memories: who needs what, and what memories hold meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk import _core
from elk.analyze.columns import Columns, columns
from elk.base.choices import one_of
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STATES: Final = ("used", "arriving", "idle", "free")
_FIELDS: Final = 5  # of an access: instruction, memory, begin, end, whether it writes
_MOST_PARTS: Final = 4096


@dataclass(frozen=True, kw_only=True)
class Accessed:
    """The accesses of a trace.

    Attributes:
        lists: `issues`, `light` and `awaited` of every step, `accesses` one after another, and the
            `sizes` of memories in bytes.
        memories: The names of the memories; the first that is asked for is `main`.
        main: The memory in which a compiler places what it brings.
        steps: How many steps of the lists each instruction is.
    """

    lists: Mapping[str, NDArray[np.int64]]
    memories: tuple[str, ...]
    main: str
    steps: int
    _made: list[_core.AccessList] = field(default_factory=list)
    _states: dict[int, dict[str, NDArray[np.int64]]] = field(default_factory=dict)

    @property
    def known(self) -> _core.AccessList:
        """The lists as the core has them.

        Raises:
            InvalidInputError: they contradict each other.
        """
        if not self._made:
            lists = self.lists
            self._made.append(
                _core.AccessList(
                    issues=lists["issues"],
                    light=lists["light"],
                    awaited=lists["awaited"],
                    accesses=lists["accesses"],
                    sizes=lists["sizes"].tolist(),
                )
            )
        return self._made[0]

    def states(self, memory: str | None) -> dict[str, NDArray[np.int64]]:
        """What the core says of a memory; None for the main one.

        Raises:
            InvalidInputError: there is none of that name.
        """
        place = self.place(memory)
        if place not in self._states:
            self._states[place] = self.known.memory_states(place)
        return self._states[place]

    def window(self, first: int, last: int) -> Accessed:
        """The accesses of the instructions from `first` up to `last`."""
        begin, end = first * self.steps, last * self.steps
        rows = self.lists["accesses"].reshape(-1, _FIELDS)
        rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] < end)] - np.array([begin, 0, 0, 0, 0])
        awaited = self.lists["awaited"][begin:end]
        return Accessed(
            lists={
                "issues": self.lists["issues"][begin:end],
                "light": self.lists["light"][begin:end],
                "awaited": np.where((awaited >= 0) & (awaited < end), awaited - begin, -1),
                "accesses": rows.ravel(),
                "sizes": self.lists["sizes"],
            },
            memories=self.memories,
            main=self.main,
            steps=self.steps,
        )

    def place(self, memory: str | None) -> int:
        """The position of a memory; None for the main one.

        Raises:
            InvalidInputError: there is none of that name.
        """
        return self.memories.index(one_of("memory", memory or self.main, self.memories))


def memory_states(accessed: Accessed, memory: str | None, begin_ps: NDArray[np.int64]) -> Columns:
    """Bytes of a memory by state at every instruction."""
    found = accessed.states(memory)
    at = slice(None, None, accessed.steps)
    states = {f"{name}_bytes": found[name][at] for name in (*STATES, "hole")}
    return columns({"time_ps": begin_ps, **states})


def unread_transfers(accessed: Accessed, memory: str | None) -> Columns:
    """What transfers brought into a memory that nobody reads."""
    found = accessed.states(memory)
    some = found["unread"] > 0
    return columns(
        {
            "instruction": found["issue"][some] // accessed.steps,
            "bytes": found["bytes"][some],
            "unread_bytes": found["unread"][some],
        }
    )


def heat(
    accessed: Accessed,
    memory: str | None,
    begin_ps: NDArray[np.int64],
    span: tuple[int, int],
    blocks: object,
    times: object,
) -> NDArray[np.float64]:
    """The share of each block of a memory that is in use, at evenly spaced times.

    Args:
        accessed: The accesses.
        memory: The name of the memory; None for the main one.
        begin_ps: When every instruction begins.
        span: From when to when, in picoseconds.
        blocks: How many blocks there are.
        times: How many times there are.

    Raises:
        InvalidInputError: there is no such memory, or there are no blocks or times, or too many.
    """
    shape = _part_count("blocks", blocks), _part_count("times", times)
    place = accessed.place(memory)
    when = np.linspace(*span, shape[1], endpoint=False)
    at = np.maximum(np.searchsorted(begin_ps, when, "right") - 1, 0) * accessed.steps
    found = accessed.known.blocks(place, shape[0], at.tolist()).reshape(shape)
    size = int(accessed.lists["sizes"][place])
    edges = np.minimum(np.arange(shape[0] + 1) * -(-size // shape[0]), size)
    share: NDArray[np.float64] = found / np.maximum(np.diff(edges), 1)[:, None]
    return share


def _part_count(what: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_PARTS:
        raise InvalidInputError(f"{what} must be from 1 to {_MOST_PARTS}, got {count!r}")
    return count


def issue_limits(accessed: Accessed, times: Columns, ready_ps: NDArray[np.int64]) -> dict[str, Any]:
    """How early every transfer might be issued.

    Args:
        accessed: The accesses.
        times: When every instruction begins and ends.
        ready_ps: When what every instruction waits for or makes is there.
    """
    found = accessed.known.dependences()
    steps, first = accessed.steps, int(times["begin_ps"][0]) if times.count else 0
    issue = found["issue"] // steps
    limits = {
        name: np.where(found[name] >= 0, found[name] // steps, -1)
        for name in ("conservative", "relaxed", "placed")
    }
    since = np.concatenate([[first], ready_ps])[limits["relaxed"] + 1]
    return {
        "instruction": issue,
        **limits,
        "since_ps": since,
        "back_tail_ps": times["begin_ps"][issue] - since,
    }
