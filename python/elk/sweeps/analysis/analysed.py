"""What a sweep can be asked: pictures, fronts, ratios, sensitivities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from elk.sweeps.analysis.pareto import Pareto, pareto
from elk.sweeps.analysis.plot import Asked, plot
from elk.sweeps.analysis.ratios import Ratios, compare
from elk.sweeps.analysis.sensitivity import Sensitivity, sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from elk.sweeps.analysis.selection import Swept


class Analysed:
    """A sweep whose results can be drawn and told."""

    def plot(  # noqa: PLR0913 - every option is a keyword of its own
        self: Swept,
        *,
        x: str | None = None,
        y: str | None = None,
        hue: str | None = None,
        col: str | None = None,
        row: str | None = None,
        kind: str | None = None,
        where: Mapping[str, Any] | None = None,
        log: bool | Iterable[str] | None = None,
        ax: Axes | None = None,
    ) -> Any:  # the axes, or an array of them
        """Draws the sweep with matplotlib; nothing is averaged.

        Axes that vary and are not named have a line for each of their values, the only one of them
        a colour each; in a heat map they are refused. Points that are not done break their line and
        are marked at the foot.

        Args:
            x: The column along the bottom; None: the first axis of numbers.
            y: The column along the side; None: `latency_s`, or of a heat map the next axis.
            hue: The column told by colour; None: the axis that is not named, and of a heat map
                `latency_s`.
            col: The axis whose values have a column of panels each.
            row: The axis whose values have a row of panels each.
            kind: `line`, `scatter` or `heatmap`; None: a heat map where `y` is an axis, points
                where `x` is none or the sweep is of samples, else lines.
            where: The values, or lists of them, to which other columns are held.
            log: Whether scales are logarithmic: of all columns, or the names of those; None: where
                values lie evenly in logarithms.
            ax: Where to draw; a new figure without it.

        Returns:
            The axes; with `col` or `row` an array of them, rows by columns. `ax.figure` is the
            figure.

        Raises:
            InvalidInputError: there is no such column or value, `y` has no numbers, or a cell of a
                heat map would hold several points.
            MissingPackageError: matplotlib is not installed.

        Example:
            >>> sweep.plot(x="hbm_bandwidth", hue="policy", col="batch")
            >>> sweep.plot(x="hbm_bandwidth", y="cores", hue="binds", where={"policy": "static"})
        """
        asked = Asked(kind=kind, x=x, y=y, hue=hue, col=col, row=row)
        return plot(self, asked, where=where, log=log, ax=ax)

    def pareto(self: Swept, *objectives: str, where: Mapping[str, Any] | None = None) -> Pareto:
        """The points that are done and that no other beats in one objective and equals in the rest.

        Equal points all stay. Forecasts of policy `ideal`, which no chip can run, are left out.

        Args:
            objectives: Two or more columns that are to be small, axes among them; those with a
                minus in front are to be large.
            where: As in `plot`.

        Raises:
            InvalidInputError: there is no such column, or no point has one of them.

        Example:
            >>> front = sweep.pareto("latency_s", "-achieved_flops_per_s")
            >>> front.rows()[0]["point"]
            0
        """
        return pareto(self, objectives, where)

    def compare(
        self: Swept,
        to: Any = "static",
        *,
        axis: str | None = None,
        column: str = "latency_s",
        where: Mapping[str, Any] | None = None,
    ) -> Ratios:
        """Each point's value of a column over that of the point that differs in one axis alone.

        Args:
            to: The value of the axis that all others are held against.
            axis: The axis; None: `policy`, or the only one that has the value `to`.
            column: What is compared.
            where: As in `plot`.

        Raises:
            InvalidInputError: there is no such axis, value or column, or no such pair of points.

        Example:
            >>> sweep.compare(64, axis="rows").rows()[0]["ratio"] >= 1
            True
        """
        return compare(self, to, axis=axis, column=column, where=where)

    def sensitivity(
        self: Swept, column: str = "latency_s", *, where: Mapping[str, Any] | None = None
    ) -> Sensitivity:
        """Which axes explain a result: shares of its variance (Sobol indices), and the direction.

        A surface of degree two in logarithms is fitted to the points that are done; the card says
        how well it tells points left out of the fit.

        Args:
            column: The result.
            where: As in `plot`.

        Raises:
            InvalidInputError: there is no such column, fewer than eight points have it, or nothing
                varies.

        Example:
            >>> sweep.sensitivity().shares[0].axis
            'rows'
        """
        return sensitivity(self, column, where)
