"""From a model and a chip to a plan: `elk.compile`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from elk import _core
from elk.base.waiting import watched
from elk.chip import presets
from elk.document.compiled import CompiledPlan, Constraints
from elk.errors import InfeasibleError
from elk.plan.objective import best
from elk.plan.options import as_model, borrowed, core_options, model_row, tiles_for
from elk.plan.plan import Plan

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.limits import Limits
    from elk.model.model import Model
    from elk.plan.objective import Objective
    from elk.plan.options import TileFunction

# Errors of what a core's SRAM does not hold.
_SRAM_CODES: Final = ("sram_overflow", "placement")


def compile(  # noqa: PLR0913 - every option is a keyword of its own
    model: Model | ModelProto | bytes | str | Path,
    chip: Chip | str | Path,
    *,
    bindings: Mapping[str, int] | None = None,
    policy: str = "elk-full",
    effort: str = "default",
    objective: str | Objective = "latency",
    pod: str = "sharded",
    threads: int | None = None,
    min_core_share: float = 0.0,
    max_padding: float = 0.0,
    weights: str | Iterable[str] | None = None,
    state: str | Iterable[str] | None = None,
    limits: Limits | None = None,
    tile_model: TileFunction | None = None,
    progress: bool | None = None,
) -> Plan:
    """Plans how a model runs on a chip.

    Args:
        model: A model from `elk.load_model`, or what that takes: a path, bytes or a ModelProto.
        chip: A chip, the name of a preset, or the path of a chip file.
        bindings: Numbers for the model's symbolic dimensions, such as `{"batch": 32}`.
        policy: Who schedules: `basic`, `static`, `elk-dyn`, `elk-full`, or the forecast `ideal`;
            or `static-paper`, the static baseline as ELK's paper words it, to compare with.
        effort: How much work `elk-full` does: `fast`, `default` (a second for a language model) or
            `max` (twenty times that). Work is counted, not timed: the plan is the same everywhere.
        objective: What the plan has least of: `latency`, `energy`, or `edp`, their product; the
             last two where the chip has `energy`, never more than the plan for latency. Or a
             function of yours, called as `objective(latency_s, energy_j, hbm_bytes)`: plans for
             those three and of policies below yours are simulated, and the least it returns wins,
             never more than of the plan for latency. `energy_j` is nan on a chip without `energy`.
        pod: How several chips work together: `pooled`, as one machine, or `sharded`, each has a
            part of operators and weights, unless pooled is found faster (`Plan.pod` says which).
        threads: Threads of the search, which do not change its result; None for all cores.
        min_core_share: The least share of the cores that a plan of an operator uses; 0 for any.
        max_padding: The most by which padding may grow a tensor, as padded over original size: 1
            for none, 0 for any. An operator that no plan suits takes its fastest all the same.
        weights: Globs of graph inputs that are weights and live in HBM.
        state: Globs of graph inputs that are state, such as KV caches, and live in HBM.
        limits: What the model may have at most; None for the defaults of `elk.Limits`.
        tile_model: A function of yours that says how many cycles a call of a kernel takes: of
            `(function, dtype, accumulate)` such as `("matmul", "f16", "f16")`, the call's sizes
            above one by role (`{"m": 32, "n": 16, "k": 64}`) and its parameters (of a window, the
            strides). It is asked once for each op and tile and must not change its mind.
        progress: Whether a bar shows how far the search is; None: on a terminal, where it takes
            over a second. Ctrl-C ends the search: with the best plan so far, which says so in its
            card and file (`search.stopped`), or with KeyboardInterrupt if there is none yet.

    Raises:
        InvalidInputError: an option, the model or the chip is wrong; the message says which.
        InfeasibleError: an operator fits the chip in no plan; the message says by how much.

    Warns:
        BoundWarning: the search simulated the plan, in less time than the lower bound, which is
            then withheld.

    Example:
        >>> plan = elk.compile("models/nerf.onnx", "tiny", bindings={"rows": 64})
        >>> plan.latency_s > 0
        True
    """
    if callable(objective):
        chip = presets.find(chip)
        again = partial(
            compile,
            as_model(model, bindings=bindings, weights=weights, state=state, limits=limits),
            chip,
            effort=effort,
            pod=pod,
            threads=threads,
            min_core_share=min_core_share,
            max_padding=max_padding,
            tile_model=tile_model,
            progress=progress,
        )
        return best(objective, policy, chip, lambda p, o: again(policy=p, objective=o))
    constraints = Constraints(min_core_share=min_core_share, max_padding=max_padding)
    options = core_options(
        policy=policy,
        effort=effort,
        objective=objective,
        pod=pod,
        threads=threads,
        constraints=constraints,
    )
    named = presets.find(chip)
    loaded = as_model(model, bindings=bindings, weights=weights, state=state, limits=limits)
    tiles, machine, kept = tiles_for(loaded, named, tile_model)
    start = time.perf_counter()
    asked = (loaded.graph, machine.to_core(), tiles, options)
    found, stopped = _search(asked, kept, chip=named, name=loaded.name, progress=progress)
    plan = Plan(
        CompiledPlan(
            plan=found,
            graph=loaded.graph,
            chip=machine,
            pod=pod,
            model=model_row(loaded),
            borrowed=borrowed(loaded.graph if found.shard is None else found.shard.graph, tiles),
            constraints=constraints,
            seconds=time.perf_counter() - start,
            stopped=stopped,
            tiles=tiles,
            loaded=loaded,
            kept=kept,
            effort=effort,
        )
    )
    # A document is made of the plan only where there may be something to withhold.
    if found.simulated_s is not None and found.simulated_s < found.bounds.lower_bound_s:
        plan._hold_against(found.simulated_s)
    return plan


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
            lambda watch: (_core.compile(*asked, watch, kept), watch.stopped),
            progress=progress,
            title=f"planning {name}",
        )
    except InfeasibleError as error:
        if chip.streaming and error.code in _SRAM_CODES:
            error.remedy = (
                f"compile for {chip.streaming!r}, the same chip with weights in memory off the chip"
            )
        raise
