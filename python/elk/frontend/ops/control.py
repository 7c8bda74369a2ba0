"""Nodes that stand for others: functions of ONNX, branches, and loops of a known length.

A function is taken node by node in a scope of its own, where its formal names stand for the values
of the node that calls it. A branch whose condition is known, and each turn of a loop, are taken in
the scope that they stand in; names that a turn binds again stand for its own values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper

from elk.frontend.ops.taker import Scope, Taker
from elk.frontend.runtime.entry import define
from elk.frontend.runtime.operators import entry_of
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.values import ONNX_TYPES, Value, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from elk.frontend.views.values import Sequence as Tensors

    Found: TypeAlias = Value | Tensors | None

# A loop is unrolled up to this many turns, and up to this many nodes in all of its turns.
MAX_TURNS = 4_096
MAX_UNROLLED = 100_000


def domain_of(proto: onnx.NodeProto) -> str:
    """The domain of a node; empty for ONNX's own."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def type_of(proto: onnx.NodeProto) -> str:
    """The operator type of a node, with the domain in front where that is not ONNX's own."""
    domain = domain_of(proto)
    return f"{domain}.{proto.op_type}" if domain else proto.op_type


def readers(graph: onnx.GraphProto | onnx.FunctionProto) -> dict[str, tuple[str, ...]]:
    """The types of the nodes that read each value; an output of the graph is read by the caller."""
    found: dict[str, list[str]] = {}
    for node in graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node.op_type)
        for branch in (a.g for a in node.attribute if a.HasField("g")):
            for name, types in readers(branch).items():
                found.setdefault(name, []).extend(types)
    for output in graph.output:
        name = output if isinstance(output, str) else output.name
        found.setdefault(name, []).append("output")
    return {name: tuple(types) for name, types in found.items()}


def _schema(proto: onnx.NodeProto, scope: Scope) -> Any:
    """What ONNX says of the type of a node; None where it does not know it."""
    domain = domain_of(proto)
    version = scope.opsets.get(domain, 1)
    try:
        return onnx.defs.get_schema(proto.op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def is_function(proto: onnx.NodeProto, scope: Scope) -> bool:
    """Whether ONNX or ONNX Runtime defines a node by others."""
    schema: Any = _schema(proto, scope)
    if schema is None:
        return entry_of(type_of(proto)) is not None
    return bool(schema.has_function or schema.has_context_dependent_function)


def _defined(
    taker: Taker, proto: onnx.NodeProto, node: Node
) -> tuple[onnx.FunctionProto, Mapping[str, onnx.AttributeProto]]:
    """The function that stands behind a node, and its attributes with their defaults."""
    scope = taker.scope
    schema: Any = _schema(proto, scope)
    entry = entry_of(type_of(proto)) if schema is None else None
    if entry is not None:
        node.promised = tuple(taker.promised.get(name) for name in node.outputs)
        return define(entry, proto, node, scope.attrs)
    given = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.name}
    given.update((a.name, scope.attrs.get(a.ref_attr_name, a)) for a in proto.attribute)
    return _body(schema, proto, node, scope), given


def function(taker: Taker, proto: onnx.NodeProto, node: Node) -> None:
    """Takes the nodes by which ONNX or its runtime defines `proto`, for the types of its inputs."""
    scope = taker.scope
    body, given = _defined(taker, proto, node)
    opsets = {**scope.opsets, **{x.domain: x.version for x in body.opset_import}}
    taker.scope = scope.inside(opsets=opsets, prefix=f"{node.name}/", attrs=given)
    try:
        taker.note_readers(readers(body))
        for formal, value in zip(body.input, node.inputs, strict=False):
            if value is not None:
                taker.result.values[taker.scope.named(formal)] = value
        left_out = set(body.input[len(node.inputs) :])
        left_out.update(x for x, v in zip(body.input, node.inputs, strict=False) if v is None)
        for number, inner in enumerate(body.node):
            taker.add(_without(inner, left_out), number)
        results = [taker.found(x) for x in body.output]
    finally:
        taker.scope = scope
    _give(taker, proto.output, results)


def _without(proto: onnx.NodeProto, left_out: set[str]) -> onnx.NodeProto:
    """`proto` with empty names where it reads inputs of the function that are left out."""
    if not left_out.intersection(proto.input):
        return proto
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    for i, name in enumerate(proto.input):
        if name in left_out:
            copy.input[i] = ""
    return copy


