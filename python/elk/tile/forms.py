"""The forms of a tile model: which features of a tile's shape its cycles are linear in.

What each form computes is written beside its C++ twin, in `cpp/elk/tile/form/form.hpp`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Dim = Literal[
    "none", "group", "m", "n", "k", "batch", "out_h", "out_w", "in_ch", "out_ch", "kernel_h",
    "kernel_w", "rows", "cols", "elements", "slices", "slice_elements",
]  # fmt: skip
Split = Literal["whole", "modulo", "steps", "remainder", "alignment", "multiple"]
Positive = Annotated[int, Field(gt=0, lt=1 << 31)]
Bound = Annotated[int, Field(ge=0, lt=1 << 31)]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GridForm(_Form):
    """`outer` items of `inner` elements each, both in steps."""

    kind: Literal["grid"] = "grid"
    outer: tuple[Dim, ...] = Field(default=(), max_length=3)
    inner: tuple[Dim, ...] = Field(default=(), max_length=3)
    outer_step: Positive = 1
    inner_step: Positive = 1
    split: Split = "whole"
    modulus: Positive = 1
    single: bool = False
    outer_at_most: Bound = 0
    bounds: tuple[Bound, Bound, Bound] = (0, 0, 0)
    total_bound: Bound = 0
    scan: bool = False
    variant: bool = False


class BlocksForm(_Form):
    """A product in blocks of weights that the rows of the field stream past."""

    kind: Literal["blocks"] = "blocks"
    in_group: Positive
    out_group: Positive
    workers: Positive
    cast: bool = False
    window: bool = False
    shared: bool = False


class OuterProductForm(_Form):
    """A product of depth one."""

    kind: Literal["outer_product"] = "outer_product"
    out_group: Positive
    workers: Positive


class WindowBlocksForm(_Form):
    """A convolution in blocks of weights, position after position of the kernel."""

    kind: Literal["window_blocks"] = "window_blocks"
    in_group: Positive
    out_group: Positive
    rows_merged: Positive
    workers: Positive
    cast: bool = False


class WindowDotsForm(_Form):
    """A convolution as dot products, position after position of the kernel."""

    kind: Literal["window_dots"] = "window_dots"
    granule: Positive
    vector: Positive
    out_group: Positive
    workers: Positive
    aligned: bool
    cast: bool = False


class WindowLanesForm(_Form):
    """A window over channels that do not mix, or that are few."""

    kind: Literal["window_lanes"] = "window_lanes"
    routine: Literal["vertical", "sliding", "pooling"]
    lanes: Positive
    most: Bound = 0
    workers: Positive


class DotsForm(_Form):
    """A product as dot products in chunks along its depth."""

    kind: Literal["dots"] = "dots"
    granule: Positive
    vector: Positive
    out_group: Positive
    workers: Positive
    aligned: bool
    cast: bool = False


class RowPassesForm(_Form):
    """Several passes over rows and columns: softmax, norms."""

    kind: Literal["row_passes"] = "row_passes"
    workers: Positive
    vector: Positive
    modulus: Positive
    cut: Bound = 0


class TransposesForm(_Form):
    """Matrices dealt to workers and transposed block by block."""

    kind: Literal["transposes"] = "transposes"
    workers: Positive
    block: Positive


class SideForm(_Form):
    """A side of a tile: axes that are counted together, in steps of `granule`."""

    axes: tuple[Dim, ...] = Field(min_length=1, max_length=16)
    granule: Positive


class GranulesForm(_Form):
    """A fixed cost a call, and a cost for each tile of a fixed size that covers its sides.

    Axes that lie on no side multiply the tiles.
    """

    kind: Literal["granules"] = "granules"
    sides: tuple[SideForm, ...] = Field(max_length=3)


Form = Annotated[
    GridForm
    | BlocksForm
    | DotsForm
    | OuterProductForm
    | RowPassesForm
    | TransposesForm
    | GranulesForm
    | WindowBlocksForm
    | WindowDotsForm
    | WindowLanesForm,
    Field(discriminator="kind"),
]
