"""Tables as columns of numpy arrays, which a notebook shows and pandas takes."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.optional import pandas

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_SHOWN: Final = 20


class Columns(dict[str, "NDArray[Any]"]):
    """A table: a read-only numpy array for each column, all of one length.

    Example:
        >>> columns = trace.transfers()
        >>> bool((columns["end_ps"] >= columns["issued_ps"]).all())
        True
    """

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.values()), ()))

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary of plain Python values a row."""
        lists = [column.tolist() for column in self.values()]
        return [dict(zip(self, row, strict=True)) for row in zip(*lists, strict=True)]

    def table(self) -> pd.DataFrame:
        """The table for pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        made: pd.DataFrame = pandas("the columns as they are").DataFrame(dict(self))
        return made

    def where(self, rows: NDArray[Any]) -> Columns:
        """The rows that a mask or positions name, in their order."""
        return columns({name: column[rows] for name, column in self.items()})

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self)
        lines = [
            "<tr>" + "".join(f"<td>{html.escape(str(x))}</td>" for x in row.values()) + "</tr>"
            for row in self.where(np.arange(min(self.count, _SHOWN))).rows()
        ]
        more = f"<p>{self.count:,} rows</p>" if self.count > _SHOWN else ""
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>{more}"


def columns(found: dict[str, Any]) -> Columns:
    """A table of these columns."""
    made = Columns({name: np.asarray(column) for name, column in found.items()})
    for column in made.values():
        if column.flags.owndata:
            column.setflags(write=False)
    return made
