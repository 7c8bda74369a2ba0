"""The checker of plans that shares no code with ELK."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import elk

_CHECKER = Path(__file__).parents[1] / "oracle" / "check_plan.py"


def broken_rules(plan: elk.Plan | dict[str, Any]) -> list[str]:
    """What the checker that trusts no plan's writer says of a plan, or of its document."""
    spec = importlib.util.spec_from_file_location("check_plan", _CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check = module.Check(plan if isinstance(plan, dict) else plan.to_json())
    check.run()
    return list(check.bad)
