"""How a model is trained: degrees of parallelism, a schedule, and what memory holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Final, TypeAlias

from elk import _core
from elk.base.choices import one_of
from elk.errors import InvalidInputError

SCHEDULES: Final = {
    "gpipe": _core.Schedule.GPipe,
    "1f1b": _core.Schedule.OneForwardOneBackward,
    "interleaved": _core.Schedule.Interleaved,
}
RECOMPUTES: Final = {
    "none": _core.Recompute.None_,
    "full": _core.Recompute.Full,
    "auto": _core.Recompute.Auto,
}
OPTIMIZERS: Final = {
    "none": _core.Optimizer.None_,
    "sgd": _core.Optimizer.Sgd,
    "adam": _core.Optimizer.Adam,
}
LAYOUTS: Final = {"s-shape": _core.Layout.SShape, "line": _core.Layout.Line}
GROUPS: Final = {"near": _core.Groups.Near, "far": _core.Groups.Far}
OVERLAPS: Final = ("dp", "pp")
_WORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "schedule": SCHEDULES,
    "recompute": RECOMPUTES,
    "optimizer": OPTIMIZERS,
    "layout": LAYOUTS,
    "groups": GROUPS,
}
_NUMBERS: Final = ("pp", "tp", "dp", "chunks", "micro_batch", "zero")
_MOST: Final = 2**31 - 1

GivenStage: TypeAlias = "Sequence[int] | Mapping[str, Sequence[int]]"
Degrees: TypeAlias = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How a model is trained, or runs as a pipeline.

    Attributes:
        pp: Stages of the pipeline, each on devices of its own.
        tp: Devices that share every operator of a stage.
        dp: Replicas of the model, each with a share of the batch.
        chunks: Parts of the model that each stage has; more than one if, and only if, the schedule
            is `interleaved`.
        micro_batch: Samples that go through the pipeline at once.
        schedule: In which order stages take passes: `gpipe`, `1f1b` or `interleaved`.
        zero: What replicas share: 0 nothing, 1 the optimizer's state, 2 gradients too, 3 weights
            too.
        recompute: What is made again in the backward pass: `none`, `full` (all but the inputs of
            layers, and of parts without layers), or `auto`, full on stages whose memory would not
            hold it.
        optimizer: `adam`, `sgd`, or `none` for a pipeline that infers.
        overlap: What runs beside computation: `dp`, gradients of replicas, `pp`, hand-overs between
            stages; none of them unless named.
        layout: How stages lie on a grid: `s-shape`, a die a stage where it fits, along a snake; or
            `line`, along lines of cores on the shorter side of the grid.
        groups: `near`: devices that share operators are neighbours; `far`: replicas are.
        stages: For each part of the model, in order, the ids of its operators, or a mapping with
            `ops` and, of the first `pp` parts, `cores`; None: chosen, so that the longest stage is
            shortest.
        degrees: By ONNX type or name of an operator, into how many parts its axes are cut, instead
            of the way that Megatron does: `{"MatMul": {"m": 2, "n": 2, "k": 2}}`. The last axis
            is cut over neighbours.

    Raises:
        InvalidInputError: fields have no value that they may have; the message lists all of them.

    Example:
        >>> elk.Strategy(pp=8, tp=8, dp=24, micro_batch=2, schedule="interleaved", chunks=2).devices
        1536
    """

    pp: int = 1
    tp: int = 1
    dp: int = 1
    chunks: int = 1
    micro_batch: int = 1
    schedule: str = "1f1b"
    zero: int = 0
    recompute: str = "none"
    optimizer: str = "adam"
    overlap: Iterable[str] | str | None = ()
    layout: str = "s-shape"
    groups: str = "near"
    stages: Sequence[GivenStage] | None = None
    degrees: Degrees | None = None

    def __post_init__(self) -> None:
        wrong: list[str] = []
        core = self._read(wrong)
        unread = tuple(f"{line.split()[0]} " for line in wrong)
        ranges = _core.strategy_complaints(core, None, None)
        raise_all([*wrong, *(line for line in ranges if not line.startswith(unread or ("\n",)))])
        overlap = self.overlap
        named = (overlap,) if isinstance(overlap, str) else tuple(overlap or ())
        object.__setattr__(self, "overlap", named)

    @property
    def devices(self) -> int:
        """Devices that it takes."""
        return self.pp * self.tp * self.dp

    def to_core(self) -> _core.Strategy:
        """The core's own record."""
        return self._read([])

    def to_dict(self) -> dict[str, Any]:
        """Every field, as JSON holds it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _read(self, wrong: list[str]) -> _core.Strategy:
        """The core's record of what can be read; what is `wrong` with the rest."""
        core = _core.Strategy()
        for name in _NUMBERS:
            value = _number(name, getattr(self, name), wrong)
            setattr(core, name, 0 if value is None else value)
        for name, words in _WORDS.items():
            word = _word(name, getattr(self, name), tuple(words), wrong)
            if word is not None:
                setattr(core, name, words[word])
        for name in _overlaps(self.overlap, wrong):
            setattr(core, f"overlap_{name}", True)
        core.give_stages(_stages(self.stages, wrong))
        core.give_degrees(_degrees(self.degrees, wrong))
        return core


