"""Tensors of subgraphs, and constants outside the file, as initializers of the model's graph.

A weight of a branch or of the body of a loop is then like any other: its elements may lie outside
the file, and all turns read the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from elk.frontend.read.census import EXTERNAL, FLOWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def hoisted(proto: onnx.ModelProto) -> onnx.ModelProto:
    """`proto` whose subgraphs have no initializers, and whose constants lie inside the file.

    Such tensors are initializers of its graph, under names of their own. What the functions of the
    model hold stays where it is.
    """
    if not any(_moves(proto.graph, top=True)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    _Hoist(copy.graph).run()
    return copy


def _moves(graph: onnx.GraphProto, *, top: bool) -> Iterator[bool]:
    """Whether there is anything to be moved, part by part."""
    yield not top and bool(graph.initializer)
    for node in graph.node:
        if _lies_outside(node):
            yield True
        for inner in _subgraphs(node):
            yield from _moves(inner, top=False)


def _lies_outside(node: onnx.NodeProto) -> bool:
    """Whether a node is a constant whose elements are not in the file."""
    return (
        node.op_type == "Constant"
        and bool(node.output)
        and any(a.t.data_location == EXTERNAL for a in node.attribute)
    )


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs of a branch, a loop or a scan."""
    graphs: list[onnx.GraphProto] = []
    for a in node.attribute if node.op_type in FLOWS else ():
        if a.HasField("g"):
            graphs.append(a.g)
        graphs.extend(a.graphs)
    return graphs


class _Hoist:
    """Moves the tensors of one model."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._taken = set(_names(graph))

    def run(self) -> None:
        self._take_constants(self._graph)
        for node in self._graph.node:
            for inner in _subgraphs(node):
                self._take(inner, {})

    def _take(self, graph: onnx.GraphProto, outer: Mapping[str, str]) -> None:
        """Moves the tensors of a subgraph in which `outer` names have become others."""
        made = {x.name for x in graph.input} | {name for n in graph.node for name in n.output}
        names = {old: new for old, new in outer.items() if old not in made}
        given = {x.name for x in graph.input}
        for tensor in graph.initializer:
            if tensor.name not in given:
                names[tensor.name] = self._move(tensor, tensor.name)
        del graph.initializer[:]
        names.update(self._take_constants(graph))
        for node in graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = names.get(name, name)
            for inner in _subgraphs(node):
                self._take(inner, names)
        for output in graph.output:  # A graph makes its own outputs.
            if output.name in names:
                graph.node.add(op_type="Identity", input=[names[output.name]], output=[output.name])

    def _take_constants(self, graph: onnx.GraphProto) -> dict[str, str]:
        """Moves the constants outside the file; gives their names before and after."""
        names = {}
        kept = []
        for node in graph.node:
            if not _lies_outside(node):
                kept.append(node)
                continue
            tensor = next(a.t for a in node.attribute if a.t.data_location == EXTERNAL)
            names[node.output[0]] = self._move(tensor, node.output[0], top=graph is self._graph)
        if names:
            nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
            del graph.node[:]
            graph.node.extend(nodes)
        return names

    def _move(self, tensor: onnx.TensorProto, name: str, *, top: bool = False) -> str:
        """Adds a tensor to the graph; the name that it has there."""
        unique, again = name, 1
        while not top and unique in self._taken:
            again += 1
            unique = f"{name}#{again}"
        self._taken.add(unique)
        moved = self._graph.initializer.add()
        moved.CopyFrom(tensor)
        moved.name = unique
        return unique


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of all values but the tensors of subgraphs, which are moved."""
    yield from (x.name for x in (*graph.input, *graph.initializer))
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            if not _lies_outside(node):
                yield from node.output
            for inner in _subgraphs(node):
                yield from (x.name for x in (*inner.input, *inner.output))
                waiting.append(inner)
