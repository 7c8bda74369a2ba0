"""How a model is cut over the chips of a pod: what each operator splits, what chips exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elk import _core
from elk.base.readable import amount, duration
from elk.base.waiting import interruptible
from elk.chip import presets
from elk.errors import InvalidInputError
from elk.plan.options import Options, as_model
from elk.tile.tilemodel import load_tile_model

if TYPE_CHECKING:
    import onnx

    from elk.chip.chip import Chip
    from elk.limits import Limits
    from elk.model.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """A tensor brought into another form by all chips together.

    Attributes:
        op: Position of the operator that reads it so.
        tensor: Its name.
        kind: "all-reduce", "reduce-scatter", "all-gather" or "all-to-all".
        before: How the chips held it: "whole", "partial" (addends), or the dimension that is cut.
        after: How they hold it then.
    """

    op: int
    tensor: str
    kind: str
    before: str | int
    after: str | int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sharding:
    """A model cut over the chips of a pod, by an estimate of its time.

    Attributes:
        model: The model's name.
        chip: The pod's name.
        chips: How many chips it has.
        ops: The operators' names, in order.
        axes: The axis that each operator splits over the chips; None where every chip computes all.
        collectives: What the chips exchange, in order.
        repeat: The first operator of the first layer, operators in a layer, layers; None where
            nothing repeats.
        seconds: The estimate: executes by a few cuts of each operator or their HBM bytes, whichever
            takes longer, slices and collectives, one after another, and what chips wait for each
            other. No plan: forecasts come from `elk.compile`.
        replicated_seconds: The same if every chip computed everything.
        pooled_seconds: The same if all chips' cores were one machine (`pod="pooled"`).
        sent_bytes: Bytes that each chip sends to others.
        hbm_bytes: Bytes of weights and states that each chip reads.
    """

    model: str
    chip: str
    chips: int
    ops: tuple[str, ...]
    axes: tuple[str | None, ...]
    collectives: tuple[Collective, ...]
    repeat: tuple[int, int, int] | None
    seconds: float
    replicated_seconds: float
    pooled_seconds: float
    sent_bytes: int
    hbm_bytes: int

    def layer(self) -> str:
        """The operators of one layer with their split axes, and what is exchanged before them.

        The second layer, where layers repeat: the first may begin differently. Otherwise all.
        """
        begin, end = 0, len(self.ops)
        if self.repeat is not None:
            first, period, count = self.repeat
            begin = first + (period if count > 1 else 0)
            end = begin + period
        width = max(len(name) for name in self.ops[begin:end])
        lines = []
        for op in range(begin, end):
            moves = (x for x in self.collectives if x.op == op)
            lines += [f"  {x.kind} of {x.tensor} ({x.before} -> {x.after})" for x in moves]
            lines.append(f"{self.ops[op]:<{width}}  {self.axes[op] or '-'}")
        return "\n".join(lines)

    def summary(self) -> str:
        """The sharding in text: times, bytes, collectives by kind, one layer."""
        kinds = Counter(x.kind for x in self.collectives)
        found = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items())) or "none"
        lines = [
            f"{self.model} on {self.chips} chips of {self.chip}",
            f"  estimate     {duration(self.seconds)}, "
            f"{duration(self.replicated_seconds)} if every chip computed everything, "
            f"{duration(self.pooled_seconds)} pooled",
            f"  between chips  {amount(self.sent_bytes)} sent by each: {found}",
            f"  from HBM     {amount(self.hbm_bytes)} read by each",
            "  one layer, and the axis that each operator splits:",
        ]
        return "\n".join([*lines, *(f"    {line}" for line in self.layer().splitlines())])

    def to_dict(self) -> dict[str, Any]:
        """The sharding as `--json` prints it."""
        return {
            "model": self.model,
            "chip": self.chip,
            "chips": self.chips,
            "seconds": self.seconds,
            "replicated_seconds": self.replicated_seconds,
            "pooled_seconds": self.pooled_seconds,
            "sent_bytes": self.sent_bytes,
            "hbm_bytes": self.hbm_bytes,
            "ops": [
                {"name": name, "axis": axis} for name, axis in zip(self.ops, self.axes, strict=True)
            ],
            "collectives": [asdict(x) for x in self.collectives],
        }

    def __repr__(self) -> str:
        return (
            f"<Sharding of {self.model} over {self.chips} chips: {duration(self.seconds)}, "
            f"{len(self.collectives)} collectives, {amount(self.sent_bytes)} sent by each chip>"
        )


def shard(
    model: Model | onnx.ModelProto | bytes | str | Path,
    chip: str | Path | Chip,
    *,
    bindings: Mapping[str, int] | None = None,
    weights: str | Iterable[str] | None = None,
    state: str | Iterable[str] | None = None,
    limits: Limits | None = None,
) -> Sharding:
    """The fastest way to cut a model over the chips of a pod, by an estimate.

    Each operator splits one axis over the chips, or every chip computes all of it; tensors are
    brought into the form that their reader needs by collectives. Dynamic programming over all of
    that, residual edges included (ELK, section 4.2; Megatron-LM's split of a transformer layer is
    what it finds for large ones). Sizes need be no multiple of the chips. Where a chip does not
    hold its part, the fastest that fits is taken. `elk.compile` plans the same split, its
    collectives and all, unless a plan with fewer of them is forecast to be shorter.

    Args:
        model: An ONNX file, its bytes, a ModelProto, or a loaded model.
        chip: A preset, a chip file, or a chip of several chips.
        bindings: A size for each symbolic dimension.
        weights: Globs of graph inputs that are weights and live in HBM.
        state: Globs of graph inputs that are state and live in HBM.
        limits: What the model may have at most.

    Raises:
        InvalidInputError: The machine has one chip only, or the model or the chip is wrong.

    Example:
        >>> elk.shard("models/nerf.onnx", "ipu-pod4-hbm", bindings={"rows": 4096})
        <Sharding of nerf over 4 chips: 7.283 µs, 0 collectives, 0 B sent by each chip>
    """
    machine = presets.find(chip)
    if machine.chips < 2:  # noqa: PLR2004 - a pod
        raise InvalidInputError(
            f"the machine must have several chips to shard a model over, got {machine.chips}",
            place=f"chip '{machine.name}'",
            remedy="take a pod such as 'ipu-pod4-hbm'",
        )
    loaded = as_model(model, bindings, Options(weights=weights, state=state, limits=limits))
    graph = loaded.graph
    tiles = load_tile_model(machine.core.tile_model)
    found = interruptible(lambda: _core.shard(graph, machine.to_core(), tiles))
    tensors = [tensor.name for tensor in graph.tensors]
    repeat = graph.repeat
    return Sharding(
        model=loaded.name,
        chip=machine.name,
        chips=machine.chips,
        ops=tuple(op.name for op in graph.ops),
        axes=tuple(
            op.axes[axis].name if axis >= 0 else None
            for op, axis in zip(graph.ops, found["axes"], strict=True)
        ),
        collectives=tuple(
            Collective(op=op, tensor=tensors[tensor], kind=kind, before=before, after=after)
            for op, tensor, kind, before, after in found["collectives"]
        ),
        repeat=None if repeat is None else (repeat.begin, repeat.period, repeat.count),
        seconds=found["seconds"],
        replicated_seconds=found["replicated_seconds"],
        pooled_seconds=found["pooled_seconds"],
        sent_bytes=found["sent_bytes"],
        hbm_bytes=found["hbm_bytes"],
    )
