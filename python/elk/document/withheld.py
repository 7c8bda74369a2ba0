"""Lower bounds that a simulation undercut: they were none, so they are withheld."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

from elk.base.readable import duration
from elk.errors import BoundWarning, InternalError

if TYPE_CHECKING:
    from elk.document.schema import BoundsRow, PlanDocument

strict: bool = False
"""Whether a bound that is undercut raises `InternalError`: tests switch it on."""

_ROUNDING: Final = 1 - 1e-9  # of what a bound adds up; simulated times are whole picoseconds


def hold(document: PlanDocument, simulated_s: float, *, read: bool) -> None:
    """Holds the bounds of a plan's document against its simulated time, in seconds.

    Where the lower bound is above it, ELK has a fault, or, of a plan that was `read` from a file,
    whoever wrote that. The plan is as good as it was; every figure above that time becomes 0.0,
    which no plan undercuts, `withheld` says why, and a `BoundWarning` gives both numbers.

    Raises:
        InternalError: the bound is above that time, it is ELK's own, and `strict` is on.
    """
    bounds = document["bounds"]
    bound_s = bounds["lower_bound_s"]
    if simulated_s >= bound_s * _ROUNDING:
        return
    reason = f"a plan simulates at {duration(simulated_s)}, below the bound of {duration(bound_s)}"
    where = f"{document['model']['name']} on {document['chip']['name']}, {document['policy']}"
    if strict and not read:
        raise InternalError(f"{where}: {reason}", code="bound_undercut")
    told = "the file's bound is withheld" if read else "the bound is withheld, please report this"
    warnings.warn(f"{where}: {reason}; {told}", BoundWarning, stacklevel=4)
    kept = {key: 0.0 if seconds > simulated_s else seconds for key, seconds in _least(bounds)}
    document["bounds"] = {"ideal_s": bounds["ideal_s"], **kept, "withheld": reason}  # type: ignore[typeddict-item]


def _least(bounds: BoundsRow) -> list[tuple[str, float]]:
    """What is said to be undercut by no plan."""
    return [
        ("lower_bound_s", bounds["lower_bound_s"]),
        ("hbm_s", bounds["hbm_s"]),
        ("execute_s", bounds["execute_s"]),
        ("link_s", bounds["link_s"]),
    ]
