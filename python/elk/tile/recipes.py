"""Which forms a fit tries for which kernel: the structure of the library that made the profile.

A core of the reference chip runs six workers in turn. Vector code handles 8 bytes at a time, matrix
products run in blocks on a unit that streams rows past weights, or as dot products.
"""

from __future__ import annotations

from dataclasses import dataclass

from elk.tile.forms import (
    BlocksForm,
    Dim,
    DotsForm,
    Form,
    GridForm,
    OuterProductForm,
    RowPassesForm,
    Split,
    TransposesForm,
    WindowBlocksForm,
    WindowDotsForm,
    WindowLanesForm,
)

WORKERS = 6
_ELEMENTS: tuple[Dim, ...] = ("elements", "rows", "cols")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to fit a kernel.

    Attributes:
        alternatives: Sets of families; cross-validation chooses one set, the first at a tie.
        labels: What a profile calls each family of the only set, if it may name them.
    """

    alternatives: tuple[tuple[Form, ...], ...]
    labels: tuple[str, ...] = ()

    def family(self, routine: str) -> int:
        """The position of the family that a profile calls `routine`; -1 if it is none of them."""
        stem, _, groups = routine.partition("/")
        if stem == _DOTS:
            length = int(groups.partition("/")[0])
            vectors = {form.vector for form in self.alternatives[0] if hasattr(form, "vector")}
            stem = _DOTS if all(length % vector == 0 for vector in vectors) else _LONE_DOTS
        name = stem if stem in self.labels else routine
        return self.labels.index(name) if name in self.labels else -1


_DOTS = "hmac"
_LONE_DOTS = "hmac, unaligned"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lanes:
    """A dtype in vector code: elements of a vector, and in a block of weights."""

    vector: int
    blocks: tuple[tuple[int, int], ...]  # channels in, channels out
    dots: tuple[int, int, int]  # granule, vector, results at once
    cast: bool


_LANES = {
    ("f16", "f16"): _Lanes(
        vector=4,
        blocks=((16, 16), (16, 8)),
        dots=(2, 4, 2),
        cast=False,
    ),
    ("f16", "f32"): _Lanes(
        vector=4,
        blocks=((16, 16), (16, 8)),
        dots=(2, 4, 1),
        cast=True,
    ),
    ("f32", "f32"): _Lanes(
        vector=2,
        blocks=((8, 16), (8, 8)),
        dots=(1, 2, 1),
        cast=False,
    ),
}


def recipe(function: str, compute: str, accumulate: str, *, variant: bool) -> Recipe:
    """The recipe for `function` in a pair of dtypes.

    Args:
        function: The kernel, in the words of the profile.
        compute: The dtype it computes in.
        accumulate: The dtype of its partial sums.
        variant: Whether rows differ in the first parameter of the call.
    """
    lanes = _LANES.get((compute, accumulate), _LANES["f32", "f32"])
    stem, _, suffix = function.partition("/")
    if stem in ("matmul", "batch_matmul"):
        return _product(lanes, outer_product=stem == "matmul")
    if stem == "conv2d":
        return _convolution(lanes)
    if stem == "depthwise_conv2d":
        return _depthwise()
    maker = {
        "inner": _reduce_inner,
        "outer": _reduce_outer,
        "col_vector": _column_vector,
        "row_scalar": _row_scalar,
    }.get(suffix) or {
        "softmax": _row_passes,
        "layernorm": _row_passes,
        "rmsnorm": _row_passes,
        "gather": _gather,
        "scatter_add": _gather,
        "slice_copy": _copy,
        "transpose": _transpose,
        "partials_reduce": _partials,
        "maxpool2d": _pool,
        "sumpool2d": _pool,
    }.get(stem, _vector)
    return Recipe(alternatives=maker(lanes, variant))


Alternatives = tuple[tuple[Form, ...], ...]


def _product(lanes: _Lanes, *, outer_product: bool) -> Recipe:
    granule, vector, results = lanes.dots
    families: dict[str, Form] = {
        f"amp1x1/{ins}/{outs}": BlocksForm(
            in_group=ins, out_group=outs, workers=WORKERS, cast=lanes.cast
        )
        for ins, outs in lanes.blocks
    }
    for name in (_DOTS, _LONE_DOTS):
        families[name] = DotsForm(
            granule=granule,
            vector=vector,
            out_group=results,
            workers=WORKERS,
            aligned=name == _DOTS,
            cast=lanes.cast,
        )
    if outer_product and not lanes.cast:
        families["outer"] = OuterProductForm(out_group=lanes.vector, workers=WORKERS)
    narrow = next(name for name in families if name.endswith("/8"))
    shared = {**families, narrow: families[narrow].model_copy(update={"shared": True})}
    return Recipe(
        alternatives=(tuple(families.values()), tuple(shared.values())), labels=tuple(families)
    )


def _convolution(lanes: _Lanes) -> Recipe:
    """Blocks for each grouping of channels, dot products, and a routine for few channels."""
    granule, vector, results = lanes.dots
    deepest = max(ins for ins, _ in lanes.blocks)
    families: dict[str, Form] = {
        f"ampnx1/{ins}/{outs}": WindowBlocksForm(
            in_group=ins,
            out_group=outs,
            rows_merged=deepest // ins,
            workers=WORKERS,
            cast=lanes.cast,
        )
        for ins in (deepest, deepest // 2, deepest // 4)
        for outs in (16, 8)
    }
    for ins, outs in lanes.blocks:
        families[f"amp1x1/{ins}/{outs}"] = BlocksForm(
            in_group=ins, out_group=outs, workers=WORKERS, cast=lanes.cast, window=True
        )
    for name in (_DOTS, _LONE_DOTS):
        families[name] = WindowDotsForm(
            granule=granule,
            vector=vector,
            out_group=results,
            workers=WORKERS,
            aligned=name == _DOTS,
            cast=lanes.cast,
        )
    families["slic"] = WindowLanesForm(routine="sliding", lanes=4, most=4, workers=WORKERS)
    return Recipe(alternatives=(tuple(families.values()),), labels=tuple(families))


def _depthwise() -> Recipe:
    families: dict[str, Form] = {}
    for name, routine in (("slic", "sliding"), ("vmac", "vertical")):
        for lanes in (4, 8, 16):
            families[f"{name}/{lanes}"] = WindowLanesForm.model_validate(
                {"routine": routine, "lanes": lanes, "workers": WORKERS}
            )
    return Recipe(alternatives=(tuple(families.values()),), labels=tuple(families))


def _pool(lanes: _Lanes, variant: bool) -> Alternatives:
    del variant
    return ((WindowLanesForm(routine="pooling", lanes=lanes.vector, workers=WORKERS),),)


def _vector(lanes: _Lanes, variant: bool) -> Alternatives:
    """One pass over elements that lie in a row."""
    del lanes
    plain = GridForm(inner=_ELEMENTS, inner_step=WORKERS, split="steps", modulus=4, variant=variant)
    tails = [
        plain.model_copy(update={"split": "remainder", "modulus": width, "bounds": bounds})
        for bounds in ((1, 0, 0), (1, 2, 0), (1, 2, 16))
        for width in (4, 2)
    ]
    return ((plain,), *((form,) for form in tails))


def _rows_by_cols(
    outer_step: int,
    inner_step: int,
    split: Split,
    modulus: int,
    *,
    single: bool = False,
    variant: bool = False,
) -> GridForm:
    return GridForm(
        outer=("rows",),
        inner=("cols",),
        outer_step=outer_step,
        inner_step=inner_step,
        split=split,
        modulus=modulus,
        single=single,
        variant=variant,
    )


_SPLITS: tuple[tuple[Split, int], ...] = (
    ("whole", 1), ("alignment", 2), ("alignment", 4), ("alignment", 8), ("modulo", 4), ("modulo", 8)
)  # fmt: skip


def _column_vector(lanes: _Lanes, variant: bool) -> Alternatives:
    """Rows dealt to workers; what a row costs depends on how its end is aligned."""
    del lanes
    return tuple(
        (_rows_by_cols(WORKERS, 1, split, modulus, single=single, variant=variant),)
        for single in (False, True)
        for split, modulus in _SPLITS
    )


def _row_scalar(lanes: _Lanes, variant: bool) -> Alternatives:
    """The better of dealing rows and of dealing each row's columns."""
    width = lanes.vector
    return tuple(
        (
            _rows_by_cols(WORKERS, width, "multiple", width, variant=apart),
            _rows_by_cols(1, WORKERS * width, "multiple", width, variant=apart),
        )
        for apart in sorted({False, variant})
    )


