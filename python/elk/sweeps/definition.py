"""What a sweep is: its axes, its points, and for each point the task that answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from elk import _core
from elk.chip.chip import Chip
from elk.errors import ElkError, InvalidInputError
from elk.model.model import Model
from elk.points import chip_axes
from elk.points.axes import DEFAULTS, LOADING, Axis, Parser, classify, shown
from elk.points.complaints import Complaint, complaint, refuse
from elk.points.space import Space, SpaceLike, Tagged, as_space
from elk.sweeps.sources import Source, canonical, chip_of, digest_of, source_of

if TYPE_CHECKING:
    from elk.limits import Limits

Constraint: TypeAlias = Callable[[Mapping[str, Any]], bool]

_WITHOUT_CHIP: Final = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker does for a point; equal tasks have equal keys and equal answers.

    Attributes:
        key: The SHA-256 of all that follows, the model's digest and ELK's version.
        source: The digest of the model.
        chip: The digest of the chip; "" where the point has none, and `problem` says why.
        bindings: Sizes of the model's dimensions.
        options: Options of `compile`, `simulate` and `load_model`.
        problem: Why there is no such chip.
    """

    key: str
    source: str
    chip: str
    bindings: dict[str, int]
    options: dict[str, Any]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a sweep: its place in the table, its values by axis, its task."""

    position: int
    values: tuple[Any, ...]
    task: Task


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A sweep before any of it has run.

    Attributes:
        axes: The names of the axes, in order.
        points: All points, in order.
        sources: The models, by digest.
        chips: The documents of the chips as JSON, by digest.
        fixed: What is the same in all points: model, chip, bindings, options.
        named: The models (digests) and chips (documents) that are values of axes, by label.
        columns: The names of the results that are kept.
        plans: Whether plans are kept.
        follows: Whether an axis or a constraint is a function, which no store can hold.
    """

    axes: tuple[str, ...]
    points: list[Point]
    sources: dict[str, Source]
    chips: dict[str, str]
    fixed: dict[str, Any]
    named: dict[str, dict[str, Any]]
    columns: tuple[str, ...]
    plans: bool = False
    follows: bool = False

    def described(self) -> dict[str, Any]:
        """What two calls that mean the same sweep have in common, but for the points."""
        return {
            "axes": list(self.axes),
            "fixed": self.fixed,
            "named": self.named,
            "columns": list(self.columns),
            "plans": self.plans,
        }


@dataclass(kw_only=True)
class Base:
    """What a sweep varies.

    Attributes:
        model: A path, a name of `elk.models`, bytes, a ModelProto or a Model.
        chip: A preset, a file or a chip.
        bindings: Sizes of dimensions that are no axis.
        options: Options that are no axis.
        where: Constraints: points of which one is false are left out.
        columns: The names of the results that are kept.
        plans: Whether plans are kept.
        limits: What models may have at most.
    """

    model: Any
    chip: Any
    bindings: Mapping[str, int]
    options: Mapping[str, Any]
    where: tuple[Constraint, ...] = ()
    columns: tuple[str, ...] = ()
    plans: bool = False
    limits: Limits | None = None


def define(base: Base, space: SpaceLike) -> Definition:
    """The sweep of a space, everything checked.

    Raises:
        InvalidInputError: names, values, the model or all chips are wrong; all of it at once.
    """
    checked = as_space(space)
    return _Definer(_with_sizes_of_model(base, checked.axes()), checked).define()


def _with_sizes_of_model(base: Base, axes: Iterable[str]) -> Base:
    """The base with what its model was loaded with, where neither an axis nor the call differs."""
    if not isinstance(base.model, Model):
        return base
    varied = {name.removeprefix("bindings.") for name in axes}
    sizes = {name: size for name, size in base.model.bindings.items() if name not in varied}
    globs = {"weights": base.model.weights, "state": base.model.state}
    return replace(
        base,
        bindings={**sizes, **base.bindings},
        options={**{name: given for name, given in globs.items() if given}, **base.options},
    )


