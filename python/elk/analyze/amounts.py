"""Amounts that moved evenly for a while, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountsMoved:
    """Amounts that moved evenly from begin to end, one after another, as columns."""

    begin_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    amount: NDArray[np.float64]

    @classmethod
    def of(
        cls, begin_ps: NDArray[np.int64], end_ps: NDArray[np.int64], amount: NDArray[Any]
    ) -> AmountsMoved:
        """Only what moved anything: an operator without preload has one of no length at 0."""
        some = amount > 0
        return cls(
            begin_ps=begin_ps[some], end_ps=end_ps[some], amount=amount[some].astype(np.float64)
        )

    def until(self, times_ps: NDArray[np.float64]) -> NDArray[np.float64]:
        """What had moved at each of these times."""
        if not len(self.amount):
            return np.zeros(len(times_ps))
        order = np.lexsort((self.end_ps, self.begin_ps))
        times = np.stack([self.begin_ps[order], self.end_ps[order]], axis=1).ravel()
        moved = np.repeat(np.concatenate([[0.0], np.cumsum(self.amount[order])]), 2)[1:-1]
        found: NDArray[np.float64] = np.interp(times_ps, times, moved)
        return found
