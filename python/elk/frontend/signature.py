"""Whether the element types of a node's inputs are those that its operator takes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx

from elk.frontend.views.node import UnplannableError
from elk.frontend.views.values import DTYPES, Value

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Formal(NamedTuple):
    """One formal input: its type or the variable that stands for it, and what that may be."""

    variable: str
    dtypes: frozenset[str]
    repeats: bool
    alike: bool


def check_types(kind: str, opset: int, domain: str, inputs: Sequence[Value | None]) -> None:
    """Refuses inputs of types that the operator `kind` of `domain` does not take, or not together.

    Raises:
        UnplannableError: The first such input.
    """
    fault = _fault((kind, opset, domain), tuple([value and value.dtype for value in inputs]))
    if fault is not None:
        raise UnplannableError(fault)


@lru_cache(maxsize=4096)
def _fault(operator: tuple[str, int, str], dtypes: tuple[str | None, ...]) -> str | None:
    """What is wrong with inputs of these types; None for one that is left out."""
    formals = _formals(*operator)
    if not formals:
        return None
    bound: dict[str, tuple[int, str]] = {}
    for slot, dtype in enumerate(dtypes):
        if dtype is None:
            continue
        formal = formals[min(slot, len(formals) - 1)]
        if slot >= len(formals) and not formal.repeats:
            return None
        if formal.dtypes and dtype not in formal.dtypes:
            return f"input {slot} is {dtype}, which it does not take"
        first, other = bound.setdefault(formal.variable, (slot, dtype))
        if formal.alike and other != dtype:
            return f"input {slot} is {dtype}, input {first} is {other}: they must be alike"
    return None


@lru_cache(maxsize=1024)
def _formals(kind: str, opset: int, domain: str) -> tuple[_Formal, ...] | None:
    if not onnx.defs.has(kind, opset, domain):
        return None
    schema: Any = onnx.defs.get_schema(kind, opset, domain)
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    return tuple(
        _Formal(
            x.type_str,
            frozenset(
                _NAMES[text] for text in allowed.get(x.type_str, [x.type_str]) if text in _NAMES
            ),
            x.option == variadic,
            x.option != variadic or x.is_homogeneous,
        )
        for x in schema.inputs
    )


_NAMES = {
    f"tensor({onnx.helper.tensor_dtype_to_string(number).removeprefix('TensorProto.').lower()})":
    name for number, name in DTYPES.items()
}  # fmt: skip