def _body(schema: Any, proto: onnx.NodeProto, node: Node, scope: Scope) -> onnx.FunctionProto:
    """The function that stands behind a node, in the newest version that its operator set has."""
    wanted = scope.opsets.get(domain_of(proto), 1)
    fixed = [v for v in schema.function_opset_versions if v <= wanted]
    body = onnx.FunctionProto()
    if fixed:
        body.ParseFromString(schema.get_function_with_opset_version(max(fixed)))
        return body
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= wanted]
    if not versions:
        raise UnplannableError(f"version {wanted} of its operator set does not define it by others")
    types = [_type(value) for value in node.inputs]
    data = schema.get_context_dependent_function_with_opset_version(
        max(versions), resolved(proto, scope).SerializeToString(), types
    )
    body.ParseFromString(data)
    return body


def resolved(proto: onnx.NodeProto, scope: Scope) -> onnx.NodeProto:
    """`proto` with the attributes that it refers to by name."""
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for a in proto.attribute:
        found = scope.attrs.get(a.ref_attr_name) if a.ref_attr_name else a
        if found is not None:
            attribute = copy.attribute.add()
            attribute.CopyFrom(found)
            attribute.name = a.name
    return copy


def _type(value: Value | None) -> bytes:
    if value is None:
        return b""
    number = ONNX_TYPES[value.dtype]
    return bytes(onnx.helper.make_tensor_type_proto(number, value.shape).SerializeToString())


def _give(taker: Taker, names: Sequence[str], results: Sequence[Found]) -> None:
    """Binds the outputs of a node to what its parts made."""
    for name, value in zip(names, results, strict=False):
        if value is not None and name:
            taker.bind(name, value)
        elif name:
            taker.lose(name)


def _graph(proto: onnx.NodeProto, name: str) -> onnx.GraphProto:
    graph: onnx.GraphProto = next(a.g for a in proto.attribute if a.name == name)
    return graph


def _taken(taker: Taker, graph: onnx.GraphProto) -> list[Found]:
    """The outputs of a graph that stands in the current scope."""
    for x in graph.initializer:
        taker.bind(x.name, constant(x.name, numpy_helper.to_array(x)))
    for number, node in enumerate(graph.node):
        taker.add(node, number)
    return [taker.found(x.name) for x in graph.output]


def known_number(value: Found, what: str) -> Any:
    """The one number that `value` holds, which has to be known."""
    if not isinstance(value, Value) or value.known is None or value.size != 1:
        raise UnplannableError(f"{what} is computed while the model runs")
    return value.known.item()


