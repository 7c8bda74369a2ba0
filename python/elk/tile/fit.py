"""Fits tile models to profiles, and says how well a model predicts one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elk import _core
from elk.base.waiting import interruptible
from elk.errors import InvalidInputError
from elk.tile.profile import Kernel, Mask, Profile, Sizes, read_profile
from elk.tile.recipes import Recipe, recipe
from elk.tile.tilemodel import FittedModel, KernelRecord, OpaqueRecord

_DIGITS = 9
_FIRST_PARAM = len(_core.TILE_DIMS)

# Opaque ops: the ordinary loads and stores of one cycle, and the vectors of its workers.
_OPAQUE = OpaqueRecord(call_cycles=122.0, sram_bytes_per_cycle=16.0, vector_elements_per_cycle=2.0)
_BY_COLUMNS = ("softmax", "layernorm", "rmsnorm")  # with a row in the table for cols % 8 == 0
_COLUMNS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """How well a model predicts one kind of rows. Errors are relative, in percent of the profile.

    Attributes:
        kind: Op, draw, axis and broadcast of the rows.
        dtype: Their dtype, as the profile writes it.
        rows: How many there are.
        mean_pct: Mean of the errors.
        p95_pct: The error that 95 % of the rows stay below.
        max_pct: The largest error.
        r2: Share of the variance of cycles that the model explains.
    """

    kind: str
    dtype: str
    rows: int
    mean_pct: float
    p95_pct: float
    max_pct: float
    r2: float


def fit(paths: Sequence[str | Path], *, name: str) -> FittedModel:
    """Fits a model to the profiles at `paths`, leaving out the rows of `Profile.held_out`.

    The same files give the same model, to the bit.

    Raises:
        ProfileFileError: A file is not a profile; the place is file, line and column.

    Example:
        >>> model = fit(["data/ipu_mk2_profile/axpy.csv"], name="mine")
        >>> [kernel.function for kernel in model.kernels]
        ['axpy', 'axpy']
    """
    if not paths:
        raise InvalidInputError("there is no profile to fit to", remedy="name a CSV file")
    profiles = [read_profile(path) for path in paths]
    found = sorted({kernel for profile in profiles for kernel in profile.kernels})
    kernels = [_fit_kernel(kernel, profiles) for kernel in found]
    return FittedModel(
        name=name,
        source=", ".join(profile.path.name for profile in profiles),
        opaque=_OPAQUE,
        kernels=tuple(kernel for kernel in kernels if kernel is not None),
    )


def check(
    paths: Sequence[str | Path], model: _core.TileModel, *, held_out_only: bool = False
) -> list[ErrorRow]:
    """The errors of `model` on the profiles at `paths`, by kind and dtype.

    Args:
        paths: Profile files.
        model: What predicts.
        held_out_only: Whether to leave out the rows that a fit to these files saw.

    Raises:
        ProfileFileError: A file is not a profile; the place is file, line and column.

    Example:
        >>> model = elk.tilemodel.load_tile_model("ipu-mk2")
        >>> rows = check(["data/ipu_mk2_profile/axpy.csv"], model)
        >>> rows[0].mean_pct < 5
        True
    """
    groups: dict[tuple[str, str], list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = {}
    for path in paths:
        profile = read_profile(path)
        chosen = profile.held_out() if held_out_only else np.ones(len(profile.kinds), dtype=bool)
        predicted = predict(profile, model)
        for key, rows in _grouped(profile, chosen):
            groups.setdefault(key, []).append((profile.cycles[rows], predicted[rows]))
    return [
        _error_row(
            key,
            np.concatenate([actual for actual, _ in parts]),
            np.concatenate([guess for _, guess in parts]),
        )
        for key, parts in sorted(groups.items())
    ]


def predict(profile: Profile, model: _core.TileModel) -> NDArray[np.float64]:
    """Cycles of each row of `profile` under `model`."""
    out = np.empty(len(profile.kernels))
    for kernel, rows in _rows_of_kernels(profile):
        out[rows] = model.cycles(kernel, profile.shapes[rows])
    return out


def _grouped(profile: Profile, chosen: Mask) -> Iterator[tuple[tuple[str, str], Mask]]:
    """The rows of each kind and dtype, and of each that is told apart by alignment."""
    keys = list(zip(profile.kinds, profile.dtypes, strict=True))
    aligned = profile.shapes[:, _core.TILE_DIMS.index("cols")] % _COLUMNS == 0
    for kind, dtype in sorted(set(keys)):
        rows = chosen & np.array([key == (kind, dtype) for key in keys])
        if rows.any():
            yield (kind, dtype), rows
        if kind in _BY_COLUMNS and (rows & aligned).any():
            yield (f"{kind}/x{_COLUMNS}", dtype), rows & aligned


def _error_row(
    key: tuple[str, str], actual: NDArray[np.float64], guess: NDArray[np.float64]
) -> ErrorRow:
    errors = np.abs(guess / actual - 1.0) * 100.0
    spread = float(np.sum((actual - actual.mean()) ** 2))
    missed = float(np.sum((actual - guess) ** 2))
    perfect = 1.0 if missed == 0.0 else 0.0
    return ErrorRow(
        kind=key[0],
        dtype=key[1],
        rows=len(actual),
        mean_pct=float(errors.mean()),
        p95_pct=float(np.quantile(errors, 0.95)),
        max_pct=float(errors.max()),
        r2=1.0 - missed / spread if spread > 0.0 else perfect,
    )


def _rows_of_kernels(profile: Profile) -> Iterator[tuple[Kernel, NDArray[np.intp]]]:
    order = sorted(range(len(profile.kernels)), key=profile.kernels.__getitem__)
    for kernel, rows in itertools.groupby(order, key=profile.kernels.__getitem__):
        yield kernel, np.array(list(rows), dtype=np.intp)


def _fit_kernel(kernel: Kernel, profiles: Sequence[Profile]) -> KernelRecord | None:
    """The fit of one kernel; None if all its rows are held out."""
    parts = [
        (profile, rows[~profile.held_out()[rows]])
        for profile in profiles
        for found, rows in _rows_of_kernels(profile)
        if found == kernel
    ]
    shapes = np.concatenate([profile.shapes[rows] for profile, rows in parts])
    if not len(shapes):
        return None
    chosen = recipe(*kernel, variant=len(np.unique(shapes[:, _FIRST_PARAM])) > 1)
    origins = [_origins(profile, rows, chosen) for profile, rows in parts]
    cycles = np.concatenate([profile.cycles[rows] for profile, rows in parts])
    turns = (
        np.concatenate([family for family, _ in origins]),
        np.concatenate([turned for _, turned in origins]),
    )
    forms = [[form.model_dump() for form in families] for families in chosen.alternatives]
    fitted = interruptible(
        lambda: _core.fit_tile_kernel(
            kernel=kernel, shapes=shapes, cycles=cycles, origins=turns, alternatives=forms
        )
    )
    return KernelRecord.model_validate({**_rounded(fitted), "rows": len(shapes)})


def _origins(profile: Profile, rows: NDArray[np.intp], chosen: Recipe) -> tuple[Sizes, Sizes]:
    """The family and the orientation that a profile names for its rows; -1 where it names none."""
    family = np.full(len(rows), -1, dtype=np.int64)
    if not chosen.labels:
        return family, family
    if profile.routines is not None:
        family[:] = [chosen.family(profile.routines[row]) for row in rows]
    return family, profile.transposed[rows]


def _rounded(value: Any) -> Any:
    """`value` with numbers of at most nine digits: what a profile can tell, and shorter files."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return value
