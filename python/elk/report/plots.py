"""Pictures of a plan, drawn with matplotlib (`pip install 'elk-icca[viz]'`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base.policies import POLICIES
from elk.document.schema import PlanDocument
from elk.errors import InvalidInputError, MissingPackageError
from elk.report.colours import ROLES, SPLIT
from elk.report.sram import memory_by_role, sram_room

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_KIB: Final = 1024.0
_UNIT_NAMES: Final = {"hbm": "HBM", "matrix": "matrix units", "vector": "vector units"}


def new_axes(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new figure.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    return new_grid(1, 1, (8.0, 3.5))[0, 0] if ax is None else ax


def new_grid(rows: int, columns: int, inches: tuple[float, float]) -> NDArray[Any]:
    """The axes of a new figure, rows by columns, whose panels have the same scales.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - takes longer than `import elk` may
    except ImportError as error:
        raise MissingPackageError(
            "plots need matplotlib, which is not installed",
            remedy="pip install 'elk-icca[viz]'",
        ) from error
    grid: NDArray[Any] = plt.subplots(
        rows, columns, figsize=inches, squeeze=False, sharex=True, sharey=True, layout="constrained"
    )[1]
    return grid


def plot_memory(
    document: PlanDocument, ax: Axes | None, *, ends_s: Sequence[float] | None = None
) -> Axes:
    """SRAM of one core over time, stacked by kind of buffer.

    Args:
        document: The plan.
        ax: Where to draw; a new figure without it.
        ends_s: When each operator's execute ends, in seconds; as forecast without it.
    """
    if not document["buffers"]:
        raise InvalidInputError(
            f"a plan of policy {document['policy']!r} is a forecast: it places no buffers",
            code="no_buffers",
        )
    ax = new_axes(ax)
    if ends_s is None:
        ends_s = [row["execute"][1] for row in document["predicted"]["ops"]]
    executes = [i for i, (opcode, _) in enumerate(document["program"]) if opcode == "execute"]
    edges = np.array([0.0, *ends_s]) * 1e3
    floor = np.zeros(len(executes))
    for role, held in memory_by_role(document).items():
        top = floor + held[executes] / _KIB
        if held.any():
            ax.fill_between(
                edges,
                _last(floor),
                _last(top),
                step="post",
                label=role,
                linewidth=0,
                color=ROLES[role],
            )
        floor = top
    room = sram_room(document["chip"]) / _KIB
    ax.axhline(room, color="black", linestyle="--", linewidth=1, label="room for plans")
    ax.set(xlabel="time (ms)", ylabel="SRAM of one core (KiB)", xlim=(0, edges[-1]))
    ax.set_title(f"{document['model']['name']}, {document['policy']}", parse_math=False)
    ax.set_ylim(0, room * 1.2)  # The legend stands above the line of what there is.
    ax.legend(loc="upper left", fontsize="small", ncols=6)
    return ax


def plot_front(
    title: str,
    rows: Sequence[tuple[int, float, bool]],
    chosen: tuple[int, float],
    ax: Axes | None,
) -> Axes:
    """Time over space of every plan on a Pareto front, the chosen one marked.

    Args:
        title: What stands above the picture.
        rows: Of each plan the bytes of SRAM, the seconds, and whether it is not on the front.
        chosen: Bytes and seconds of the plan that was chosen.
        ax: Where to draw; a new figure without it.
    """
    ax = new_axes(ax)
    points = sorted((space / _KIB, time_s * 1e6) for space, time_s, added in rows if not added)
    if points:
        x, y = zip(*points, strict=True)
        ax.scatter(x, y, s=16, label=f"Pareto front ({len(points)})")
        best = [p for i, p in enumerate(points) if all(p[1] < q[1] for q in points[:i])]
        ax.step(*zip(*best, strict=True), where="post", linewidth=1, alpha=0.6)
    beside = [(space / _KIB, time_s * 1e6) for space, time_s, added in rows if added]
    if beside:
        label = f"beside it, for neighbours or room ({len(beside)})"
        x, y = zip(*beside, strict=True)
        ax.scatter(x, y, s=16, marker="x", label=label)
    ax.scatter(chosen[0] / _KIB, chosen[1] * 1e6, s=90, marker="*", label="chosen", zorder=3)
    ax.set(xlabel="SRAM of one core (KiB)", ylabel="time alone (µs)", yscale="log")
    ax.set_title(title, parse_math=False)
    ax.legend(fontsize="small")
    return ax


