"""What is wrong with a description of a chip, field by field, and what to write instead."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from elk.base import quantity
from elk.errors import InvalidInputError

_LONGEST = 80  # characters of a key or a value in a message
_MOST_LINES = 50  # complaints in a message

_MISSING = "is missing"
_REMEDIES = {
    "inter_chip": "give an [inter_chip] table to several chips, and none to one",
    "core.grid": "give a mesh or torus grid = [rows, cols], other chips count; both must agree",
    "core.reserved_bytes": "reserve less, or leave reserved_bytes out for 8 KiB",
    "hbm.port_bytes_per_s": "leave port_bytes_per_s out: it is then bytes_per_s / modules",
    "hbm.position": 'write position = "nodes", or put the cores on a mesh2d or another grid',
    "hbm.refresh_stall_s": "make refresh_interval_s longer, or leave both out for no refresh",
    "inter_chip.port_cores": "leave port_cores out: it is then all cores",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldComplaint:
    """One thing that is wrong.

    Attributes:
        path: The field: `("core", "sram_bytes")`.
        rule: What it must be and what it is, as the rest of a sentence.
        remedy: What to write instead, if that is known.
        meant: The key that an unknown one looks like.
    """

    path: tuple[str, ...]
    rule: str
    remedy: str | None = None
    meant: str | None = None

    def __str__(self) -> str:
        name = ".".join(key[:_LONGEST] for key in self.path) or "the chip"
        return f"{name}{'' if self.rule.startswith(':') else ' '}{self.rule}"


class ChipError(InvalidInputError):
    """A description of no possible chip; `complaints` says why."""

    code = "invalid_chip"
    complaints: tuple[FieldComplaint, ...] = ()

    @classmethod
    def of(cls, complaints: Iterable[FieldComplaint]) -> ChipError:
        """The error that makes these complaints, of which there is at least one."""
        listed = tuple(complaints)
        if len(listed) == 1:
            error = cls(str(listed[0]), remedy=listed[0].remedy)
        else:
            lines = [f"  {c}; {c.remedy}" if c.remedy else f"  {c}" for c in listed]
            error = cls("\n".join([f"{len(listed)} fields are wrong:", *first(lines)]))
        error.complaints = listed
        return error


def complaints_of_pydantic(
    error: ValidationError, model: type[BaseModel], file: str = "a chip file"
) -> list[FieldComplaint]:
    """What pydantic found in a `model` of a `file`, in our words; one complaint a field."""
    found: dict[tuple[str, ...], FieldComplaint] = {}
    for detail in error.errors(include_url=False):
        path = tuple(_names(detail["loc"]))
        for complaint in _complaints(path, detail, model, file):
            found.setdefault(complaint.path, complaint)
    misspelt = {(*c.path[:-1], c.meant) for c in found.values() if c.meant}
    return [c for c in found.values() if not (c.path in misspelt and c.rule == _MISSING)]


def complaint_of_core(message: str, model: type[BaseModel]) -> FieldComplaint:
    """The complaint in a message of the core: field, "must be", rule, value."""
    match = re.fullmatch(r"([a-z_]+(?:\.[a-z_0-9]+)*) (must .*)", message, re.DOTALL)
    if match is None:
        return FieldComplaint(path=(), rule=message)
    path = tuple(match[1].split("."))
    return FieldComplaint(
        path=path, rule=match[2], remedy=_REMEDIES.get(match[1]) or _as_in(path, model)
    )


def complaints_about_bare_numbers(
    data: Mapping[str, Any], model: type[BaseModel], path: tuple[str, ...] = ()
) -> Iterator[FieldComplaint]:
    """Quantities that `data` writes without a unit, which a file may not do."""
    for key, value in data.items():
        field = model.model_fields.get(key)
        if field is None:
            continue
        table = _table(field)
        if table and isinstance(value, Mapping):
            yield from complaints_about_bare_numbers(value, table, (*path, key))
        elif _unit(field) and isinstance(value, int | float) and not isinstance(value, bool):
            yield FieldComplaint(
                path=(*path, key),
                rule=f"must have a unit, got {value}",
                remedy=_as_in((*path, key), model, field),
            )


def unit_of(model: type[BaseModel], path: tuple[str, ...]) -> quantity.Unit | None:
    """The unit of the field at `path`; None if it has none."""
    field = _field_at(path, model)
    return _unit(field) if field else None


def first(lines: Sequence[str]) -> list[str]:
    """As many of `lines` as a message shows, and how many more there are."""
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *([f"  and {more} more"] if more > 0 else [])]


def nearest(word: str, words: Iterable[str]) -> str:
    """A remedy for the wrong `word`: the right one it looks like, or all of them."""
    known = list(words)
    close = _closest(word, known)
    return f"did you mean {close!r}?" if close else f"known are {', '.join(known)}"


def _closest(word: str, words: Iterable[str]) -> str | None:
    by_lower = {known.lower(): known for known in words}
    meant = word[:_LONGEST].lower()
    close = difflib.get_close_matches(meant, list(by_lower), n=2)
    alike = {x: difflib.SequenceMatcher(None, x, meant).ratio() for x in close}
    # Of words that are as like, the first that is listed.
    best = max(alike.values(), default=None)
    return next((by_lower[x] for x in by_lower if x in alike and alike[x] == best), None)


def _names(location: Iterable[int | str]) -> Iterator[str]:
    """The keys of a pydantic location, up to the first list."""
    for part in location:
        if isinstance(part, int):
            return
        yield part


def _complaints(
    path: tuple[str, ...], detail: Mapping[str, Any], model: type[BaseModel], file: str
) -> list[FieldComplaint]:
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, ChipError):
        return list(cause.complaints)
    if isinstance(cause, InvalidInputError):
        return [FieldComplaint(path=path, rule=cause.message, remedy=cause.remedy)]
    kind = detail["type"]
    if kind == "default_factory_not_called":  # A default waits for a field with a complaint.
        return []
    if kind == "extra_forbidden":
        table = _model_at(path[:-1], model)
        where = f"[{'.'.join(path[:-1])}]" if path[:-1] else file
        rule = f"is not a key of {where}"
        remedy = nearest(path[-1], table.model_fields)
        meant = _closest(path[-1], table.model_fields)
        return [FieldComplaint(path=path, rule=rule, remedy=remedy, meant=meant)]
    if kind == "missing":
        return [FieldComplaint(path=path, rule=_MISSING, remedy=_as_in(path, model))]
    return [_wrong_type(path, detail, model)]


def _wrong_type(
    path: tuple[str, ...], detail: Mapping[str, Any], model: type[BaseModel]
) -> FieldComplaint:
    value = detail["input"]
    field = _field_at(path, model)
    choices = _choices(field) if field else ()
    if choices:
        rule = f"must be one of {', '.join(choices)}"
        remedy = nearest(str(value), choices)
    else:
        rule = {
            "bool_type": "must be true or false",
            "string_type": "must be a text",
        }.get(detail["type"], "must be a table" if field and _table(field) else "")
        rule = rule or (f"must be as in {_example(field)}" if field else detail["msg"])
        remedy = _as_in(path, model) or "write it as a table of keys"
    return FieldComplaint(path=path, rule=f"{rule}, got {_shown(value)}", remedy=remedy)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _model_at(path: tuple[str, ...], model: type[BaseModel]) -> type[BaseModel]:
    for key in path:
        field = model.model_fields.get(key)
        model = (_table(field) if field else None) or model
    return model


def _field_at(path: tuple[str, ...], model: type[BaseModel]) -> FieldInfo | None:
    return _model_at(path[:-1], model).model_fields.get(path[-1]) if path else None


def _table(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that holds a table."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _unit(field: FieldInfo) -> quantity.Unit | None:
    return next((entry for entry in field.metadata if isinstance(entry, quantity.Unit)), None)


def _choices(field: FieldInfo) -> tuple[str, ...]:
    is_choice = get_origin(field.annotation) is Literal
    return get_args(field.annotation) if is_choice else ()


def _example(field: FieldInfo) -> str | None:
    """A value of the field, as TOML writes it."""
    unit = _unit(field)
    if field.examples:
        return json.dumps(field.examples[0])
    if unit:
        return json.dumps(unit.example)
    if field.annotation is bool:
        return "true"
    choices = _choices(field)
    return json.dumps(choices[0]) if choices else None


def _as_in(
    path: tuple[str, ...], model: type[BaseModel], field: FieldInfo | None = None
) -> str | None:
    field = field or _field_at(path, model)
    if field is None:
        return None
    if _table(field):
        return f"add a table [{'.'.join(path)}]"
    example = _example(field)
    return f"write {path[-1]} = {example}, for example" if example else None
