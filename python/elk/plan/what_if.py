"""One plan made again with one thing changed: `elk.what_if`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from elk.base.policies import FORECASTS
from elk.base.readable import deviation, duration
from elk.errors import InvalidInputError
from elk.model.model import Model, load_model
from elk.plan.plan import Plan
from elk.plan.planning import compile as compile_plan
from elk.points import chip_axes
from elk.points.axes import Axis, classify
from elk.points.columns import COLUMNS, Outcome
from elk.points.complaints import refuse
from elk.points.labels import is_number, said
from elk.points.space import Tagged
from elk.points.table import TableCard

if TYPE_CHECKING:
    from elk.run.run import Run

_NUMBER: Final = r"(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)"
_PERCENT: Final = re.compile(rf"([+-])\s*{_NUMBER}\s*%", re.ASCII)
_TIMES: Final = re.compile(rf"[x\u00d7]\s*{_NUMBER}")
_SEARCHED: Final = ("min_core_share", "max_padding")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WhatIf(TableCard):
    """A plan, and the plan for the same with one thing changed.

    Attributes:
        name: What was changed, as axes of sweeps are called.
        before: Its value before, in SI units.
        after: Its value after.
        plan: The plan before.
        changed: The plan after.
        run: The plan before on the simulator; None where it is a forecast.
        changed_run: The plan after on the simulator; None where it is a forecast.
    """

    name: str
    before: Any
    after: Any
    plan: Plan
    changed: Plan
    run: Run | None
    changed_run: Run | None

    @property
    def latency_s(self) -> tuple[float, float]:
        """Before and after, in seconds: simulated, or as a forecast (`ideal`, `vgm`) says."""
        first, second = self._outcomes()
        return COLUMNS["latency_s"].of(first), COLUMNS["latency_s"].of(second)

    @property
    def change(self) -> float:
        """The latency after over that before, less one."""
        before, after = self.latency_s
        return after / before - 1

    @property
    def binds(self) -> tuple[str, str]:
        """What binds before and after: HBM, execution or links."""
        first, second = self._outcomes()
        return COLUMNS["binds"].of(first), COLUMNS["binds"].of(second)

    @property
    def elasticity(self) -> float | None:
        """The latency's change in percent for each percent of the change; None where none is."""
        values = (self.before, self.after)
        if not all(is_number(value) and value > 0 for value in values) or values[0] == values[1]:
            return None
        return math.log(1 + self.change) / math.log(self.after / self.before)

    def rows(self) -> list[dict[str, Any]]:
        """Two rows, before and after: the changed value, and every column of a sweep."""
        return [
            {self.name: value, **{name: column.of(found) for name, column in COLUMNS.items()}}
            for value, found in zip((self.before, self.after), self._outcomes(), strict=True)
        ]

    def card(self) -> tuple[str, list[list[str]], list[str]]:
        """The title, values before and after with their change, and the elasticity."""
        before, after = self._outcomes()
        is_change = is_number(self.before) and is_number(self.after)
        cells = [["", "before", "after", "change"]]
        cells.append(
            [
                self.name,
                said(self.name, self.before),
                said(self.name, self.after),
                deviation(self.after, self.before) if is_change else "",
            ]
        )
        for label, name in (("latency", "latency_s"), ("forecast", "forecast_s")):
            old, new = (COLUMNS[name].of(found) for found in (before, after))
            cells.append([label, duration(old), duration(new), deviation(new, old)])
        cells.append(["binds", *self.binds, ""])
        slope = self.elasticity
        notes = [] if slope is None else [f"{slope:+.3f} % of latency for each percent"]
        title = f"{self.plan.model_name} on {self.plan.chip.name}, {self.plan.policy}"
        return f"{title}: latency {deviation(*reversed(self.latency_s))}", cells, notes

    def _outcomes(self) -> tuple[Outcome, Outcome]:
        return (
            Outcome(self.run, self.plan._document),
            Outcome(self.changed_run, self.changed._document),
        )


