"""What a vendor publishes of a chip, and how the chip that is described differs from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from elk.base import quantity
from elk.chip.tables import Table, Text
from elk.errors import InvalidInputError

if TYPE_CHECKING:
    from elk.chip.chip import Chip

TOLERANCE = 0.03  # A total that differs by more is worth a word.
_EDGES = sorted([16 << i for i in range(10)] + [80 << i for i in range(8)])


def _total(unit: quantity.Unit) -> BeforeValidator:
    """A quantity above zero, or none."""

    def parsed(value: object) -> int | float | None:
        if value is None:
            return None
        number = quantity.parse(value, unit)
        if number > 0:
            return number
        raise InvalidInputError(
            f"must be above zero, got {value!r}", remedy="leave out what is not published"
        )

    return BeforeValidator(parsed)


class Published(Table):
    """Totals of one chip as a source gives them; no part of the machine that is planned for.

    Attributes:
        matrix_flops_per_s: Dense f16 or bf16 matrix products, a multiply-add counted as two.
        memory_bytes_per_s: Rate of the memory that models live in: HBM, else SRAM.
        sram_bytes: SRAM of all cores.
        tdp_w: The power that it is cooled for; nothing here is compared with it.
        source: Who says so.
        note: Why the chip that is planned for differs, if it does.
    """

    matrix_flops_per_s: Annotated[
        float | None, _total(quantity.FLOPS_PER_S), quantity.FLOPS_PER_S
    ] = None
    memory_bytes_per_s: Annotated[
        float | None, _total(quantity.BYTES_PER_S), quantity.BYTES_PER_S
    ] = None
    sram_bytes: Annotated[int | None, _total(quantity.BYTES), quantity.BYTES] = None
    tdp_w: Annotated[float | None, _total(quantity.WATTS), quantity.WATTS] = None
    source: Text = Field(examples=["the vendor's data sheet"])
    note: Text | None = Field(None, examples=["one row of cores dispatches"])

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.tdp_w is None and not self.totals():
            raise InvalidInputError(
                "must give a total", remedy='write sram_bytes = "20 MiB", for example'
            )
        return self

    def totals(self) -> dict[str, float]:
        """The totals that are published, by field, but for `tdp_w`."""
        given = self.model_dump(exclude={"tdp_w", "source", "note"}, exclude_none=True)
        return {name: float(value) for name, value in given.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A total of one chip: what is published, and what the chip that is described comes to.

    Attributes:
        name: The field of `Published`.
        published: What the source says, in SI units.
        here: What cores, memory and tile model come to.
    """

    name: str
    published: float
    here: float

    @property
    def error(self) -> float:
        """By how much the chip exceeds what is published, as a part of that; negative: falls short.

        Example:
            >>> Total(name="sram_bytes", published=40.0, here=30.0).error
            -0.25
        """
        return self.here / self.published - 1.0

    @property
    def differs(self) -> bool:
        """Whether by more than 3 %."""
        return abs(self.error) > TOLERANCE

    @property
    def unit(self) -> quantity.Unit:
        """The unit that the total is shown in."""
        return {
            "matrix_flops_per_s": quantity.FLOPS_PER_S,
            "memory_bytes_per_s": quantity.BYTES_PER_S,
            "sram_bytes": quantity.BYTES,
        }[self.name]


def compare(chip: Chip) -> list[Total]:
    """Every published total of `chip` beside what it comes to; none where nothing is published.

    Example:
        >>> [total.differs for total in compare(elk.chips.get("a100"))]
        [False, False, False]

    Raises:
        InvalidInputError: The chip names a tile model that cannot be read.
    """
    if chip.published is None:
        return []
    core = chip.core
    memory = chip.hbm.bytes_per_s if chip.hbm else core.sram_bytes_per_s * core.cores
    here = {"memory_bytes_per_s": memory, "sram_bytes": float(core.sram_bytes * core.cores)}
    wanted = chip.published.totals()
    if "matrix_flops_per_s" in wanted:
        here["matrix_flops_per_s"] = matrix_flops_per_s(chip)
    return [Total(name=name, published=total, here=here[name]) for name, total in wanted.items()]


def busy_w(chip: Chip) -> float | None:
    """Watts of one chip whose matrix units and memory work at their peak, by its `energy`.

    Its wires and its SRAM are left out; None where the chip has no coefficients.

    Example:
        >>> chip = elk.chips.get("a100")
        >>> chip.energy.static_w < busy_w(chip) < chip.published.tdp_w
        True

    Raises:
        InvalidInputError: The chip names a tile model that cannot be read.
    """
    if chip.energy is None:
        return None
    memory = chip.hbm.bytes_per_s if chip.hbm else 0.0
    work = matrix_flops_per_s(chip) * chip.energy.pj_per_flop
    return chip.energy.static_w + (work + memory * chip.energy.pj_per_hbm_byte) / 1e12


def matrix_flops_per_s(chip: Chip) -> float:
    """The best rate at which all cores of one chip multiply f16 matrices, by the tile model.

    A fitted model is asked within the range that it was fitted to.

    Raises:
        InvalidInputError: The chip names a tile model that cannot be read.
    """
    import numpy as np  # noqa: PLC0415 - `import elk` stays small

    from elk._core import TILE_DIMS  # noqa: PLC0415 as above
    from elk.tile.tilemodel import load_tile_model  # noqa: PLC0415 as above

    tiles = load_tile_model(chip.core.tile_model)
    kernel = ("matmul", "f16", "f16")
    shapes = np.ones((len(_EDGES), len(TILE_DIMS) + 2), dtype=np.int64)
    shapes[:, len(TILE_DIMS) :] = 0
    for dim in "mkn":
        shapes[:, TILE_DIMS.index(dim)] = _EDGES
    within = ~tiles.extrapolated(kernel, shapes)
    if not within.any():
        within[0] = True
    edges = np.asarray(_EDGES, dtype=np.float64)[within]
    per_cycle = float(np.max(2.0 * edges**3 / tiles.cycles(kernel, shapes[within])))
    return per_cycle * chip.core.clock_hz * chip.core.cores
