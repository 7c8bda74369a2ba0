"""Traces of anybody's accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk import _core
from elk.analyze.accessed import Accessed
from elk.analyze.amounts import AmountsMoved
from elk.analyze.columns import Columns, columns
from elk.analyze.played_instructions import COMPUTE, ISSUE, WAIT, PlayedInstructions
from elk.analyze.resources import checked_share
from elk.analyze.trace import Trace
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FASTEST: Final = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class MachineTrace(Trace):
    """What anybody's accelerator played. Made by `elk.trace_of`."""

    _given: PlayedInstructions
    _speeds: tuple[tuple[str, float], ...]
    _ran: dict[str, NDArray[Any]]
    begin_ps: int = 0

    @classmethod
    def played(
        cls, given: PlayedInstructions, speeds: tuple[tuple[str, float], ...] = ()
    ) -> MachineTrace:
        """Plays the instructions, at shares of the speeds of memories and units.

        Raises:
            InvalidInputError: an instruction cannot be played.
        """
        shares, table = dict(speeds), given.table()
        rates = [
            max(1, int((rate or _FASTEST) * shares.get(name, 1.0)))
            for name, rate in zip(given.memories, given.rates, strict=True)
        ]
        ran = _core.play_machine(
            rates=[min(rate, _FASTEST) for rate in rates],
            latency_ps=given.latency_ps,
            action=np.ascontiguousarray(table[:, 0]),
            first=_stretched(given, shares),
            second=np.ascontiguousarray(table[:, 2]),
            moved=np.ascontiguousarray(table[:, 3]),
        )
        return cls(given, speeds, ran)

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self._given.name

    @property
    def end_ps(self) -> int:
        """When the last instruction and the last transfer are over."""
        return int(self._ran["total_ps"][0])

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        return self._given.table()

    @property
    def _actions(self) -> NDArray[np.int64]:
        return self._table[:, 0]

    def _titles(self, positions: NDArray[np.int64]) -> list[str]:
        names = self._given.names
        return [names.get(at, f"instruction {at}") for at in positions.tolist()]

    @cached_property
    def instruction_times(self) -> Columns:
        """When every instruction began and was over; an issue takes no time."""
        return columns({name: self._ran[name] for name in ("begin_ps", "end_ps")})

    def _transfer_times(self) -> Mapping[str, NDArray[Any]]:
        given, ran = self._given, self._ran
        issues = np.flatnonzero(self._actions == ISSUE)
        pairs = self._table[issues, 1:3].tolist()
        kinds = [f"{given.memories[a]} to {given.memories[b]}" for a, b in pairs]
        return {
            "instruction": issues,
            "name": np.array(self._titles(issues), dtype=np.str_),
            "kind": np.array(kinds, dtype=np.str_),
            "bytes": self._table[issues, 3],
            "issued_ps": ran["issued_ps"],
            "base_begin_ps": ran["issued_ps"],
            "base_end_ps": ran["ready_ps"],
            "queue_begin_ps": ran["ready_ps"],
            "queue_end_ps": ran["first_ps"],
            "first_ps": ran["first_ps"],
            "end_ps": ran["over_ps"],
            "refresh_ps": np.zeros(len(issues), dtype=np.int64),
            "alone_ps": np.minimum(ran["alone_ps"], ran["over_ps"] - ran["first_ps"]),
            "reached_ps": ran["reached_ps"],
            "over": np.ones(len(issues), dtype=np.bool_),
        }

    @cached_property
    def _accessed(self) -> Accessed:
        given, action = self._given, self._actions
        awaited = np.full(len(action), -1, dtype=np.int64)
        waits = np.flatnonzero(action == WAIT)[::-1]  # the first wait is written last
        awaited[self._table[waits, 1]] = waits
        arriving = [at for at, rate in enumerate(given.rates) if rate is not None]
        targets = self._table[action == ISSUE, 2]
        filled = np.bincount(targets, minlength=len(given.memories)) if len(targets) else [0]
        main = int(np.argmax(filled)) if len(targets) else (arriving or [0])[0]
        return Accessed(
            lists={
                "issues": (action == ISSUE).astype(np.int64),
                "light": self._table[:, 4],
                "awaited": awaited,
                "accesses": np.frombuffer(given.accesses, dtype=np.int64),
                "sizes": np.array(given.sizes, dtype=np.int64),
            },
            memories=given.memories,
            main=given.memories[main],
            steps=1,
        )

    def _ready_ps(self) -> NDArray[Any]:
        """What a wait waits for is there when its transfer is over."""
        ready = self._ran["end_ps"].copy()
        waits = np.flatnonzero(self._actions == WAIT)
        issues = np.flatnonzero(self._actions == ISSUE)
        awaited = self._table[waits, 1]
        ready[waits] = self._ran["over_ps"][np.searchsorted(issues, awaited)]
        return ready

    def units(
        self, width_ps: int, *, begin_ps: int | None = None, end_ps: int | None = None
    ) -> Columns:
        """What every memory and unit did in equal parts of the trace.

        For each memory that transfers reach `_bytes`, which move evenly while a transfer does, and
        `_used`, their share of what it could have carried; for each unit `_s`, the seconds for
        which it computed, and `_used`.

        Args:
            width_ps: How long a part is, from 1 ps on.
            begin_ps: Where the first part begins; None for the beginning of the trace.
            end_ps: Which time the last part reaches; None for the end of the trace.

        Raises:
            InvalidInputError: the width is no whole number above 0, or there are over a million
                parts.
        """
        span = self._span(width_ps, begin_ps, end_ps)
        given, shares = self._given, dict(self._speeds)
        found: dict[str, Any] = {"time_ps": span.edges[:-1].astype(np.int64)}
        times = self._transfer_times()
        ends, moved = self._table[times["instruction"], 1:3], times["bytes"]
        moving = times["first_ps"], times["end_ps"]
        for place, name in enumerate(given.memories):
            rate = given.rates[place]
            if rate is None:
                continue
            carried = moved * (ends == place).sum(axis=1)
            amount = _spread(moving, carried, span.edges)
            found[f"{name}_bytes"] = amount
            found[f"{name}_used"] = amount / (rate * shares.get(name, 1.0) * span.width_s)
        begins, over = self._ran["begin_ps"], self._ran["end_ps"]
        unit = self._table[:, 2]
        for name, place in given.units.items():
            mine = (self._actions == COMPUTE) & (unit == place)
            busy = AmountsMoved.of(begins[mine], over[mine], (over - begins)[mine] / 1e12)
            found[f"{name}_s"] = np.diff(busy.until(span.edges))
            found[f"{name}_used"] = found[f"{name}_s"] / span.width_s
        return columns(found)

    def replay(self, *, slow: Mapping[str, float] | None = None) -> MachineTrace:
        """Plays the instructions again, perhaps on a slower machine.

        Args:
            slow: The share of its speed that a memory or a unit keeps, by name.

        Raises:
            InvalidInputError: there is no such memory or unit, or a share is not above 0.
        """
        known = [*self._given.memories, *self._given.units]
        for name in slow or {}:
            if name not in known:
                raise InvalidInputError(
                    f"the machine has no memory or unit {name!r}",
                    place="slow",
                    remedy=f"name one of {', '.join(known)}",
                )
        before = dict(self._speeds)
        both = {
            name: before.get(name, 1.0) * checked_share(name, share)
            for name, share in (slow or {}).items()
        }
        return MachineTrace.played(self._given, tuple({**before, **both}.items()))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes an `.elktrace` file: equal traces give equal bytes.

        Raises:
            OutputFileError: the file cannot be written.
        """
        from elk.analyze.writing import write_machine_trace  # noqa: PLC0415 - few are saved

        write_machine_trace(self._given, dict(self._speeds), Path(path))

    def _work(self) -> list[tuple[str, str, int, int]]:
        names, found = [*self._given.units], np.flatnonzero(self._actions == COMPUTE)
        return [
            (names[unit], title, begin, end)
            for unit, title, begin, end in zip(
                self._table[found, 2].tolist(),
                self._titles(found),
                self._ran["begin_ps"][found].tolist(),
                self._ran["end_ps"][found].tolist(),
                strict=True,
            )
        ]


def _stretched(given: PlayedInstructions, shares: Mapping[str, float]) -> NDArray[np.int64]:
    """The first field of every instruction, computations on slower units drawn out."""
    action, first, unit = given.table()[:, :3].T
    slower = np.array([shares.get(name, 1.0) for name in given.units])
    if not len(slower) or (slower == 1.0).all():
        return np.ascontiguousarray(first)
    computes = action == COMPUTE
    share = np.where(computes, slower[np.where(computes, unit, 0)], 1.0)
    stretched: NDArray[np.int64] = np.where(computes, np.ceil(first / share), first)
    return stretched.astype(np.int64)


def _spread(
    moving: tuple[NDArray[np.int64], NDArray[np.int64]],
    amount: NDArray[np.int64],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Amounts that move evenly, several at a time, in each part of a time."""
    some = (amount > 0) & (moving[1] > moving[0])
    begin, end = (times[some].astype(np.float64) for times in moving)
    rate = amount[some] / (end - begin)
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    change = np.concatenate([rate, -rate])[order]
    at = times[order]
    rates = np.cumsum(change)
    done = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(at))]) if len(at) else at
    until: NDArray[np.float64] = (
        np.interp(edges, at, done, left=0.0) if len(at) else np.zeros(len(edges))
    )
    return np.diff(until)
