"""A model as ELK plans it: the graph, and what the front end found on the way to it."""

from __future__ import annotations

import copy
import gc
import html
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import onnx

from elk.base.choices import one_of
from elk.base.readable import amount
from elk.frontend import build, load
from elk.limits import DEFAULT, Limits
from elk.model.facts import Facts, facts_of
from elk.model.kept import Kept
from elk.model.table import op_lines

if TYPE_CHECKING:
    from elk._core import Graph
    from elk.frontend.views.values import Array, Value

_FUSIONS = ("none",)
_MOST_CARRIED: Final = 16 << 20  # bytes of a file and its weights that cross to another process
_LATER = {"chains": "fusion is a later step", "attention": "fusion is a later step"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Model:
    """A model with numbers for all its dimensions, ready to be planned.

    Models pickle, and plans of a copy are those of the original. Weights that take over 16 MiB stay
    behind, and with them `constants`, `outputs` and `proto`: such a copy cannot be emulated.

    Attributes:
        name: The name of its file, else of its graph.
        onnx_sha256: The digest of the file's bytes.
        bindings: The sizes of its symbolic dimensions.
        graph: The planned graph.
        facts: Counts, bytes and FLOPs, and what became of the nodes that are no op.
        constants: The elements of weights that are in the file or were folded, by tensor name.
        outputs: The graph outputs in their order, each as views of tensors of the graph.
        proto: The model as it was read, local functions inlined.
        weights: Globs of the graph inputs that it was told are weights.
        state: Globs of the graph inputs that it was told are states.
        kept: What compiles of it leave for the next, which is quicker by that.
    """

    name: str
    onnx_sha256: str
    bindings: Mapping[str, int]
    graph: Graph
    facts: Facts
    constants: Mapping[str, Array] = field(default_factory=dict)
    outputs: tuple[Value, ...] = ()
    proto: onnx.ModelProto | None = None
    weights: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    kept: Kept = field(default_factory=Kept)

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        names = ("name", "onnx_sha256", "graph", "facts", "weights", "state")
        planned = {name: getattr(self, name) for name in names}
        return _arrived, ({**planned, "bindings": dict(self.bindings)}, self._emulated())

    def _emulated(self) -> tuple[Any, ...] | None:
        """What emulation alone needs, to be carried to another process; None where it is large."""
        elements = sum(array.nbytes for array in self.constants.values())
        if self.proto is None or elements + self.proto.ByteSize() > _MOST_CARRIED:
            return None
        file = self.proto.SerializeToString(deterministic=True)
        return dict(self.constants), self.outputs, zlib.compress(file)

    def __copy__(self) -> Model:
        return replace(self, kept=Kept())

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        bindings, constants, proto = copy.deepcopy(
            (self.bindings, self.constants, self.proto), memo
        )
        return replace(self, bindings=bindings, constants=constants, proto=proto, kept=Kept())

    def table(self) -> str:
        """Every op in text: name, kernel, axes, and each operand with its index map."""
        return "\n".join(line for op in self.graph.ops for line in op_lines(self.graph, op))

    def __repr__(self) -> str:
        facts = self.facts
        sizes = ", ".join(f"{name}={size}" for name, size in self.bindings.items())
        return (
            f"<Model {self.name}({sizes}): {len(self.graph.ops):,} ops, "
            f"{amount(facts.weight_bytes)} of weights, {facts.flops / 1e9:,.1f} GFLOP, "
            f"{facts.repeat_text}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(label)}</td><td>{html.escape(value)}</td></tr>"
            for label, value in self.facts.rows()
        )
        return f"<div><b>{html.escape(self.name)}</b><table>{rows}</table></div>"


def load_model(
    source: str | Path | bytes | onnx.ModelProto,
    *,
    bindings: Mapping[str, int] | None = None,
    weights: str | Iterable[str] | None = None,
    state: str | Iterable[str] | None = None,
    fuse: str = "none",
    limits: Limits = DEFAULT,
) -> Model:
    """Reads an ONNX model and turns it into the graph that is planned.

    Weights are never read: only names, shapes and types.

    Args:
        source: A path, the bytes of a file, or a ModelProto.
        bindings: A size for each symbolic dimension: `{"batch": 32, "past": 2048}`. A dimension
            without a name is bound as `"input[1]"`. A value for inputs of one element that decide
            what is planned: `{"use_cache_branch": 1}`.
        weights: Graph inputs that are weights and live in HBM: globs, several of them
            separated by `|`.
        state: Graph inputs that are rewritten from step to step and live in HBM, as globs. They
            are taken beside those whose names say so (`past_key_values.0.key`, `cache_k`, `state`)
            and those that an output continues: with rows appended or written in place, or as a
            whole under a like name (`ssm_in`, `ssm_out`). `"!name"` says of an input that it is
            none. `facts.states` has why each was taken.
        fuse: Which ops become one: "none".
        limits: What the model may have at most.

    Raises:
        LimitError: The model has more of something than `limits` allow.
        UnboundSymbolsError: Dimensions without a number; all of them are listed.
        UnsupportedModelError: Nodes that cannot be planned; all of them are listed.
        ModelFileError: The file cannot be read, or it is not valid ONNX.

    Example:
        >>> elk.load_model("models/nerf.onnx", bindings={"rows": 4096})
        <Model nerf(rows=4096): 13 ops, 48.4 KiB of weights, 0.2 GFLOP, 5 x 2 ops from op 1 on>
    """
    one_of("fuse", fuse, _FUSIONS, later=_LATER)
    with _collector_resting():
        loaded = load(source, limits)
        named = _globs(weights), _globs(state)
        built = build(loaded, bindings, *named, limits)
    return Model(
        name=loaded.name,
        onnx_sha256=loaded.sha256,
        bindings=built.bindings,
        graph=built.graph,
        facts=facts_of(built),
        constants=built.constants,
        outputs=tuple(built.outputs),
        proto=loaded.proto,
        weights=named[0],
        state=named[1],
    )


def _arrived(planned: dict[str, Any], emulated: tuple[Any, ...] | None) -> Model:
    """A model from another process."""
    parts: dict[str, Any] = {}
    if emulated is not None:
        constants, outputs, file = emulated
        proto = onnx.ModelProto.FromString(zlib.decompress(file))
        parts = {"constants": constants, "outputs": outputs, "proto": proto}
    return Model(**planned, **parts)


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Nothing that building a graph makes is garbage in a circle: looking for it takes a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _globs(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Globs given as one text, separated by `|`, or as several."""
    if given is None:
        return ()
    texts = [given] if isinstance(given, str) else list(given)
    return tuple(glob for text in texts for glob in text.split("|") if glob)
