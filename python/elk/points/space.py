"""Spaces of points: products, zips, unions, lists and samples of axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from elk.base import quantity
from elk.errors import InvalidInputError, MissingPackageError
from elk.points.complaints import Gathered
from elk.points.scales import Range, Values

MOST_POINTS: Final = 1_000_000

# The value of an axis as a function of the point's other values, in SI units.
Follows: TypeAlias = Callable[[Mapping[str, Any]], Any]
RawPoint: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tagged:
    """One value of an axis with the kind of quantity that its list was written in."""

    value: Any
    unit: quantity.Unit | None


class Space:
    """A list of points, each a value for every axis. `a * b` is a product, `a + b` a union."""

    def axes(self) -> list[str]:
        """The names of the axes, in the order in which they were first named."""
        raise NotImplementedError

    def points(self) -> Iterator[RawPoint]:
        """The points, in order; every value as it was given."""
        raise NotImplementedError

    def size(self) -> int:
        """How many points there are, before constraints."""
        raise NotImplementedError

    def __mul__(self, other: SpaceLike) -> Space:
        return _Product((self, as_space(other)))

    def __add__(self, other: SpaceLike) -> Space:
        return union(self, other)

    def __repr__(self) -> str:
        return f"<Space {' x '.join(self.axes())}: {self.size():,} points>"


SpaceLike: TypeAlias = "Space | Mapping[str, Any] | Sequence[Mapping[str, Any]]"


def as_space(given: Any) -> Space:
    """A space, or the space that a mapping (a product of its axes) or a list of points means.

    Raises:
        InvalidInputError: it is nothing of these; an axis has no values; a point lacks an axis.
    """
    if isinstance(given, Space):
        return given
    if isinstance(given, Mapping):
        found = Gathered()
        parts = [found.of(n, lambda n=n, v=v: _axis(n, v)) for n, v in given.items()]  # type: ignore[misc]
        found.refuse()
        return _Product(tuple(part for part in parts if part is not None))
    if hasattr(given, "columns") and hasattr(given, "to_dict"):  # A table of pandas: a point a row.
        return _listed(given.to_dict("records"))
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return _listed(given)
    raise InvalidInputError(
        f"must be a mapping of axes, a list of points or a space, got {given!r}",
        remedy='write it as in {"batch": [8, 32], "policy": ["static", "elk-full"]}',
    )


def zip_axes(axes: Mapping[str, Any] | None = None, /, **named: Any) -> Space:
    """A space whose axes go together: the first values, the second values, and so on.

    Args:
        axes: Values by axis; all lists are equally long.
        named: The same as keywords.

    Raises:
        InvalidInputError: lists differ in length, or an axis has no list.

    Example:
        >>> elk.zip(batch=[8, 32], past=[2048, 512])
        <Space batch x past: 2 points>
    """
    given = {**(axes or {}), **named}
    columns = {name: _tagged(name, values) for name, values in given.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if not columns or len(set(lengths.values())) != 1:
        raise InvalidInputError(
            f"zip must get lists of one length, got {lengths}", remedy="make them equally long"
        )
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return _Listed(tuple(columns), tuple(rows))


def union(*spaces: SpaceLike) -> Space:
    """The points of several spaces of the same axes, each point once.

    Raises:
        InvalidInputError: the spaces have different axes.

    Example:
        >>> elk.union({"batch": [1, 2]}, {"batch": [2, 64]}).size()
        4
    """
    parts = tuple(as_space(space) for space in spaces)
    if not parts or any(set(part.axes()) != set(parts[0].axes()) for part in parts):
        listed = " and ".join(str(sorted(part.axes())) for part in parts)
        raise InvalidInputError(
            f"a union needs spaces of the same axes, got {listed or 'none'}",
            remedy="give every space every axis, one value where it does not vary",
        )
    return _Union(parts)


def sampled(space: SpaceLike, count: int, *, seed: int = 0) -> Space:
    """`count` points drawn evenly from a space: a Sobol sequence, scrambled by `seed`.

    Lists are drawn from by position, ranges of `elk.between` by value. Axes that are functions
    follow the values drawn.

    Args:
        space: A mapping of axes.
        count: How many points; powers of two cover a space best.
        seed: Equal seeds give equal points.

    Raises:
        InvalidInputError: the space is no mapping of axes, or the count is below one.
        MissingPackageError: scipy is not installed.

    Example:
        >>> elk.sampled({"hbm_bandwidth": elk.between("4 TB/s", "32 TB/s"), "batch": [8, 32]}, 8)
        <Space hbm_bandwidth x batch: 8 points>
    """
    if not isinstance(space, Mapping) or not space:
        raise InvalidInputError("sampled needs a mapping of axes", remedy='{"batch": [8, 32], ...}')
    number = quantity.count(count)
    if not 1 <= number <= MOST_POINTS:
        raise InvalidInputError(f"count must be from 1 to {MOST_POINTS:,}, got {number}")
    drawn = {name: values for name, values in space.items() if not callable(values)}
    pools = {
        name: values if isinstance(values, Range) else _tagged(name, values)
        for name, values in drawn.items()
    }
    rows = [
        {name: _at(pool, part) for (name, pool), part in zip(pools.items(), row, strict=True)}
        for row in _sobol(len(pools), number, seed)
    ]
    follows = tuple(_axis(name, values) for name, values in space.items() if callable(values))
    drawn_space = _Listed(tuple(pools), tuple(rows))
    return _Product((drawn_space, *follows)) if follows else drawn_space


def _sobol(axes: int, count: int, seed: int) -> list[list[float]]:
    try:
        from scipy.stats import qmc  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise MissingPackageError(
            "samples need scipy, which is not installed", remedy="pip install 'elk-icca[search]'"
        ) from error
    sampler = qmc.Sobol(d=axes, scramble=True, rng=seed)
    rows: list[list[float]] = sampler.random_base2((count - 1).bit_length())[:count].tolist()
    return rows


def _at(pool: Range | tuple[Tagged, ...], part: float) -> Tagged:
    if isinstance(pool, Range):
        return Tagged(pool.at(part), pool.unit)
    return pool[min(int(part * len(pool)), len(pool) - 1)]


def _axis(name: str, values: Any) -> Space:
    if callable(values):
        return _Follows(name, values)
    if isinstance(values, Range):
        raise InvalidInputError(
            "is a range, of which a product has no end",
            place=name,
            remedy="draw from it with elk.sampled or elk.search, or give elk.linspace",
        )
    return _Listed((name,), tuple({name: value} for value in _tagged(name, values)))


def _tagged(name: str, values: Any) -> tuple[Tagged, ...]:
    """The values of an axis; a value that is no list is the only one."""
    if isinstance(values, Values):
        return tuple(Tagged(value, values.unit) for value in values)
    if isinstance(values, set | frozenset):
        values = _ordered(values)
    is_one = isinstance(values, str | bytes | Mapping) or getattr(values, "shape", None) == ()
    is_list = isinstance(values, Iterable) and not is_one
    found = tuple(Tagged(value, None) for value in (values if is_list else (values,)))
    if not found:
        raise InvalidInputError("has no values", place=name, remedy="give at least one")
    return found


def _ordered(values: Iterable[Any]) -> list[Any]:
    """The values of a set, which has an order of its own in every process."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def listed_points(axes: Sequence[str], points: Iterable[RawPoint]) -> Space:
    """A space of points whose values may be tagged already, in the order of `axes`."""
    rows = (
        {n: v if isinstance(v, Tagged) or callable(v) else Tagged(v, None) for n, v in p.items()}
        for p in points
    )
    return _Listed(tuple(axes), tuple(rows))


