"""What `elk.compile` is given, checked and made ready for the core."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from elk import _core
from elk.base.choices import one_of
from elk.base.policies import POLICIES
from elk.document.compiled import EFFORTS, OBJECTIVES, PODS, Constraints
from elk.errors import InvalidInputError
from elk.model.model import Model, load_model
from elk.plan.functions import Objective, TileFunction, asked_model, name_of
from elk.plan.given import OperatorPlans, checked
from elk.tile.tilemodel import FUNCTION, load_tile_model

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.document.schema import ModelRow
    from elk.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How `elk.compile` plans: all that it takes beside the model, its sizes and the chip.

    Every field is also a keyword of `elk.compile`. `dataclasses.replace` makes a record with other
    values of some fields.

    Attributes:
        policy: Who schedules: `basic`, `static`, `t10`, `elk-dyn`, `elk-full`; a baseline of a
            paper: `static-paper` of ELK's, or on chips without HBM the forecast `vgm` of T10's; or
            the forecast `ideal`.
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
        plans: By the name or the id of an operator, the plans that it may take, made by you or by
            another compiler: what the search would find for it is left out. A plan is a mapping
            with the keys of `execute` in a plan file: `factors`, and where they are not to follow
            by ELK's rules `temporal`, `pace`, `order` and `mesh_dims`; what else stands there is
            not read. Each is checked, priced, and considered with all its preload states, by every
            policy. Operators like a named one keep theirs. Where a model may run in several ways,
            over chips or in waves, those count whose operators are called so.
        progress: Whether a bar shows how far the search is; None: on a terminal, where it takes
            over a second. Ctrl-C ends the search: with the best plan so far, which says so in its
            card and file (`search.stopped`), or with KeyboardInterrupt if there is none yet.

    Raises:
        InvalidInputError: a field has no value that it may have; the message says which.

    Example:
        >>> quick = elk.Options(policy="elk-dyn", threads=1)
        >>> plan = elk.compile("models/nerf.onnx", "tiny", bindings={"rows": 64}, options=quick)
        >>> plan.policy
        'elk-dyn'
    """

    policy: str = "elk-full"
    effort: str = "default"
    objective: str | Objective = "latency"
    pod: str = "sharded"
    threads: int | None = None
    min_core_share: float = 0.0
    max_padding: float = 0.0
    weights: str | Iterable[str] | None = None
    state: str | Iterable[str] | None = None
    limits: Limits | None = None
    tile_model: TileFunction | None = None
    plans: OperatorPlans | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        self.to_core()  # A wrong value fails here, where it was written.
        for name in ("weights", "state"):
            globs = getattr(self, name)
            if isinstance(globs, Iterable) and not isinstance(globs, str):
                object.__setattr__(self, name, tuple(globs))
        if self.plans is not None:
            object.__setattr__(self, "plans", checked(self.plans))

    @property
    def constraints(self) -> Constraints:
        """What plans of an operator have to satisfy."""
        return Constraints(min_core_share=self.min_core_share, max_padding=self.max_padding)

    def to_core(self) -> _core.Options:
        """The core's own record; an objective that is a function stands as `latency` in it."""
        objective = "latency" if callable(self.objective) else self.objective
        return _core.Options(
            policy=POLICIES[one_of("policy", self.policy, tuple(POLICIES))],
            effort=EFFORTS[one_of("effort", self.effort, tuple(EFFORTS))],
            objective=OBJECTIVES[one_of("objective", objective, tuple(OBJECTIVES))],
            pod=PODS[one_of("pod", self.pod, tuple(PODS))],
            threads=_threads(self.threads),
            min_core_share=_number("min_core_share", self.min_core_share, largest=1.0),
            max_padding=_padding(self.max_padding),
        )


