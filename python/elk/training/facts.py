"""What is known of a training step before it is simulated: its stages, what they keep, its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from elk import _core
    from elk.training.machines import Machine
    from elk.training.strategy import Strategy

KINDS: Final = ("weights", "gradients", "optimizer", "activations", "working")
"""What memory of a stage holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of a pipeline; bytes and parameters are those of each of its devices.

    Attributes:
        ops: Ids of its operators, in the order of its parts.
        layers: Layers that the model repeats; a part without any counts as one.
        devices: Cores or GPUs, replica by replica.
        parameters: Weights, counted.
        in_flight: Chunks of micro-batches that have gone forward and not yet backward, at most.
        recompute: Whether layers are made again in the backward pass.
        saved_bytes: What each micro-batch in flight keeps, of each chunk.
        memory: Bytes at most: `weights`, `gradients`, `optimizer`, `activations` of all in flight,
            and `working`, a layer that is made again or weights that are gathered.
        capacity: Bytes that a device has.
    """

    ops: tuple[int, ...]
    layers: int
    devices: tuple[int, ...]
    parameters: int
    in_flight: int
    recompute: bool
    saved_bytes: tuple[int, ...]
    memory: Mapping[str, int]
    capacity: int

    @property
    def memory_bytes(self) -> int:
        """All that a device keeps at most."""
        return sum(self.memory.values())


@dataclass(frozen=True, eq=False, repr=False)
class TrainingFacts:
    """What is known of a model that trains before it is simulated.

    Attributes:
        model: What it is called.
        machine: Where it trains.
        strategy: How.
        batch: Samples of a step.
    """

    model: str
    machine: Machine
    strategy: Strategy
    batch: int
    _plan: _core.TrainingPlan

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the pipeline.

        Example:
            >>> [stage.layers for stage in training.stages]
            [1, 1]
        """
        return tuple(_stage(row) for row in self._plan.stages)

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a step that each replica takes."""
        return self._plan.micros

    @property
    def step_flops(self) -> float:
        """Products of a step that the model asks for: forward, and twice as many backward."""
        passes = 3.0 if self.strategy.optimizer != "none" else 1.0
        return passes * self._plan.product_flops * self.micro_batches * self.strategy.dp

    @property
    def repeated_flops(self) -> float:
        """Products of a step that are computed again because nothing kept their results."""
        return self._plan.repeated_flops * self.micro_batches * self.strategy.dp


def _stage(row: Mapping[str, Any]) -> Stage:
    memory = dict(row["memory"])
    return Stage(
        ops=tuple(row["ops"]),
        layers=row["layers"],
        devices=tuple(row["devices"]),
        parameters=row["parameters"],
        in_flight=row["in_flight"],
        recompute=row["recompute"],
        saved_bytes=tuple(row["saved_bytes"]),
        memory={kind: memory[kind] for kind in KINDS},
        capacity=memory["capacity"],
    )