def _listed(points: Sequence[Any]) -> Space:
    if not points or not all(isinstance(point, Mapping) and point for point in points):
        raise InvalidInputError(
            "a list of points must hold mappings from axis to value",
            remedy='write it as in [{"batch": 8, "past": 2048}, {"batch": 32, "past": 512}]',
        )
    axes = tuple(points[0])
    for position, point in enumerate(points):
        if set(point) != set(axes):
            raise InvalidInputError(
                f"point {position} has the axes {sorted(point)}, the first one {sorted(axes)}",
                remedy="give every point every axis",
            )
    rows = tuple({name: Tagged(point[name], None) for name in axes} for point in points)
    return _Listed(axes, rows)


@dataclass(frozen=True, repr=False)
class _Listed(Space):
    names: tuple[str, ...]
    rows: tuple[RawPoint, ...]

    def axes(self) -> list[str]:
        return list(self.names)

    def points(self) -> Iterator[RawPoint]:
        return iter(self.rows)

    def size(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, repr=False)
class _Follows(Space):
    name: str
    function: Follows

    def axes(self) -> list[str]:
        return [self.name]

    def points(self) -> Iterator[RawPoint]:
        yield {self.name: self.function}

    def size(self) -> int:
        return 1


@dataclass(frozen=True, repr=False)
class _Product(Space):
    parts: tuple[Space, ...]

    def __post_init__(self) -> None:
        names = [name for part in self.parts for name in part.axes()]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InvalidInputError(f"axis {twice[0]} is given twice", remedy="give it once")
        if self.size() > MOST_POINTS:
            raise InvalidInputError(
                f"the space has {self.size():,} points, at most {MOST_POINTS:,} are swept",
                remedy="draw some of them with elk.sampled",
            )

    def axes(self) -> list[str]:
        return [name for part in self.parts for name in part.axes()]

    def points(self) -> Iterator[RawPoint]:
        pools = [list(part.points()) for part in self.parts]
        for row in itertools.product(*pools):
            yield {name: value for one in row for name, value in one.items()}

    def size(self) -> int:
        size = 1
        for part in self.parts:
            size *= part.size()
        return size


@dataclass(frozen=True, repr=False)
class _Union(Space):
    parts: tuple[Space, ...]

    def axes(self) -> list[str]:
        return self.parts[0].axes()

    def points(self) -> Iterator[RawPoint]:
        for part in self.parts:
            yield from part.points()

    def size(self) -> int:
        return sum(part.size() for part in self.parts)
