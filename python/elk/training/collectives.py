"""Collectives among devices, and reads and writes of memory, played on the network of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from elk import _core
from elk.base.choices import one_of
from elk.chip.transfers import LINKS
from elk.errors import InvalidInputError
from elk.training.machines import find_machine

if TYPE_CHECKING:
    from elk.chip.chip import Chip
    from elk.training.cluster import Cluster

COLLECTIVES: Final = {
    "reduce_scatter": _core.CollectiveKind.ReduceScatter,
    "all_gather": _core.CollectiveKind.AllGather,
    "all_reduce": _core.CollectiveKind.AllReduce,
    "all_to_all": _core.CollectiveKind.AllToAll,
    "reduce": _core.CollectiveKind.Reduce,
    "broadcast": _core.CollectiveKind.Broadcast,
    "read": _core.CollectiveKind.Read,
    "write": _core.CollectiveKind.Write,
}
_PS: Final = 1e12
_MOST: Final = 2**31 - 1


def play_collectives(
    machine: Chip | Cluster | str | PathLike[str],
    collectives: Iterable[Sequence[Any]],
    *,
    links: str = "shared",
) -> list[float]:
    """When each of several collectives is over, all of which begin at once.

    Rings, in which members send to the next in the order given: `reduce_scatter` and `all_gather`
    in as many steps as there are others, `all_reduce` in twice as many, a part of the tensor each.
    `all_to_all`: a step to each distance. `reduce` to the first member and `broadcast` from it:
    binomial trees of the whole tensor. `read` and `write`: each member its part, at the memory
    nearest to it. A step begins with the time to synchronise and ends with its last transfer.

    Args:
        machine: A chip, a cluster, the name of a preset of either, or the path of a file of either.
        collectives: Of each the kind, the cores, and the bytes of the whole tensor.
        links: How transfers meet on a link: `shared`, max-min fairly, or `exclusive`, one after
            another in the order of asking, at memories too.

    Returns:
        Seconds of each, in the order of the rows.

    Raises:
        InvalidInputError: a kind, a core or a size is wrong; the message says which row.

    Example:
        >>> elk.play_collectives("palm-wafer", [("all_reduce", range(4), 8_000_000)])
        [1.173675e-05]
    """
    how = LINKS[one_of("links", links, tuple(LINKS))]
    rows = [_row(number, row) for number, row in enumerate(collectives)]
    chip = find_machine(machine).chip.to_core()
    ends_s: list[float] = (_core.play_collectives(chip, rows, how) / _PS).tolist()
    return ends_s


def _row(number: int, row: Sequence[Any]) -> tuple[_core.CollectiveKind, list[int], int]:
    """A row in the types of the core, which knows the ranges that values have to keep."""
    try:
        kind, cores, size = row
        members = list(cores)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"collective {number} must be a kind, cores and bytes, got {row!r}"
        ) from None
    named = COLLECTIVES[one_of(f"collective {number}", kind, tuple(COLLECTIVES))]
    where = f"collective {number}"
    checked = [_integer(f"{where}: a core", core, _MOST) for core in members]
    return named, checked, _integer(f"{where}: bytes", size, 2**63 - 1)


def _integer(what: str, value: Any, most: int) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not -most <= int(value) <= most:
        raise InvalidInputError(f"{what} must be an integer from 0 to {most:,}, got {value!r}")
    return int(value)
