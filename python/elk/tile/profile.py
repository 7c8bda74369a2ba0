"""Profile files: CSV rows of tile shape and cycles, read into columns by the role of each size."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elk._core import TILE_DIMS
from elk.errors import InvalidInputError

Sizes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kernel = tuple[str, str, str]  # function, dtype it computes in, dtype it accumulates in

_MOST_BYTES = 256 << 20
_LARGEST = 1 << 40
_DTYPES = frozenset({
    "f64", "f32", "f16", "bf16", "f8", "i64", "i32", "i16", "i8", "i4", "u64", "u32", "u16", "u8",
    "u4", "bool",
})  # fmt: skip


class ProfileFileError(InvalidInputError):
    """A profile file that cannot be read, or that does not hold rows of tile shape and cycles."""

    code = "profile_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The columns of a kind of file: which size of the tile each is, and the call's parameters."""

    dims: Mapping[str, str]
    params: tuple[str, ...] = ()
    suffix: str = ""  # the column that completes the function's name


_CONV = {"b": "batch", "oh": "out_h", "ow": "out_w", "kh": "kernel_h", "kw": "kernel_w"}

# The first layout all of whose columns a file has is the file's.
_LAYOUTS = (
    _Layout(dims={"g": "group", "m": "m", "k": "k", "n": "n"}),
    _Layout(dims={"m": "m", "k": "k", "n": "n"}),
    _Layout(dims={**_CONV, "ci": "in_ch", "co": "out_ch"}, params=("sh", "sw")),
    _Layout(dims={**_CONV, "c": "out_ch"}, params=("sh", "sw")),
    _Layout(dims={"matrices": "group", "rows": "rows", "cols": "cols"}),
    _Layout(dims={"depth": "rows", "outputs": "cols"}),
    _Layout(
        dims={"rows_looked_up": "slices", "row_elems": "slice_elements"}, params=("table_rows",)
    ),
    _Layout(dims={"rows_updated": "slices", "row_elems": "slice_elements"}),
    _Layout(dims={"slices": "slices", "slice_elems": "slice_elements"}),
    _Layout(dims={"rows": "rows", "cols": "cols"}, suffix="axis"),
    _Layout(dims={"rows": "rows", "cols": "cols"}, params=("inplace",), suffix="bcast"),
    _Layout(dims={"rows": "rows", "cols": "cols"}),
    _Layout(dims={"n": "elements"}, params=("mem_constrained",)),
    _Layout(dims={"n": "elements"}, params=("inplace",)),
    _Layout(dims={"n": "elements"}),
)
_OPTIONAL = ("table_rows",)  # a parameter without influence: a file may leave it out
_ROUTINE_COLUMNS = ("vertex", "in_group", "out_group", "groups_per_group")
_KIND_COLUMNS = ("op", "draw", "axis", "bcast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rows of one profile file.

    Attributes:
        path: The file.
        kinds: The kind of each row: its `op`, with `draw`, `axis` and `bcast` where there are any.
        dtypes: The dtype of each row, as the file writes it.
        kernels: The kernel of each row: function, dtype, accumulation dtype.
        shapes: One tile a row: a size for each of `TILE_DIMS`, then two parameters of the call.
        cycles: Cycles of each row.
        routines: Who computed each row, as the file says: `vertex` and its channel groups.
        transposed: Whether each row was computed transposed; -1 where the file does not say.
    """

    path: Path
    kinds: list[str]
    dtypes: list[str]
    kernels: list[Kernel]
    shapes: Sizes
    cycles: NDArray[np.float64]
    routines: list[str] | None
    transposed: Sizes

    def held_out(self) -> Mask:
        """The fifth of the rows that fits never see, drawn by a hash of the row's number."""
        return held_out(len(self.kinds))


def held_out(rows: int) -> Mask:
    """The fifth of `rows` rows that fits never see, drawn by a hash of the row's number.

    Example:
        >>> int(held_out(1000).sum())
        197
    """
    mixed = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    chosen: Mask = mixed % np.uint64(5) == 0
    return chosen


def read_profile(path: str | Path) -> Profile:
    """Reads a profile file: a header, then one row a tile.

    Raises:
        ProfileFileError: The file cannot be read, a column is missing, or a value is not what its
            column holds. The place is file, line and column.
    """
    path = Path(path)
    table = _read_table(path)
    layout = _layout(path, table)
    kernels = [_kernel(layout, table, row) for row in range(len(table["cycles"]))]
    _check_dtypes(path, kernels)
    return Profile(
        path=path,
        kinds=_joined(table, _KIND_COLUMNS),
        dtypes=table["dtype"] if "dtype" in table else _joined(table, ("from", "to"), "_to_"),
        kernels=kernels,
        shapes=_shapes(path, layout, table),
        cycles=_integers(path, table, "cycles", least=1).astype(np.float64),
        routines=_joined(table, _ROUTINE_COLUMNS) if "vertex" in table else None,
        transposed=_integers(path, table, "swapped", least=0)
        if "swapped" in table
        else np.full(len(kernels), -1, dtype=np.int64),
    )


def _read_table(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file, as text."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ProfileFileError("the file is over 256 MiB", place=str(path))
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, None)
            if not header:
                raise ProfileFileError("the file is empty", place=f"{path}:1")
            rows = _data_rows(path, header, reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProfileFileError(
            f"the file cannot be read: {error}",
            place=str(path),
            remedy="a profile is UTF-8 text: a header and rows of comma-separated values",
        ) from None
    if not rows:
        raise ProfileFileError("the file has a header but no rows", place=f"{path}:1")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ProfileFileError(f"column {twice[0]} is given twice", place=f"{path}:1")
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(header, columns, strict=True))


def _data_rows(path: Path, header: list[str], reader: Iterable[list[str]]) -> list[list[str]]:
    rows = []
    for line, row in enumerate(reader, start=2):
        if len(row) != len(header):
            raise ProfileFileError(
                f"the row has {len(row)} values, the header {len(header)}", place=f"{path}:{line}"
            )
        rows.append(row)
    return rows


def _layout(path: Path, table: Mapping[str, list[str]]) -> _Layout:
    for name in ("op", "cycles"):
        if name not in table:
            raise ProfileFileError(
                f"column {name} is missing", place=f"{path}:1", remedy="every profile has it"
            )
    if "dtype" not in table and not {"from", "to"} <= table.keys():
        raise ProfileFileError("column dtype is missing", place=f"{path}:1")
    for layout in _LAYOUTS:
        needed = {*layout.dims, *(name for name in layout.params if name not in _OPTIONAL)}
        if {*needed, *filter(None, [layout.suffix])} <= table.keys():
            return layout
    known = "; ".join(" ".join(layout.dims) for layout in _LAYOUTS)
    raise ProfileFileError(
        f"columns {', '.join(table)} hold no sizes of a known kind",
        place=f"{path}:1",
        remedy=f"sizes are one of: {known}",
    )


def _kernel(layout: _Layout, table: Mapping[str, list[str]], row: int) -> Kernel:
    function = table["op"][row]
    if layout.suffix:
        function = f"{function}/{table[layout.suffix][row]}"
    if "dtype" not in table:
        return (function, table["from"][row], table["to"][row])
    dtype = table["dtype"][row]
    compute, mark, accumulate = dtype.partition("_acc")
    if mark:
        return (function, compute, f"f{accumulate}")
    source, mark, target = dtype.partition("_to_")
    if mark:
        return (function, source, target)
    return (function, dtype, table["out_dtype"][row] if "out_dtype" in table else dtype)


def _check_dtypes(path: Path, kernels: Sequence[Kernel]) -> None:
    for line, (_, compute, accumulate) in enumerate(kernels, start=2):
        for dtype in (compute, accumulate):
            if dtype not in _DTYPES:
                raise ProfileFileError(
                    f"{dtype!r} is no dtype",
                    place=f"{path}:{line}:dtype",
                    remedy=f"dtypes are {', '.join(sorted(_DTYPES))}, f16_acc32, f32_to_f16",
                )


def _joined(table: Mapping[str, list[str]], names: Sequence[str], mark: str = "/") -> list[str]:
    columns = [table[name] for name in names if name in table]
    return [mark.join(parts) for parts in zip(*columns, strict=True)]


def _shapes(path: Path, layout: _Layout, table: Mapping[str, list[str]]) -> Sizes:
    shapes = np.ones((len(table["cycles"]), len(TILE_DIMS) + 2), dtype=np.int64)
    shapes[:, len(TILE_DIMS) :] = 0
    for name, dim in layout.dims.items():
        shapes[:, TILE_DIMS.index(dim)] = _integers(path, table, name, least=1)
    for slot, name in enumerate(layout.params):
        if name in table:
            shapes[:, len(TILE_DIMS) + slot] = _integers(path, table, name, least=0)
    return shapes


def _integers(path: Path, table: Mapping[str, list[str]], name: str, *, least: int) -> Sizes:
    values = np.empty(len(table[name]), dtype=np.int64)
    for row, text in enumerate(table[name]):
        try:
            value = int(text)
        except ValueError:
            value = -1
        if not least <= value <= _LARGEST:
            raise ProfileFileError(
                f"{name} must be an integer from {least} to {_LARGEST}, got {text!r}",
                place=f"{path}:{row + 2}:{name}",
            )
        values[row] = value
    return values
