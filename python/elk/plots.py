"""Pictures of a plan, drawn with matplotlib (`pip install 'elk-icca[viz]'`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from elk.errors import InvalidInputError, MissingPackageError
from elk.explain import Explanation, sram_room
from elk.plan_schema import PlanDocument

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

ROLES: Final = ("resident", "activation", "execute", "preload", "store")
_KIB: Final = 1024.0


def new_axes(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new figure.

    Raises:
        MissingPackageError: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - takes longer than `import elk` may
    except ImportError as error:
        raise MissingPackageError(
            "plots need matplotlib, which is not installed",
            remedy="pip install 'elk-icca[viz]'",
        ) from error
    return plt.subplots(figsize=(8.0, 3.5), layout="constrained")[1]


def memory_by_role(document: PlanDocument) -> dict[str, NDArray[np.int64]]:
    """Bytes of a core's SRAM that each kind of buffer holds at every instruction."""
    size = len(document["program"]) + 1
    change = {role: np.zeros(size, dtype=np.int64) for role in ROLES}
    for buffer in document["buffers"]:
        change[buffer["role"]][buffer["from"]] += buffer["bytes"]
        change[buffer["role"]][buffer["to"] + 1] -= buffer["bytes"]
    return {role: np.cumsum(deltas)[:-1] for role, deltas in change.items()}


def plot_memory(document: PlanDocument, ax: Axes | None) -> Axes:
    """SRAM of one core over time, stacked by kind of buffer."""
    if not document["buffers"]:
        raise InvalidInputError(
            f"a plan of policy {document['policy']!r} is a forecast: it places no buffers",
            code="no_buffers",
        )
    ax = new_axes(ax)
    executes = [i for i, (opcode, _) in enumerate(document["program"]) if opcode == "execute"]
    edges = np.array([0.0] + [row["execute"][1] for row in document["predicted"]["ops"]]) * 1e3
    floor = np.zeros(len(executes))
    for role, held in memory_by_role(document).items():
        top = floor + held[executes] / _KIB
        if held.any():
            ax.fill_between(edges, _last(floor), _last(top), step="post", label=role, linewidth=0)
        floor = top
    room = sram_room(document["chip"]) / _KIB
    ax.axhline(room, color="black", linestyle="--", linewidth=1, label="room for plans")
    ax.set(xlabel="time (ms)", ylabel="SRAM of one core (KiB)", xlim=(0, edges[-1]))
    ax.set_title(f"{document['model']['name']}, {document['policy']}", parse_math=False)
    ax.set_ylim(0, room * 1.2)  # The legend stands above the line of what there is.
    ax.legend(loc="upper left", fontsize="small", ncols=6)
    return ax


def plot_front(explanation: Explanation, ax: Axes | None) -> Axes:
    """Time over space of every plan on a Pareto front, the chosen one marked."""
    ax = new_axes(ax)
    points = [(c.space_bytes / _KIB, c.time_s * 1e6) for c in explanation.candidates if not c.added]
    points.sort()
    x, y = zip(*points, strict=True)
    ax.scatter(x, y, s=16, label=f"Pareto front ({len(points)})")
    best = [p for i, p in enumerate(points) if all(p[1] < q[1] for q in points[:i])]
    ax.step(*zip(*best, strict=True), where="post", linewidth=1, alpha=0.6)
    added = [(c.space_bytes / _KIB, c.time_s * 1e6) for c in explanation.candidates if c.added]
    if added:
        label = f"beside it, to suit neighbours ({len(added)})"
        x, y = zip(*added, strict=True)
        ax.scatter(x, y, s=16, marker="x", label=label)
    chosen = explanation.chosen
    x, y = (chosen.space_bytes / _KIB,), (chosen.time_s * 1e6,)
    ax.scatter(x, y, s=90, marker="*", label="chosen", zorder=3)
    ax.set(xlabel="SRAM of one core (KiB)", ylabel="time alone (µs)", yscale="log")
    ax.set_title(explanation.name, parse_math=False)
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
    for part in next(iter(bars.values())):
        heights = np.array([bars[policy][part] for policy in policies]) / 1e9
        ax.bar(policies, heights, bottom=floor, label=part, width=0.6)
        floor = floor + heights
    for (name, seconds), style in zip(lines.items(), ("--", ":"), strict=True):
        ax.axhline(seconds * 1e3, color="black", linestyle=style, linewidth=1, label=name)
    ax.set(ylabel="time (ms)", ylim=(0, 1.3 * max(floor.max(), *(1e3 * s for s in lines.values()))))
    ax.set_title(title, parse_math=False)
    ax.legend(loc="upper right", fontsize="small", ncols=3)
    return ax
