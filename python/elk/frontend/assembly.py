"""From nodes to ops: folds, follows views, builds each distinct pattern once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elk.errors import ElkError
from elk.frontend.agreement import Agreement
from elk.frontend.inference import Inferred, confirm
from elk.frontend.ops import (
    control,
    conversions,
    factors,
    kinds,
    move,
    opaque,
    reshaping,
    written,
)
from elk.frontend.ops.assembled import Op, Refusal
from elk.frontend.ops.maker import NEWEST, Maker
from elk.frontend.ops.sequences import SEQUENCES
from elk.frontend.ops.taker import Taker
from elk.frontend.signature import check_types
from elk.frontend.views.bounds import check_pattern
from elk.frontend.views.node import Node, UnplannableError, attributes, content
from elk.frontend.views.space import MisalignedError, Pattern, Read, with_shape
from elk.frontend.views.values import Stored, Value, constant, whole
from elk.frontend.views.views import identity, is_whole
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import onnx

    from elk.frontend.ops.kind import Kind
    from elk.frontend.views.views import Shape

_FLOW = {**control.FLOW, **SEQUENCES}
# What is noted on results, for those who read them: (node, its inputs without copies, result).
_NOTES: dict[str, Callable[[Node, Sequence[Value | None], Value], None]] = {
    "Cast": conversions.noted,
    "Concat": written.joined,
    "Div": factors.divided,
    "Equal": written.compared,
    "Mul": factors.multiplied,
    "Not": written.negated,
    "Where": written.chosen,
}
MISFITS = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)


class Assembler(Taker):
    """Takes nodes by their types: folds them, follows views, or builds their patterns."""

    def __init__(
        self,
        given: dict[str, Value],
        opsets: dict[str, int],
        readers: dict[str, tuple[str, ...]],
        limits: Limits = DEFAULT,
        declared: Mapping[str, Shape] | None = None,
    ) -> None:
        super().__init__(given, opsets, readers, limits)
        self._declared = declared or {}
        self._patterns: dict[Hashable, Pattern] = {}
        self._sound: dict[int, Pattern] = {}  # Patterns that the core can count, by id.
        self._copies: dict[Hashable, Value] = {}
        self._names: dict[str, int] = {}  # How often a name was asked for.
        self._makers: dict[int, int] = {}  # Which op makes a tensor, by id.
        self._masks: dict[Hashable, list[Value]] = {}  # Of positions.
        self._reshaped: dict[Hashable, Pattern] = {}
        self._made = 0
        self._agreement = Agreement()

    def add(self, proto: onnx.NodeProto, number: int) -> None:
        """Takes the next node."""
        self._budget.take_node(f"node {number}")
        kind_name = control.type_of(proto)
        flow = _FLOW.get(kind_name)
        kind = kinds.KINDS.get(kind_name)
        inputs = [self.scope.named(x) for x in proto.input]
        outputs = [self.scope.named(x) for x in proto.output]
        name = self.scope.prefix + (proto.name or f"{proto.op_type}_{number}")
        known = flow is not None or kind is not None or control.is_function(proto, self.scope)
        if known and self._lost and not self._lost.isdisjoint(inputs):
            self._lost.update(x for x in outputs if x)
            return
        try:
            if not known:
                raise UnplannableError(kinds.REFUSED.get(kind_name, "this type is not known"))
            if flow is not None:
                flow(self, proto, name)
            else:
                self._compute(proto, kind, Node(name, kind_name, {}, [], outputs, 0), inputs)
        except UnplannableError as error:
            self._refuse(name, kind_name, (inputs, outputs), str(error))
        except ElkError:  # A limit.
            raise
        except MemoryError:
            self._refuse(name, kind_name, (inputs, outputs), "it is too large to be folded")
        except MISFITS:  # ONNX's checker leaves ranks and sizes to whoever runs a node.
            reason = "the shapes of its inputs or its attributes do not fit its type"
            self._refuse(name, kind_name, (inputs, outputs), reason)

    def _compute(
        self, proto: onnx.NodeProto, kind: Kind | None, node: Node, inputs: list[str]
    ) -> None:
        """Takes a node of the table, or one that stands for a function, in its scope."""
        if self._sequences and any(x in self._sequences for x in inputs):
            raise UnplannableError("it reads a sequence of tensors")
        node.inputs = [self.result.values[x] if x else None for x in inputs]
        has_graph = kind is None and any(a.HasField("g") for a in proto.attribute)
        node.attrs, attrs_key = ({}, None) if has_graph else attributes(proto, self.scope.attrs)
        domain = control.domain_of(proto)
        node.opset = self.scope.opsets.get(domain, 1)
        node.readers = self._readers.get(node.outputs[0], ())
        node.folded_elements = self._budget.limits.folded_elements
        check_types(proto.op_type, node.opset, domain, node.inputs)
        wanted: Inferred = ()
        if not has_graph:
            wanted = self._agreement.check(proto, node, attrs_key, self.scope)
        place = f"node '{node.name}'"
        self._budget.take_inputs(node.inputs, place)
        if kind is None:
            control.function(self, proto, node)
        else:
            self._take(node, kind, attrs_key)
        confirm(node, wanted, self.result.values)
        self._budget.take_results(map(self.result.values.get, node.outputs), place)

    def _refuse(
        self, name: str, kind: str, edges: tuple[list[str], list[str]], reason: str
    ) -> None:
        inputs, outputs = edges
        shapes = f"({', '.join(self._shape(x) for x in inputs if x)})"
        self.result.refused.append(Refusal(name, kind, shapes, reason))
        self._lost.update(x for x in outputs if x)

    def _shape(self, name: str) -> str:
        value = self.result.values.get(name)
        return f"{name}: unknown" if value is None else f"{value.dtype}{list(value.shape)}"

    def _take(self, node: Node, kind: Kind, attrs_key: Hashable) -> None:
        left = conversions.is_read_narrow(node)
        if kind.fold is not None and not left and self._fold(node, kind.fold):
            return
        if self._seen_or_composed(node, kind):
            return
        if kind.build is None:
            known = all(v is None or v.known is not None for v in node.inputs)
            if known and kind.fold is not None:
                most = f"{node.folded_elements:,} elements (limit 'folded_elements')"
                raise UnplannableError(f"it is computed while the model is read, up to {most}")
            shapes = [self._declared[x] for x in node.outputs if x in self._declared]
            if node.type in opaque.SIZED and len(shapes) == len(node.outputs):
                self._op(node, self._aligned(node, lambda one: opaque.sized(one, shapes)))
                return
            reason = "it is no view of its inputs, and they are not known"
            raise UnplannableError(kinds.REFUSED.get(node.type, reason))
        if node.type in conversions.PRODUCTS and self._product(node, kind.build, attrs_key):
            return
        self._build(node, kind.build, attrs_key)

    def _seen_or_composed(self, node: Node, kind: Kind) -> bool:
        """Takes a node that is a view of its input, stands for others, or is a view of a copy."""
        if kind.view is not None and self._view(node, kind.view):
            return True
        made = kind.compose(node, Maker(self.make, node)) if kind.compose is not None else None
        if made is None:
            view = kind.view if kind.build is None else None
            return view is not None and self._view(node, view, or_copy=True)
        self._composed(node, made)
        return True

    def _product(self, node: Node, build: Callable[[Node], Pattern], attrs_key: Hashable) -> bool:
        """Takes a product whose operands are scaled, or stored in other types, as it reads best."""
        if node.type == "MatMul":
            product = factors.placed(node, Maker(self.make, node))
            if product is not None:
                self._composed(node, [product])
                return True
        return self._converting(node, build, attrs_key)

    def _converting(
        self, node: Node, build: Callable[[Node], Pattern], attrs_key: Hashable
    ) -> bool:
        """Takes a product whose operands are stored in other types, if it can read them so."""
        stored = conversions.inputs(node)
        if stored is None:
            return False
        given, node.inputs, node.computes = node.inputs, stored, node.input(0).dtype
        key = _pattern_key(node, attrs_key)
        try:
            if key not in self._patterns:
                self._patterns[key] = build(node)
        except MisalignedError:
            node.inputs, node.computes = given, ""
            return False
        self._build(node, build, attrs_key)
        return True

    def _build(self, node: Node, build: Callable[[Node], Pattern], attrs_key: Hashable) -> None:
        """Takes a node that is an op, of a pattern that is built once for all like it."""
        key = _pattern_key(node, attrs_key)
        pattern = self._patterns.get(key)
        before = list(node.inputs)
        if pattern is None:
            pattern = self._aligned(node, build)
            if node.inputs == before[: len(node.inputs)]:  # Slots still mean the same inputs.
                self._patterns[key] = pattern
        self._op(node, pattern)
        made = self.result.values.get(node.outputs[0])
        note = _NOTES.get(node.type)
        if made is not None and note is not None:
            note(node, before, made)

    def make(
        self, maker: Node, kind_name: str, inputs: list[Value | None], attrs: dict[str, Any]
    ) -> list[Value]:
        """The results of one of the nodes that `maker` stands for."""
        if kind_name != written.MASK:
            return self._new(maker, kind_name, inputs, attrs)
        places = [(v.key, tuple([id(p.tensor) for p in v.pieces])) for v in inputs if v]
        key = (content(attrs), tuple(places))
        if key not in self._masks:  # Keys, values and layers are written at the same positions.
            self._masks[key] = self._new(maker, kind_name, inputs, attrs)
        return self._masks[key]

    def _new(
        self, maker: Node, kind_name: str, inputs: list[Value | None], attrs: dict[str, Any]
    ) -> list[Value]:
        self._made += 1
        count = attrs.pop("outputs", 1)
        name = f"{maker.name}/{kind_name}_{self._made}"
        place = f"node '{maker.name}'"
        self._budget.take_node(place)
        self._budget.take_inputs(inputs, place)
        outputs = [f"{name}.{i}" if count > 1 else name for i in range(count)]
        most = self._budget.limits.folded_elements
        node = Node(name, kind_name, attrs, list(inputs), outputs, NEWEST, folded_elements=most)
        self._take(node, kinds.KINDS[kind_name], content(attrs))
        made = [self.result.values.pop(x) for x in outputs]
        self._budget.take_results(made, place)
        return made

    def _composed(self, node: Node, made: list[Value]) -> None:
        """Gives the outputs of `node` the values that its parts made, and their tensors its name.

        The name of a tensor that is a value of the model already stays.
        """
        for name, value in zip(node.outputs, made, strict=False):
            if not name:
                continue
            piece = value.pieces[0] if len(value.pieces) == 1 else None
            fresh = piece is not None and piece.tensor.name.startswith(f"{node.name}/")
            if piece is not None and fresh and is_whole(piece.view, piece.tensor.shape):
                piece.tensor.name = name
            self.result.values[name] = value.renamed(name)

    def _view(self, node: Node, view: Callable[[Node], Any], *, or_copy: bool = False) -> bool:
        """Takes a node whose results are views, if need be of a copy of its input in order."""
        seen = self._aligned(node, view)
        if seen is None and or_copy and node.get(0) is not None and node.input(0).known is None:
            node.inputs[0] = self.copied(node.input(0), flat=True)
            seen = self._aligned(node, view)
        if seen is None:
            return False
        if len(seen) == 1 and node.get(0) is not None:
            seen = [self._adopted(node.input(0), seen[0])]
            factors.passed_on(node, view, seen[0])
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
        self.result.ops[maker] = op._replace(pattern=self._reshaped[key])
        tensor.shape = seen.shape
        whole_value = whole(tensor)
        self.result.values[value.name] = reshaping.in_box(whole_value, value.shape)
        return whole_value.renamed(seen.name)

    def _fold(self, node: Node, fold: Any) -> bool:
        arrays = [None if value is None else value.known for value in node.inputs]
        if any(array is None for array in arrays):
            return False
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
                for slot in error.slots:
                    node.inputs[slot] = self.copied(node.input(slot))
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
        reads = tuple([_tensor_of(node, read) for read in pattern.reads])
        indices = tuple([_index_of(node, read) for read in pattern.reads])
        if id(pattern) not in self._sound:
            if any(0 in tensor.shape for tensor in reads):
                raise UnplannableError("an input has no elements")
            if any(0 in write.shape for write in pattern.writes):
                raise UnplannableError("its result has no elements")
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


def _pattern_key(node: Node, attrs_key: Hashable) -> Hashable:
    """What nodes of one pattern share."""
    inputs = tuple([v.key if v else None for v in node.inputs])
    return (node.type, attrs_key, node.computes, inputs, tuple(map(bool, node.outputs)))


def _tensor_of(node: Node, read: Read) -> Stored:
    """The tensor of one operand of a pattern."""
    piece = node.input(read.slot).pieces[read.piece]
    if not read.is_index:
        return piece.tensor
    if piece.pick is not None:
        return piece.pick.index
    assert piece.mask is not None, "an index stands behind what it picks or masks"
    return piece.mask.tensor


def _index_of(node: Node, read: Read) -> Stored | None:
    """The tensor that picks what an operand reads, if one does."""
    if read.indirect is None:
        return None
    if read.indirect.slot >= 0:
        return node.input(read.indirect.slot).pieces[0].tensor
    pick = node.input(read.slot).pieces[read.piece].pick
    return pick.index if pick else None
