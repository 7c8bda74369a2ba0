"""Cases of which every run has a few, and the nightly run all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few_then(few: Iterable[Any], more: Iterable[Any]) -> pytest.MarkDecorator:
    """Lists of cases to go through: one for every run, and one for `scripts/nightly.sh`."""
    rest = pytest.param([*more], id="more", marks=pytest.mark.nightly)
    return pytest.mark.parametrize("cases", [pytest.param([*few], id="few"), rest])
