"""Local functions: what inlining them would make, found out before it is done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import onnx
from onnx import inliner

from elk.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from elk.limits import Limits

    Key: TypeAlias = tuple[str, str, str]


def check_functions(proto: onnx.ModelProto, limits: Limits, place: str) -> None:
    """Refuses local functions that inlining could not end with, before anything follows them.

    Raises:
        ModelFileError: A function calls itself.
        LimitError: The model would have more nodes, or functions would be deeper in one another,
            than `limits` allow.
    """
    bodies = {(f.domain, f.name, f.overload): Counter(_calls(f.node)) for f in proto.functions}
    sizes = _expanded(bodies, limits, place)
    main = Counter(_calls(proto.graph.node))
    total = sum(count * sizes.get(key, 1) for key, count in main.items())
    limits.check("nodes", total, "the nodes of a model with its functions inlined", place)


def inlined(proto: onnx.ModelProto, place: str) -> onnx.ModelProto:
    """`proto` with its local functions in the place of the nodes that call them.

    Raises:
        ModelFileError: A function cannot be inlined.
    """
    try:
        return inliner.inline_local_functions(proto)
    except (RuntimeError, ValueError, TypeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelFileError(
            f"the local functions cannot be inlined: {first}",
            code="invalid_function",
            place=place,
            remedy="export the model without local functions",
        ) from None


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterator[Key]:
    """The operators of `nodes` and of the graphs in them, functions or not."""
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            yield (node.domain, node.op_type, node.overload)
            for attribute in node.attribute:
                waiting.extend(g.node for g in (attribute.g, *attribute.graphs) if g.node)


def _expanded(bodies: dict[Key, Counter[Key]], limits: Limits, place: str) -> dict[Key, int]:
    """How many nodes each function becomes. Follows calls without recursion."""
    sizes: dict[Key, int] = {}
    for first in bodies:
        path = [first] if first not in sizes else []
        while path:
            limits.check("subgraph_depth", len(path), "functions that call functions", place)
            key = path[-1]
            missing = [k for k in bodies[key] if k in bodies and k not in sizes]
            if not missing:
                sizes[key] = sum(n * sizes.get(k, 1) for k, n in bodies[key].items())
                path.pop()
                continue
            if missing[0] in path:
                name = "::".join(part for part in missing[0] if part)
                raise ModelFileError(
                    f"function '{name}' calls itself",
                    code="recursive_function",
                    place=place,
                    remedy="unroll the recursion before the model is exported",
                )
            path.append(missing[0])
    return sizes
