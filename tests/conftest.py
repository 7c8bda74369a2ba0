"""What all tests share: the Hypothesis profiles and strictness about bounds."""

from __future__ import annotations

import os

from elk.document import withheld
from hypothesis import settings

withheld.strict = True  # A bound that a simulation undercuts fails the test that finds it.

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