def _last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values, the last one twice: a step needs a value at its end."""
    return np.append(values, values[-1])


def plot_breakdown(
    title: str,
    bars: dict[str, dict[str, int]],
    lines: dict[str, float],
    ax: Axes | None,
) -> Axes:
    """Each policy's time, stacked by what it went to; `lines` are times to hold it against."""
    ax = new_axes(ax)
    policies = list(bars)
    floor = np.zeros(len(policies))
    for part, colour in SPLIT.items():
        heights = np.array([bars[policy][part] for policy in policies]) / 1e9
        ax.bar(policies, heights, bottom=floor, label=part, width=0.6, color=colour)
        floor = floor + heights
    for at, height in enumerate(floor):
        ax.annotate(f"{height:.3g}", (at, height), (0, 2), textcoords="offset points", ha="center")
    for (name, seconds), style in zip(lines.items(), ("--", ":"), strict=True):
        label = f"{name}, {1e3 * seconds:.3g}"
        ax.axhline(seconds * 1e3, color="black", linestyle=style, linewidth=1, label=label)
    highest = max(floor.max(), *(1e3 * seconds for seconds in lines.values()))
    ax.set(ylabel="time (ms)", ylim=(0, 1.35 * highest))  # The legend stands above the bars.
    ax.set_title(title, parse_math=False)
    ax.legend(loc="upper center", fontsize="small", ncols=3)
    return ax


def plot_used(title: str, used: dict[str, dict[str, float]], ax: Axes | None) -> Axes:
    """How much of each unit is used, in groups of bars; `used` is by policy, then by unit."""
    ax = new_axes(ax)
    units = list(next(iter(used.values())))
    width = 0.8 / len(used)
    for i, (policy, shares) in enumerate(used.items()):
        places = np.arange(len(units)) + (i - (len(used) - 1) / 2) * width
        heights = [100 * shares[unit] for unit in units]
        bars = ax.bar(places, heights, 0.9 * width, label=policy, color=POLICIES[policy].colour)
        ax.bar_label(bars, fmt="%.2g", fontsize="small", padding=1)
    ax.set_xticks(range(len(units)), [_UNIT_NAMES.get(unit, unit) for unit in units])
    ax.set(ylabel="used (%)", ylim=(0, 120), yticks=range(0, 101, 20))
    ax.set_title(title, parse_math=False)
    ax.legend(loc="upper center", fontsize="small", ncols=len(used))
    return ax


def plot_used_over_time(
    title: str, used: Mapping[str, NDArray[np.float64]], ax: Axes | None
) -> Axes:
    """How much of each unit a run uses over time; `used` holds the edges, then each unit."""
    ax = new_axes(ax)
    edges = used["time_ps"] / 1e9
    for unit, shares in used.items():
        if unit != "time_ps":
            name = f"{_UNIT_NAMES.get(unit, unit)}, {100 * shares.mean():.1f} % on average"
            ax.stairs(100 * shares, edges, label=name, linewidth=1.2)
    ax.set(xlabel="time (ms)", ylabel="used (%)", xlim=(0, edges[-1]), ylim=(0, 130))
    ax.set_yticks(range(0, 101, 20))
    ax.set_title(title, parse_math=False)
    ax.legend(loc="upper center", fontsize="small", ncols=2)
    return ax