class ComparedKeywords(TypedDict, total=False):
    """The fields of `Options` but the policy, as keywords."""

    effort: str
    objective: str | Objective
    pod: str
    threads: int | None
    min_core_share: float
    max_padding: float
    weights: str | Iterable[str] | None
    state: str | Iterable[str] | None
    limits: Limits | None
    tile_model: TileFunction | None
    plans: OperatorPlans | None
    progress: bool | None


class Keywords(ComparedKeywords, total=False):
    """The fields of `Options`, as keywords."""

    policy: str


def asked(options: Options | None, keywords: Mapping[str, Any]) -> Options:
    """The record that a caller gives, in one piece or as keywords.

    Raises:
        InvalidInputError: a keyword has no value that it may have, or says other than the record.
    """
    given = Options(**keywords)
    if options is None:
        return given
    if not isinstance(options, Options):
        raise InvalidInputError(
            f"options must be an elk.Options, got {options!r}",
            place="options",
            remedy='write it as in options=elk.Options(policy="static")',
        )
    for name in (field.name for field in fields(Options) if field.name in keywords):
        keyword, value = getattr(given, name), getattr(options, name)
        if keyword != value:
            raise InvalidInputError(
                f"{name} is {keyword!r} as a keyword and {value!r} in options",
                place=name,
                remedy=f"give it once: options=dataclasses.replace(options, {name}=...)",
            )
    return options


def model_row(model: Model) -> ModelRow:
    """What a plan says of the model that was planned."""
    return {
        "name": model.name,
        "onnx_sha256": model.onnx_sha256,
        "bindings": dict(model.bindings),
        "op_count": len(model.graph.ops),
    }


def as_model(
    model: Model | ModelProto | bytes | str | Path,
    bindings: Mapping[str, int] | None,
    options: Options,
) -> Model:
    """A loaded model itself, or what `elk.load_model` makes of it."""
    given: dict[str, Any] = {
        "bindings": bindings,
        "weights": options.weights,
        "state": options.state,
        "limits": options.limits,
    }
    if not isinstance(model, Model):
        return load_model(model, **{k: v for k, v in given.items() if v is not None})
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise InvalidInputError(
            f"{', '.join(unused)}: the model is loaded already",
            code="model_loaded",
            remedy="give them to elk.load_model",
        )
    return model


def _threads(threads: object) -> int:
    if threads is None:
        return 0
    if isinstance(threads, int) and not isinstance(threads, bool) and threads >= 1:
        return threads
    raise InvalidInputError(f"threads must be an integer above 0 or None, got {threads!r}")


def _number(name: str, value: object, *, largest: float = math.inf) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= largest:
        return float(value)
    limit = "" if largest == math.inf else f" and at most {largest:g}"
    raise InvalidInputError(f"{name} must be a number of at least 0{limit}, got {value!r}")


def _padding(value: object) -> float:
    ratio = _number("max_padding", value)
    if 0.0 < ratio < 1.0:
        raise InvalidInputError(
            f"max_padding must be 0 or at least 1, got {value!r}: it is padded over original size",
            remedy="1.0 allows no padding, 0 allows any",
        )
    return ratio


def tiles_for(
    model: Model, chip: Chip, function: TileFunction | None
) -> tuple[_core.TileModel, Chip, _core.Kept | None]:
    """The tile model to plan with, the chip that names it, and what is kept under it.

    Nothing is kept under a caller's function, which may be another one next time.
    """
    if function is None:
        tiles = load_tile_model(chip.core.tile_model)
        return tiles, chip, model.kept.of(tiles)
    asked = asked_model(model.graph, function)
    return asked, chip.replace(tile_model=f"{FUNCTION}{name_of(function)}"), None


def borrowed(graph: _core.Graph, tiles: _core.TileModel) -> tuple[bool, ...]:
    """For each op, whether its kernel has no rows of its own in the tile model."""
    kernels = [(op.function, op.compute.name, op.accumulate.name) for op in graph.ops]
    known = {kernel: tiles.find(kernel)[1] for kernel in dict.fromkeys(kernels)}
    return tuple(known[kernel] for kernel in kernels)
