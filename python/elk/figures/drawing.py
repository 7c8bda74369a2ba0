"""Bars and lines of figures, in ELK's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.policies import POLICIES
from elk.report.colours import SPLIT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = {name: policy.colour for name, policy in POLICIES.items()}
_MARKERS: Final = {"basic": "v", "static-paper": "s", "static": "^", "elk-dyn": "D"}


def lines(ax: Axes, rows: pd.DataFrame, x: str, y: str, *, scale: tuple[float, float]) -> None:
    """A line a policy of `y` over `x`, both in SI units over `scale`; the ideal dashed.

    The ideal is that of elk-full's plans, where `y` is a latency.
    """
    for policy in [name for name in COLOURS if name in set(rows["policy"])]:
        chosen = rows[rows["policy"] == policy].sort_values(x)
        at, values = chosen[x] / scale[0], chosen[y] / scale[1]
        ax.plot(
            at, values, label=policy, color=COLOURS[policy], marker=_MARKERS.get(policy, "o"), ms=4
        )
        if policy == "elk-full" and y == "latency_s":
            ideal = chosen["ideal_s"] / scale[1]
            ax.plot(at, ideal, "--", label="ideal", color=COLOURS["ideal"])
    ax.set_ylim(bottom=0)


def bars(ax: Axes, groups: Sequence[str], heights: Mapping[str, Sequence[float]]) -> None:
    """Bars side by side in groups, one for each key of `heights`; a cross where one is NaN."""
    width = 0.8 / len(heights)
    for i, (name, values) in enumerate(heights.items()):
        at = np.arange(len(groups)) + (i - (len(heights) - 1) / 2) * width
        ax.bar(at, values, width, label=name, color=COLOURS.get(name))
        for x in at[np.isnan(values)]:
            ax.text(x, 0.01, "x", ha="center", transform=ax.get_xaxis_transform())
            ax.set_xlim(-0.5, len(groups) - 0.5)  # Bars alone would leave these groups out.
    ax.set_xticks(np.arange(len(groups)), groups)


def policy_bars(
    ax: Axes, rows: pd.DataFrame, x: str, y: str, policies: Sequence[str], scale: float = 1.0
) -> None:
    """A group of bars for each value of `x`, one a policy, of `y` times `scale`."""
    values = rows.pivot_table(index=x, columns="policy", values=y, dropna=False)
    heights = {name: (values[name] * scale).tolist() for name in policies if name in values}
    bars(ax, [str(value) for value in values.index], heights)


def panels(
    figure: Figure, rows: pd.DataFrame, by: str | list[str]
) -> list[tuple[Axes, Any, pd.DataFrame]]:
    """Axes side by side for the values of some columns: each with its value and its rows."""
    groups = list(rows.groupby(by, sort=False))
    axes = figure.subplots(1, len(groups), squeeze=False)[0]
    return [(ax, value, own) for ax, (value, own) in zip(axes, groups, strict=True)]


def splits(ax: Axes, rows: pd.DataFrame, names: Sequence[str]) -> None:
    """The time of each row as a bar: preload, execute, overlapped, interconnect, in ms."""
    floor = np.zeros(len(rows))
    at = np.arange(len(rows))
    for part, colour in SPLIT.items():
        values = rows[f"{part}_s"].to_numpy() * 1e3
        ax.bar(at, values, 0.75, bottom=floor, color=colour, label=part)
        floor = floor + values
    ax.set_xticks(at, names, rotation=90, fontsize="small")
    ax.set_ylabel("latency (ms)")
