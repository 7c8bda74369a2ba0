"""What the name of an axis means, and its values in SI units: `classify`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from elk.base import quantity
from elk.base.choices import one_of
from elk.base.policies import POLICIES
from elk.chip.check import nearest
from elk.document.compiled import EFFORTS, OBJECTIVES, PODS
from elk.errors import InvalidInputError
from elk.points import chip_axes
from elk.points.columns import COLUMNS
from elk.points.complaints import Complaint, Gathered, refuse
from elk.points.space import Tagged

Kind: TypeAlias = Literal["model", "chip", "chip field", "binding", "option"]

FIDELITIES: Final = ("auto", "core", "symmetric", "flows")
BINDING_PREFIX: Final = "bindings."
# Columns of every table of points and results, beside those of `columns.COLUMNS`.
RESERVED: Final = {
    *("point", "point_key", "model_digest", "chip_digest", "bindings_json", "options_json"),
    *("problem", "status", "code", "message", "traceback"),
    *("elk_version", "seconds", "worker", "finished_at"),
    *COLUMNS,
}
_UNNAMED_DIMENSION: Final = re.compile(r".+\[\d+\]")


def _share(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InvalidInputError(f"must be a number from 0 to 1, got {value!r}")


def _padding(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (value == 0 or value >= 1):
        return float(value)
    raise InvalidInputError(f"must be 0 or at least 1, got {value!r}")


def _word(name: str, known: Iterable[str]) -> Callable[[Any], str]:
    words = tuple(known)
    return lambda value: one_of(name, value, words)


# Options of `compile` and `simulate` that may be axes; how a value of each is read.
OPTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "policy": _word("policy", POLICIES),
    "effort": _word("effort", EFFORTS),
    "objective": _word("objective", OBJECTIVES),
    "pod": _word("pod", PODS),
    "fidelity": _word("fidelity", FIDELITIES),
    "min_core_share": _share,
    "max_padding": _padding,
}
# Options of `load_model`, which are no axes.
LOADING: Final = ("weights", "state")
DEFAULTS: Final[dict[str, Any]] = {
    "policy": "elk-full",
    "effort": "default",
    "objective": "latency",
    "pod": "sharded",
    "fidelity": "auto",
    "min_core_share": 0.0,
    "max_padding": 0.0,
}


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a sweep.

    Attributes:
        name: As the caller wrote it; the name of its column.
        kind: What it changes.
        target: The option, the model's dimension, or the name for `chip_axes`.
        unit: The kind of quantity of its values, which are in SI units; None: without one.
    """

    name: str
    kind: Kind
    target: str
    unit: quantity.Unit | None = None

    def parsed(self, tagged: Tagged) -> Any:
        """The value in SI units; of models and chips what the caller gave.

        Raises:
            InvalidInputError: the axis cannot have it.
        """
        if tagged.unit is not None and tagged.unit is not self.unit:
            wanted = self.unit.noun if self.unit else "a value without unit"
            raise InvalidInputError(f"must be {wanted}, got {tagged.unit.noun}")
        value = _plain(tagged.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInputError(f"must be a finite number, got {value}")
        if self.kind == "option":
            return OPTIONS[self.target](value)
        if self.kind == "binding":
            return size(value)
        if self.kind == "chip field":
            return chip_axes.parsed(self.target, value)
        return value


def size(value: Any) -> int:
    """The size of a dimension of the model.

    Raises:
        InvalidInputError: it is no whole number, or below one.
    """
    number = quantity.count(_plain(value))
    if number < 1:
        raise InvalidInputError(f"must be at least 1, got {number}")
    return number


def sizes(bindings: Any) -> dict[str, int]:
    """Sizes of dimensions by name, as Python's own numbers.

    Raises:
        SweepError: they are no mapping, or a size is wrong; all of them are listed.
    """
    if bindings is None:
        return {}
    if not isinstance(bindings, Mapping):
        raise InvalidInputError(
            f"must be a mapping of sizes, got {type(bindings).__name__}",
            remedy='write it as in bindings={"past": 2048}',
        )
    found = Gathered()
    made = {
        name: found.of(f"bindings[{name!r}]", lambda value=value: size(value))  # type: ignore[misc]
        for name, value in bindings.items()
    }
    found.refuse()
    return {str(name): value for name, value in made.items() if value is not None}


def classify(names: Iterable[str], symbols: Iterable[str]) -> tuple[list[Axis], list[Complaint]]:
    """The axes that these names mean, and what is wrong with the names.

    Args:
        names: As the caller wrote them.
        symbols: The symbolic dimensions of the models.
    """
    known = list(dict.fromkeys(symbols))
    axes: list[Axis] = []
    complaints: list[Complaint] = []
    for name in names:
        try:
            if not isinstance(name, str):
                raise InvalidInputError("is no name of an axis, which is a text")
            if name.lower() in RESERVED:
                raise InvalidInputError(
                    "is the name of a column of every sweep",
                    remedy=f"write {BINDING_PREFIX}{name} for a dimension of the model",
                )
            axes.append(_axis(name, known))
        except InvalidInputError as error:
            complaints.append(Complaint(str(name), error.message, error.remedy))
    places: dict[object, str] = {}
    for axis in axes:
        place: object = (axis.kind, axis.target)
        if axis.kind == "chip field":
            place = chip_axes.place(axis.target)
        other = places.setdefault(place, axis.name)
        if other != axis.name:
            complaints.append(
                Complaint(axis.name, f"changes the same as axis {other}", "give one of them")
            )
    return axes, complaints


def _axis(name: str, symbols: list[str]) -> Axis:
    if name in ("model", "chip"):
        return Axis(name, "model" if name == "model" else "chip", name)
    if name in OPTIONS:
        return Axis(name, "option", name)
    if name.startswith(BINDING_PREFIX):
        return Axis(name, "binding", name.removeprefix(BINDING_PREFIX))
    is_field = _is_field(name)
    if name in symbols or _UNNAMED_DIMENSION.fullmatch(name):
        if is_field:
            raise InvalidInputError(
                "is both a dimension of the model and a field of the chip",
                remedy=f"write {BINDING_PREFIX}{name}, or the field with its table in front",
            )
        return Axis(name, "binding", name)
    if is_field:
        return Axis(name, "chip field", name, chip_axes.unit(name))
    try:
        chip_axes.place(name)
    except InvalidInputError as error:
        if error.code != "unknown_name":
            raise
        near = nearest(name, [*OPTIONS, "model", "chip", *symbols, *chip_axes.known_words()])
        fields = error.remedy or ""
        remedy = near if near.startswith("did you mean") else fields
        raise InvalidInputError(
            "is no option, no dimension of the model and no field of a chip", remedy=remedy
        ) from None
    raise AssertionError(name)  # pragma: no cover - `_is_field` said otherwise


def _is_field(name: str) -> bool:
    try:
        chip_axes.place(name)
    except InvalidInputError:
        return False
    return True


def unit_of(name: str) -> quantity.Unit | None:
    """The kind of quantity of the values of an axis; None: they are no field of a chip with one."""
    try:
        return chip_axes.unit(name)
    except InvalidInputError:
        return None


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python's own number; everything else as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


@dataclass
class Parser:
    """Reads values of axes, each different one once, and gathers what is wrong with them."""

    axes: Mapping[str, Axis]
    complaints: list[Complaint] = field(default_factory=list)
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def read(self, name: str, tagged: Tagged) -> Any:
        """The value; None, and a complaint, if the axis cannot have it."""
        label = repr(tagged.value)
        if (name, label) not in self._known:
            try:
                value = self.axes[name].parsed(tagged)
            except InvalidInputError as error:
                rule = error.message.removeprefix(f"{self.axes[name].target} ")
                self.complaints.append(Complaint(name, rule, error.remedy))
                value = None
            if self.axes[name].kind in ("model", "chip"):
                return value  # Equal texts of objects are not equal objects.
            self._known[name, label] = value
        return self._known[name, label]


def shown(value: Any) -> Any:
    """A value of an axis as its column holds it: a number, a truth value, a text or None."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    graph = getattr(value, "graph", None)
    for name in (getattr(value, "label", None), getattr(value, "name", None), graph and graph.name):
        if isinstance(name, str):
            return name
    if isinstance(value, list | tuple):
        return " x ".join(str(entry) for entry in value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return json.dumps(value, default=str, sort_keys=True)


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a sweep, by name; values are checked later, with those of axes.

    Raises:
        SweepError: a name is no option of a sweep.
    """
    known = [*DEFAULTS, *LOADING]
    refuse(
        Complaint(
            name,
            "is no option of a sweep",
            f"{nearest(name, known)}; sizes of the model go into bindings={{...}}",
        )
        for name in options
        if name not in known
    )
    return dict(options)
