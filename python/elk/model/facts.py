"""What a model consists of, in numbers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elk.base.readable import amount

if TYPE_CHECKING:
    from elk.frontend import Built
    from elk.frontend.ops.assembled import Op

_HOMES = ("weight", "state", "input", "output", "activation")
_SHOWN = 8  # Names in a row of the card.


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the front end found.

    Attributes:
        ops_by_kind: How many ops of each kind, the most frequent first.
        flops: Of one run, all ops.
        flops_by_kind: The same by kind.
        bytes_by_home: Bytes of the graph's tensors by where they live.
        external_bytes: Bytes of the initializers whose data lies outside the file.
        external_parameters: Elements of those.
        weight_bytes: Bytes of all initializers, those inside the file included.
        states: Why each graph input that is state is one, by its name.
        state_bytes: Bytes of state that ops read: KV caches before the step.
        appended_bytes: Bytes written back to state after one run.
        repeat: First op, ops in one period, and how often it occurs; None if nothing repeats.
        folded: Nodes computed by the front end: name and ONNX type.
        views: Nodes that became index maps of their readers: name and ONNX type.
        copied: Values that a copy op makes because a reader cannot index them as they lie.
        dropped: Ops that no output depends on.
    """

    ops_by_kind: dict[str, int]
    flops: int
    flops_by_kind: dict[str, int]
    bytes_by_home: dict[str, int]
    external_bytes: int
    external_parameters: int
    weight_bytes: int
    states: dict[str, str]
    state_bytes: int
    appended_bytes: int
    repeat: tuple[int, int, int] | None
    folded: tuple[tuple[str, str], ...]
    views: tuple[tuple[str, str], ...]
    copied: tuple[str, ...]
    dropped: int

    @property
    def repeat_text(self) -> str:
        """The repeat in words."""
        if self.repeat is None:
            return "no repeat"
        begin, period, count = self.repeat
        return f"{count} x {period} ops from op {begin} on"

    def rows(self) -> list[tuple[str, str]]:
        """Labels and values, as the card and `elk model` show them."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.ops_by_kind.items())
        homes = ", ".join(
            f"{home} {amount(size)}" for home, size in self.bytes_by_home.items() if size
        )
        return [
            ("ops", f"{sum(self.ops_by_kind.values()):,}: {kinds}"),
            ("bytes by home", homes),
            (
                "weights",
                f"{self.external_bytes:,} bytes outside the file "
                f"({self.external_parameters:,} elements), {self.weight_bytes:,} in all",
            ),
            ("state", f"{self.state_bytes:,} bytes, {self.appended_bytes:,} written back"),
            ("taken for state", self._taken_for_state()),
            ("FLOPs", f"{self.flops:,}"),
            ("repeat", self.repeat_text),
            ("folded", _counted(self.folded)),
            ("views", _counted(self.views)),
            ("copied", ", ".join(self.copied[:_SHOWN]) + _more(len(self.copied)) or "nothing"),
        ]

    def _taken_for_state(self) -> str:
        """Which inputs, by the reason for it."""
        names: dict[str, list[str]] = {}
        for name, why in self.states.items():
            names.setdefault(why, []).append(name)
        return (
            "; ".join(
                f"{', '.join(found[:_SHOWN])}{_more(len(found))} ({why})"
                for why, found in names.items()
            )
            or "nothing"
        )

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON has them."""
        repeat = None
        if self.repeat is not None:
            repeat = dict(zip(("begin", "period", "count"), self.repeat, strict=True))
        return {
            "ops_by_kind": self.ops_by_kind,
            "flops": self.flops,
            "flops_by_kind": self.flops_by_kind,
            "bytes_by_home": self.bytes_by_home,
            "external_bytes": self.external_bytes,
            "external_parameters": self.external_parameters,
            "weight_bytes": self.weight_bytes,
            "states": self.states,
            "state_bytes": self.state_bytes,
            "appended_bytes": self.appended_bytes,
            "repeat": repeat,
            "folded": [{"name": name, "type": kind} for name, kind in self.folded],
            "views": [{"name": name, "type": kind} for name, kind in self.views],
            "copied": list(self.copied),
            "dropped": self.dropped,
        }


def _more(count: int) -> str:
    return f" and {count - _SHOWN} more" if count > _SHOWN else ""


def _counted(nodes: tuple[tuple[str, str], ...]) -> str:
    types = Counter(kind for _, kind in nodes)
    return ", ".join(f"{n} {kind}" for kind, n in types.most_common()) or "nothing"


def facts_of(built: Built) -> Facts:
    """The facts of a built model."""
    graph = built.graph
    homes = dict.fromkeys(_HOMES, 0)
    for tensor in built.tensors:
        homes[tensor.home] += tensor.nbytes
    external = [t for t in built.initializers if t.name in built.external]
    repeat = graph.repeat
    ops_by_kind, flops_by_kind = _by_kind(built.ops)
    return Facts(
        ops_by_kind=ops_by_kind,
        flops=sum(flops_by_kind.values()),
        flops_by_kind=flops_by_kind,
        bytes_by_home=homes,
        external_bytes=sum(t.nbytes for t in external),
        external_parameters=sum(math.prod(t.shape) for t in external),
        weight_bytes=sum(t.nbytes for t in built.initializers),
        states=built.states,
        state_bytes=homes["state"],
        appended_bytes=sum(built.tensors[store.tensor].nbytes for store in graph.stores),
        repeat=None if repeat is None else (repeat.begin, repeat.period, repeat.count),
        folded=tuple(built.assembly.folded),
        views=tuple(built.assembly.views),
        copied=tuple(built.assembly.copied),
        dropped=len(built.assembly.ops) - len(built.ops),
    )


def _by_kind(ops: list[Op]) -> tuple[dict[str, int], dict[str, int]]:
    counts: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for op in ops:
        counts[op.pattern.kind.lower()] += 1
        flops[op.pattern.kind.lower()] += op.pattern.flops
    return dict(counts.most_common()), dict(flops.most_common())
