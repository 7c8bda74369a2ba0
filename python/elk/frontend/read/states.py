"""Which inputs of a graph are state: what one run leaves in them, the next one reads.

An input is state if its name says so, or if an output continues it: with rows appended, with rows
written in place, or as a whole under a like name.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import onnx

_NAMES: Final = re.compile(r"^(past_key_values|past|cache|state)([._].*)?$")
_REPLACED: Final = re.compile(r"^(present|new|next|updated|present_key_values)([._].*)?$")
# Words of a name that tell a value before a run from the same one after it.
_TIMES: Final = frozenset((
    "cur", "curr", "current", "in", "inp", "input", "last", "new", "next", "old", "out", "output",
    "past", "present", "prev", "previous", "updated",
))  # fmt: skip
_MOVES: Final = frozenset(("Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
_WRITES: Final = frozenset(("Scatter", "ScatterElements", "ScatterND", "TensorScatter"))
# Of a node that keeps a cache: which of its outputs continues which of its inputs.
_CACHES: Final = {
    "Attention": {1: 4, 2: 5},
    "GroupQueryAttention": {1: 3, 2: 4},
    "MultiHeadAttention": {1: 6, 2: 7},
}

NAMED, TOLD = "so called", "state="
APPENDED, WRITTEN = "an output appends to it", "an output writes into it"
REPLACED = "an output has its shape and a like name"


class States:
    """Where the inputs of a graph live.

    Attributes:
        why: For each input that is state, why it is.
    """

    def __init__(
        self, graph: onnx.GraphProto, weights: Sequence[str], state: Sequence[str]
    ) -> None:
        self._weights = weights
        self._told = [glob for glob in state if not glob.startswith("!")]
        self._barred = [glob[1:] for glob in state if glob.startswith("!")]
        held = {x.name for x in graph.initializer}
        self._continued = _continued(graph, {x.name for x in graph.input} - held)
        self._successors = {name: output for name, (output, _) in self._continued.items()}
        self.why: dict[str, str] = {}

    def home(self, name: str) -> str:
        """Where the input of this name lives."""
        if _matches(name, self._weights):
            return "weight"
        if _matches(name, self._told):
            self.why[name] = TOLD
        elif _matches(name, self._barred):
            return "input"
        elif _NAMES.match(name):
            self.why[name] = NAMED
        elif name in self._continued:
            self.why[name] = self._continued[name][1]
        return "state" if name in self.why else "input"

    def replaced_by(self, output: str, alike: Iterable[str]) -> str | None:
        """The input that `output` continues, of those that are `alike` in type and shape."""
        names = list(alike)
        for name in names:
            if name in self.why and self._successors.get(name) == output:
                return name
        if _REPLACED.match(output):
            known = next((name for name in names if name in self.why), None)
            if known is not None:
                return known
        words = _words(output)
        for name in names:
            if words and _words(name) == words and self._free(name):
                self.why.setdefault(name, REPLACED)
                return name
        return None

    def _free(self, name: str) -> bool:
        return not (_matches(name, self._weights) or _matches(name, self._barred))


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _words(name: str) -> tuple[str, ...]:
    """What two names of one value have in common; empty where that is no word."""
    words = tuple(x for x in re.split(r"[^a-z0-9]+", name.lower()) if x and x not in _TIMES)
    return words if any(x[0].isalpha() for x in words) else ()


def _continued(graph: onnx.GraphProto, inputs: set[str]) -> dict[str, tuple[str, str]]:
    """Inputs that an output appends to or writes into: that output, and which of both it does."""
    makers = {name: node for node in graph.node for name in node.output if name}
    found: dict[str, tuple[str, str]] = {}
    for output in graph.output:
        made = _origin(output.name, makers)
        node = makers.get(made)
        for name, others, why in _candidates(node, made) if node is not None else ():
            start = _origin(name, makers)
            if start in inputs and _is_news(others, start, inputs, makers):
                found.setdefault(start, (output.name, why))
                break
    return found


def _candidates(node: onnx.NodeProto, made: str) -> Iterator[tuple[str, list[str], str]]:
    """Which inputs of a node its result `made` may continue, what it adds to each, and how."""
    names = list(node.input)
    if node.op_type == "Concat":
        for i, name in enumerate(names):
            yield name, names[:i] + names[i + 1 :], APPENDED
    elif node.op_type in _WRITES:
        yield names[0], names[1:], WRITTEN
    elif node.op_type == "Where":
        yield names[2], names[:2], WRITTEN
        yield names[1], [names[0], names[2]], WRITTEN
    slot = _CACHES.get(node.op_type, {}).get(list(node.output).index(made), len(names))
    if slot < len(names) and names[slot]:
        yield names[slot], [], APPENDED


def _origin(name: str, makers: Mapping[str, onnx.NodeProto]) -> str:
    """The value that `name` has in other dimensions."""
    while (node := makers.get(name)) is not None and node.op_type in _MOVES:
        name = node.input[0]
    return name


def _is_news(
    names: Sequence[str], start: str, inputs: set[str], makers: Mapping[str, onnx.NodeProto]
) -> bool:
    """Whether the values come from inputs of the graph, `start` not among them; so do no values."""
    waiting = [x for x in names if x]
    seen = set(waiting)
    while waiting:
        node = makers.get(waiting.pop())
        for read in node.input if node is not None else ():
            if read and read not in seen:
                seen.add(read)
                waiting.append(read)
    return start not in seen and (not seen or not seen.isdisjoint(inputs))
