"""Small tables of an analysis, as text, as HTML and as pandas frames."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elk.base.optional import pandas

if TYPE_CHECKING:
    import pandas as pd


class TableCard:
    """What is printed and shown in notebooks: a title, a table, notes."""

    def card(self) -> tuple[str, Sequence[Sequence[str]], Sequence[str]]:
        """The title, the rows of the table, its head first, and sentences below it."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain data, in SI units."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame, in SI units.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        made: pd.DataFrame = pandas(".rows()").DataFrame(self.rows())
        return made

    def summary(self) -> str:
        """The card as text."""
        head, cells, notes = self.card()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([head, *lines, *(f"  {note}" for note in notes)])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        head, cells, notes = self.card()
        first, *rest = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * (len(cells) - 1)], cells, strict=True)
        )
        body = "".join(f"<tr>{row}</tr>" for row in (first, *rest))
        told = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
        return f"<div><b>{html.escape(head)}</b><table>{body}</table>{told}</div>"
