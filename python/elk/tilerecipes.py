"""Which forms a fit tries for which kernel: the structure of the library that made the profile.

A core of the reference chip runs six workers in turn. Vector code handles 8 bytes at a time, matrix
products run in blocks on a unit that streams rows past weights, or as dot products.
"""

from __future__ import annotations

from dataclasses import dataclass

from elk.tileforms import (
    BlocksForm,
    Dim,
    DotsForm,
    Form,
    GridForm,
    RowPassesForm,
    Split,
    TransposesForm,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lanes:
    """A dtype in vector code: elements of a vector, and in a block of weights."""

    vector: int
    blocks: tuple[tuple[str, int, int], ...]  # label, channels in, channels out
    dots: tuple[int, int, int]  # granule, vector, results at once
    cast: bool


_LANES = {
    ("f16", "f16"): _Lanes(
        vector=4,
        blocks=(("amp1x1/16/16", 16, 16), ("amp1x1/16/8", 16, 8)),
        dots=(2, 4, 2),
        cast=False,
    ),
    ("f16", "f32"): _Lanes(
        vector=4,
        blocks=(("amp1x1/16/16", 16, 16), ("amp1x1/16/8", 16, 8)),
        dots=(2, 4, 1),
        cast=True,
    ),
    ("f32", "f32"): _Lanes(
        vector=2,
        blocks=(("amp1x1/8/16", 8, 16), ("amp1x1/8/8", 8, 8)),
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
    }.get(stem, _vector)
    return Recipe(alternatives=maker(lanes, variant))


def label(vertex: str, in_group: str, out_group: str, recipe: Recipe) -> int:
    """The position of the family that a profile's row names; -1 if it names none of them."""
    name = f"{vertex}/{in_group}/{out_group}"
    if vertex in ("hmac", "outer"):
        name = vertex
    if vertex == "hmac":
        dots = next(form for form in recipe.alternatives[0] if isinstance(form, DotsForm))
        name = "hmac" if int(in_group) % dots.vector == 0 else "hmac/unaligned"
    return recipe.labels.index(name) if name in recipe.labels else -1


Alternatives = tuple[tuple[Form, ...], ...]


def _product(lanes: _Lanes, *, outer_product: bool) -> Recipe:
    granule, vector, results = lanes.dots
    forms: list[Form] = [
        BlocksForm(in_group=ins, out_group=outs, workers=WORKERS, cast=lanes.cast)
        for _, ins, outs in lanes.blocks
    ]
    labels = [name for name, _, _ in lanes.blocks]
    for aligned, name in ((True, "hmac"), (False, "hmac/unaligned")):
        forms.append(
            DotsForm(
                granule=granule,
                vector=vector,
                out_group=results,
                workers=WORKERS,
                aligned=aligned,
                cast=lanes.cast,
            )
        )
        labels.append(name)
    if outer_product and not lanes.cast:
        forms.append(
            GridForm(
                outer=("m",), inner=("n",), outer_step=WORKERS, inner_step=lanes.vector, unit="k"
            )
        )
        labels.append("outer")
    return Recipe(alternatives=(tuple(forms),), labels=tuple(labels))


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
    outer_step: int, inner_step: int, split: Split, modulus: int, **more: bool
) -> GridForm:
    return GridForm(
        outer=("rows",),
        inner=("cols",),
        outer_step=outer_step,
        inner_step=inner_step,
        split=split,
        modulus=modulus,
        **more,
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
            _rows_by_cols(WORKERS, width, "alignment", modulus, variant=variant),
            _rows_by_cols(1, WORKERS * width, "alignment", modulus, variant=variant),
        )
        for modulus in (width, 2 * width)
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
        (_rows_by_cols(1, step, split, modulus).model_copy(update={"total_bound": bound}),)
        for bound in (0, 4096, 8192, 16384, 32768)
        for step in (12, 24, 48)
        for split, modulus in (("alignment", 4), ("alignment", 8))
    )


def _row_passes(lanes: _Lanes, variant: bool) -> Alternatives:
    del variant
    return ((RowPassesForm(workers=WORKERS, vector=lanes.vector, modulus=8),),)