@dataclass
class _Definer:
    base: Base
    space: Space
    complaints: list[Complaint] = field(default_factory=list)
    sources: dict[int, Source] = field(default_factory=dict)  # by identity of what was given
    given: list[Any] = field(default_factory=list)  # keeps those identities
    chips: dict[str, str] = field(default_factory=dict)
    loaded: dict[int, Chip] = field(default_factory=dict)
    bases: dict[int, dict[str, Any] | None] = field(default_factory=dict)
    made: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    parser: Parser = field(init=False)

    def define(self) -> Definition:
        names = self.space.axes()
        raw = list(self.space.points())
        models = self._models(names, raw)
        refuse(self.complaints)
        symbols = [symbol for source in models for symbol in source.symbols]
        axes, complaints = classify(names, symbols)
        self.complaints += [*complaints, *self._wrong_base(axes)]
        if not any(axis.kind == "chip" for axis in axes):
            self._base_chip(self.base.chip)
        self.parser = Parser({axis.name: axis for axis in axes})
        rows = self._rows(raw, axes)
        refuse(self.complaints + self.parser.complaints)
        named = self._named(rows, axes)
        refuse(self.complaints)
        points = self._points(rows, axes)
        self._try_models(points)
        return Definition(
            axes=tuple(names),
            points=points,
            sources={source.digest: source for source in self.sources.values()},
            chips=self.chips,
            fixed=self._fixed(axes),
            named=named,
            columns=self.base.columns,
            plans=self.base.plans,
            follows=bool(self.base.where) or any(callable(v) for v in raw[0].values()),
        )

    def _models(self, names: list[str], raw: list[dict[str, Any]]) -> list[Source]:
        given = [row["model"].value for row in raw] if "model" in names else [self.base.model]
        found = []
        for one in given:
            try:
                found.append(self._source(one))
            except InvalidInputError as error:
                said = complaint("model", error)
                if isinstance(one, str | PathLike):
                    said = replace(said, rule=f"{str(one)!r}: {error.message}")
                self.complaints.append(said)
        return list({source.digest: source for source in found}.values())

    def _source(self, given: Any) -> Source:
        if id(given) not in self.sources:
            self.given.append(given)
            self.sources[id(given)] = source_of(given)
        return self.sources[id(given)]

    def _wrong_base(self, axes: list[Axis]) -> list[Complaint]:
        """What is wrong with bindings and options that are no axis."""
        varied = {axis.target for axis in axes if axis.kind == "binding"}
        found = [
            Complaint(f"bindings[{name!r}]", "is an axis, too", "give one of them")
            for name in self.base.bindings
            if name in varied
        ]
        named = {axis.target for axis in axes if axis.kind == "option"}
        parser = Parser({name: Axis(name, "option", name) for name in DEFAULTS})
        for name, value in self.base.options.items():
            if name in LOADING:
                continue
            if name in named:
                found.append(Complaint(name, "is both an axis and an option", "give one of them"))
            else:
                parser.read(name, Tagged(value, None))
        return found + parser.complaints

    def _rows(self, raw: list[dict[str, Any]], axes: list[Axis]) -> list[dict[str, Any]]:
        """The points with values in SI units, functions called, constraints kept, none twice."""
        rows: dict[str, dict[str, Any]] = {}
        for given in raw:
            row = {
                axis.name: self.parser.read(axis.name, given[axis.name])
                for axis in axes
                if isinstance(given[axis.name], Tagged)
            }
            if not self.parser.complaints and not self.complaints:
                self._follow(row, given, axes)
            ordered = {axis.name: row.get(axis.name) for axis in axes}
            if self.parser.complaints or self.complaints or self._allowed(ordered):
                rows.setdefault(repr([_same(value) for value in ordered.values()]), ordered)
        if not rows and not self.complaints and not self.parser.complaints:
            self.complaints.append(
                Complaint("where", "leaves no point of the space", "loosen a constraint")
            )
        return list(rows.values())

    def _follow(self, row: dict[str, Any], given: dict[str, Any], axes: list[Axis]) -> None:
        for axis in axes:
            function = given[axis.name]
            if isinstance(function, Tagged):
                continue
            try:
                value = function(dict(row))
            except Exception as error:
                self.complaints.append(_failed(axis.name, error, row))
                return
            tagged = Tagged(value, getattr(function, "unit", None))
            row[axis.name] = self.parser.read(axis.name, tagged)

    def _allowed(self, row: dict[str, Any]) -> bool:
        for constraint in self.base.where:
            try:
                if not constraint(dict(row)):
                    return False
            except Exception as error:
                self.complaints.append(_failed("where", error, row))
                return False
        return True

    def _named(self, rows: list[dict[str, Any]], axes: list[Axis]) -> dict[str, dict[str, Any]]:
        """What labels of models and chips stand for; one label stands for one of them."""
        named: dict[str, dict[str, Any]] = {}
        for axis in (one for one in axes if one.kind in ("model", "chip")):
            meant: dict[str, Any] = {}
            for row in rows:
                label, value = shown(row[axis.name]), row[axis.name]
                is_model = axis.kind == "model"
                one = self._source(value).digest if is_model else self._base_chip(value)
                if meant.setdefault(label, one) != one:
                    self.complaints.append(
                        Complaint(axis.name, f"has two values called {label!r}", "rename one")
                    )
                    break
            named[axis.kind] = meant
        return named

    def _base_chip(self, given: Any) -> dict[str, Any] | None:
        if id(given) not in self.bases:
            self.given.append(given)
            try:
                self.bases[id(given)] = self._loaded(given).to_dict()
            except InvalidInputError as error:
                self.complaints.append(complaint("chip", error))
                self.bases[id(given)] = None
        return self.bases[id(given)]

    def _points(self, rows: list[dict[str, Any]], axes: list[Axis]) -> list[Point]:
        points = []
        problems: list[str] = []
        for position, row in enumerate(rows):
            task = self._task(row, axes)
            values = tuple(shown(row[axis.name]) for axis in axes)
            points.append(Point(position, values, task))
            if task.problem:
                problems.append(task.problem)
        if len(problems) == len(points):
            kinds = list(dict.fromkeys(problems))
            refuse([Complaint("chip", f"of no point is possible: {why}") for why in kinds[:10]])
        return points

    def _task(self, row: dict[str, Any], axes: list[Axis]) -> Task:
        by_kind: dict[str, dict[str, Any]] = {}
        for axis in axes:
            by_kind.setdefault(axis.kind, {})[axis.target] = row[axis.name]
        source = self._source(by_kind.get("model", {}).get("model", self.base.model))
        bindings = {**self.base.bindings, **by_kind.get("binding", {})}
        options = {**DEFAULTS, **self.base.options, **by_kind.get("option", {})}
        chosen = by_kind.get("chip", {}).get("chip", self.base.chip)
        chip, problem = self._chip(chosen, by_kind.get("chip field", {}))
        return task_of(source.digest, chip, bindings, options, problem)

    def _chip(self, given: Any, fields: dict[str, Any]) -> tuple[str, str | None]:
        """The digest of a chip with these fields, or why there is none."""
        label = repr((id(given), fields))
        if label not in self.made:
            self.given.append(given)
            try:
                text = canonical(chip_axes.changed(self._loaded(given), fields).to_dict())
                digest = hashlib.sha256(text.encode()).hexdigest()
                self.chips[digest] = text
                self.made[label] = (digest, None)
            except ElkError as error:
                self.made[label] = (_WITHOUT_CHIP, " ".join(error.message.split()))
        return self.made[label]

    def _loaded(self, given: Any) -> Chip:
        """The chip that was given, read once: points in thousands may start from one file."""
        if id(given) not in self.loaded:
            self.given.append(given)
            self.loaded[id(given)] = chip_of(given)
        return self.loaded[id(given)]

    def _try_models(self, points: list[Point]) -> None:
        """Loads each model once: what is wrong with bindings is said before anything runs."""
        first: dict[str, Task] = {}
        for point in points:
            first.setdefault(point.task.source, point.task)
        sources = {source.digest: source for source in self.sources.values()}
        for digest, task in first.items():
            sources[digest].load(task.bindings, loading(task.options), self.base.limits)

    def _fixed(self, axes: list[Axis]) -> dict[str, Any]:
        kinds = {axis.kind for axis in axes}
        found: dict[str, Any] = {}
        if "model" not in kinds:
            source = self._source(self.base.model)
            found["model"] = {"name": source.label, "onnx_sha256": source.digest}
        if "chip" not in kinds:
            found["chip"] = self._loaded(self.base.chip).to_dict()
        found["bindings"] = dict(self.base.bindings)
        named = {axis.target for axis in axes if axis.kind == "option"}
        merged = {**DEFAULTS, **self.base.options}
        found["options"] = {k: _listed(v) for k, v in merged.items() if k not in named}
        return found


def task_of(
    source: str, chip: str, bindings: dict[str, int], options: dict[str, Any], problem: str | None
) -> Task:
    """The task with its key."""
    content = {
        "elk": _core.__version__,
        "model": source,
        "chip": chip or problem,
        "bindings": bindings,
        "options": {name: _listed(value) for name, value in options.items()},
    }
    return Task(digest_of(content), source, chip, bindings, options, problem)


def loading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that `elk.load_model` takes."""
    return {name: options[name] for name in LOADING if options.get(name) is not None}


def _listed(value: Any) -> Any:
    """Globs of weights as a list, however they were given."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return list(value) if is_list else value


def _same(value: Any) -> Any:
    """What tells values of an axis apart; models and chips by identity."""
    if isinstance(value, Chip):
        return json.dumps(value.to_dict(), sort_keys=True)
    return value if isinstance(value, str | int | float | bool | tuple) else id(value)


def _failed(place: str, error: Exception, row: Mapping[str, Any]) -> Complaint:
    point = ", ".join(f"{name}={shown(value)}" for name, value in row.items())
    return Complaint(place, f"raised {type(error).__name__}: {error} at {point}")