def _reduce_inner(lanes: _Lanes, variant: bool) -> Alternatives:
    """Rows dealt to workers; few rows are cut, and what is left reduced again."""
    del lanes
    return tuple(
        (
            _rows_by_cols(WORKERS, 1, "modulo", modulus, variant=variant),
            _rows_by_cols(1, 1, "whole", 1, variant=variant).model_copy(
                update={"outer_at_most": WORKERS // 2}
            ),
        )
        for modulus in (2, 4)
    )


def _reduce_outer(lanes: _Lanes, variant: bool) -> Alternatives:
    """Columns dealt to workers in vectors."""
    width = lanes.vector
    return tuple(
        (_rows_by_cols(1, WORKERS * step, split, modulus, variant=variant),)
        for step in (width, 2 * width, 4 * width)
        for split, modulus in _SPLITS
    )


def _gather(lanes: _Lanes, variant: bool) -> Alternatives:
    """Runs dealt to workers; one run alone is a case of its own."""
    del lanes, variant
    forms = [
        GridForm(
            outer=("slices",),
            inner=("slice_elements",),
            outer_step=WORKERS,
            split=split,
            modulus=modulus,
            scan=scan,
        )
        for scan in (False, True)
        for split, modulus in _SPLITS
    ]
    alone = {"outer_step": 1, "scan": False, "outer_at_most": 1}
    return (
        *((form,) for form in forms),
        *((form, form.model_copy(update=alone)) for form in forms),
    )


def _copy(lanes: _Lanes, variant: bool) -> Alternatives:
    """Runs one after another, each dealt to workers."""
    del lanes, variant
    return tuple(
        (
            GridForm(
                outer=("slices",),
                inner=("slice_elements",),
                inner_step=WORKERS,
                split="steps",
                modulus=modulus,
            ),
        )
        for modulus in (2, 4, 8)
    )


def _transpose(lanes: _Lanes, variant: bool) -> Alternatives:
    del variant
    return ((TransposesForm(workers=WORKERS, block=lanes.vector),),)


def _partials(lanes: _Lanes, variant: bool) -> Alternatives:
    """Outputs dealt to workers in vectors, one pass for each partial; far apart, slower."""
    del lanes, variant
    return tuple(
        (_rows_by_cols(1, step, "alignment", modulus).model_copy(update={"total_bound": bound}),)
        for bound in (0, 4096, 8192, 16384, 32768)
        for step in (12, 24, 48)
        for modulus in (4, 8)
    )


def _row_passes(lanes: _Lanes, variant: bool) -> Alternatives:
    del variant
    return tuple(
        (RowPassesForm(workers=WORKERS, vector=lanes.vector, modulus=8, cut=cut),)
        for cut in (0, 96, 128, 192, 256)
    )
