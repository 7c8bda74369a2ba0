"""A sweep: its points, what was found of them, and what to do with it."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk._core import __version__
from elk.base import quantity
from elk.base.choices import one_of
from elk.base.policies import FORECASTS
from elk.base.readable import duration
from elk.errors import InvalidInputError
from elk.points.axes import unit_of
from elk.points.columns import DONE
from elk.sweeps.again import plan_again
from elk.sweeps.analysis.analysed import Analysed
from elk.sweeps.running import extend, resume
from elk.sweeps.tables import dataset, frame, write

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from elk.plan.plan import Plan
    from elk.sweeps.definition import Base, Point
    from elk.sweeps.store import Progress, Store

_MOST_LISTED: Final = 6  # values of an axis that a card lists
_LONGEST: Final = 60  # characters of a value on a card


@dataclass(frozen=True)
class SweepPoint:
    """One point of a sweep.

    Attributes:
        row: Its row of the table: axes, status, results.
    """

    row: Mapping[str, Any]
    _sweep: Sweep
    _point: Point

    @property
    def status(self) -> str:
        """`done`, `infeasible`, `failed`, or `open` where there is no answer yet."""
        return str(self.row["status"])

    @property
    def traceback(self) -> str | None:
        """Where its failure was raised; None where nothing was."""
        return self._sweep.store.traceback(self._point.task.key)

    def plan(self) -> Plan:
        """The plan of the point: from the store if it is there, else made again.

        Raises:
            InfeasibleError: the point has no plan.
        """
        return self._sweep._plan(self._point)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={self.row[name]!r}" for name in self._sweep.axes)
        latency = self.row.get("latency_s")
        return f"<SweepPoint {values}: {self.status if latency is None else duration(latency)}>"


class Sweep(Analysed):
    """The points of a sweep and what was found of them, read from its store.

    Made by `elk.sweep` and `elk.sweep.open`.

    Example:
        >>> sweep = elk.sweep("models/nerf.onnx", "tiny", {"rows": [64, 128]}, workers=0)
        >>> [row["status"] for row in sweep.rows()]
        ['done', 'done']
    """

    def __init__(self, store: Store, base: Base | None = None) -> None:
        self.store = store
        self._base = base

    @property
    def path(self) -> Path:
        """The file of the store."""
        return self.store.path

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in order."""
        return self.store.axes

    @property
    def progress(self) -> Progress:
        """How many points are done, infeasible, failed and open."""
        return self.store.progress()

    @cached_property
    def _table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        return self.store.table()

    def refresh(self) -> None:
        """Reads the store again, which another process may be filling."""
        self.__dict__.pop("_table", None)
        self.__dict__.pop("_points", None)

    @cached_property
    def _points(self) -> list[Point]:
        return list(self.store.points())

    def rows(self) -> list[dict[str, Any]]:
        """The table: a dictionary a point, axes and results in SI units by column.

        Beside axes and results: `point`, its position; `status`; `code` and `message`, why it is
        not done; `elk_version`, `seconds`, `worker` and `finished_at`.
        """
        names, rows = self._table
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __len__(self) -> int:
        return len(self._table[1])

    def __getitem__(self, position: int) -> SweepPoint:
        names, rows = self._table
        if not -len(rows) <= position < len(rows):
            raise IndexError(f"a point is from 0 to {len(rows) - 1}, got {position}")
        row = dict(zip(names, rows[position], strict=True))
        return SweepPoint(row, self, self._points[position])

    def __iter__(self) -> Iterator[SweepPoint]:
        return (self[position] for position in range(len(self)))

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame, indexed by point.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        return frame(*self._table)

    def to_xarray(self) -> xr.Dataset:
        """The table as an xarray dataset: a dimension an axis of a product, else `point`.

        Raises:
            MissingPackageError: xarray is not installed.
        """
        return dataset(*self._table, self.axes)

    def save(self, path: str | PathLike[str], *, timed: bool = True) -> None:
        """Writes the table: `.parquet`, `.nc` or `.csv` by its suffix.

        Args:
            path: The file.
            timed: Whether seconds, workers and times of day are written, which differ each time.

        Raises:
            InvalidInputError: the suffix is another.
            MissingPackageError: pandas, pyarrow or xarray is not installed.
            OutputFileError: the file cannot be written.
        """
        write(*self._table, self.axes, Path(fspath(path)), timed=timed)

    def best(self, column: str = "latency_s") -> SweepPoint:
        """The point that is done and has the least of a column, the first of several.

        Forecasts (`ideal`, `vgm`), which no chip can run, are no points to be best.

        Raises:
            InvalidInputError: there is no such column, or no point is done.
        """
        one_of("column", column, self.store.columns)
        done = [
            (row[column], position)
            for position, row in enumerate(self.rows())
            if self.is_real(row) and isinstance(row[column], int | float)
        ]
        if not done:
            raise InvalidInputError(f"no point is done that has {column}")
        return self[min(done)[1]]

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """What is the same in all points."""
        return dict(json.loads(self.store.about["fixed"]))

    def is_real(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is of a plan that can run: done, and no forecast."""
        policy = row.get("policy", self.fixed["options"].get("policy"))
        return bool(row["status"] == DONE and policy not in FORECASTS)

    def _plan(self, point: Point) -> Plan:
        return plan_again(self.store, point.task, self._base)

    def summary(self) -> str:
        """The card as text: points by status, the best one, where the store is."""
        lines = [self._title()]
        facts = self._facts()
        width = max(len(label) for label, _ in facts)
        return "\n".join([*lines, *(f"  {label.ljust(width)}  {value}" for label, value in facts)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for label, value in self._facts()
        )
        return f"<div><b>{html.escape(self._title())}</b><table>{rows}</table></div>"

    def __repr__(self) -> str:
        return self.summary()

    def _title(self) -> str:
        return f"sweep of {len(self):,} point{'' if len(self) == 1 else 's'}"

    def _facts(self) -> list[tuple[str, str]]:
        now, fixed = self.progress, self.fixed
        facts = [("axes", self._axis(name)) for name in self.axes] or [("axes", "none")]
        facts[1:] = [("", text) for _, text in facts[1:]]
        if "model" in fixed:
            facts.append(("model", fixed["model"]["name"]))
        if "chip" in fixed:
            facts.append(("chip", fixed["chip"]["name"]))
        states = {"done": now.done, "infeasible": now.infeasible, "failed": now.failed}
        shown = [f"{count:,} {name}" for name, count in (states | {"open": now.open}).items()]
        facts.append(("points", ", ".join(shown)))
        facts += self._older() + self._why() + self._best()
        facts.append(("store", f"{self.path}: .to_pandas(), .plot(x=...), [0].plan()"))
        return facts

    def _axis(self, name: str) -> str:
        """An axis with its values: all of a few, of more how many there are and their ends."""
        names, rows = self._table
        column = names.index(name)
        values = list(dict.fromkeys(row[column] for row in rows))
        if len(values) <= _MOST_LISTED:
            return f"{name}: {', '.join(_short(name, value) for value in values)}"
        if all(isinstance(value, int | float) for value in values):
            least, most = (_short(name, end) for end in (min(values), max(values)))
            return f"{name}: {len(values):,} from {least} to {most}"
        first, last = (_short(name, end) for end in (values[0], values[-1]))
        return f"{name}: {len(values):,}, such as {first} and {last}"

    def _older(self) -> list[tuple[str, str]]:
        older = {v: count for v, count in self.store.versions().items() if v != __version__}
        listed = ", ".join(f"{count:,} of ELK {version}" for version, count in older.items())
        return [("older results", f"{listed}; this is ELK {__version__}")] if older else []

    def _why(self) -> list[tuple[str, str]]:
        """The commonest reason why points are not done."""
        counts: dict[str, int] = {}
        for row in self.rows():
            if row["code"] is not None:
                counts[row["code"]] = counts.get(row["code"], 0) + 1
        listed = ", ".join(f"{code} ({count:,})" for code, count in sorted(counts.items()))
        return [("not done", listed)] if counts else []

    def _best(self) -> list[tuple[str, str]]:
        if not any(self.is_real(row) for row in self.rows()):
            return []
        best = self.best()
        values = ", ".join(f"{name}={_short(name, best.row[name])}" for name in self.axes)
        at = f" at point {best.row['point']}: {values}" if values else ""
        return [("best", f"{duration(best.row['latency_s'])}{at}")]

    def resume(self, **how: Any) -> Sweep:
        """Does the points that are open; keywords as of `elk.sweep`, from `workers` on.

        Args:
            how: `workers`, `executor`, `timeout_s`, `memory_bytes`, `retries`, `progress`; and
                `failed=True` to do points again that failed, `older="keep"` or `"again"` where
                results are of another version of ELK.

        Raises:
            SweepStoreError: the store cannot be written, is run by another process, or holds
                results of another version and `older` does not say what becomes of them.
        """
        resume(self.store, self._base, **how)
        self.refresh()
        return self

    def extend(self, space: Mapping[str, Any], **how: Any) -> Sweep:
        """Adds points and does them: all points there are, at other values of some axes.

        Args:
            space: Values of axes of the sweep.
            how: As in `resume`.

        Raises:
            InvalidInputError: an axis is none of the sweep's, or a value is wrong.
            SweepStoreError: an axis is a function, which the store does not hold.

        Example:
            >>> sweep.extend({"rows": [256]}, workers=0).progress.points
            3
        """
        extend(self.store, self._base, space, **how)
        self.refresh()
        return self


def _short(axis: str, value: Any) -> str:
    """A value of an axis as people read it."""
    unit = unit_of(axis)
    if unit is not None and isinstance(value, int | float):
        return quantity.show(value, unit)
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