def raise_all(wrong: Sequence[str]) -> None:
    """Raises what is wrong with a strategy, if anything is.

    Raises:
        InvalidInputError: `wrong` is not empty.
    """
    if not wrong:
        return
    head = "" if len(wrong) == 1 else f"{len(wrong)} fields of the strategy are wrong:\n  "
    raise InvalidInputError(head + "\n  ".join(wrong), code="strategy", place="strategy")


def _number(name: str, value: Any, wrong: list[str]) -> int | None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and abs(int(value)) <= _MOST:
        return int(value)
    wrong.append(f"{name} must be an integer of at most {_MOST:,}, got {value!r}")
    return None


def _word(name: str, value: object, words: Sequence[str], wrong: list[str]) -> str | None:
    try:
        return one_of(name, value, words)
    except InvalidInputError as error:
        wrong.append(error.message)
        return None


def _overlaps(value: Any, wrong: list[str]) -> list[str]:
    if value is None or isinstance(value, str):
        value = () if value is None else (value,)
    if not isinstance(value, Iterable):
        wrong.append(f"overlap must be words of {', '.join(OVERLAPS)}, got {value!r}")
        return []
    found = (_word("overlap", word, OVERLAPS, wrong) for word in value)
    return [word for word in found if word is not None]


def _stages(value: Any, wrong: list[str]) -> list[tuple[list[int], list[int]]]:
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        wrong.append(f"stages must be a list with the operators of each part, got {value!r}")
        return []
    read = []
    for number, stage in enumerate(value):
        given = stage if isinstance(stage, Mapping) else {"ops": stage}
        unknown = set(given) - {"ops", "cores"}
        if unknown or "ops" not in given:
            wrong.append(f"stages[{number}] must have ops and perhaps cores, got {stage!r}")
            continue
        read.append(
            (
                _ids(f"stages[{number}] ops", given["ops"], wrong),
                _ids(f"stages[{number}] cores", given.get("cores", ()), wrong),
            )
        )
    return read


def _ids(name: str, value: Any, wrong: list[str]) -> list[int]:
    listed = not isinstance(value, str) and isinstance(value, Iterable)
    ids = list(value) if listed else [value]
    if not listed or not all(_is_id(one) for one in ids):
        wrong.append(f"{name} must be a list of numbers from 0 to {_MOST:,}, got {value!r}")
        return []
    return [int(one) for one in ids]


def _is_id(value: Any) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and 0 <= int(value) <= _MOST


def _degrees(value: Any, wrong: list[str]) -> list[tuple[str, list[tuple[str, int]]]]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        wrong.append(f"degrees must be a mapping of operators, got {value!r}")
        return []
    read = []
    for op, axes in value.items():
        if not isinstance(op, str) or not isinstance(axes, Mapping):
            wrong.append(f"degrees must have parts of axes for each operator, got {op!r}: {axes!r}")
            continue
        parts = []
        for axis, count in axes.items():
            number = _number(f"degrees[{op!r}][{axis!r}]", count, wrong)
            if number is not None:
                parts.append((str(axis), number))
        read.append((op, parts))
    return read
