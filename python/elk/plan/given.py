"""Plans of operators that were made elsewhere, as `elk.compile(plans=...)` takes them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from elk import _core
from elk.document.given import GivenPlans, GivenRow
from elk.document.rules import dotted, shown
from elk.document.schema import ExecuteRow
from elk.errors import ElkError, InvalidInputError

# By the name or the id of an operator, the plans that it may take: mappings with the keys of
# `GivenRow`, or whole `execute` rows of a plan file, whose other keys follow and are not read.
_Plans: TypeAlias = Iterable[Mapping[str, Any]]
OperatorPlans: TypeAlias = Mapping[str, _Plans] | Mapping[int, _Plans] | Mapping[str | int, _Plans]

_RULES: Final = (
    "change it by the rules of docs/design.md, section 3, or leave it out; "
    'plan.to_json()["ops"] has plans that keep them'
)
_ONE_MACHINE: Final = (
    "the operators of one chip depend on how chips share the model: name those of a plan made "
    'under pod="sharded", or take pod="pooled", whose operators are the model\'s'
)


def checked(plans: object) -> GivenPlans:
    """Plans by operator, each of the right form.

    Raises:
        InvalidInputError: something is not; the message says which operator, plan and key.

    Example:
        >>> checked({"mlp": [{"factors": {"m": 4}, "cores": 4}]})
        {'mlp': ({'factors': {'m': 4}},)}
    """
    if not isinstance(plans, Mapping):
        raise _refusal("plans", f"must be plans by operator, got {plans!r}")
    found: GivenPlans = {}
    for op, rows in plans.items():
        place = f"plans[{op!r}]"
        if not isinstance(op, str | int) or isinstance(op, bool):
            raise _refusal(place, "an operator must be a name or an id")
        if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
            raise _refusal(place, f"must be a list of plans, got {rows!r}")
        found[op] = tuple(_row(f"{place}[{i}]", row) for i, row in enumerate(rows))
        if not found[op]:
            raise _refusal(place, "must have at least one plan")
    return found


def core_plans(plans: GivenPlans, graph: _core.Graph, *, shares: bool) -> list[_core.GivenPlans]:
    """Plans that `checked` found right, by names, as the core takes them.

    Args:
        plans: What `checked` returned.
        graph: The model's graph, whose operators ids count.
        shares: Whether several chips may share the model, each with a graph of its own.

    Raises:
        InvalidInputError: an id is no operator's, or one is named twice.
    """
    found: dict[str, _core.GivenPlans] = {}
    for op, rows in plans.items():
        name = op if isinstance(op, str) else _name(op, graph, shares=shares)
        if name in found:
            raise _refusal(f"plans[{op!r}]", f"operator {name!r} is named twice")
        found[name] = _core.GivenPlans(op=name, plans=[_named(row) for row in rows])
    return list(found.values())


def advise(error: ElkError, plans: GivenPlans, graph: _core.Graph, *, shares: bool) -> None:
    """Says in an error of the core which plan it is about, and what to do."""
    for op, rows in plans.items():
        name = graph.ops[op].name if isinstance(op, int) else op
        for place in (f"plans['{name}']", *(f"plans['{name}'][{i}]" for i in range(len(rows)))):
            if error.message.startswith(f"{place}: "):
                error.place, error.message = place, error.message.removeprefix(f"{place}: ")
                error.remedy = _remedy(name, graph, shares=shares)
                return


def _remedy(name: str, graph: _core.Graph, *, shares: bool) -> str:
    if shares:
        return _ONE_MACHINE
    names = [op.name for op in graph.ops]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    if name in names or not near:
        return _RULES
    return f"did you mean {' or '.join(map(repr, near))}?"


def _name(op: int, graph: _core.Graph, *, shares: bool) -> str:
    if shares:
        raise _refusal(
            f"plans[{op}]", "operators have no ids before chips share the model", _ONE_MACHINE
        )
    if not 0 <= op < len(graph.ops):
        raise _refusal(f"plans[{op}]", f"an id must be from 0 to {len(graph.ops) - 1}")
    return graph.ops[op].name


def _named(row: GivenRow) -> _core.NamedPlan:
    pace = row.get("pace")
    return _core.NamedPlan(
        factors=row["factors"],
        temporal=row.get("temporal", {}),
        pace=None if pace is None else list(pace.items()),
        order=row.get("order"),
        mesh_dims=row.get("mesh_dims"),
    )


def _row(place: str, row: object) -> GivenRow:
    """The keys of a row that say how an operator runs."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - slow to import

    if not isinstance(row, Mapping):
        raise _refusal(place, f"a plan must be a mapping with the key factors, got {shown(row)}")
    known = ExecuteRow.__annotations__
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            raise _refusal(
                place,
                f"a plan has no key {key!r}",
                f"did you mean {near[0]!r}?" if near else f"a plan has {', '.join(known)}",
            )
    if row.get("rounds"):
        raise _refusal(place, f"rounds: {row['rounds']} is of policy vgm, no plan of an operator")
    read = {key: _plain(row[key]) for key in GivenRow.__annotations__ if key in row}
    try:
        return TypeAdapter(GivenRow).validate_python(read, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = dotted(first["loc"])
        raise _refusal(place, f"{where}: {first['msg']}, got {shown(first['input'])}") from error


def _plain(value: object) -> object:
    """The value with tuples as lists, as JSON would have it."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _refusal(place: str, message: str, remedy: str = _RULES) -> InvalidInputError:
    return InvalidInputError(message, code="given_plan", place=place, remedy=remedy)
