"""Which inputs of a graph are state: what one run leaves in them, the next one reads.

An input is state if its name says so, or if an output continues it: with rows appended, with rows
written in place, or as a whole under a like name.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

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
_MOST_PARTS: Final = 8  # of a Concat that appends to a state
# Of a node that keeps a cache: which of its outputs continues which of its inputs.
_CACHES: Final = {
    "Attention": {1: 4, 2: 5},
    "GroupQueryAttention": {1: 3, 2: 4},
    "MultiHeadAttention": {1: 6, 2: 7},
    "QAttention": {1: 8},
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
        self._continues = {output: name for name, (output, _) in self._continued.items()}
        self._called: dict[tuple[str, ...], list[str]] = {}
        for x in graph.input:
            self._called.setdefault(_words(x.name), []).append(x.name)
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

    def replaced_by(self, output: str, alike: Collection[str]) -> str | None:
        """The input that `output` continues, of those that are `alike` in type and shape."""
        continued = self._continues.get(output)
        if continued in self.why and continued in alike:
            return continued
        words = _words(output)
        for name in self._called.get(words, ()) if words else ():
            if name in alike and not _matches(name, (*self._weights, *self._barred)):
                self.why.setdefault(name, REPLACED)
                return name
        if _REPLACED.match(output):
            return next((name for name in self.why if name in alike), None)
        return None


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _words(name: str) -> tuple[str, ...]:
    """What two names of one value have in common; empty where that is no word."""
    words = tuple(x for x in re.split(r"[^a-z0-9]+", name.lower()) if x and x not in _TIMES)
    return words if any(x[0].isalpha() for x in words) else ()


class _Flow:
    """Where the values of a graph come from and where they go."""

    def __init__(self, graph: onnx.GraphProto, inputs: set[str]) -> None:
        self.makers: dict[str, onnx.NodeProto] = {}
        self._made_at: dict[str, int] = {}
        self._read_at: dict[str, int] = {}  # By the first node.
        self._fed = set(inputs)  # What depends on inputs.
        for at, node in enumerate(graph.node):
            for name in node.input:
                self._read_at.setdefault(name, at)
            fed = not self._fed.isdisjoint(node.input)
            for name in node.output:
                self.makers[name], self._made_at[name] = node, at
                if fed:
                    self._fed.add(name)

    def origin(self, name: str) -> str:
        """The value that `name` has in other dimensions."""
        while (node := self.makers.get(name)) is not None and node.op_type in _MOVES:
            name = node.input[0]
        return name

    def is_news(self, names: Sequence[str], start: str) -> bool:
        """Whether the values come from inputs, but not from `start`; of no values it is true."""
        given = [name for name in names if name]
        if given and self._fed.isdisjoint(given):
            return False
        first = self._read_at.get(start, 0)
        if all(self._made_at.get(name, -1) < first and name != start for name in given):
            return True  # Nodes stand behind those whose results they read.
        waiting, seen = list(given), set(given)
        while waiting:
            node = self.makers.get(waiting.pop())
            for read in node.input if node is not None else ():
                if read not in seen:
                    seen.add(read)
                    waiting.append(read)
        return start not in seen


def _continued(graph: onnx.GraphProto, inputs: set[str]) -> dict[str, tuple[str, str]]:
    """Inputs that an output appends to or writes into: that output, and which of both it does."""
    flow = _Flow(graph, inputs)
    found: dict[str, tuple[str, str]] = {}
    for output in graph.output:
        made = flow.origin(output.name)
        node = flow.makers.get(made)
        for name, others, why in _candidates(node, made) if node is not None else ():
            start = flow.origin(name)
            if start in inputs and flow.is_news(others, start):
                found.setdefault(start, (output.name, why))
                break
    return found


def _candidates(node: onnx.NodeProto, made: str) -> Iterator[tuple[str, list[str], str]]:
    """Which inputs of a node its result `made` may continue, what it adds to each, and how."""
    names = list(node.input)
    if node.op_type == "Concat" and len(names) <= _MOST_PARTS:
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
