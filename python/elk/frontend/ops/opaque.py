"""Opaque ops: what no index map says, planned whole along every dimension that is not independent.

A label names a loop. Loops that are `rows` are never cut: a core has all of them. The time of a
call is the declared rule of opaque kernels: a fixed cost, its bytes, and one pass over the elements
of the loops that the results run along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from elk.frontend.ops.rows import sort_flops
from elk.frontend.ops.windows import window
from elk.frontend.views.node import Node, UnplannableError
from elk.frontend.views.space import Affine, Along, LoopSpace, MisalignedError, Pattern, Term
from elk.frontend.views.values import DTYPES, Value
from elk.frontend.views.views import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

# A loop for each dimension; several make up one dimension, the last of them innermost.
Labels: TypeAlias = "list[str | tuple[str, ...]]"


@dataclass(frozen=True, slots=True)
class Call:
    """An opaque op: its kernel, loops, operands and results.

    Attributes:
        function: The kernel.
        sizes: The size of each loop.
        rows: The loops that are never cut.
        reads: Input slots with what runs along their dimensions.
        writes: Element types of results with what runs along their dimensions.
        flops: Operations for each element of the first result.
        scalars: Numbers from attributes.
    """

    function: str
    sizes: dict[str, int]
    rows: set[str]
    reads: list[tuple[int, Labels]]
    writes: list[tuple[str, Labels]]
    flops: int = 1
    scalars: tuple[float, ...] = field(default=())


def planned(node: Node, call: Call) -> Pattern:
    """The pattern of an opaque op. Its operands are whole tensors, as a kernel takes them."""
    space = LoopSpace()
    loops = {
        name: space.loop(name, size, "Row" if name in call.rows else "Parallel")
        for name, size in call.sizes.items()
    }

    def along(labels: Labels) -> list[Along]:
        return [_along(label, loops, call.sizes) for label in labels]

    for slot, labels in call.reads:
        value = node.input(slot)
        if not _is_whole(value):
            raise MisalignedError(slot)
        space.read(slot, value, along(labels))
    shapes = []
    for dtype, labels in call.writes:
        shapes.append(tuple(_size(label, call.sizes) for label in labels))
        space.write(dtype, shapes[-1], along(labels))
    nest = space.nest()
    timed = {loop for _, labels in call.writes for label in labels for loop in _names(label)}
    names = list(call.sizes)
    dtype = node.input(call.reads[0][0]).dtype if call.reads else call.writes[0][0]
    return Pattern(
        kind="Opaque",
        function=call.function,
        compute=dtype,
        accumulate=dtype,
        axes=nest.tagged(lambda i: "Elements" if names[nest.loop_of[i]] in timed else "None"),
        reads=nest.reads,
        writes=nest.writes,
        flops=call.flops * math.prod(shapes[0]),
        scalars=call.scalars,
    )


def _is_whole(value: Value) -> bool:
    piece = value.pieces[0] if len(value.pieces) == 1 else None
    return piece is not None and piece.is_plain and piece.view == identity(piece.tensor.shape)


def _names(label: str | tuple[str, ...]) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def _size(label: str | tuple[str, ...], sizes: dict[str, int]) -> int:
    return math.prod(sizes[name] for name in _names(label))


def _along(label: str | tuple[str, ...], loops: dict[str, int], sizes: dict[str, int]) -> Along:
    if isinstance(label, str):
        return loops[label]
    terms = [
        Term(loops[name], math.prod(sizes[x] for x in label[i + 1 :]))
        for i, name in enumerate(label)
    ]
    return Affine(tuple(terms), 0)


# Types of which values say how large results are: their element types, None for the input's.
SIZED: Final[dict[str, tuple[str | None, ...]]] = {
    "Compress": (None,),
    "NonMaxSuppression": ("i64",),
    "NonZero": ("i64",),
    "Unique": (None, "i64", "i64", "i64"),
}


def sized(node: Node, shapes: Sequence[tuple[int, ...]]) -> Pattern:
    """A node of which the caller has bound how large its results are."""
    sizes: dict[str, int] = {}

    def labelled(letter: str, shape: tuple[int, ...]) -> Labels:
        labels = _listed(letter, len(shape))
        sizes.update(_sized(labels, shape))
        return [*labels]

    given = [(i, value) for i, value in enumerate(node.inputs) if value is not None]
    reads = [(i, labelled(f"x{i}_", value.shape)) for i, value in given]
    writes = [
        (dtype or node.input(0).dtype, labelled(f"y{i}_", shape))
        for i, (dtype, shape) in enumerate(zip(SIZED[node.type], shapes, strict=False))
    ]
    return planned(node, Call(node.type.lower(), sizes, set(sizes), reads, writes))


def _listed(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def _sized(labels: list[str], shape: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(labels, shape, strict=True))


def grid_sample(node: Node) -> Pattern:
    """GridSample: each position of the result reads somewhere in its image."""
    x, grid = node.input(0), node.input(1)
    rank = len(x.shape) - 2
    inside, out = _listed("i", rank), _listed("o", rank)
    sizes = {
        "n": x.shape[0], "c": x.shape[1], **_sized(out, grid.shape[1:-1]),
        **_sized(inside, x.shape[2:]), "at": grid.shape[-1],
    }  # fmt: skip
    reads: list[tuple[int, Labels]] = [(0, ["n", "c", *inside]), (1, ["n", *out, "at"])]
    writes: list[tuple[str, Labels]] = [(x.dtype, ["n", "c", *out])]
    return planned(
        node, Call("grid_sample", sizes, {*inside, "at"}, reads, writes, flops=2 * 2**rank)
    )


def roi_align(node: Node) -> Pattern:
    """RoiAlign: each region reads somewhere in one of the images."""
    x, rois = node.input(0), node.input(1)
    height, width = (int(node.attrs.get(f"output_{n}", 1)) for n in ("height", "width"))
    sizes = {
        "r": rois.shape[0], "c": x.shape[1], "oh": height, "ow": width,
        "n": x.shape[0], "ih": x.shape[2], "iw": x.shape[3], "at": 4,
    }  # fmt: skip
    reads: list[tuple[int, Labels]] = [(0, ["n", "c", "ih", "iw"]), (1, ["r", "at"]), (2, ["r"])]
    ratio = max(int(node.attrs.get("sampling_ratio", 0)), 1)
    call = Call(
        "roi_align", sizes, {"n", "ih", "iw", "at"}, reads,
        [(x.dtype, ["r", "c", "oh", "ow"])], flops=8 * ratio**2,
    )  # fmt: skip
    return planned(node, call)


def scatter_elements(node: Node) -> Pattern:
    """ScatterElements: rows along one axis, whose elements are replaced where an index says."""
    data, index = node.input(0), node.input(1)
    axis = node.axis(0)
    kept, picked = _listed("d", len(data.shape)), _listed("d", len(data.shape))
    rows = set()
    for i, (n, m) in enumerate(zip(data.shape, index.shape, strict=True)):
        if i == axis or n != m:
            picked[i] = f"u{i}"
            rows |= {kept[i], picked[i]}
    sizes = {**_sized(kept, data.shape), **_sized(picked, index.shape)}
    reads: list[tuple[int, Labels]] = [(0, [*kept]), (1, [*picked]), (2, [*picked])]
    return planned(node, Call("scatter", sizes, rows, reads, [(data.dtype, [*kept])]))


def scatter_nd(node: Node) -> Pattern:
    """ScatterND: slices of the data that are replaced where an index says."""
    data, index = node.input(0), node.input(1)
    depth, count = index.shape[-1], len(index.shape) - 1
    kept, picked = _listed("d", len(data.shape)), _listed("u", count)
    sizes = {**_sized(kept, data.shape), **_sized(picked, index.shape[:-1]), "at": depth}
    rows = {*kept[:depth], *picked, "at"}
    reads: list[tuple[int, Labels]] = [
        (0, [*kept]), (1, [*picked, "at"]), (2, [*picked, *kept[depth:]]),
    ]  # fmt: skip
    return planned(node, Call("scatter", sizes, rows, reads, [(data.dtype, [*kept])]))


def tensor_scatter(node: Node) -> Pattern:
    """TensorScatter: new rows of a cache, at a place of its own for each row of the batch."""
    past, new = node.input(0), node.input(1)
    axis = node.axis(-2)
    kept = _listed("d", len(past.shape))
    fresh = [*kept[:axis], "u", *kept[axis + 1 :]]
    sizes = {**_sized(kept, past.shape), "u": new.shape[axis]}
    reads: list[tuple[int, Labels]] = [(0, [*kept]), (1, [*fresh])]
    if node.get(2) is not None:
        reads.append((2, [kept[0]]))
    call = Call("scatter", sizes, {kept[axis], "u"}, reads, [(past.dtype, [*kept])])
    return planned(node, call)


def reverse_sequence(node: Node) -> Pattern:
    """ReverseSequence: the first positions of each row in backward order."""
    x = node.input(0)
    time, batch = int(node.attrs.get("time_axis", 0)), int(node.attrs.get("batch_axis", 1))
    labels = _listed("d", len(x.shape))
    reads: list[tuple[int, Labels]] = [(0, [*labels]), (1, [labels[batch]])]
    sizes = _sized(labels, x.shape)
    call = Call("reverse_sequence", sizes, {labels[time]}, reads, [(x.dtype, [*labels])])
    return planned(node, call)


def col2im(node: Node) -> Pattern:
    """Col2Im: columns added where their windows lie in the image."""
    x = node.input(0)
    image = [int(n) for n in node.known(1, "image shape").ravel()]
    block = math.prod(int(n) for n in node.known(2, "block shape").ravel())
    out = _listed("o", len(image))
    sizes = {
        "n": x.shape[0], "c": x.shape[1] // block, **_sized(out, tuple(image)),
        "k": block, "l": x.shape[2],
    }  # fmt: skip
    reads: list[tuple[int, Labels]] = [(0, ["n", ("c", "k"), "l"])]
    writes: list[tuple[str, Labels]] = [(x.dtype, ["n", "c", *out])]
    return planned(node, Call("col2im", sizes, {*out, "k", "l"}, reads, writes, flops=block))


def det(node: Node) -> Pattern:
    """Det: one number for each matrix."""
    x = node.input(0)
    labels = _listed("d", len(x.shape) - 2)
    sizes = {**_sized(labels, x.shape[:-2]), "i": x.shape[-2], "j": x.shape[-1]}
    writes: list[tuple[str, Labels]] = [(x.dtype, [*labels])]
    flops = max(2 * x.shape[-1] ** 3 // 3, 1)
    return planned(node, Call("det", sizes, {"i", "j"}, [(0, [*labels, "i", "j"])], writes, flops))


def tf_idf(node: Node) -> Pattern:
    """TfIdfVectorizer: counts of n-grams of each row."""
    x = node.input(0)
    if "pool_int64s" not in node.attrs:
        raise UnplannableError("strings are no numbers")
    labels = _listed("d", len(x.shape) - 1)
    terms = max(node.attrs["ngram_indexes"]) + 1
    sizes = {**_sized(labels, x.shape[:-1]), "i": x.shape[-1], "t": terms}
    writes: list[tuple[str, Labels]] = [("f32", [*labels, "t"])]
    call = Call("tf_idf", sizes, {"i", "t"}, [(0, [*labels, "i"])], writes, flops=x.shape[-1])
    return planned(node, call)


def deform_conv(node: Node) -> Pattern:
    """DeformConv: a convolution whose windows lie where offsets say."""
    x, weight, offset = node.input(0), node.input(1), node.input(2)
    if len(x.shape) != 4:  # noqa: PLR2004 batch, channels, height and width
        raise UnplannableError("deformed windows of other than two dimensions")
    out = offset.shape[2:]
    sizes = {
        "n": x.shape[0], "co": weight.shape[0], "oh": out[0], "ow": out[1],
        "ci": x.shape[1], "ih": x.shape[2], "iw": x.shape[3], "wi": weight.shape[1],
        "kh": weight.shape[2], "kw": weight.shape[3], "at": offset.shape[1],
    }  # fmt: skip
    reads: list[tuple[int, Labels]] = [
        (0, ["n", "ci", "ih", "iw"]), (1, ["co", "wi", "kh", "kw"]), (2, ["n", "at", "oh", "ow"]),
    ]  # fmt: skip
    rows = {"ci", "ih", "iw", "wi", "kh", "kw", "at"}
    if node.get(3) is not None:
        reads.append((3, ["co"]))
    mask = node.get(4)
    if mask is not None:
        sizes["m"] = mask.shape[1]
        rows.add("m")
        reads.append((4, ["n", "m", "oh", "ow"]))
    writes: list[tuple[str, Labels]] = [(x.dtype, ["n", "co", "oh", "ow"])]
    flops = 2 * math.prod(weight.shape[1:])
    return planned(node, Call("deform_conv", sizes, rows, reads, writes, flops))


def max_unpool(node: Node) -> Pattern:
    """MaxUnpool: elements of each channel put back where they were."""
    x = node.input(0)
    rank = len(x.shape) - 2
    if node.get(2) is not None:
        out = tuple(int(n) for n in node.known(2, "output shape").ravel())[2:]
    else:
        strides = node.attrs.get("strides", (1,) * rank)
        pads = node.attrs.get("pads", (0,) * (2 * rank))
        kernel = node.attrs["kernel_shape"]
        out = tuple(
            (n - 1) * s + k - pads[i] - pads[rank + i]
            for i, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
        )
    inside, wanted = _listed("i", rank), _listed("o", rank)
    sizes = {
        "n": x.shape[0], "c": x.shape[1], **_sized(wanted, out), **_sized(inside, x.shape[2:]),
    }  # fmt: skip
    reads: list[tuple[int, Labels]] = [(0, ["n", "c", *inside]), (1, ["n", "c", *inside])]
    writes: list[tuple[str, Labels]] = [(x.dtype, ["n", "c", *wanted])]
    return planned(node, Call("max_unpool", sizes, {*inside, *wanted}, reads, writes))


def max_pool_indices(node: Node) -> Pattern:
    """MaxPool with the places of the largest elements: whole channels."""
    x = node.input(0)
    at = window(node, tuple(node.attrs["kernel_shape"]))
    rank = len(at.out)
    inside, out = _listed("i", rank), _listed("o", rank)
    sizes = {"n": x.shape[0], "c": x.shape[1], **_sized(out, at.out), **_sized(inside, x.shape[2:])}
    writes: list[tuple[str, Labels]] = [(x.dtype, ["n", "c", *out]), ("i64", ["n", "c", *out])]
    rows, flops = {*inside, *out}, math.prod(at.kernel)
    # The places count from the first image on, so a core must know where its part begins.
    return planned(
        node, Call("maxpool_indices", sizes, rows, [(0, ["n", "c", *inside])], writes, flops)
    )


def random(node: Node) -> Pattern:
    """Random numbers of a known shape."""
    shape = tuple(node.attrs["shape"])
    dtype = DTYPES[int(node.attrs.get("dtype", 1))]
    labels = _listed("d", len(shape))
    call = Call("random", _sized(labels, shape), set(), [], [(dtype, [*labels])], flops=8)
    return planned(node, call)


def multinomial(node: Node) -> Pattern:
    """Multinomial: samples of each row."""
    x = node.input(0)
    samples = int(node.attrs.get("sample_size", 1))
    dtype = DTYPES[int(node.attrs.get("dtype", 6))]
    sizes = {"n": x.shape[0], "s": samples, "i": x.shape[1]}
    call = Call("multinomial", sizes, {"s", "i"}, [(0, ["n", "i"])], [(dtype, ["n", "s"])], 8)
    return planned(node, call)


def tree_ensemble(node: Node) -> Pattern:
    """TreeEnsemble: each row walks down all trees."""
    x = node.input(0)
    targets = int(node.attrs.get("n_targets", 1))
    trees = len(node.attrs.get("tree_roots", (0,)))
    deep = max(len(node.attrs.get("nodes_featureids", (0,))), 1).bit_length()
    sizes = {"n": x.shape[0], "t": targets, "i": x.shape[1]}
    call = Call(
        "tree_ensemble", sizes, {"t", "i"}, [(0, ["n", "i"])], [(x.dtype, ["n", "t"])], trees * deep
    )
    return planned(node, call)


def lookup(node: Node) -> Pattern:
    """LabelEncoder: each element looked up in a table of the node."""
    x = node.input(0)
    dtypes = {"values_floats": "f32", "values_int64s": "i64"}
    dtype = next((d for name, d in dtypes.items() if name in node.attrs), "")
    if not dtype:
        raise UnplannableError("its table does not hold numbers as floats or int64s")
    labels = _listed("d", len(x.shape))
    keys = next(len(v) for name, v in node.attrs.items() if name.startswith("keys_"))
    call = Call(
        "lookup", _sized(labels, x.shape), set(), [(0, [*labels])], [(dtype, [*labels])],
        flops=sort_flops(keys) // max(keys, 1),
    )  # fmt: skip
    return planned(node, call)
