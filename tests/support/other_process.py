"""What tests do in a process of its own, to which all that they give is pickled."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import elk
import numpy as np


def planned(
    model: elk.Model, chip: elk.Chip, policy: str, pod: str, *, simulated: bool
) -> elk.Plan:
    """A plan, simulated where one can be."""
    plan = elk.compile(model, chip, policy=policy, pod=pod, effort="fast", threads=1)
    if policy != "ideal" and simulated:
        plan.simulate()
    return plan


def content(plan: elk.Plan) -> str:
    """A plan's document as text, without how long the search took."""
    document = plan.to_json()
    document["search"].pop("seconds", None)
    return json.dumps(document)


def answers(plan: elk.Plan) -> dict[str, Any]:
    """What a plan says, in values that compare; it is simulated at the end."""
    found = _properties(plan) | {
        "content": content(plan),
        "card": plan.summary(),
        "html": plan._repr_html_(),
        "text": repr(plan),
        "timeline": plan.timeline()._repr_html_(),
        "broken": plan.check(),
        "first op": repr(plan.explain(0)),
    }
    if plan.policy == "ideal":
        return found
    return found | {
        "forecast error": plan.forecast_error(),
        "simulated": plan.timeline(of="simulated")._repr_html_(),
        "listing": str(plan.listing(core=1)),
        "again": answers_of_run(plan.simulate()),
    }


def answers_of_run(run: elk.Run) -> dict[str, Any]:
    """What a run says, in values that compare."""
    found = {
        "rows": run.rows(),
        "stalls": run.stalls(),
        "stalls of the first op": run.stalls(0),
        "use": run.utilisation_over_time(7),
        "memory": run.memory(),
        "queue": run.queue(),
        "intervals": run.intervals(),
        "timeline": run.timeline(fold=False)._repr_html_(),
        "document": run.document(),
        "card": run.summary(),
        "html": run._repr_html_(),
        "text": repr(run),
    }
    return {name: _plain(value) for name, value in (_properties(run) | found).items()}


def _properties(one: object) -> dict[str, Any]:
    kinds = (property, cached_property)
    names = [name for name in dir(type(one)) if name[0] != "_"]
    return {
        name: getattr(one, name) for name in names if isinstance(getattr(type(one), name), kinds)
    }


def _plain(value: Any) -> Any:
    """Arrays as lists, with their types."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.flags.writeable, value.tolist())
    return value
