"""Sweeps in files: the call of `elk.sweep` as TOML (or YAML, or JSON), data and no code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import Field, StrictBool, ValidationError

from elk import models
from elk.chip import presets
from elk.chip.check import FieldComplaint, complaints_of_pydantic, nearest
from elk.chip.chip import Chip
from elk.chip.documents import Document, FileKind, KeyPath, read_document
from elk.chip.tables import Count, Table, Text
from elk.errors import InvalidInputError, SweepFileError, UnboundSymbolsError
from elk.limits import Limits
from elk.points.axes import checked_options, sizes
from elk.points.columns import chosen
from elk.points.complaints import SweepError, complaint
from elk.points.formulas import comparison, product
from elk.points.scales import between, linspace, logspace
from elk.points.space import Space, as_space, sampled, union, zip_axes
from elk.sweeps.entry import sweep
from elk.sweeps.running import How
from elk.sweeps.sources import Named, Source, chip_of, source_of
from elk.sweeps.sweep import Sweep

Result = TypeVar("Result")

FILE: Final = FileKind(
    noun="sweep file", error=SweepFileError, begin='begin with model = "model.onnx" and a chip'
)
_ENDS: Final = ("from", "to", "count")
_EXAMPLES: Final[dict[str, list[Any]]] = {
    "linspace": ["4 TB/s", "32 TB/s", 10],
    "logspace": ["2 GB/s", "22 GB/s", 10],
    "between": ["4 TB/s", "32 TB/s"],
}
_SCALES: Final[dict[str, Callable[..., Any]]] = {"linspace": linspace, "logspace": logspace}
_FORMS: Final = (*_SCALES, "between", "follows")
_FILES: Final = ("model", "chip")


class Sample(Table):
    """How many points are drawn of `[space]`, and by which seed."""

    points: Count = Field(examples=[64])
    seed: Count = 0


class RunTable(Table):
    """How the sweep is run, unless the command says otherwise; `How.checked` has the rules."""

    workers: Any = None
    timeout_s: Any = None
    memory_bytes: Any = None
    retries: Any = 2


class Spec(Table):
    """What a sweep file holds.

    Attributes:
        model: An ONNX file, seen from the folder of the sweep file, or a name of `elk.models`.
        chip: A preset, or a chip file as seen from there.
        bindings: Sizes of dimensions that are no axis.
        where: Comparisons that points must meet.
        keep: The results that are kept; without it all.
        plans: Whether plans are kept, too.
        space: Values by axis, of which all combinations are points.
        zip: Values by axis that go together, times those of `space`.
        union: Several spaces, one after another, times the rest.
        sample: How many points are drawn of `space`.
        options: Options of `elk.compile` and `Plan.simulate` that are no axis.
        run: How the sweep is run.
    """

    model: Text | None = None
    chip: Text | None = None
    bindings: dict[str, Any] = Field(default_factory=dict)
    where: tuple[Text, ...] = ()
    keep: tuple[Text, ...] | None = None
    plans: StrictBool = False
    space: dict[str, Any] = Field(default_factory=dict)
    zip: dict[str, Any] = Field(default_factory=dict)
    union: tuple[dict[str, Any], ...] = ()
    sample: Sample | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    run: RunTable = Field(default_factory=RunTable)


@dataclass(frozen=True)
class SweepFile:
    """A sweep file that was read and has no fault of its own.

    Attributes:
        document: The file with its lines.
        spec: What it holds.
        call: The arguments of `elk.sweep`.
    """

    document: Document
    spec: Spec
    call: dict[str, Any]

    def run(self, store: str | PathLike[str], *, limits: Limits | None = None, **how: Any) -> Sweep:
        """Does the sweep, or what is left of it; see `elk.sweep`.

        Args:
            store: The file of the sweep.
            limits: What models may have at most.
            how: `workers`, `timeout_s`, `memory_bytes`, `retries` in place of what the file says,
                where they are not None; `executor` and `progress`.

        Raises:
            SweepFileError: something is wrong with axes, values or options; the message says in
                which lines.
            SweepStoreError: as `elk.sweep`.
        """
        given = {name: value for name, value in how.items() if value is not None}
        How(**given).checked()  # What the file does not say has no line in it.
        with self._located():
            return sweep(store=store, limits=limits, **{**self.call, **given})

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Within, what is wrong with the sweep is said with its line of the file."""
        try:
            yield
        except SweepError as error:
            found = [
                FieldComplaint(path=self._path(c.place), rule=c.rule, remedy=c.remedy)
                for c in error.complaints
            ]
            raise self.document.error(found) from None
        except UnboundSymbolsError as error:
            remedy = "give each a size under [bindings], or values under [space]"
            path = self._path("bindings")
            raise SweepFileError(
                error.message, code=error.code, place=self.document.place(path), remedy=remedy
            ) from None

    def _path(self, place: str) -> KeyPath:
        """The key that a complaint speaks of: an axis, an option or a size by its name alone."""
        name = re.sub(r"^bindings\['(.*)'\]$", r"\1", place)
        paths = [path for path in self.document.lines if path[-1] == name]
        return paths[0] if paths else (name,)


