"""One operator of ONNX Runtime: its signature, and the function that stands for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import onnx
from onnx import AttributeProto, parser

from elk.errors import InternalError
from elk.frontend.views.node import Node, UnplannableError, attributes, require

if TYPE_CHECKING:
    from collections.abc import Mapping

DOMAIN: Final = "com.microsoft"
# Operator sets in which the functions are written.
_SETS: Final = f'<domain: "{DOMAIN}", opset_import: ["" : %d, "{DOMAIN}" : 1]>'
# Variables for element types: inputs with the same one are alike.
_FLOATS: Final = frozenset(("f32", "f16", "bf16", "f64"))
_BYTES: Final = frozenset(("u8", "i8"))
_VARIABLES: Final = {"T": _FLOATS, "V": _FLOATS, "Q": _BYTES, "R": _BYTES}
_WORDS: Final = {
    AttributeProto.FLOAT: "a number",
    AttributeProto.INT: "a whole number",
    AttributeProto.STRING: "a text",
    AttributeProto.FLOATS: "numbers",
    AttributeProto.INTS: "whole numbers",
}

# The nodes of a function in ONNX's text form, or what writes them for a node at hand.
Body: TypeAlias = str | Callable[[Node], str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One operator.

    Attributes:
        head: Its signature in ONNX's text form; an attribute without a default is a whole number
            that has to be there.
        takes: The element types of its inputs in order, with blanks between them: `T` and `V` are
            floats, `Q` and `R` bytes, and alike where the letter is; `|` stands between choices,
            `?` behind an input that may be left out, `*` behind the last three if they repeat.
        says: What it becomes, in words.
        body: The nodes that define it.
        domains: The domains that it is found in.
        opset: The version of ONNX's operator set that the nodes are of.
    """

    head: str
    takes: str
    says: str
    body: Body
    domains: tuple[str, ...] = (DOMAIN,)
    opset: int = 24

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.head.split()[0]


class Defined(NamedTuple):
    """The function that stands for a node, and the values of its attributes."""

    body: onnx.FunctionProto
    attrs: dict[str, onnx.AttributeProto]


def define(
    entry: Entry, proto: onnx.NodeProto, node: Node, given: Mapping[str, AttributeProto]
) -> Defined:
    """The function that stands for a node.

    Args:
        entry: Its operator.
        proto: The node.
        node: The node with its inputs; its attributes become complete.
        given: Inside of a function, the attributes of the node that stands for it.

    Raises:
        UnplannableError: The node does not fit its signature, or is of a form that is not planned.
    """
    head = parsed(entry.head + " {}")
    attrs = _attributes(head, proto, given)
    node.attrs = _plain(attrs)
    _check_inputs(head, entry.takes, node)
    require(len(node.outputs) <= len(head.output), f"it has {len(node.outputs)} outputs, "
            f"of which there are {len(head.output)}")  # fmt: skip
    written = entry.body if isinstance(entry.body, str) else entry.body(node)
    signature = _repeated(entry, head, len(node.inputs))
    return Defined(parsed(f"{signature} {{\n{written}\n}}", entry.opset), attrs)


@lru_cache(maxsize=4096)
def parsed(text: str, opset: int = 24) -> onnx.FunctionProto:
    """A function in ONNX's text form, without its operator sets."""
    try:
        return parser.parse_function(f"{_SETS % opset} {text}")
    except parser.ParseError as error:
        raise InternalError(
            f"a function of ONNX Runtime cannot be read: {error}",
            place=text.split(maxsplit=1)[0],
            remedy="report the model; this is an error of ELK, not of the model",
        ) from None


def _repeated(entry: Entry, head: onnx.FunctionProto, count: int) -> str:
    """The signature for a node with `count` inputs."""
    names = list(head.input)
    if entry.takes.endswith("*"):
        names += [f"more_{i}" for i in range(len(names), count)]
    return f"{entry.name} ({', '.join(names)}) => ({', '.join(head.output)})"


def _attributes(
    head: onnx.FunctionProto, proto: onnx.NodeProto, given: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """The attributes of a node with their defaults."""
    found = {a.name: a for a in head.attribute_proto}
    types = {a.name: a.type for a in head.attribute_proto}
    types.update(dict.fromkeys(head.attribute, AttributeProto.INT))
    for a in proto.attribute:
        value = given.get(a.ref_attr_name) if a.ref_attr_name else a
        if value is None:
            continue
        require(a.name in types, f"attribute '{a.name}' is none that its type has")
        require(
            value.type == types[a.name],
            f"attribute '{a.name}' must be {_WORDS[types[a.name]]}",
        )
        found[a.name] = value
    for name in head.attribute:
        require(name in found, f"attribute '{name}' is missing")
    return found


def _plain(attrs: Mapping[str, AttributeProto]) -> dict[str, object]:
    """The values of attributes by name."""
    holder = onnx.NodeProto()
    for name, value in attrs.items():
        attribute = holder.attribute.add()
        attribute.CopyFrom(value)
        attribute.name = name
    return attributes(holder, {})[0]


def _check_inputs(head: onnx.FunctionProto, takes: str, node: Node) -> None:
    """Refuses inputs that are missing, too many, or of types that the operator does not take."""
    formals = takes.removesuffix("*").split()
    repeats = takes.endswith("*")
    count = len(node.inputs)
    if repeats:
        formals += [formals[-3 + i % 3] for i in range(max(count - len(formals), 0))]
    require(count <= len(formals), f"it has {count} inputs, of which there are {len(formals)}")
    bound: dict[str, tuple[int, str]] = {}
    for slot, formal in enumerate(formals):
        value = node.get(slot)
        if value is None:
            called = f", its {head.input[slot]}," if slot < len(head.input) else ""
            require(formal.endswith("?"), f"input {slot}{called} is missing")
            continue
        _check_type(slot, value.dtype, formal.removesuffix("?").split("|"), bound)


def _check_type(
    slot: int, dtype: str, choices: list[str], bound: dict[str, tuple[int, str]]
) -> None:
    if dtype in choices:
        return
    names = [name for name in choices if dtype in _VARIABLES.get(name, ())]
    if not names:
        raise UnplannableError(f"input {slot} is {dtype}, which it does not take")
    first, other = bound.setdefault(names[0], (slot, dtype))
    require(
        other == dtype, f"input {slot} is {dtype}, input {first} is {other}: they must be alike"
    )
