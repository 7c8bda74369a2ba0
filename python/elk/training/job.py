"""From a model, a machine and a strategy to a checked plan of training: `elk.train`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk import _core
from elk.base.choices import one_of
from elk.base.readable import amount, duration
from elk.base.waiting import interruptible
from elk.chip.transfers import LINKS
from elk.errors import InfeasibleError, InvalidInputError
from elk.model.model import Model, load_model
from elk.training.facts import TrainingFacts
from elk.training.machines import find_machine
from elk.training.step import TrainingRun
from elk.training.strategy import Strategy, raise_all

if TYPE_CHECKING:
    from onnx import ModelProto

    from elk.chip.chip import Chip
    from elk.limits import Limits
    from elk.training.cluster import Cluster

_FIDELITIES: Final = {
    "auto": None,
    "symmetric": _core.Fidelity.Symmetric,
    "flows": _core.Fidelity.Flows,
}
_MICRO: Final = "batch"
_MOST_SAMPLES: Final = 2**63
_REMEDY: Final = (
    'take more stages (pp) or devices a stage (tp), recompute="full", a higher zero, or a smaller '
    "micro_batch"
)
_PS: Final = 1e12


@dataclass(frozen=True, eq=False, repr=False)
class Training(TrainingFacts):
    """A model that trains, or runs as a pipeline, on a machine. Made by `elk.train`.

    Attributes:
        model: What it is called.
        machine: Where it trains.
        strategy: How.
        batch: Samples of a step.
    """

    @property
    def forecast_s(self) -> float:
        """About what a step takes, in seconds: no simulation, hand-overs between stages left out.

        Example:
            >>> 0 < training.forecast_s < 1
            True
        """
        return _core.forecast_training(self._plan, self.machine.chip.to_core()) / _PS

    def memory(self) -> list[dict[str, int]]:
        """What a device of each stage keeps at most, in bytes by kind, beside what it has.

        Example:
            >>> training.memory()[0]["weights"] > 0
            True
        """
        return [
            {"stage": number, **stage.memory, "capacity": stage.capacity}
            for number, stage in enumerate(self.stages)
        ]

    def simulate(self, *, fidelity: str = "auto", links: str = "shared") -> TrainingRun:
        """Plays a step on the machine.

        Args:
            fidelity: `flows`: all that moves, on one machine at once; `symmetric`: each distinct
                thing alone on it, and passes as waits; `auto`: flows unless they are many.
            links: How transfers meet on a link: `shared`, max-min fairly, or `exclusive`, one
                after another in the order of asking, at memories too.

        Raises:
            InvalidInputError: there is no such fidelity, or no such discipline.

        Example:
            >>> run = training.simulate()
            >>> run.samples_per_s == training.batch / run.latency_s
            True
        """
        chosen = _FIDELITIES[one_of("fidelity", fidelity, tuple(_FIDELITIES))]
        how = LINKS[one_of("links", links, tuple(LINKS))]
        chip = self.machine.chip.to_core()
        run = interruptible(lambda: _core.simulate_training(self._plan, chip, chosen, how))
        return TrainingRun(run, self)

    def summary(self) -> str:
        """The card as text."""
        return "\n".join(f"{key:<12}{value}" for key, value in self._rows().items())

    def _rows(self) -> dict[str, str]:
        fullest = max(self.stages, key=lambda stage: stage.memory_bytes)
        kinds = ", ".join(f"{kind} {amount(size)}" for kind, size in fullest.memory.items() if size)
        strategy = self.strategy
        return {
            "model": f"{self.model}, {self.batch:,} samples a step",
            "machine": f"{strategy.devices:,} of {self.machine.devices:,} devices of "
            f"{self.machine.name}",
            "strategy": f"pp {strategy.pp}, tp {strategy.tp}, dp {strategy.dp}, micro-batches of "
            f"{strategy.micro_batch}, {strategy.schedule}",
            "memory": f"{amount(fullest.memory_bytes)} of {amount(fullest.capacity)} at most: "
            f"{kinds}",
            "forecast": duration(self.forecast_s),
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in self._rows().items()
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        strategy = self.strategy
        return (
            f"Training({self.model!r} on {self.machine.name!r}: pp {strategy.pp}, "
            f"tp {strategy.tp}, dp {strategy.dp}, {duration(self.forecast_s)} forecast)"
        )


def train(  # noqa: PLR0913 - every option has a name of its own
    model: Model | ModelProto | bytes | str | Path,
    machine: Chip | Cluster | str | PathLike[str],
    strategy: Strategy,
    *,
    batch: int,
    bindings: Mapping[str, int] | None = None,
    weights: str | Iterable[str] | None = None,
    state: str | Iterable[str] | None = None,
    limits: Limits | None = None,
) -> Training:
    """Cuts a model over the devices of a machine to train it, or to run it as a pipeline.

    Args:
        model: A forward pass, such as `elk.models.get(name, "train")`: a model from
            `elk.load_model`, or what that takes. Its dimension `batch` is bound to the micro-batch;
            a model without one is that of a micro-batch as it is.
        machine: A chip, a cluster, the name of a preset of either, or the path of a file of
            either. Devices are the cores of a chip, and the GPUs of a cluster.
        strategy: How it is trained.
        batch: Samples of a step, of all replicas together.
        bindings: Numbers for the other symbolic dimensions: `{"seq": 2048}`.
        weights: Graph inputs that are weights, as `elk.load_model` takes them.
        state: Graph inputs that are state, as `elk.load_model` takes them.
        limits: What the model may have at most; None for the defaults of `elk.Limits`.

    Raises:
        InvalidInputError: the strategy does not suit machine, model and batch, or one of these is
            wrong; the message lists all that is wrong with the strategy.
        InfeasibleError: memory does not hold a stage; the message says which, and bytes by kind.

    Example:
        >>> model = elk.models.get("megatron-T-1.7B", "train", layers=2)
        >>> halves = elk.Strategy(pp=2, tp=4, dp=2, recompute="full")
        >>> training = elk.train(model, "dgx-a100", halves, batch=16, bindings={"seq": 512})
        >>> training.micro_batches
        8
    """
    if not isinstance(strategy, Strategy):
        raise InvalidInputError(
            f"a strategy must be an elk.Strategy, got {type(strategy).__name__}",
            place="strategy",
            remedy="write it as in elk.Strategy(pp=2, tp=4, dp=2)",
        )
    samples = _samples(batch)
    found = find_machine(machine)
    core = strategy.to_core()
    raise_all(_core.strategy_complaints(core, samples, found.devices))
    given = {"weights": weights, "state": state, "limits": limits}
    loaded = _loaded(
        model, strategy, bindings, {key: one for key, one in given.items() if one is not None}
    )
    request = (loaded.graph, found.chip.to_core(), found.tiles(), found.gpu, core, samples)
    try:
        plan = interruptible(lambda: _core.plan_training(*request))
    except InfeasibleError as error:
        error.remedy = _REMEDY
        raise
    return Training(loaded.name, found, strategy, samples, plan)


def _samples(batch: Any) -> int:
    whole = isinstance(batch, Integral) and not isinstance(batch, bool)
    if not whole or abs(int(batch)) >= _MOST_SAMPLES:
        raise InvalidInputError(
            f"batch must be an integer below 2**63, got {batch!r}", place="batch"
        )
    return int(batch)


def _loaded(
    model: Model | ModelProto | bytes | str | Path,
    strategy: Strategy,
    bindings: Mapping[str, int] | None,
    options: Mapping[str, Any],
) -> Model:
    """The model of one micro-batch."""
    given = dict(bindings or {})
    if given.setdefault(_MICRO, strategy.micro_batch) != strategy.micro_batch:
        raise InvalidInputError(
            f"the dimension batch is bound to micro_batch, {strategy.micro_batch}, and bindings "
            f"say {given[_MICRO]!r}",
            place="bindings",
            remedy="leave batch out of bindings",
        )
    if not isinstance(model, Model):
        try:
            return load_model(model, bindings=given, **options)
        except InvalidInputError as error:
            if error.code != "unknown_symbol" or _MICRO in (bindings or {}):
                raise
        # The model has no dimension `batch`.
        return load_model(model, bindings=bindings, **options)
    if options:
        raise InvalidInputError(
            f"{', '.join(options)}: the model is loaded already",
            code="model_loaded",
            remedy="give them to elk.load_model",
        )
    wrong = {key: size for key, size in given.items() if model.bindings.get(key, size) != size}
    if wrong:
        raise InvalidInputError(
            f"the model is loaded with {dict(model.bindings)!r}, not with {wrong!r}",
            code="model_loaded",
            place="bindings",
            remedy="load it with batch bound to the micro-batch",
        )
    return model
