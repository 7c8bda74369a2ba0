"""A sweep's table as a pandas frame, an xarray dataset or a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from elk.base import atomic_file
from elk.base.optional import pandas
from elk.errors import InvalidInputError, MissingPackageError
from elk.points.columns import COLUMNS, MEASURED

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_SUFFIXES: Final = (".parquet", ".nc", ".csv")
_NUMBERS: Final = ("s", "J", "W", "FLOP/s", "B")
_TIMED: Final = (*MEASURED, "seconds", "worker", "finished_at")  # differ from run to run
_TEXTS: Final = ("status", "code", "message", "elk_version", "worker", "finished_at")


def frame(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """The table as a pandas frame, indexed by point; numbers are no objects."""
    records = pandas("sweep.rows()").DataFrame.from_records
    table: pd.DataFrame = records([tuple(row) for row in rows], columns=list(names))
    for name in names:
        if name in COLUMNS and COLUMNS[name].unit in _NUMBERS:
            table[name] = table[name].astype("float64")
        elif name in _TEXTS:
            table[name] = table[name].astype("str" if table[name].notna().all() else "object")
    return table.set_index("point")


def dataset(names: Sequence[str], rows: Sequence[Sequence[Any]], axes: Sequence[str]) -> xr.Dataset:
    """The table as a dataset: a dimension an axis where the points are a product, else `point`."""
    try:
        import xarray  # noqa: F401, PLC0415 - pandas asks for it
    except ImportError as error:
        raise MissingPackageError(
            "datasets need xarray, which is not installed",
            remedy="pip install 'elk-icca[data]', or take sweep.to_pandas()",
        ) from error
    table = frame(names, rows)
    size = 1
    for axis in axes:
        size *= table[axis].nunique(dropna=False)
    is_product = size == len(table) and not table.duplicated(list(axes)).any()
    indexed = table.set_index(list(axes)) if is_product else table
    made: xr.Dataset = indexed.to_xarray()
    if is_product:  # pandas sorts; the caller's order says more.
        made = made.reindex({axis: table[axis].unique() for axis in axes})
    for name, column in COLUMNS.items():
        if name in made and column.unit:
            made[name].attrs["units"] = column.unit
        if name in made:
            made[name].attrs["long_name"] = column.what
    return made


def write(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    axes: Sequence[str],
    path: Path,
    *,
    timed: bool,
) -> None:
    """Writes the table in the format of the path's suffix."""
    if path.suffix not in _SUFFIXES:
        raise InvalidInputError(
            f"a sweep is written as {', '.join(_SUFFIXES)}, not as {path.suffix or 'no suffix'!r}",
            place=str(path),
            remedy="end the name in one of them",
        )
    left_out = [] if timed else [*_TIMED]
    if path.suffix == ".nc":
        data = dataset(names, rows, axes).drop_vars(left_out, errors="ignore")
        content = _netcdf(data)
    else:
        table = frame(names, rows).drop(columns=left_out, errors="ignore")
        content = _parquet(table) if path.suffix == ".parquet" else table.to_csv().encode()
    atomic_file.write_bytes(path, content, "the table")


def _parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    try:
        table.to_parquet(buffer, engine="pyarrow")
    except ImportError as error:
        raise MissingPackageError(
            "Parquet needs pyarrow, which is not installed", remedy="pip install 'elk-icca[data]'"
        ) from error
    return buffer.getvalue()


def _netcdf(data: xr.Dataset) -> bytes:
    for name in data.variables:
        if data[name].dtype == object:
            data[name] = data[name].fillna("").astype(str)
    try:
        return bytes(data.to_netcdf(engine="h5netcdf"))
    except (ImportError, ValueError) as error:
        raise MissingPackageError(
            "NetCDF needs h5netcdf and h5py, which are not installed",
            remedy="pip install 'elk-icca[data]'",
        ) from error
