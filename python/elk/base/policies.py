"""The policies, as the registry of the core has them (`cpp/elk/schedule/policies/registry.def`)."""

from __future__ import annotations

from typing import Final

from elk import _core

POLICIES: Final = {policy.name: policy for policy in _core.policies()}
"""Every policy by its name, in the order of the registry."""

BUILT_UP: Final = tuple(name for name, policy in POLICIES.items() if policy.starts == "below")
"""Policies that count among their candidates what the ones before them return, lowest first."""

FORECASTS: Final = frozenset(name for name, policy in POLICIES.items() if policy.forecasts)
"""Policies whose plans are forecasts of what no chip runs as it stands, not programs."""


def built_up(chip: _core.Chip) -> tuple[str, ...]:
    """The policies of `BUILT_UP` that propose on a chip; others return what those below them do.

    Example:
        >>> import elk
        >>> built_up(elk.chips.get("ipu-mk2").to_core())
        ('basic', 't10', 'elk-dyn', 'elk-full')
    """
    return tuple(name for name in BUILT_UP if POLICIES[name].proposes(chip))
