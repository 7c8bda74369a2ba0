"""Which points of a space to plan next, on the way to its Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.errors import MissingPackageError
from elk.points.labels import is_number
from elk.sweeps.analysis.pareto import front_of
from elk.sweeps.analysis.sensitivity import fit, terms_of
from elk.sweeps.definition import Definition

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FAR: Final = 10.0  # how far apart words are, in lengths of an axis of numbers


@dataclass(frozen=True)
class Coordinates:
    """Where the points of a pool lie.

    Attributes:
        places: A row a point, a column an axis that varies: from 0 to 1, or the number of a word.
        words: How many words an axis has; None where it has numbers.
        terms: The terms of a surface, a row a point.
    """

    places: NDArray[np.float64]
    words: tuple[int | None, ...]
    terms: NDArray[np.float64]

    @staticmethod
    def of(pool: Definition) -> Coordinates:
        """The coordinates of these points."""
        rows = [dict(zip(pool.axes, point.values, strict=True)) for point in pool.points]
        axes = [name for name in pool.axes if len({row[name] for row in rows}) > 1]
        columns: list[NDArray[np.float64]] = []
        words: list[int | None] = []
        for name in axes:
            values = [row[name] for row in rows]
            known = list(dict.fromkeys(values))
            if all(map(is_number, known)):
                x = np.array(values, dtype=float)
                x = np.log(x) if (x > 0).all() else x
                columns.append((x - x.min()) / np.ptp(x))
                words.append(None)
            else:
                columns.append(np.array([known.index(value) for value in values], dtype=float))
                words.append(len(known))
        if not axes:
            return Coordinates(np.zeros((len(rows), 0)), (), np.zeros((len(rows), 0)))
        return Coordinates(np.column_stack(columns), tuple(words), terms_of(axes, rows))

    def params(self, position: int) -> dict[str, float | int]:
        """The place of a point as optuna writes it."""
        row = self.places[position].tolist()
        return {
            str(i): place if words is None else int(place)
            for i, (place, words) in enumerate(zip(row, self.words, strict=True))
        }

    def distance(self, params: Mapping[str, float]) -> NDArray[np.float64]:
        """How far each point is from a place."""
        total = np.zeros(len(self.places))
        for i, words in enumerate(self.words):
            apart = self.places[:, i] - params[str(i)]
            total += apart**2 if words is None else _FAR * (apart != 0)
        return total


def by_surface(
    space: Coordinates, values: NDArray[np.float64], asked: Sequence[int], count: int
) -> list[int]:
    """Points that, by fitted surfaces, lie farthest below the front so far.

    Args:
        space: Where the points lie.
        values: Objectives of the points asked for, all to be small; shape (points, objectives).
        asked: Their positions in the space.
        count: How many points.
    """
    told = np.empty((len(space.terms), values.shape[1]))
    known = space.terms[asked]
    for k, column in enumerate(values.T):
        slopes, _ = fit(known, column)
        told[:, k] = column.mean() + (space.terms - known.mean(axis=0)) @ slopes
    front = values[front_of(values)]
    span = np.ptp(values, axis=0) + 1e-12
    gains = np.full(len(told), np.inf)
    for point in front:
        gains = np.minimum(gains, np.max((point - told) / span, axis=1))
    gains[asked] = -np.inf
    found: list[int] = []
    for _ in range(min(count, int(np.isfinite(gains).sum()))):
        best = int(gains.argmax())
        found.append(best)
        gains = np.minimum(gains, np.max((told[best] - told) / span, axis=1))
        gains[best] = -np.inf
    return found


def by_optuna(
    space: Coordinates,
    values: NDArray[np.float64],
    asked: Sequence[int],
    taken: Sequence[int],
    *,
    count: int,
    seed: int,
) -> list[int]:
    """Points that are nearest to what optuna asks for, of those that nobody has asked for.

    Args:
        space: Where the points lie.
        values: Objectives of the points asked for, all to be small; shape (points, objectives).
        asked: Their positions in the space.
        taken: Positions that are taken besides.
        count: How many points.
        seed: Of what optuna draws by chance.

    Raises:
        MissingPackageError: optuna is not installed.
    """
    optuna = _optuna()
    sampler = optuna.samplers.TPESampler(
        seed=seed + len(asked), n_startup_trials=0, multivariate=True
    )
    study = optuna.create_study(directions=["minimize"] * values.shape[1], sampler=sampler)
    scales = {
        str(i): optuna.distributions.FloatDistribution(0.0, 1.0)
        if words is None
        else optuna.distributions.CategoricalDistribution(list(range(words)))
        for i, words in enumerate(space.words)
    }
    for position, row in zip(asked, values.tolist(), strict=True):
        trial = optuna.trial.create_trial(
            params=space.params(position), distributions=scales, values=row
        )
        study.add_trial(trial)
    is_open = np.ones(len(space.places), dtype=bool)
    is_open[[*asked, *taken]] = False
    found: list[int] = []
    for _ in range(min(count, int(is_open.sum()))):
        params = study.ask(scales).params
        distance = space.distance(params)
        distance[~is_open] = np.inf
        found.append(int(distance.argmin()))
        is_open[found[-1]] = False
    return found


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise MissingPackageError(
            "searches need optuna, which is not installed",
            remedy="pip install 'elk-icca[search]', or take elk.sweep",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
