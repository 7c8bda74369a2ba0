"""What tests do in a process of its own, to which all that they give is pickled."""

from __future__ import annotations

import json

import elk


def content(plan: elk.Plan) -> str:
    """A plan's document as text, without how long the search took."""
    document = plan.to_json()
    del document["search"]["seconds"]
    return json.dumps(document)


def planned(model: elk.Model, chip: elk.Chip, policy: str, pod: str) -> str:
    """The content of a plan."""
    return content(elk.compile(model, chip, policy=policy, pod=pod, effort="fast", threads=1))
