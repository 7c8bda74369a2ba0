"""Ports, links and memories of a recorded machine, by name."""

from __future__ import annotations

import difflib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# In the order of the core's `Purpose`.
KINDS: Final = (
    "sram",
    "receive",
    "send",
    "link",
    "hbm",
    "chip out",
    "chip in",
    "chip link",
    "hbm entry",
    "port",
)
"""Kinds of resources: a core's SRAM port, its ports into and out of an all-to-all network, links
of a grid, memory modules, ways out of and into a chip and between chips, links between a module and
a node, and ports of nodes that have fewer of them than links."""
_SLOWEST: Final = 1e-6
_FASTEST: Final = 1e6
_LONGEST: Final = 200  # characters of a message


def resource_names(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    """The name of every resource of a recording: its kind, and where it is."""
    ends = zip(columns["resource_from"].tolist(), columns["resource_to"].tolist(), strict=True)
    kinds = columns["resource_purpose"].tolist()
    found = []
    for kind, (source, target) in zip(kinds, ends, strict=True):
        where = "-".join(str(end) for end in (source, target) if end >= 0)
        found.append(f"{KINDS[kind]} {where}".strip())
    return found


def speeds_of(slow: Mapping[str, float], names: list[str], kinds: list[int]) -> list[float]:
    """The share of its speed at which each resource runs.

    Args:
        slow: Shares by the name of a resource, or of a kind for all of its resources.
        names: The name of every resource.
        kinds: The kind of every resource, as a place in `KINDS`.

    Raises:
        InvalidInputError: a name is of no resource, or a share is not above 0.
    """
    places = defaultdict(list)
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        places[name].append(place)
        if name != KINDS[kind]:
            places[KINDS[kind]].append(place)
    speeds = np.ones(len(names))
    for name, share in slow.items():
        if name not in places:
            near = difflib.get_close_matches(str(name), places, n=1)
            examples = ", ".join([*dict.fromkeys(KINDS[kind] for kind in kinds)])
            raise InvalidInputError(
                f"the machine has no resource {name!r}",
                place="slow",
                remedy=f"did you mean {near[0]!r}?" if near else f"name one of {examples}",
            )
        speeds[places[name]] *= checked_share(name, share)
    return [float(speed) for speed in speeds]


def checked_share(name: str, share: Any) -> float:
    """The share of its speed that something keeps.

    Raises:
        InvalidInputError: it is no number, or too small or too large.
    """
    known = isinstance(share, int | float) and not isinstance(share, bool)
    if not known or not _SLOWEST <= share <= _FASTEST:
        raise InvalidInputError(
            f"the speed of {name!r} is {share!r}: it must be from {_SLOWEST:.0e} to {_FASTEST:.0e}"[
                :_LONGEST
            ],
            place="slow",
            remedy='write the share of its speed that it keeps, as in slow={"hbm": 0.5}',
        )
    return float(share)
