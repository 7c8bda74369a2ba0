"""How a value of a plan's document is held to a rule, and what is said of one that breaks it."""

from __future__ import annotations

import math
from typing import Final

from elk.errors import PlanFileError

_SHOWN: Final = 60
_NEAR: Final = 1e-9  # of sums and quotients that were formed in another order

Path = tuple[str | int, ...]


def refusal(path: Path, value: object, rule: str) -> PlanFileError:
    """What is said of a value that breaks a rule.

    Example:
        >>> print(refusal(("ops", 3, "id"), -1, "3").message)
        ops.3.id must be 3, got -1
    """
    return PlanFileError(
        f"{dotted(path)} must be {rule}, got {shown(value)}",
        remedy="compile the model again, or correct the file",
    )


def same(found: object, right: object, path: Path, rule: str) -> None:
    """Refuses what is not `right`."""
    if found != right:
        raise refusal(path, found, f"{rule}, {shown(right)}")


def near(found: float, right: float, path: Path, rule: str) -> None:
    """Refuses what is not `right` but for rounding."""
    if not math.isclose(found, right, rel_tol=_NEAR, abs_tol=1e-18):
        raise refusal(path, found, f"{rule}, {right!r}")


def at_least(found: float, least: float, path: Path, rule: str) -> None:
    """Refuses what is below `least`, rounding aside."""
    if found < least * (1 - _NEAR):
        raise refusal(path, found, f"at least {rule}, {least!r}")


def at_most(found: float, most: float, path: Path, rule: str) -> None:
    """Refuses what is above `most`, rounding aside."""
    if found > most * (1 + _NEAR):
        raise refusal(path, found, f"at most {rule}, {most!r}")


def dotted(path: Path) -> str:
    """The path of a key as messages show it.

    Example:
        >>> dotted(("ops", 3, "execute", "cores"))
        'ops.3.execute.cores'
    """
    return ".".join(map(str, path))


def shown(value: object) -> str:
    """A value as messages show it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
