"""Tile models: what one call of a kernel costs on one core, read from files beside the chips."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from elk._core import TileModel
from elk.base import atomic_file
from elk.errors import InvalidInputError
from elk.tile.forms import Dim, Form, GranulesForm, SideForm
from elk.tile.forms import Positive as Step

SCHEMA: Literal["elk.tile_model/1"] = "elk.tile_model/1"
FUNCTION: Final = "function "  # what a chip names as tile model before a caller's function
_MOST_BYTES = 16 << 20
_NO_LIMIT = (1 << 60,) * 9
_ALL_AXES: tuple[Dim, ...] = tuple(dim for dim in get_args(Dim) if dim != "none")
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=0, lt=1 << 63)]


class TileModelFileError(InvalidInputError):
    """A tile model that cannot be read, or that describes no possible model."""

    code = "tile_model_file"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class FamilyRecord(_Record):
    """A form and its coefficients.

    Attributes:
        form: What cycles are linear in.
        pieces: Coefficients of each piece; none of a piece that had no rows.
        most_columns: A product with more columns is never cheapest here.
        most_depth: Nor a product that is deeper. Channels of a window: out are columns, in depth.
        outside: Coefficients of its linear continuation beyond the fitted range; none of a family
            that no row was of.
    """

    form: Form
    pieces: tuple[tuple[Finite, ...], ...]
    most_columns: Size = (1 << 63) - 1
    most_depth: Size = (1 << 63) - 1
    outside: tuple[Finite, ...] = ()


class KernelRecord(_Record):
    """The fit of one function in one pair of dtypes.

    Attributes:
        function: The kernel, in the words of the profile.
        dtype: What it computes in; of a cast, what it reads.
        accumulate: What it accumulates in; of a cast, what it writes.
        rows: Rows it was fitted to.
        families: The ways to compute it; the cheapest counts.
        limit: The largest sizes of the fitted range, in the order of the first form.
    """

    function: str
    dtype: str
    accumulate: str
    rows: int = 0
    families: tuple[FamilyRecord, ...]
    limit: Annotated[tuple[Size, ...], Field(min_length=9, max_length=9)]


class OpaqueRecord(_Record):
    """What an op costs that no kernel stands for: a call, its bytes, its vector operations."""

    call_cycles: Positive
    sram_bytes_per_cycle: Positive
    vector_elements_per_cycle: Positive


class FittedModel(_Record):
    """A model fitted to the rows of profiles by `elk fit`."""

    schema_: Annotated[Literal["elk.tile_model/1"], Field(alias="schema")] = SCHEMA
    kind: Literal["fitted"] = "fitted"
    name: str
    source: str
    opaque: OpaqueRecord
    kernels: tuple[KernelRecord, ...]

    def to_core(self) -> TileModel:
        """The model that the planner evaluates."""
        kernels = [kernel.model_dump(exclude={"rows"}) for kernel in self.kernels]
        return TileModel(kernels, self.opaque.model_dump())


class AnalyticModel(_Record):
    """A chip without a profile: peak rates, the granularity they hold for, a fixed cost a call.

    A product of m x k x n takes `call_cycles + blocks * gm gk gn / macs_per_cycle`, with the blocks
    of `gm x gk x gn` that cover it; each product of a batch is a call. A convolution is the product
    of its output positions, its input channels times kernel positions, and its output channels;
    its groups add their blocks in one call. Anything else takes `call_cycles +
    ceil(n / vector_elements_per_cycle)` for n elements; a window over channels that do not mix
    counts each output element once for each kernel position.
    """

    schema_: Annotated[Literal["elk.tile_model/1"], Field(alias="schema")] = SCHEMA
    kind: Literal["analytic"]
    name: str
    source: str
    macs_per_cycle: Positive
    granularity: tuple[Step, Step, Step]
    vector_elements_per_cycle: Step
    sram_bytes_per_cycle: Positive
    call_cycles: Positive

    def to_core(self) -> TileModel:
        """The model that the planner evaluates."""
        m, k, n = self.granularity
        block = m * k * n / self.macs_per_cycle
        kernels = [
            self._kernel("matmul", ((("m",), m), (("k",), k), (("n",), n)), block),
            self._kernel(
                "conv2d",
                (
                    (("batch", "out_h", "out_w"), m),
                    (("in_ch", "kernel_h", "kernel_w"), k),
                    (("out_ch",), n),
                ),
                block,
            ),
            self._kernel("*", ((_ALL_AXES, self.vector_elements_per_cycle),), 1.0),
        ]
        opaque = {
            "call_cycles": self.call_cycles,
            "sram_bytes_per_cycle": self.sram_bytes_per_cycle,
            "vector_elements_per_cycle": float(self.vector_elements_per_cycle),
        }
        return TileModel([kernel.model_dump(exclude={"rows"}) for kernel in kernels], opaque)

    def _kernel(
        self, function: str, sides: tuple[tuple[tuple[Dim, ...], int], ...], cycles: float
    ) -> KernelRecord:
        """A kernel of `cycles` for each tile; `*` is any function that has no other."""
        form = GranulesForm(
            sides=tuple(SideForm(axes=axes, granule=granule) for axes, granule in sides)
        )
        terms = (self.call_cycles, cycles)
        return KernelRecord(
            function=function,
            dtype="f32",
            accumulate="f32",
            families=(FamilyRecord(form=form, pieces=(terms,), outside=terms),),
            limit=_NO_LIMIT,
        )


ModelRecord = Annotated[FittedModel | AnalyticModel, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[FittedModel | AnalyticModel] = TypeAdapter(ModelRecord)


def names() -> list[str]:
    """The tile models that ship with ELK.

    Example:
        >>> "ipu-mk2" in elk.tilemodel.names()
        True
    """
    folder = resources.files("elk.data") / "tile_models"
    return sorted(
        entry.name.removesuffix(".json")
        for entry in folder.iterdir()
        if entry.name.endswith(".json")
    )


def may_name_one(name: str) -> bool:
    """Whether `name` may stand for a tile model: a shipped one, a file, a caller's function.

    A file may lie elsewhere; one whose name does not end with ".json" must be there to be known.

    Example:
        >>> may_name_one("ipu-mk2"), may_name_one("mine.json"), may_name_one("ipu-mk3")
        (True, True, False)
    """
    told = name.startswith(FUNCTION) or name.endswith(".json")
    return told or name in names() or Path(name).is_file()


def load_tile_model(name_or_path: str | Path) -> TileModel:
    """The tile model of a shipped name, or of a JSON file that `elk fit` wrote.

    Raises:
        TileModelFileError: There is no such model, or the file does not describe one.

    Example:
        >>> model = elk.tilemodel.load_tile_model("ipu-mk2")
        >>> model.find(("sin", "f16", "f16"))
        ('exp', True)
    """
    if isinstance(name_or_path, str) and name_or_path in names():
        return _shipped(name_or_path)
    return read_record(Path(name_or_path)).to_core()


def find_record(name_or_path: str | Path) -> FittedModel | AnalyticModel:
    """What a tile model consists of: that of a shipped name, or of a file.

    Raises:
        TileModelFileError: There is no such model, or the file does not describe one.

    Example:
        >>> elk.tilemodel.find_record("tensix-wormhole").kind
        'analytic'
    """
    if isinstance(name_or_path, str) and name_or_path in names():
        return _shipped_record(name_or_path)
    return read_record(Path(name_or_path))


def read_record(path: Path) -> FittedModel | AnalyticModel:
    """What the file at `path` holds.

    Raises:
        TileModelFileError: The file cannot be read or does not describe a tile model.
    """
    try:
        if not path.is_file():
            raise FileNotFoundError("it is no file" if path.exists() else "it does not exist")
        if path.stat().st_size > _MOST_BYTES:
            raise TileModelFileError(
                "the file is over 16 MiB", place=str(path), remedy="check that it is a tile model"
            )
        text = path.read_text(encoding="utf-8")
    except TileModelFileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path with a zero byte.
        raise TileModelFileError(
            f"the file cannot be read: {error}",
            place=str(path),
            remedy=f"give a file that `elk fit` wrote, or one of {', '.join(names())}",
        ) from None
    return _parsed(text, str(path))


def write_record(record: FittedModel | AnalyticModel, path: Path) -> None:
    """Writes `record` as JSON: the same bytes for the same model."""
    data: dict[str, Any] = record.model_dump(mode="json", by_alias=True)
    kernels = data.pop("kernels", None)
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in data.items()]
    if kernels is not None:
        rows = ",\n".join(f"    {json.dumps(kernel)}" for kernel in kernels)
        lines.append(f'  "kernels": [\n{rows}\n  ]')
    body = ",\n".join(lines)
    atomic_file.write_text(path, f"{{\n{body}\n}}\n", "the tile model", TileModelFileError)


@functools.cache
def _shipped(name: str) -> TileModel:
    return _shipped_record(name).to_core()


def _shipped_record(name: str) -> FittedModel | AnalyticModel:
    text = (resources.files("elk.data") / "tile_models" / f"{name}.json").read_text("utf-8")
    return _parsed(text, name)


def _parsed(text: str, place: str) -> FittedModel | AnalyticModel:
    parse: Callable[[str], FittedModel | AnalyticModel] = _ADAPTER.validate_json
    try:
        return parse(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TileModelFileError(f"{where}: {first['msg']}", place=place) from None
