"""From nodes to ops: folds, follows views, builds each distinct pattern once."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper

from elk.errors import ElkError
from elk.frontend import kinds, move, reshaping
from elk.frontend.bounds import Budget, check_pattern
from elk.frontend.node import Node, UnplannableError
from elk.frontend.signature import check_types
from elk.frontend.space import MisalignedError, Pattern, Read, with_shape
from elk.frontend.values import Stored, Value, constant, whole
from elk.frontend.views import identity
from elk.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    import onnx

    from elk.limits import Limits

_MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An op before it enters the graph: a pattern, and the tensors it runs over.

    Attributes:
        name: The name of its node, made unique.
        onnx_type: The operator type of its node.
        pattern: What it computes.
        reads: The tensor of each of the pattern's reads.
        indices: The tensor that picks what each read reads; None where nothing does.
        writes: The tensor of each of the pattern's writes.
    """

    name: str
    onnx_type: str
    pattern: Pattern
    reads: tuple[Stored, ...]
    indices: tuple[Stored | None, ...]
    writes: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that cannot be planned, and why."""

    name: str
    type: str
    shapes: str
    reason: str

    def __str__(self) -> str:
        return f"{self.type} '{self.name}' {self.shapes}: {self.reason}"


@dataclass(slots=True)
class Assembly:
    """What became of the nodes.

    Attributes:
        values: Every ONNX value that is known so far, by name.
        ops: The ops, in the order of the nodes.
        folded: Nodes that were computed here: name and type.
        views: Nodes whose results are views: name and type.
        copied: Values that had to be copied because a reader cannot take them as they lie.
        refused: Nodes that cannot be planned.
    """

    values: dict[str, Value] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    folded: list[tuple[str, str]] = field(default_factory=list)
    views: list[tuple[str, str]] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


class Assembler:
    """Takes nodes in order; `result` is what came of them."""

    def __init__(
        self,
        given: dict[str, Value],
        opsets: dict[str, int],
        readers: dict[str, tuple[str, ...]],
        limits: Limits = DEFAULT,
    ) -> None:
        self._readers = readers
        self._budget = Budget(limits)
        self.result = Assembly(values=dict(given))
        self._opsets = opsets
        self._patterns: dict[Hashable, Pattern] = {}
        self._sound: dict[int, Pattern] = {}  # Those that the core can count, by id.
        self._copies: dict[Hashable, Value] = {}
        self._names: dict[str, int] = {}  # How often a name was asked for.
        self._makers: dict[int, int] = {}  # Which op makes a tensor, by id.
        self._reshaped: dict[Hashable, Pattern] = {}
        self._lost: set[str] = set()  # Results of refused nodes, and of what reads them.

    def add(self, proto: onnx.NodeProto, number: int) -> None:
        """Takes the next node."""
        self._budget.take_node(f"node {number}")
        if proto.op_type == "If" and self._branched(proto, number):
            return
        domain = proto.domain
        plain = domain in {"", "ai.onnx"}
        kind_name = proto.op_type if plain else f"{domain}.{proto.op_type}"
        kind = kinds.KINDS.get(kind_name)
        outputs = list(proto.output)
        name = proto.name or f"{proto.op_type}_{number}"
        values = self.result.values
        lost = [x for x in proto.input if x in self._lost]
        if kind is None:
            self._refuse(name, kind_name, proto, "this type is not known")
            return
        if lost:
            self._lost.update(outputs)
            return
        inputs = [values[x] if x else None for x in proto.input]
        opset = self._opsets.get("" if plain else domain, 1)
        try:
            attrs, attrs_key = _attributes(proto)
            readers = self._readers.get(outputs[0], ())
            most = self._budget.limits.folded_elements
            node = Node(name, kind_name, attrs, inputs, outputs, opset, readers, most)
            if plain:
                check_types(kind_name, opset, inputs)
            self._budget.take_inputs(inputs, f"node '{name}'")
            with np.errstate(all="ignore"):
                self._take(node, kind, attrs_key)
            self._budget.take_results(map(values.get, outputs), f"node '{name}'")
        except UnplannableError as error:
            self._refuse(name, kind_name, proto, str(error))
        except ElkError:  # A limit.
            raise
        except _MISFITS:  # ONNX's checker leaves ranks and sizes to whoever runs a node.
            reason = "the shapes of its inputs or its attributes do not fit its type"
            self._refuse(name, kind_name, proto, reason)

    def _branched(self, proto: onnx.NodeProto, number: int) -> bool:
        """Takes the branch of an If whose condition is known, if it is."""
        condition = self.result.values.get(proto.input[0])
        if condition is None or condition.known is None or condition.size != 1:
            return False
        wanted = "then_branch" if condition.known.item() else "else_branch"
        graph = next(a.g for a in proto.attribute if a.name == wanted)
        if len(graph.output) != len(proto.output):
            return False
        for x in graph.initializer:
            self.result.values[x.name] = constant(x.name, numpy_helper.to_array(x))
        for node in graph.node:
            self.add(node, number)
        for name, result in zip(proto.output, graph.output, strict=True):
            if result.name in self.result.values:
                self.result.values[name] = self.result.values[result.name].renamed(name)
            else:
                self._lost.add(name)
        self.result.folded.append((proto.name or "If", "If"))
        return True

    def _refuse(self, name: str, kind: str, proto: onnx.NodeProto, reason: str) -> None:
        shapes = f"({', '.join(self._shape(x) for x in proto.input if x)})"
        self.result.refused.append(Refusal(name, kind, shapes, reason))
        self._lost.update(x for x in proto.output if x)

    def _shape(self, name: str) -> str:
        value = self.result.values.get(name)
        return f"{name}: unknown" if value is None else f"{value.dtype}{list(value.shape)}"

    def _take(self, node: Node, kind: kinds.Kind, attrs_key: Hashable) -> None:
        if kind.fold is not None and self._fold(node, kind.fold):
            return
        if kind.view is not None and self._view(node, kind.view, kind.build is None):
            return
        if kind.build is None and all(v is None or v.known is not None for v in node.inputs):
            most = f"{node.folded_elements:,} elements (limit 'folded_elements')"
            raise UnplannableError(f"it is computed while the model is read, up to {most}")
        if kind.build is None:
            raise UnplannableError("it is no view of its inputs, and they are not known")
        key = (node.type, attrs_key, tuple(v.key if v else None for v in node.inputs),
               tuple(map(bool, node.outputs)))  # fmt: skip
        pattern = self._patterns.get(key)
        if pattern is None:
            build = kind.build
            before = list(node.inputs)
            pattern = self._aligned(node, build)
            if node.inputs == before[: len(node.inputs)]:  # Slots still mean the same inputs.
                self._patterns[key] = pattern
        self._op(node, pattern)

    def _view(self, node: Node, view: Callable[[Node], Any], or_copy: bool) -> bool:
        """Takes a node whose results are views, if need be of a copy of its input in order."""
        seen = self._aligned(node, view)
        if seen is None and or_copy and node.get(0) is not None and node.input(0).known is None:
            node.inputs[0] = self.copied(node.input(0), flat=True)
            seen = self._aligned(node, view)
        if seen is None:
            return False
        if len(seen) == 1 and node.get(0) is not None:
            seen = [self._adopted(node.input(0), seen[0])]
        self.result.views.append((node.name, node.type))
        self.result.values.update((value.name, value) for value in seen)
        return True

    def _adopted(self, value: Value, seen: Value) -> Value:
        """`seen`, for which `value` is stored with the dimensions of size one that `seen` adds.

        So results that only one reader sees, and sees so, are stored alike in all layers.
        """
        tensor = value.pieces[0].tensor if value.pieces else None
        maker = self._makers.get(id(tensor))
        if (
            tensor is None
            or maker is None
            or tensor.name != value.name
            or len(self._readers.get(value.name, ())) != 1
            or value.pieces[0].view != identity(tensor.shape)
            or len(seen.shape) <= len(value.shape)
            or [n for n in seen.shape if n != 1] != [n for n in value.shape if n != 1]
        ):
            return seen
        op = self.result.ops[maker]
        key = (op.pattern, seen.shape)
        if key not in self._reshaped:
            self._reshaped[key] = with_shape(op.pattern, seen.shape)
        self.result.ops[maker] = replace(op, pattern=self._reshaped[key])
        tensor.shape = seen.shape
        whole_value = whole(tensor)
        self.result.values[value.name] = reshaping.in_box(whole_value, value.shape)
        return whole_value.renamed(seen.name)

    def _fold(self, node: Node, fold: Any) -> bool:
        arrays = []
        for value in node.inputs:
            if value is None or value.known is None:
                return False
            arrays.append(value.known)
        folded = fold(node, arrays)
        if folded is None:
            return False
        results = folded if isinstance(folded, list) else [folded]
        for name, array in zip(node.outputs, results, strict=False):
            self.result.values[name] = constant(name, array)
        self.result.folded.append((node.name, node.type))
        return True

    def _aligned(self, node: Node, function: Callable[[Node], Any]) -> Any:
        """`function` of the node, after copies of the inputs that it cannot take as they lie."""
        for _ in range(2 * len(node.inputs) + 1):
            try:
                return function(node)
            except MisalignedError as error:
                node.inputs[error.slot] = self.copied(node.input(error.slot))
        raise UnplannableError("its inputs cannot be aligned")

    def copied(self, value: Value, name: str | None = None, *, flat: bool = False) -> Value:
        """`value` as a tensor of its own, made by a copy op; a flat one has a single dimension."""
        target = name or f"{value.name}.{'flat' if flat else 'copy'}"
        key = (target, value.key, tuple(id(p.tensor) for p in value.pieces))
        if key not in self._copies:
            node = Node(f"{target}/copy", "Copy", {}, [value], [target], 0)
            self._op(node, move.copy(value, flat=flat))
            self._copies[key] = self.result.values[target]
            if name is None:
                del self.result.values[target]
            self.result.copied.append(value.name)
        found = self._copies[key]
        return found if found.shape == value.shape else reshaping.in_box(found, value.shape)

    def _op(self, node: Node, pattern: Pattern) -> None:
        reads = tuple(_tensor_of(node, read) for read in pattern.reads)
        indices = tuple(_index_of(node, read) for read in pattern.reads)
        if any(0 in tensor.shape for tensor in reads):
            raise UnplannableError("an input has no elements")
        if any(0 in write.shape for write in pattern.writes):
            raise UnplannableError("its result has no elements")
        if id(pattern) not in self._sound:
            check_pattern(pattern)
            self._sound[id(pattern)] = pattern
        writes = []
        for i, write in enumerate(pattern.writes):
            name = node.outputs[i] if i < len(node.outputs) and node.outputs[i] else ""
            made = Stored(name or f"{node.name}.{i}", write.dtype, write.shape, "activation")
            if pattern.function == "topk" and i > 0:
                made.distinct = int(pattern.scalars[0])
            writes.append(made)
            self.result.values[made.name] = whole(made)
        if len(writes) == 1:
            self._makers[id(writes[0])] = len(self.result.ops)
        self.result.ops.append(
            Op(self._unique(node.name), node.type, pattern, reads, indices, tuple(writes))
        )

    def _unique(self, name: str) -> str:
        unique, again = name, self._names.get(name, 0)
        while unique in self._names:
            again += 1
            unique = f"{name}#{again + 1}"
        self._names[name] = again
        self._names.setdefault(unique, 0)
        return unique


def _tensor_of(node: Node, read: Read) -> Stored:
    """The tensor of one operand of a pattern."""
    piece = node.input(read.slot).pieces[read.piece]
    return piece.pick.index if read.is_index and piece.pick else piece.tensor


def _index_of(node: Node, read: Read) -> Stored | None:
    """The tensor that picks what an operand reads, if one does."""
    if read.indirect is None:
        return None
    if read.indirect.slot >= 0:
        return node.input(read.indirect.slot).pieces[0].tensor
    pick = node.input(read.slot).pieces[read.piece].pick
    return pick.index if pick else None


def _attributes(proto: onnx.NodeProto) -> tuple[dict[str, Any], Hashable]:
    """The attributes of a node, and what equal ones share."""
    attrs: dict[str, Any] = {}
    key: list[Hashable] = []
    for a in proto.attribute:
        value: Any
        match a.type:
            case 1:
                value = a.f
            case 2:
                value = a.i
            case 3:
                value = a.s.decode("utf-8", "replace")
            case 6:
                value = tuple(a.floats)
            case 7:
                value = tuple(a.ints)
            case 8:
                value = tuple(s.decode("utf-8", "replace") for s in a.strings)
            case 4:
                value = numpy_helper.to_array(a.t)
                key.append((a.name, a.t.SerializeToString()))
                attrs[a.name] = value
                continue
            case _:
                raise UnplannableError(f"its attribute '{a.name}' holds more than numbers")
        attrs[a.name] = value
        key.append((a.name, value))
    return attrs, tuple(key)


def alive(ops: Sequence[Op], needed: set[int]) -> list[Op]:
    """The ops that tensors in `needed` (by id) come from, in order."""
    out: deque[Op] = deque()
    for op in reversed(ops):
        if any(id(tensor) in needed for tensor in op.writes):
            needed.update(id(t) for t in (*op.reads, *(i for i in op.indices if i)))
            out.appendleft(op)
    return list(out)


def inputs_first(ops: Sequence[Op]) -> list[Op]:
    """`ops` with those in front that depend on nothing but the graph's inputs and constants.

    Masks and position tables are then made before the first layer, not in the middle of it.
    """
    made: set[int] = set()
    early, late = [], []
    for op in ops:
        tensors = (*op.reads, *(index for index in op.indices if index is not None))
        if all(t.home == "input" or t.data is not None or id(t) in made for t in tensors):
            made.update(id(t) for t in op.writes)
            early.append(op)
        else:
            late.append(op)
    return early + late


def is_append(value: Value) -> bool:
    """Whether `value` is a whole state with whole tensors appended: nothing of them is cut off."""
    states = [p for p in value.pieces if p.tensor.home == "state"]
    whole_parts = sum(math.prod(p.tensor.shape) for p in value.pieces) == value.size
    return len(states) == 1 and len(value.pieces) > 1 and whole_parts


def run_bytes(value: Value, tensor: Stored) -> int:
    """Contiguous bytes in HBM where `tensor`, rows appended to a state, is written back."""
    state = next(p.tensor for p in value.pieces if p.tensor.home == "state")
    axis = next(i for i, n in enumerate(value.shape) if n != state.shape[i])
    outside = math.prod(value.shape[:axis])
    return max(tensor.nbytes // outside, 1)