def _branch(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    """An If whose condition is known: its branch."""
    condition = known_number(taker.found(proto.input[0]), "its condition")
    graph = _graph(proto, "then_branch" if condition else "else_branch")
    outer = taker.scope
    taker.scope = outer.inside()
    try:
        results = _taken(taker, graph)
    finally:
        taker.scope = outer
    _give(taker, proto.output, results)
    taker.result.folded.append((name, "If"))


def _unrolled(proto: onnx.NodeProto, body: onnx.GraphProto, turns: int) -> None:
    """Refuses what would become too many nodes."""
    if turns > MAX_TURNS:
        raise UnplannableError(f"it has {turns} turns, more than {MAX_TURNS} are not unrolled")
    nodes = turns * len(body.node)
    if nodes > MAX_UNROLLED:
        raise UnplannableError(
            f"its turns have {nodes} nodes, more than {MAX_UNROLLED} are not unrolled"
        )
    if len(proto.output) > len(body.output):
        raise UnplannableError("it has more outputs than its body")


def _loop(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    """A Loop whose number of turns follows from what is known."""
    inputs = [taker.found(x) if x else None for x in proto.input]
    body = _graph(proto, "body")
    turns = None if inputs[0] is None else int(known_number(inputs[0], "its number of turns"))
    goes_on = len(inputs) < 2 or inputs[1] is None or bool(known_number(inputs[1], "its condition"))  # noqa: PLR2004 the second input
    carried: list[Found] = list(inputs[2:])
    if turns is not None and goes_on:
        _unrolled(proto, body, turns if _goes_on_by_itself(body) else 0)
    rows: list[list[Found]] = [[] for _ in body.output[1 + len(carried) :]]
    outer = taker.scope
    taker.scope = outer.inside()
    done = 0
    try:
        while goes_on and (turns is None or done < turns):
            _unrolled(proto, body, done + 1)
            taker.count_turn(name)
            found = _turn(taker, body, [_number(done), _truth(goes_on), *carried])
            if any(value is None for value in found):
                _give(taker, proto.output, [None] * len(proto.output))
                return
            goes_on = bool(known_number(found[0], "the condition of its turns"))
            carried = found[1 : 1 + len(carried)]
            for row, value in zip(rows, found[1 + len(carried) :], strict=True):
                row.append(value)
            done += 1
    finally:
        taker.scope = outer
    stacked = [_stacked(taker, name, row, 0) for row in rows]
    _give(taker, proto.output, [*carried, *stacked])
    taker.result.folded.append((name, "Loop"))


def _goes_on_by_itself(body: onnx.GraphProto) -> bool:
    """Whether the condition that a turn leaves is the one that it was given."""
    given, left = body.input[1].name, body.output[0].name
    return given == left or any(
        node.op_type == "Identity" and node.input[0] == given and node.output[0] == left
        for node in body.node
    )


def _number(value: int) -> Value:
    return constant("turn", np.asarray(value, dtype=np.int64))


def _truth(value: bool) -> Value:
    return constant("condition", np.asarray(value))


def _turn(taker: Taker, body: onnx.GraphProto, inputs: Sequence[Found]) -> list[Found]:
    """The outputs of one turn of a loop."""
    for formal, value in zip(body.input, inputs, strict=True):
        if value is not None:
            taker.bind(formal.name, value)
    return _taken(taker, body)


def _stacked(taker: Taker, name: str, row: Sequence[Found], axis: int, back: bool = False) -> Value:
    """What each turn gave, one after another along a new axis."""
    if not row:
        raise UnplannableError("it gathers the results of no turn")
    make = taker.maker(name, "Loop")
    values = [value for value in row if isinstance(value, Value)]
    if len(values) != len(row):
        raise UnplannableError("it gathers sequences of tensors")
    apart = [make("Unsqueeze", value, np.asarray([axis])) for value in values]
    return make("Concat", *(apart[::-1] if back else apart), axis=axis)


def _scan(taker: Taker, proto: onnx.NodeProto, name: str) -> None:
    """A Scan: its turns are the positions of its inputs."""
    if taker.scope.opsets.get("", 1) < 9:  # noqa: PLR2004 the version that dropped the batch
        raise UnplannableError("version 8 of Scan, which runs over a batch")
    plain: dict[str, Any] = {a.name: a for a in proto.attribute}
    inputs = [taker.result.values[taker.scope.named(x)] for x in proto.input]
    body, count = plain["body"].g, int(plain["num_scan_inputs"].i)
    if not 1 <= count <= len(inputs):
        raise UnplannableError(f"it scans {count} of {len(inputs)} inputs")
    carried: list[Found] = list(inputs[: len(inputs) - count])
    scanned = inputs[len(inputs) - count :]
    axes = _listed(plain, "scan_input_axes", count)
    backs = _listed(plain, "scan_input_directions", count)
    outs = max(len(body.output) - len(carried), 0)
    turns = scanned[0].shape[axes[0]]
    _unrolled(proto, body, turns)
    make = taker.maker(name, "Scan")
    rows: list[list[Found]] = [[] for _ in range(outs)]
    outer = taker.scope
    taker.scope = outer.inside()
    try:
        for turn in range(turns):
            taker.count_turn(name)
            parts = [
                make("Gather", x, np.asarray(turns - 1 - turn if back else turn), axis=axis)
                for x, axis, back in zip(scanned, axes, backs, strict=True)
            ]
            found = _turn(taker, body, [*carried, *parts])
            if any(value is None for value in found):
                _give(taker, proto.output, [None] * len(proto.output))
                return
            carried = found[: len(carried)]
            for row, value in zip(rows, found[len(carried) :], strict=True):
                row.append(value)
    finally:
        taker.scope = outer
    out_axes = _listed(plain, "scan_output_axes", outs)
    out_backs = _listed(plain, "scan_output_directions", outs)
    stacked = [
        _stacked(taker, name, row, axis, bool(back))
        for row, axis, back in zip(rows, out_axes, out_backs, strict=True)
    ]
    _give(taker, proto.output, [*carried, *stacked])
    taker.result.folded.append((name, "Scan"))


def _listed(attrs: Mapping[str, Any], name: str, count: int) -> list[int]:
    return list(attrs[name].ints) if name in attrs else [0] * count


# What happens to nodes that hold graphs.
FLOW: dict[str, Callable[[Taker, onnx.NodeProto, str], None]] = {
    "If": _branch,
    "Loop": _loop,
    "Scan": _scan,
}
