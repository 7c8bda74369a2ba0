"""The whole front end: from a parsed model to the planned graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from onnx import numpy_helper

from elk import _core
from elk.errors import LimitError, ModelFileError, UnsupportedModelError
from elk.frontend.assembly import Assembler
from elk.frontend.core import core_graph
from elk.frontend.ops.assembled import Assembly, Op, Refusal
from elk.frontend.ops.control import readers
from elk.frontend.ops.kinds import DATA_DEPENDENT
from elk.frontend.ordering import alive, inputs_first, is_append, run_bytes
from elk.frontend.read.bind import Symbols, inputs_of_one_element
from elk.frontend.read.census import EXTERNAL
from elk.frontend.read.load import Loaded, check, weightless
from elk.frontend.read.states import States
from elk.frontend.views.bounds import check_shape
from elk.frontend.views.node import OUTSIDE, RUNNING
from elk.frontend.views.values import DTYPES, Stored, Value, constant, type_name, whole
from elk.frontend.views.views import is_whole
from elk.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from elk.frontend.views.values import Array
    from elk.frontend.views.views import Shape

_MOST_BYTES = 1 << 60  # Eight times as many, in bits, still fit 64-bit integers.
_SHOWN = 100  # Refused nodes in a message.
_SHOWN_BINDINGS = 8  # Names in a remedy.


@dataclass(frozen=True, slots=True)
class Built:
    """The planned graph, and what the model looked like on the way to it.

    Attributes:
        graph: The graph.
        bindings: The sizes of the symbolic dimensions.
        assembly: What became of each node.
        ops: The ops of the graph.
        tensors: The tensors of the graph, in its order.
        constants: Known elements of tensors of the graph, and of those that outputs show.
        initializers: All initializers of the file, used or not.
        external: The names of those whose bytes lie outside the file.
        outputs: The graph's outputs as views of tensors, in their order.
        states: Why each input that is state is one.
    """

    graph: _core.Graph
    bindings: dict[str, int]
    assembly: Assembly
    ops: list[Op]
    tensors: list[Stored]
    constants: dict[str, Array]
    initializers: list[Stored]
    external: frozenset[str]
    outputs: list[Value]
    states: dict[str, str]


def build(
    loaded: Loaded,
    bindings: Mapping[str, int] | None,
    weights: Sequence[str] = (),
    state: Sequence[str] = (),
    limits: Limits = DEFAULT,
) -> Built:
    """Turns `loaded` into the planned graph.

    Args:
        loaded: The model.
        bindings: A size for each symbolic dimension, a value for inputs of one element.
        weights: Globs of graph inputs that are weights.
        state: Globs of graph inputs that are state, beside those that are by name or structure,
            and after a `!` of those that are not.
        limits: What the model may have at most.

    Raises:
        LimitError: There is more of something than `limits` allow.
        UnboundSymbolsError: Dimensions without a number.
        UnsupportedModelError: Nodes that cannot be planned, all of them.
        ModelFileError: The model is not valid.
    """
    proto = loaded.proto
    plain = weightless(proto)
    check(plain, loaded.name)
    initializers = [_initializer(x) for x in proto.graph.initializer]
    single = inputs_of_one_element(plain.graph)
    symbols = Symbols(bindings, limits, single)
    states = States(plain.graph, weights, state)
    inputs = _inputs(proto, symbols, {x.name for x in initializers}, states)
    declared = symbols.declared(proto.graph.value_info)
    promised = symbols.known(proto.graph.output)
    bound = symbols.finish()
    for t in inputs:
        check_shape(limits, t.dtype, t.shape, f"input '{t.name}'")
    given = {t.name: whole(t, t.data) for t in (*initializers, *inputs)}
    for name, number in symbols.numbers().items():
        like = single[name]
        given[name] = constant(name, np.full(like.shape, number).astype(like.dtype))
    opsets = {("" if x.domain == "ai.onnx" else x.domain): x.version for x in plain.opset_import}
    assembler = Assembler(given, opsets, readers(plain.graph), limits, declared)
    assembler.promised = promised
    with np.errstate(all="ignore"):  # What folding computes may overflow, as in a run.
        for number, node in enumerate(plain.graph.node):
            assembler.add(node, number)
    if assembler.result.refused:
        unbound = [name for name in single if name not in bound]
        unbound += symbols.unbound(proto.graph.value_info)
        _refuse(assembler.result.refused, unbound)
    free = [t for t in inputs if t.name not in symbols.numbers()]
    outputs, stores = _outputs(proto, assembler, free, states)
    return _finished(loaded, bound, assembler.result, (initializers, outputs, stores), states)


def _finished(
    loaded: Loaded,
    bound: dict[str, int],
    assembly: Assembly,
    parts: tuple[list[Stored], list[Value], list[tuple[Stored, int]]],
    states: States,
) -> Built:
    initializers, outputs, stores = parts
    shown = [t for value in outputs for piece in value.pieces for t in piece.tensors]
    needed = {id(t) for t in shown}
    needed.update(id(tensor) for tensor, _ in stores)
    ops = inputs_first(alive(assembly.ops, needed))
    total = sum(tensor.nbytes for op in ops for tensor in op.writes)
    total += sum(tensor.nbytes for tensor in initializers)
    if total > _MOST_BYTES:
        raise LimitError(
            f"all tensors together must have at most 2^60 bytes, got {total:,}",
            place=loaded.name,
            remedy="bind smaller sizes",
        )
    graph, tensors = core_graph(loaded.name, ops, stores, outputs)
    external = frozenset(
        x.name for x in loaded.proto.graph.initializer if x.data_location == EXTERNAL
    )
    constants = {t.name: t.data for t in (*tensors, *shown) if t.data is not None}
    return Built(
        graph, bound, assembly, ops, tensors, constants, initializers, external, outputs, states.why
    )


def _dtype(number: int, name: str) -> str:
    dtype = DTYPES.get(number)
    if dtype is None:
        raise UnsupportedModelError(
            f"'{name}' must hold numbers of a type that is planned, got {type_name(number)}",
            code="element_type",
            place=f"value '{name}'",
            remedy="cast it to one of " + ", ".join(dict.fromkeys(DTYPES.values())),
        )
    return dtype


def _initializer(proto: onnx.TensorProto) -> Stored:
    dtype = _dtype(proto.data_type, proto.name)
    return Stored(proto.name, dtype, tuple(proto.dims), "weight", _elements(proto))


def _elements(proto: onnx.TensorProto) -> Array | None:
    if proto.data_location == EXTERNAL:
        return None
    try:
        array = numpy_helper.to_array(proto)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        first = str(error).partition("\n")[0]
        raise ModelFileError(
            f"the elements of '{proto.name}' must fill its shape: {first}",
            code="invalid_tensor",
            place=f"initializer '{proto.name}'",
            remedy="export the model again; the file may be damaged",
        ) from None
    return array


def _inputs(
    proto: onnx.ModelProto, symbols: Symbols, initializers: set[str], states: States
) -> list[Stored]:
    out = []
    for value in proto.graph.input:
        if value.name in initializers:
            continue
        if not value.type.HasField("tensor_type"):
            kind = str(value.type.WhichOneof("value")).removesuffix("_type")
            raise UnsupportedModelError(
                f"input '{value.name}' must be a tensor, got one of type {kind}",
                code="element_type",
                place=f"value '{value.name}'",
                remedy="give its tensors as inputs of their own",
            )
        dtype = _dtype(value.type.tensor_type.elem_type, value.name)
        out.append(Stored(value.name, dtype, symbols.shape(value), states.home(value.name)))
    return out


def _refuse(refused: list[Refusal], unbound: list[str]) -> NoReturn:
    lines = [f"  {refusal}" for refusal in refused[:_SHOWN]]
    if len(refused) > _SHOWN:
        lines.append(f"  and {len(refused) - _SHOWN} more")
    raise UnsupportedModelError(
        "\n".join([f"{len(refused)} nodes cannot be planned:", *lines]),
        place=f"node '{refused[0].name}'",
        remedy=_remedy([refusal.reason for refusal in refused], unbound),
    )


def _remedy(reasons: list[str], unbound: list[str]) -> str:
    """What helps against most of the reasons for which nodes are refused."""
    if any(OUTSIDE in reason for reason in reasons):
        return "read what decides shapes, too: elk.load_model(onnx.load(path))"
    if unbound and any(RUNNING in reason or DATA_DEPENDENT in reason for reason in reasons):
        example = ", ".join(f"'{name}': ..." for name in unbound[:_SHOWN_BINDINGS])
        return f"bind what values decide: bindings={{{example}}}"
    return "give what decides shapes as constants, and leave the other nodes to the host"


def _outputs(
    proto: onnx.ModelProto, assembler: Assembler, inputs: list[Stored], states: States
) -> tuple[list[Value], list[tuple[Stored, int]]]:
    """The values that leave the graph, and the tensors written back with their runs of bytes."""
    read = {id(t) for op in assembler.result.ops for t in op.reads}
    inputs_of: dict[tuple[str, Shape], dict[str, Stored]] = {}
    for t in inputs:
        inputs_of.setdefault((t.dtype, t.shape), {})[t.name] = t
    outputs: list[Value] = []
    stores: dict[int, tuple[Stored, int]] = {}  # By id: what several outputs show is stored once.
    for output in proto.graph.output:
        if assembler.is_sequence(output.name):
            raise UnsupportedModelError(
                f"output '{output.name}' must be a tensor, got a sequence of tensors",
                code="element_type",
                place=f"value '{output.name}'",
                remedy="let its tensors be outputs of their own",
            )
        value = assembler.result.values.get(output.name)
        if value is None:
            raise ModelFileError(
                f"output '{output.name}' must be the result of a node",
                code="dangling_name",
                place=f"value '{output.name}'",
                remedy="name one of the results of the graph",
            )
        _check_output(output, value)
        tensors = [p.tensor for p in value.pieces]
        if is_append(value):
            for t in tensors:
                if t.home != "state":
                    stores.setdefault(id(t), (t, run_bytes(value, t)))
        else:
            value = _whole_output(value, assembler, output.name)
            tensor = value.pieces[0].tensor
            alike = inputs_of.get((value.dtype, value.shape), {})
            replaced = states.replaced_by(output.name, alike)
            if replaced is None:
                tensor.home = "output"
            else:
                alike[replaced].home = "state"
                stores.setdefault(id(tensor), (tensor, tensor.nbytes))
                tensor.home = tensor.home if id(tensor) in read else "state"
        outputs.append(value)
    return outputs, list(stores.values())


def _check_output(output: onnx.ValueInfoProto, value: Value) -> None:
    """Refuses an output whose declared shape is not what the nodes give, or that is empty."""
    dims = output.type.tensor_type.shape.dim
    declared = [d.dim_value if d.HasField("dim_value") else -1 for d in dims]
    differs = len(declared) != len(value.shape) or any(
        size not in {-1, found} for size, found in zip(declared, value.shape, strict=True)
    )
    if output.type.tensor_type.HasField("shape") and differs:
        raise ModelFileError(
            f"output '{output.name}' is declared as {declared}, its nodes give {list(value.shape)}",
            code="invalid_shape",
            place=f"value '{output.name}'",
            remedy="leave the shapes of outputs out, or bind other sizes",
        )
    if 0 in value.shape:
        raise UnsupportedModelError(
            f"output '{output.name}' has no elements: {list(value.shape)}",
            place=f"value '{output.name}'",
            remedy="drop the output, or bind other sizes",
        )


def _whole_output(value: Value, assembler: Assembler, name: str) -> Value:
    """An output as one tensor that an op makes: a copy where it is a part or an input."""
    piece = value.pieces[0]
    made = piece.tensor.home in {"activation", "output"} and value.known is None
    if made and len(value.pieces) == 1 and is_whole(piece.view, piece.tensor.shape):
        return value
    return assembler.copied(value, name)
