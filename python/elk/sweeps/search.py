"""`elk.search`: points of a space chosen one batch after another, nearer and nearer to its front.

Half of a batch is what surfaces fitted to the points so far say would enlarge the front most, the
other half comes from optuna's tree-structured Parzen estimator, whose study is made again from the
store for each batch. `benchmarks/tables/search_table.py` says how much of a front a third of its
space gives.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.base import quantity
from elk.chip.check import nearest
from elk.errors import InvalidInputError
from elk.points.axes import checked_options, sizes
from elk.points.columns import chosen
from elk.points.complaints import Gathered
from elk.points.labels import is_number
from elk.points.scales import Range
from elk.points.space import MOST_POINTS, SpaceLike, sampled
from elk.sweeps.analysis.pareto import hypervolume
from elk.sweeps.analysis.selection import Row, numeric
from elk.sweeps.coordinator import Coordinator, Queue
from elk.sweeps.definition import Base, Definition, Point, define
from elk.sweeps.engine import Engine, Work
from elk.sweeps.entry import constraints, place_of_store
from elk.sweeps.proposals import Coordinates, by_optuna, by_surface
from elk.sweeps.reporting import is_shown
from elk.sweeps.running import How, start
from elk.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elk.sweeps.store import Store

_POOL: Final = 4096  # points to choose from where an axis is a range
_FIRST: Final = 8  # points drawn evenly before anything is known
_HOW: Final = tuple(entry.name for entry in fields(How))


@dataclass(frozen=True, kw_only=True)
class _Aim:
    """What is looked for, how long, and in what steps."""

    objectives: tuple[str, ...]
    points: int
    batch: int
    seed: int
    patience: int | None
    tolerance: float


def search(  # noqa: PLR0913 - every option is a keyword of its own
    model: Any,
    chip: Any,
    space: SpaceLike,
    *,
    points: int,
    objectives: Sequence[str] = ("latency_s", "energy_j"),
    store: str | PathLike[str] | None = None,
    batch: int = 4,
    seed: int = 0,
    patience: int | None = None,
    tolerance: float = 1e-3,
    **given: Any,
) -> Sweep:
    """Looks for the Pareto front of a space without planning all of it.

    The same call on the same store goes on where it was; results that the store holds are taken
    from it. Equal seeds and batches give equal points, whatever the number of workers.

    Args:
        model: As in `elk.sweep`.
        chip: As in `elk.sweep`.
        space: As in `elk.sweep`; an axis may be a range of `elk.between`, too.
        points: How many points are planned at most.
        objectives: Columns that are to be small, axes among them; with a minus in front, large.
        store: As in `elk.sweep`.
        batch: Points that are chosen together: at least the number of workers keeps all at work.
        seed: Of what is drawn by chance.
        patience: The search ends when so many points enlarge the hypervolume below the front by
            less than `tolerance`; None: never.
        tolerance: A part of that hypervolume.
        given: Every other keyword of `elk.sweep`.

    Returns:
        The sweep of the points that were planned; `.pareto(*objectives)` is the front found.

    Raises:
        InvalidInputError: something is wrong, or no point has an objective.
        MissingPackageError: optuna or scipy is not installed.
        SweepStoreError: as `elk.sweep`.

    Example:
        >>> found = elk.search(
        ...     "models/nerf.onnx", "tiny", {"rows": 64, "cores": [8, 16, 32, 64]}, points=3,
        ...     objectives=("latency_s", "cores"), workers=0, policy="static",
        ... )
        >>> len(found)
        3
    """
    wrong = Gathered()
    aim = wrong.of(
        "",
        lambda: _aim(
            _Aim(
                objectives=tuple(objectives),
                points=points,
                batch=batch,
                seed=seed,
                patience=patience,
                tolerance=tolerance,
            )
        ),
    )
    asked = {name: given.pop(name) for name in _HOW if name in given}
    how = wrong.of("", How(**asked).checked) or How()
    base = _base(model, chip, given, wrong, how)
    path = wrong.of("store", lambda: place_of_store(store))
    pool = wrong.of("space", lambda: define(base, _pool(space, seed)))
    wrong.refuse()
    if aim is not None and pool is not None:
        _check_objectives(aim.objectives, pool)
    if aim is None or path is None or pool is None:  # pragma: no cover - a complaint said so
        raise AssertionError
    made = start(path, replace(pool, points=[]))
    _Search(pool, aim, made, how).run()
    return Sweep(made, base)


def _aim(aim: _Aim) -> _Aim:
    """`aim` itself, if nothing is wrong with it."""
    most = {"points": MOST_POINTS, "batch": 4096, "seed": 1 << 31, "patience": MOST_POINTS}
    for name, limit in most.items():
        value, least = getattr(aim, name), 0 if name == "seed" else 1
        if value is not None and not least <= quantity.count(value) <= limit:
            raise InvalidInputError(f"{name} must be from {least} to {limit:,}, got {value}")
    if not is_number(aim.tolerance) or aim.tolerance < 0:
        raise InvalidInputError(f"tolerance must be a number of at least 0, got {aim.tolerance!r}")
    if len(aim.objectives) < 2 or len(set(aim.objectives)) < len(aim.objectives):  # noqa: PLR2004
        raise InvalidInputError(f"objectives must be two or more, got {list(aim.objectives)}")
    return aim


def _base(model: Any, chip: Any, given: dict[str, Any], wrong: Gathered, how: How) -> Base:
    bindings, where = given.pop("bindings", None), given.pop("where", ())
    keep, plans = given.pop("keep", None), bool(given.pop("plans", False))
    return Base(
        model=model,
        chip=chip,
        bindings=wrong.of("bindings", lambda: sizes(bindings)) or {},
        options=wrong.of("options", lambda: checked_options(given)) or {},
        where=wrong.of("where", lambda: constraints(where)) or (),
        columns=wrong.of("keep", lambda: chosen(keep)) or (),
        plans=plans,
        limits=how.limits,
    )


def _pool(space: SpaceLike, seed: int) -> SpaceLike:
    """The points to choose from: all of a space, or many even samples where an axis is a range."""
    if isinstance(space, Mapping) and any(isinstance(v, Range) for v in space.values()):
        return sampled(space, _POOL, seed=seed)
    return space


@dataclass
class _Search:
    pool: Definition
    aim: _Aim
    store: Store
    how: How
    asked: list[int] = field(default_factory=list)  # positions in the pool, in order
    rows: list[Row] = field(default_factory=list)  # what was found of each

    def run(self) -> None:
        """Asks for batches until there are points enough, or they no longer help."""
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for a notebook when it is imported

        most = min(self.aim.points, len(self.pool.points))
        first = np.random.default_rng(self.aim.seed).permutation(len(self.pool.points))
        space = Coordinates.of(self.pool)
        with (
            self.store.coordinating(),
            self._engine() as engine,
            tqdm(total=most, desc="search", disable=not is_shown(self.how.progress)) as bar,
        ):
            batch = [int(i) for i in first[: min(_FIRST, most)]]
            while batch:
                self._answer(batch, engine)
                bar.update(len(batch))
                if self._is_spent() or len(self.asked) >= most:
                    break
                # A batch cut short begins as the whole one, which a later call goes on with.
                batch = self._next(space, self.aim.batch)[: most - len(self.asked)]

    @contextlib.contextmanager
    def _engine(self) -> Iterator[Engine]:
        work = Work(
            sources=tuple(self.pool.sources.values()),
            columns=self.store.columns,
            plans=bool(json.loads(self.store.about["plans"])),
            limits=self.how.limits,
        )
        engine = self.how.engine(work)
        try:
            yield engine
        finally:
            engine.close()

    def _answer(self, batch: Sequence[int], engine: Engine) -> None:
        """Plans those points of a batch that the store has no answer for."""
        there = {point.values for point in self.store.points()}
        chosen = [self.pool.points[i] for i in batch]
        fresh = [point for point in chosen if point.values not in there]
        numbered = [replace(p, position=len(there) + i) for i, p in enumerate(fresh)]
        chips = {p.task.chip: self.pool.chips[p.task.chip] for p in fresh if p.task.chip}
        self.store.add(replace(self.pool, points=numbered, chips=chips))
        wanted = {point.task.key for point in chosen}
        tasks = [task for task in self.store.open_tasks() if task.key in wanted]
        coordinator = Coordinator(
            store=self.store, engine=engine, retries=self.how.retries, report=lambda _: None
        )
        coordinator.run(Queue.of(tasks, self.store.chips({task.chip for task in tasks})))
        self.asked += batch
        self.rows += self._found(chosen)

    def _found(self, points: Sequence[Point]) -> list[Row]:
        sweep = Sweep(self.store)
        by_values = {tuple(row[name] for name in sweep.axes): row for row in sweep.rows()}
        found = [by_values[point.values] for point in points]
        return [row if sweep.is_real(row) else {**row, "status": "none"} for row in found]

    def _values(self) -> NDArray[np.float64]:
        """Objectives of the points so far, all to be small; what has none is worse than all.

        Raises:
            InvalidInputError: no point has one of them.
        """
        done = [row for row in self.rows if row["status"] == "done"]
        if not done:
            raise InvalidInputError(
                f"none of the first {len(self.rows)} points is done",
                code="no_values",
                remedy=f"see why in the store, {self.store.path}",
            )
        columns = []
        for objective in self.aim.objectives:
            name = objective.removeprefix("-")
            numeric("objectives", name, done)
            known = [row[name] if row["status"] == "done" else None for row in self.rows]
            values = np.array([np.nan if value is None else value for value in known], dtype=float)
            values = np.log(values) if np.nanmin(values) > 0 else values
            values = -values if objective.startswith("-") else values
            worst = np.nanmax(values) + max(float(np.ptp(values[~np.isnan(values)])), 1e-9)
            columns.append(np.where(np.isnan(values), worst, values))
        return np.column_stack(columns)

    def _is_spent(self) -> bool:
        """Whether the last points have not enlarged the hypervolume."""
        patience, values = self.aim.patience, self._values()
        if patience is None or len(values) <= patience:
            return False
        reference = (values.max(axis=0) + 1e-9).tolist()
        now = hypervolume(values, reference)
        return now - hypervolume(values[:-patience], reference) <= self.aim.tolerance * now

    def _next(self, space: Coordinates, count: int) -> list[int]:
        """The next points: by surfaces, then by optuna."""
        values = self._values()
        first = by_surface(space, values, self.asked, (count + 1) // 2)
        return first + by_optuna(
            space, values, self.asked, first, count=count - len(first), seed=self.aim.seed
        )


def _check_objectives(objectives: Sequence[str], pool: Definition) -> None:
    """Refuses objectives that the rows of the search will not have."""
    known = [*pool.axes, *pool.columns]
    for objective in objectives:
        name = objective.removeprefix("-")
        if name not in known:
            raise InvalidInputError(
                f"{name} is no axis and no column that is kept",
                code="unknown_name",
                place="objectives",
                remedy=nearest(name, known),
            )
