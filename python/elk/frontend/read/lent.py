"""Operators of ONNX Runtime that exporters put into ONNX's own domain, whose checker objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import onnx

from elk.frontend.runtime.operators import is_borrowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DOMAIN: Final = "elk.lent"  # The checker asks nothing of nodes of domains that it does not know.
_ONNX: Final = ("", "ai.onnx")


def lent(proto: onnx.ModelProto) -> onnx.ModelProto:
    """`proto`, or a copy in which nodes that only ONNX Runtime knows are in another domain."""
    if not any(True for _ in _found(proto)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for node in _found(copy):
        node.domain = _DOMAIN
    for owner in (copy, *copy.functions):
        entry = owner.opset_import.add()
        entry.domain, entry.version = _DOMAIN, 1
    return copy


def _found(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """The nodes of ONNX's domain whose types are those of ONNX Runtime."""
    for owner, nodes in ((proto, proto.graph.node), *((f, f.node) for f in proto.functions)):
        versions = [x.version for x in owner.opset_import if x.domain in _ONNX]
        if versions:
            found = [x for x in _nodes(nodes) if is_borrowed(x, max(versions))]
            yield from found


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, and those of the graphs in them."""
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            yield node
            for attribute in node.attribute:
                waiting.extend(g.node for g in (attribute.g, *attribute.graphs) if g.node)
