"""What all tests share: the Hypothesis profiles and the switch that rewrites golden files."""

from __future__ import annotations

import os

import pytest
from elk.document import withheld
from hypothesis import settings

withheld.strict = True  # A bound that a simulation undercuts fails the test that finds it.

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files with what ELK says now",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether a golden test writes its file instead of comparing with it."""
    return bool(request.config.getoption("--update-golden"))