def load_sweep(path: str | PathLike[str]) -> SweepFile:
    """The sweep that a TOML, YAML or JSON file of at most 64 KiB describes.

    Args:
        path: The file. Models and chips that it names by file lie where it says, seen from its
            folder.

    Raises:
        SweepFileError: the file cannot be read, or is wrong; the message lists everything, with
            file and line.

    Example:
        >>> load_sweep("sweep.toml").run("s.elksweep", workers=2).best()
        <SweepPoint rows=64: 9.308 µs>
    """
    document = read_document(Path(fspath(path)), FILE)
    try:
        spec = Spec.model_validate(document.data)
    except ValidationError as error:
        raise document.error(complaints_of_pydantic(error, Spec, "a sweep file")) from None
    return _SpecReader(document, spec).read()


@dataclass
class _SpecReader:
    document: Document
    spec: Spec
    complaints: list[FieldComplaint] = field(default_factory=list)

    def read(self) -> SweepFile:
        space = self._space()
        model, chip = (self._base(name, getattr(self.spec, name)) for name in _FILES)
        where = [
            self._of(("where",), lambda text=text: comparison(text, self._axes()))  # type: ignore[misc]
            for text in self.spec.where
        ]
        bindings = self._of(("bindings",), lambda: sizes(self.spec.bindings))
        self._of(("options",), lambda: checked_options(self.spec.options))
        self._of(("keep",), lambda: chosen(self.spec.keep))
        self._of(("run",), How(**self.spec.run.model_dump()).checked)
        if self.complaints:
            raise self.document.error(self.complaints)
        call = {
            "model": model,
            "chip": chip,
            "space": space,
            "bindings": bindings,
            "where": where,
            "keep": self.spec.keep,
            "plans": self.spec.plans,
            **self.spec.run.model_dump(),
            **self.spec.options,
        }
        return SweepFile(self.document, self.spec, call)

    def _of(self, path: KeyPath, look: Callable[[], Result]) -> Result | None:
        """What `look` returns; None, and complaints, where it refuses."""
        try:
            return look()
        except SweepError as error:
            for c in error.complaints:
                inner = self._within(path, c.place)
                self.complaints.append(FieldComplaint(path=inner, rule=c.rule, remedy=c.remedy))
        except InvalidInputError as error:
            inner = self._within(path, error.place)
            said = complaint(inner[-1], error)
            self.complaints.append(FieldComplaint(path=inner, rule=said.rule, remedy=said.remedy))
        return None

    def _within(self, path: KeyPath, name: str | None) -> KeyPath:
        """The key of this name in a table, if there is one, else the table."""
        inner = (*path, name or "")
        return inner if inner in self.document.lines else path

    def _axes(self) -> list[str]:
        parts = (self.spec.space, self.spec.zip, *self.spec.union)
        return list(dict.fromkeys(name for part in parts for name in part))

    def _base(self, name: str, given: str | None) -> Any:
        """The model or the chip of all points; None where it is an axis."""
        is_axis = name in self._axes()
        if is_axis == (given is not None):
            rule = "is an axis, too" if is_axis else "is missing"
            example = "gpt2.onnx" if name == "model" else "ipu-pod4-hbm"
            remedy = "give one of them" if is_axis else f'write {name} = "{example}", for example'
            self.complaints.append(FieldComplaint(path=(name,), rule=rule, remedy=remedy))
            return None
        return None if given is None else self._of((name,), lambda: self._meant(name, given))

    def _meant(self, kind: str, text: Any) -> Source | Chip:
        """The model or chip that a text means, whatever folder the command runs in."""
        if not isinstance(text, str):
            raise InvalidInputError(f"must be a text, got {text!r}")
        beside = self.document.path.parent / text
        if kind == "model":
            return source_of(text if text in models.names() and not beside.exists() else beside)
        is_file = text not in presets.names() and (Path(text).suffix or beside.exists())
        return chip_of(beside if is_file else text)

    def _space(self) -> Space | None:
        if not self._axes():
            remedy = "add a table [space] with lists of values"
            self.complaints.append(
                FieldComplaint(path=("space",), rule="is missing", remedy=remedy)
            )
        spec = self.spec
        parts: list[Space | None] = []
        if spec.space or spec.sample:
            values = self._values(("space",), spec.space)
            parts.append(self._of(("space",), lambda: self._drawn(values)))
        if spec.zip:
            together = self._values(("zip",), spec.zip)
            parts.append(self._of(("zip",), lambda: zip_axes(together)))
        if spec.union:
            each = [self._values(("union", str(i)), part) for i, part in enumerate(spec.union)]
            parts.append(self._of(("union",), lambda: union(*each)))
        if self.complaints:
            return None
        whole, *others = [part for part in parts if part is not None]
        for other in others:
            whole = self._of(("space",), lambda one=whole, two=other: one * two) or whole  # type: ignore[misc]
        return whole

    def _drawn(self, values: dict[str, Any]) -> Space:
        sample = self.spec.sample
        if sample is None:
            return as_space(values)
        return sampled(values, sample.points, seed=sample.seed)

    def _values(self, path: KeyPath, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of axes; one that is wrong has a complaint, and another in its place."""
        found = {}
        for name, value in given.items():
            read = self._of((*path, name), lambda n=name, v=value: self._axis(n, v))  # type: ignore[misc]
            found[name] = 1 if read is None else read
        return found

    def _axis(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._form(value)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise InvalidInputError("has no values", remedy="give at least one")
        if name in _FILES:
            return [Named(one, self._meant(name, one)) for one in values]
        return values

    def _form(self, table: Mapping[str, Any]) -> Any:
        """The values that a table such as `{ linspace = ["4 TB/s", "32 TB/s", 10] }` means."""
        kinds = [key for key in table if key in _FORMS]
        known = [*kinds[:1], *(["log"] if kinds == ["between"] else [])]
        others = [key for key in table if key not in known]
        if len(kinds) != 1 or others:
            raise InvalidInputError(
                f"must be a list, or a table of one of {', '.join(_FORMS)}, "
                f"got {', '.join(table) or 'an empty table'}",
                remedy=nearest(others[0], _FORMS) if others else "give one of them",
            )
        kind, given = kinds[0], table[kinds[0]]
        if kind == "follows":
            return product(given, self._axes())
        example = _EXAMPLES[kind]
        if not isinstance(given, list) or len(given) != len(example):
            raise InvalidInputError(
                f"must have a list of {', '.join(_ENDS[: len(example)])}, got {kind} = {given!r}",
                remedy=f"write it as in {kind} = {json.dumps(example)}",
            )
        if kind == "between":
            return between(*given, log=self._truth(table.get("log", False)))
        return _SCALES[kind](*given)

    @staticmethod
    def _truth(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise InvalidInputError(f"must have log = true or false, got {value!r}")
