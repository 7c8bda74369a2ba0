"""How a chip that is described differs from what its vendor publishes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elk._core import TILE_DIMS
from elk.base import quantity
from elk.chip.chip import Chip
from elk.tile.tilemodel import load_tile_model

TOLERANCE = 0.03  # A total that differs by more is worth a word.
_EDGES = sorted([16 << i for i in range(10)] + [80 << i for i in range(8)])


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
