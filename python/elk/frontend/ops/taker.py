"""Who takes nodes one after another: what names stand for meanwhile, in one scope or another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from elk.frontend.ops.assembled import Assembly
from elk.frontend.ops.maker import NEWEST, Maker
from elk.frontend.views.bounds import Budget
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.values import Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

    from elk.frontend.views.views import Shape
    from elk.limits import Limits

# Functions, branches and loops stand in one another at most this deep.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """How nodes are read.

    Attributes:
        opsets: Versions of the operator sets by domain.
        prefix: What stands in front of all names.
        attrs: The attributes that nodes refer to by name.
        depth: How many functions, branches and loops stand around them.
    """

    opsets: dict[str, int]
    prefix: str = ""
    attrs: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)
    depth: int = 0

    def named(self, name: str) -> str:
        """The full name of a value; a name left out stays empty."""
        return self.prefix + name if name else name

    def inside(self, **changes: Any) -> Scope:
        """The scope of what stands in a node of this one."""
        if self.depth >= MAX_DEPTH:
            raise UnplannableError(f"it stands more than {MAX_DEPTH} functions or branches deep")
        kept = {"opsets": self.opsets, "prefix": self.prefix, "attrs": self.attrs}
        return Scope(**{**kept, **changes}, depth=self.depth + 1)


class Taker(ABC):
    """Takes nodes in order; `result` is what came of them.

    `scope` says how the nodes that are taken next are to be read: those of the model itself, or
    those of a function that one of them stands for. `promised` has the shapes that the file gives
    the outputs of the model.
    """

    def __init__(
        self,
        given: dict[str, Value],
        opsets: dict[str, int],
        readers: dict[str, tuple[str, ...]],
        limits: Limits,
    ) -> None:
        self._readers = readers
        self._budget = Budget(limits)
        self.result = Assembly(values=dict(given))
        self.scope = Scope(opsets=opsets)
        self.promised: Mapping[str, Shape] = {}
        self._lost: set[str] = set()  # Results of refused nodes, and of what reads them.
        self._sequences: dict[str, Sequence] = {}

    @abstractmethod
    def add(self, proto: onnx.NodeProto, number: int) -> None:
        """Takes the next node."""

    @abstractmethod
    def make(
        self, maker: Node, kind_name: str, inputs: list[Value | None], attrs: dict[str, Any]
    ) -> list[Value]:
        """The results of one of the nodes that `maker` stands for."""

    def count_turn(self, name: str) -> None:
        """Counts a turn of a loop, even one without nodes, as a node."""
        self._budget.take_node(f"node '{name}'")

    def bind(self, name: str, value: Value | Sequence) -> None:
        """Lets `name`, of the current scope, stand for `value`."""
        name = self.scope.named(name)
        if isinstance(value, Sequence):
            self._sequences[name] = value
        else:
            self.result.values[name] = value.renamed(name)

    def found(self, name: str) -> Value | Sequence | None:
        """What `name` stands for in the current scope; None where what makes it was refused."""
        name = self.scope.named(name)
        return self._sequences.get(name) or self.result.values.get(name)

    def is_sequence(self, name: str) -> bool:
        """Whether `name`, of the model, stands for a sequence of tensors."""
        return name in self._sequences

    def lose(self, name: str) -> None:
        """Notes that `name`, of the current scope, has no value because a node was refused."""
        self._lost.add(self.scope.named(name))

    def maker(self, name: str, kind: str) -> Maker:
        """Makes nodes for the node called `name` of type `kind`, which is none of the table."""
        most = self._budget.limits.folded_elements
        return Maker(self.make, Node(name, kind, {}, [], [], NEWEST, folded_elements=most))

    def note_readers(self, readers: dict[str, tuple[str, ...]]) -> None:
        """Notes who reads the values of the current scope."""
        self._readers.update((self.scope.named(name), types) for name, types in readers.items())