def what_if(plan: Plan, name: str, change: Any, *, model: Any = None, **options: Any) -> WhatIf:
    """Plans a plan's model again with one thing changed, and says what that does to the latency.

    Args:
        plan: The plan before.
        name: What would be an axis of `elk.sweep`: `hbm_bandwidth`, `cores`, `batch`, `policy`.
        change: A part more or less ("+10 %"), a multiple ("x2"), or another value ("20 TB/s").
        model: What the plan was compiled from, where it came from a file.
        options: Options of `elk.compile` that a plan does not know: a file's `effort`.

    Raises:
        InvalidInputError: the name, the change or the model is wrong or missing.

    Example:
        >>> elk.what_if(plan, "hbm_bandwidth", "+10 %").change <= 0.01
        True
    """
    loaded = _model(plan, model)
    axes, complaints = classify([name], loaded.bindings)
    refuse(complaints)
    (axis,) = axes
    known = _options(plan) | options
    before = _now(plan, axis, loaded, known)
    after = _after(axis, before, change, plan)
    chip = plan.chip
    if axis.kind == "chip field":
        chip = chip_axes.changed(chip, {axis.target: after})
    elif axis.kind == "binding":
        loaded = _resized(loaded, axis.target, after)
    else:
        known[axis.target] = after
    changed = compile_plan(loaded, chip, progress=False, **known)
    return WhatIf(
        name=name,
        before=before,
        after=after,
        plan=plan,
        changed=changed,
        run=_run(copy(plan)),
        changed_run=_run(changed),
    )


def _run(plan: Plan) -> Run | None:
    return None if plan.policy in FORECASTS else plan.simulate()


def _model(plan: Plan, given: Any) -> Model:
    """The model that was planned, or the one given in its place."""
    row = plan._document["model"]
    loaded = getattr(plan._content.source, "loaded", None) if given is None else given
    if loaded is None:
        raise InvalidInputError(
            "the plan is from a file, or from another process, and has no model to plan again",
            code="no_model",
            place="model",
            remedy="give what it was compiled from: elk.what_if(plan, ..., model=...)",
        )
    if not isinstance(loaded, Model):
        loaded = load_model(loaded, bindings=dict(row["bindings"]))
    if loaded.onnx_sha256 != row["onnx_sha256"] or dict(loaded.bindings) != row["bindings"]:
        raise InvalidInputError(
            f"the plan is of another model than {loaded.name!r}, or of other sizes",
            code="other_model",
            place="model",
            remedy=f"give the file of {row['name']!r}, with bindings={row['bindings']}",
        )
    return loaded


def _options(plan: Plan) -> dict[str, Any]:
    """What the plan was compiled with, as far as it knows."""
    search: Mapping[str, Any] = plan._document["search"]
    known: dict[str, Any] = {name: search[name] for name in _SEARCHED if name in search}
    known |= {
        "policy": plan.policy,
        "objective": plan.objective,
        "pod": search.get("pod", plan.pod),
    }
    known["plans"] = getattr(plan._content.source, "plans", None)
    return known | {"effort": getattr(plan._content.source, "effort", "default")}


def _now(plan: Plan, axis: Axis, model: Model, options: Mapping[str, Any]) -> Any:
    if axis.kind == "chip field":
        return chip_axes.current(plan.chip, axis.target)
    if axis.kind == "binding":
        return model.bindings[axis.target]
    if axis.kind == "option" and axis.target in options:
        return options[axis.target]
    raise InvalidInputError(
        f"{axis.name} cannot be changed in a plan",
        place="name",
        remedy="compile both, or sweep it",
    )


def _after(axis: Axis, before: Any, change: Any, plan: Plan) -> Any:
    """The value after the change: a part more or less, a multiple, or another value."""
    text = change.strip() if isinstance(change, str) else ""
    percent, times = _PERCENT.fullmatch(text), _TIMES.fullmatch(text)
    if percent is None and times is None:
        try:
            return axis.parsed(Tagged(change, None))
        except InvalidInputError as error:
            error.place = axis.name
            if axis.kind != "option":
                error.remedy = 'write it as in "+10 %", "x2" or as a value with its unit'
            raise
    if not is_number(before):
        raise InvalidInputError(
            f"{axis.name} is {before!r}, of which there is no part",
            place=axis.name,
            remedy="give its value",
        )
    factor = float(times[1]) if times else 1 + float(f"{percent[1]}{percent[2]}") / 100  # type: ignore[index]
    value = before * factor
    if axis.name == "total_cores":
        value = plan.chip.chips * round(value / plan.chip.chips)
    is_whole = isinstance(before, int) or (axis.unit is not None and axis.unit.whole)
    return axis.parsed(Tagged(round(value) if is_whole else value, None))


def _resized(model: Model, name: str, size: int) -> Model:
    """The model with another size of a dimension.

    Raises:
        InvalidInputError: it is not in the plan.
    """
    if model.proto is None:
        raise InvalidInputError("the model's file did not come along", place="model")
    sizes = {**model.bindings, name: size}
    made = load_model(model.proto, bindings=sizes, weights=model.weights, state=model.state)
    return replace(made, name=model.name, onnx_sha256=model.onnx_sha256)
