"""The instructions of anybody's accelerator, in columns."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPUTE, ISSUE, WAIT = range(3)  # in the order of the core's `MachineAction`
FIELDS: Final = 5  # of an instruction, and of an access


def _ints() -> array[int]:
    return array("q")


@dataclass(kw_only=True)
class PlayedInstructions:
    """A machine and its instructions.

    Attributes:
        memories: The names of the memories.
        rates: Bytes that each moves in a second; None for registers.
        sizes: Bytes of each.
        latency_ps: From an issue until its transfer asks for its turn.
        name: The name of the machine.
        units: The places of the units, by name.
        names: The names of instructions that have one, by position.
        rows: One after another, of every instruction whether it computes, issues or waits; of a
            computation its picoseconds and unit, of an issue the memories that it comes from and
            goes to, of a wait the issue; bytes of an issue; and whether it may move along.
        accesses: One after another, instruction, memory, begin, end and whether it writes.
    """

    memories: tuple[str, ...]
    rates: tuple[float | None, ...]
    sizes: tuple[int, ...]
    latency_ps: int
    name: str
    units: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    rows: array[int] = field(default_factory=_ints)
    accesses: array[int] = field(default_factory=_ints)

    def table(self) -> NDArray[np.int64]:
        """The rows, one an instruction: action, first, second, bytes and whether it is light."""
        return np.frombuffer(self.rows, dtype=np.int64).reshape(-1, FIELDS)

    def check(self) -> None:
        """Refuses regions that are not in their memory, and transfers from or to registers.

        Raises:
            InvalidInputError: the message names the first instruction with such a fault.
        """
        table, rows = self.table(), np.frombuffer(self.accesses, np.int64).reshape(-1, FIELDS)
        if rows.min(initial=0) < 0 or table.min(initial=0) < 0:
            raise InvalidInputError("a field of an instruction is below 0")
        if rows[:, 1].max(initial=0) >= len(self.sizes) or table[:, 0].max(initial=0) > WAIT:
            raise InvalidInputError("an instruction is none that a machine of these memories has")
        sizes = np.array(self.sizes, dtype=np.int64)
        wrong = np.flatnonzero((rows[:, 2] >= rows[:, 3]) | (rows[:, 3] > sizes[rows[:, 1]]))
        if len(wrong):
            at, memory, begin, end, _ = rows[wrong[0]].tolist()
            raise InvalidInputError(
                f"bytes {begin} to {end} are none of the {self.sizes[memory]:,} of memory "
                f"{self.memories[memory]!r}",
                place=f"instructions[{at}]",
                remedy="write a region as (memory, begin, end), with begin before end",
            )
        registers = np.array([rate is None for rate in self.rates])
        ends = np.where(table[:, :1] == ISSUE, table[:, 1:3], 0)
        units = np.where(table[:, 0] == COMPUTE, table[:, 2], -1)
        if ends.max(initial=0) >= len(self.rates) or units.max(initial=-1) >= len(self.units):
            raise InvalidInputError("an instruction has a memory or a unit that is not there")
        unreached = registers[ends] & (table[:, :1] == ISSUE)
        if unreached.any():
            at = int(np.flatnonzero(unreached.any(axis=1))[0])
            memory = int(ends[at][unreached[at]][0])
            raise InvalidInputError(
                f"memory {self.memories[memory]!r} has no bytes_per_s: no transfer reaches it",
                place=f"instructions[{at}]",
                remedy="give the memory bytes_per_s",
            )
