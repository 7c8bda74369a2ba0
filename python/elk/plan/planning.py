"""From a model and a chip to a plan: `elk.compile`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from elk import _core
from elk.base.waiting import watched
from elk.chip import presets
from elk.document.compiled import CompiledPlan
from elk.errors import ElkError, InfeasibleError
from elk.plan.content import Content
from elk.plan.given import advise, checked, core_plans
from elk.plan.objective import best
from elk.plan.options import (
    Keywords,
    Options,
    as_model,
    asked,
    borrowed,
    model_row,
    tiles_for,
)
from elk.plan.plan import Plan

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.model.model import Model

# Errors of what a core's SRAM does not hold.
_SRAM_CODES: Final = ("sram_overflow", "placement")


def compile(
    model: Model | ModelProto | bytes | str | Path,
    chip: Chip | str | Path,
    *,
    bindings: Mapping[str, int] | None = None,
    options: Options | None = None,
    **keywords: Unpack[Keywords],
) -> Plan:
    """Plans how a model runs on a chip.

    Args:
        model: A model from `elk.load_model`, or what that takes: a path, bytes or a ModelProto.
        chip: A chip, the name of a preset, or the path of a chip file.
        bindings: Numbers for the model's symbolic dimensions, such as `{"batch": 32}`.
        options: How to plan, in one record; `elk.Options` describes its fields.
        keywords: Fields of `elk.Options` by themselves, such as `policy="static"`; beside
            `options` none may say other than the record.

    Raises:
        InvalidInputError: an option, the model or the chip is wrong; the message says which.
        InfeasibleError: an operator fits the chip in no plan; the message says by how much.

    Warns:
        BoundWarning: the search simulated the plan, in less time than the lower bound, which is
            then withheld.

    Example:
        >>> plan = elk.compile("models/nerf.onnx", "tiny", bindings={"rows": 64}, effort="fast")
        >>> plan.latency_s > 0
        True

        Operators may be held to plans of your own, here those of the first plan but for one:

        >>> rows = {op["name"]: op["execute"] for op in plan.to_json()["ops"]}
        >>> rows["node_linear"] = {"factors": {"m": 16, "n": 4}}
        >>> own = elk.compile(
        ...     "models/nerf.onnx",
        ...     "tiny",
        ...     bindings={"rows": 64},
        ...     effort="fast",
        ...     plans={name: [row] for name, row in rows.items()},
        ... )
        >>> own.explain("node_linear").chosen.factors
        {'m': 16, 'n': 4, 'k': 1}
    """
    chosen = asked(options, keywords)
    named = presets.find(chip)
    loaded = as_model(model, bindings, chosen)
    if callable(chosen.objective):
        unloaded = replace(chosen, weights=None, state=None, limits=None)  # The model has them.
        return best(
            chosen.objective,
            chosen.policy,
            named,
            lambda policy, objective: compile(
                loaded, named, options=replace(unloaded, policy=policy, objective=objective)
            ),
        )
    plan, found = _planned(loaded, named, chosen)
    # A document is made of the plan only where there may be something to withhold.
    if found.simulated_s is not None and found.simulated_s < found.bounds.lower_bound_s:
        plan._content.hold_against(found.simulated_s)
    return plan


def _planned(loaded: Model, named: Chip, options: Options) -> tuple[Plan, _core.Plan]:
    """The plan of a loaded model for an objective that has a name, and what the core found."""
    tiles, machine, kept = tiles_for(loaded, named, options.tile_model)
    start = time.perf_counter()
    given, shares = checked(options.plans or {}), named.chips > 1 and options.pod == "sharded"
    asked_for = options.to_core()
    asked_for.plans = core_plans(given, loaded.graph, shares=shares)
    request = (loaded.graph, machine.to_core(), tiles, asked_for)
    try:
        found, stopped = _search(
            request, kept, chip=named, name=loaded.name, progress=options.progress
        )
    except ElkError as error:
        advise(error, given, loaded.graph, shares=shares)
        raise
    compiled = CompiledPlan(
        plan=found,
        graph=loaded.graph,
        chip=machine,
        pod=options.pod,
        model=model_row(loaded),
        borrowed=borrowed(loaded.graph if found.shard is None else found.shard.graph, tiles),
        constraints=options.constraints,
        seconds=time.perf_counter() - start,
        stopped=stopped,
        tiles=tiles,
        loaded=loaded,
        kept=kept,
        effort=options.effort,
        plans=given or None,
    )
    return Plan(Content(compiled)), found


def _search(
    asked: tuple[_core.Graph, _core.Chip, _core.TileModel, _core.Options],
    kept: _core.Kept | None,
    *,
    chip: Chip,
    name: str,
    progress: bool | None,
) -> tuple[_core.Plan, bool]:
    """Plans what is `asked`, with a bar where `progress` wants one; and whether it was stopped.

    Raises:
        InfeasibleError: It does not fit. Where SRAM is too small and `chip` names a preset that
            streams weights, the remedy is that preset.
    """
    try:
        return watched(
            lambda watch: _core.compile(*asked, watch, kept),
            progress=progress,
            title=f"planning {name}",
        )
    except InfeasibleError as error:
        if chip.streaming and error.code in _SRAM_CODES:
            error.remedy = (
                f"compile for {chip.streaming!r}, the same chip with weights in memory off the chip"
            )
        raise
