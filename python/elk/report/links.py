"""What every link of the chips carried in a run, as a table and as a heat map."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk import _core
from elk.base.optional import pandas
from elk.errors import InvalidInputError
from elk.report.plots import new_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_PS: Final = 1e12
# In the order of `_core.LinkKind`.
_KINDS: Final = (
    "link",
    "send port",
    "receive port",
    "port in",
    "port out",
    "from HBM",
    "to HBM",
    "out of chip",
    "into chip",
)
_OF_CORES: Final = 5  # the first of them belong to cores


def link_table(run: _core.Run | _core.TrainingRun) -> pd.DataFrame:
    """One row a link or port: what it is, its ends, bytes, and how long it was busy.

    Raises:
        InvalidInputError: the run did not tell sends apart.
        MissingPackageError: pandas is not installed.
    """
    links = _counted(run)
    table = pandas('run.plot("links")')
    ends = {
        name: table.array([None if end < 0 else end for end in links[key].tolist()], dtype="Int64")
        for name, key in (("source", "from"), ("destination", "to"))
    }
    made: pd.DataFrame = table.DataFrame(
        {
            "kind": [_KINDS[kind] for kind in links["kind"].tolist()],
            **ends,
            "bytes": links["bytes"],
            "bytes_per_s": links["bytes_per_s"],
            "busy_s": links["busy_ps"] / _PS,
            "used": _used(run, links),
        }
    )
    return made.rename_axis("link")


def plot_links(
    title: str, run: _core.Run | _core.TrainingRun, shape: Sequence[int], ax: Axes | None
) -> Axes:
    """How much of its busiest link or port each core used, in rows and columns.

    Args:
        title: What stands above it.
        run: The run, in columns.
        shape: Rows and columns of one chip, and cores at each place; chips stand side by side, and
            so do the layers of a mesh and the places of groups.
        ax: Where to draw; a new figure without it.

    Raises:
        InvalidInputError: the run did not tell sends apart.
        MissingPackageError: matplotlib is not installed.
    """
    links = _counted(run)
    ax = new_axes(ax)
    owner = np.where(links["from"] >= 0, links["from"], links["to"])
    mine = links["kind"] < _OF_CORES
    rows, columns, depth = shape
    size = rows * columns * depth
    chips = -(-(int(owner[mine].max(initial=-1)) + 1) // size)
    most = np.zeros(max(1, chips) * size)
    np.maximum.at(most, owner[mine], 100 * _used(run, links)[mine])
    layers = most.reshape(-1, rows, columns, depth).transpose(0, 3, 1, 2)
    cells = np.concatenate(layers.reshape(-1, rows, columns), axis=1)
    image = ax.imshow(cells, cmap="viridis", vmin=0, vmax=100, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="busiest link used (%)")
    ax.set(xlabel="column of cores", ylabel="row of cores")
    ax.set_title(title, parse_math=False)
    return ax


def shape_of(chip: dict[str, Any]) -> tuple[int, int, int]:
    """Rows and columns of a chip's cores, and how many lie at each place: layers or a group.

    Without a grid, the squarest rows and columns, as cores are numbered.

    Example:
        >>> shape_of({"core": {"count": 12}}), shape_of({"core": {"grid": [2, 5, 3]}})
        ((3, 4, 1), (2, 5, 3))
    """
    core = chip["core"]
    if core.get("grid"):
        rows, columns, *layers = core["grid"]
        group = chip.get("interconnect", {}).get("group_cores") or 1
        return int(rows), int(columns), int(layers[0] if layers else group)
    count = int(core["count"])
    rows = next(side for side in range(math.isqrt(count), 0, -1) if count % side == 0)
    return rows, count // rows, 1


def _counted(run: _core.Run | _core.TrainingRun) -> dict[str, NDArray[np.int64]]:
    if run.fidelity != _core.Fidelity.Flows:
        raise InvalidInputError(
            f"a run of fidelity {run.fidelity.name.lower()!r} does not tell sends apart, and so "
            "not what each link carried",
            remedy='simulate with fidelity="flows"',
        )
    return run.links


def _used(
    run: _core.Run | _core.TrainingRun, links: dict[str, NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Bytes over what each link could have carried in the whole run."""
    most = links["bytes_per_s"] * (run.total_ps / _PS)
    used: NDArray[np.float64] = links["bytes"] / np.where(most > 0, most, 1.0)
    return used
