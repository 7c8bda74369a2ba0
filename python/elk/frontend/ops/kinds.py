"""The table of operator kinds: what each ONNX type folds to, shows, or computes.

A node is tried in this order: `fold`, where all inputs are known; `view`, which says that nothing
has to be computed; `compose`, which makes it of nodes of other types; `build`, the tensor
expression. A type that is not in the table, and that ONNX does not define by others, is refused.
The table has the tables of families, `_MODULES`, in it.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from elk.frontend.ops import (
    composed,
    contraction,
    conversions,
    einsums,
    fold,
    move,
    opaque,
    picking,
    reshaping,
    resizing,
    rows,
    transposed,
    windows,
    written,
)
from elk.frontend.ops.elementwise import elementwise, scalar
from elk.frontend.ops.kind import Kind, binary, comparison, reduction, test, unary, viewed
from elk.frontend.runtime import operators
from elk.frontend.views.values import DTYPES, ONNX_TYPES, Value, constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from elk.frontend.views.node import Node
    from elk.frontend.views.space import Pattern


def _pow(node: Node) -> Pattern:
    """Powers that have a kernel of their own use it."""
    names = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    exponent = scalar(node.input(1))
    if exponent in names and scalar(node.input(0)) is None:
        node.inputs = node.inputs[:1]
        return elementwise(node, names[exponent])
    return elementwise(node, "pow", result=node.input(0).dtype)


def _gelu(node: Node) -> Pattern:
    if node.attrs.get("approximate", "none") == "tanh":
        return elementwise(node, "gelu", flops=8)
    return elementwise(node, "gelu_erf")


def _cast(node: Node) -> Pattern:
    target = DTYPES[int(node.attrs["to"])]
    return replace(elementwise(node, "cast", result=target), accumulate=target)


def _shape(node: Node) -> list[Value] | None:
    shape = node.input(0).shape
    part = shape[slice(int(node.attrs.get("start", 0)), node.attrs.get("end"))]
    return [constant(node.outputs[0], np.asarray(part, dtype="i8"))]


def _size(node: Node) -> list[Value] | None:
    return [constant(node.outputs[0], np.asarray(node.input(0).size, dtype="i8"))]


def _clip(node: Node) -> Pattern:
    """Clip with one bound is a minimum or a maximum. Old versions keep bounds as attributes."""
    bounds = [node.attrs.get(name) for name in ("min", "max")]
    given = [
        None if bound is None else constant(f"{node.name}/bound", composed.number(bound, x))
        for bound, x in zip(bounds, [node.input(0)] * 2, strict=True)
    ]
    low, high = (node.get(i) if node.get(i) is not None else given[i - 1] for i in (1, 2))
    node.inputs = [node.input(0), low, high]
    if low is None or high is None:
        bound = high if low is None else low
        node.inputs = [node.input(0)] if bound is None else [node.input(0), bound]
        return elementwise(node, "min" if low is None else "max")
    return elementwise(node, "clip", flops=2)


def _cast_like(node: Node) -> list[Value] | None:
    node.attrs = {"to": ONNX_TYPES[node.input(1).dtype]}
    node.inputs = node.inputs[:1]
    known = node.input(0).known
    folded = None if known is None else fold.cast(node, [known])
    if folded is not None:
        return [constant(node.outputs[0], folded)]
    return reshaping.cast(node)


def _mod(node: Node) -> Pattern:
    return elementwise(node, "fmod" if node.attrs.get("fmod", 0) else "mod")


def _shift(node: Node) -> Pattern:
    left = str(node.attrs["direction"]).upper() == "LEFT"
    return elementwise(node, "shift", scalars=(1.0 if left else -1.0,))


def _infinite(node: Node) -> Pattern:
    signs = (float(node.attrs.get(f"detect_{sign}", 1)) for sign in ("negative", "positive"))
    return elementwise(node, "isinf", result="bool", scalars=tuple(signs))


def _max_pool(node: Node) -> Pattern:
    if any(node.outputs[1:]):
        return opaque.max_pool_indices(node)
    return windows.pool(node, "maxpool2d")


def _each(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    result = arrays[0]
    for array in arrays[1:]:
        result = function(result, array)
    return result


DATA_DEPENDENT = "the size of its result depends on values"
# Types that are refused, and why.
REFUSED: dict[str, str] = {
    "Compress": DATA_DEPENDENT,
    "ImageDecoder": "the size of its result depends on the bytes of a file",
    "NonMaxSuppression": DATA_DEPENDENT,
    "NonZero": DATA_DEPENDENT,
    "Range": "its bounds are computed while the model runs, so the size of its result is not known",
    "Unique": DATA_DEPENDENT,
    **dict.fromkeys(
        ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"),
        "strings are no numbers",
    ),
    **operators.REFUSED,
}

# Modules that have kinds of their own, each in a table `KINDS`, which goes before the one below.
_MODULES: Final = ("fourier", "quantized", "recurrent", "training", "unpacked", "written")


def _of_modules() -> dict[str, Kind]:
    modules = (importlib.import_module(f"{__package__}.{name}") for name in _MODULES)
    return {name: kind for module in modules for name, kind in module.KINDS.items()}


KINDS: dict[str, Kind] = {
    # Products.
    "MatMul": Kind(build=contraction.matmul),
    "Gemm": Kind(build=contraction.gemm),
    "Einsum": Kind(
        build=contraction.einsum, view=reshaping.transposing_einsum, compose=einsums.einsum
    ),
    # Windows.
    "Conv": Kind(build=windows.conv, compose=windows.padding_only),
    "ConvTranspose": Kind(compose=transposed.conv_transpose),
    "PhasedConv": Kind(build=transposed.phased_conv),
    "MaxPool": Kind(build=_max_pool, compose=windows.padding_only),
    "AveragePool": Kind(
        build=lambda node: windows.pool(node, "sumpool2d", mean=True),
        compose=windows.counted_mean,
    ),
    "SumPool": Kind(
        build=lambda node: windows.pool(node, "sumpool2d"), compose=windows.padding_only
    ),
    "LpPool": Kind(compose=composed.lp_pool),
    "GlobalLpPool": Kind(compose=composed.global_lp_pool),
    "LRN": Kind(compose=composed.local_response_norm),
    "GlobalAveragePool": Kind(build=lambda node: rows.global_pool(node, "sum", mean=True)),
    "GlobalMaxPool": Kind(build=lambda node: rows.global_pool(node, "max")),
    # Elementwise, one input.
    "Abs": unary("abs", np.abs),
    "Acos": unary("acos", np.arccos),
    "Acosh": unary("acosh", np.arccosh),
    "Asin": unary("asin", np.arcsin),
    "Asinh": unary("asinh", np.arcsinh),
    "Atan": unary("atan", np.arctan),
    "Atanh": unary("atanh", np.arctanh),
    "BitwiseNot": unary("bitwise_not", np.invert),
    "Cast": Kind(build=_cast, view=reshaping.cast, fold=fold.cast),
    "CastLike": Kind(build=_cast, view=_cast_like),
    "Ceil": unary("ceil", np.ceil),
    "Celu": unary("celu", alpha=1.0),
    "Cos": unary("cos", np.cos),
    "Cosh": unary("cosh", np.cosh),
    "Elu": unary("elu", alpha=1.0),
    "Erf": unary("erf"),
    "Exp": unary("exp", np.exp),
    "Floor": unary("floor", np.floor),
    "Gelu": Kind(build=_gelu),
    "HardSigmoid": unary("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": unary("hard_swish"),
    "IsInf": Kind(build=_infinite),
    "IsNaN": test("isnan", np.isnan),
    "LeakyRelu": unary("leaky_relu", alpha=0.01),
    "Log": unary("log", np.log),
    "Mish": unary("mish"),
    "Neg": unary("neg", np.negative),
    "Not": test("not", np.logical_not),
    "Reciprocal": unary("reciprocal", np.reciprocal),
    "Relu": unary("relu", lambda a: np.maximum(a, 0)),
    "Round": unary("round", np.rint),
    "Selu": unary("selu", alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Shrink": unary("shrink", bias=0.0, lambd=0.5),
    "Sigmoid": unary("sigmoid"),
    "Sign": unary("sign", np.sign),
    "Sin": unary("sin", np.sin),
    "Sinh": unary("sinh", np.sinh),
    "Softplus": unary("softplus"),
    "Softsign": unary("softsign"),
    "Sqrt": unary("sqrt", np.sqrt),
    "Swish": unary("silu", flops=2, alpha=1.0),
    "Tan": unary("tan", np.tan),
    "Tanh": unary("tanh", np.tanh),
    "ThresholdedRelu": unary("thresholded_relu", alpha=1.0),
    # Elementwise, several inputs.
    "Add": binary("add", np.add),
    "BitShift": Kind(build=_shift),
    "BitwiseAnd": binary("bitwise_and", np.bitwise_and),
    "BitwiseOr": binary("bitwise_or", np.bitwise_or),
    "BitwiseXor": binary("bitwise_xor", np.bitwise_xor),
    "Clip": Kind(build=_clip, fold=fold.clip),
    "Div": binary("div", fold.divide),
    "Max": binary("max", lambda *a: _each(np.maximum, a)),
    "Mean": binary("mean"),
    "Min": binary("min", lambda *a: _each(np.minimum, a)),
    "Mod": Kind(build=_mod, fold=fold.mod),
    "Mul": binary("mul", np.multiply),
    "PRelu": Kind(build=lambda node: elementwise(node, "prelu"), compose=composed.channel_slope),
    "Pow": Kind(build=_pow, fold=fold.power),
    "Sub": binary("sub", np.subtract),
    "Sum": binary("add", lambda *a: _each(np.add, a)),
    "And": comparison("and", np.logical_and, 1.0),
    "Equal": comparison("equal", np.equal),
    "Greater": comparison("greater", np.greater),
    "GreaterOrEqual": comparison("greater_equal", np.greater_equal),
    "Less": comparison("less", np.less),
    "LessOrEqual": comparison("less_equal", np.less_equal),
    "Or": comparison("or", np.logical_or, 0.0),
    "Xor": comparison("xor", np.logical_xor, 0.0),
    "Where": Kind(
        build=lambda node: elementwise(node, "where"),
        view=reshaping.chosen,
        compose=written.where,
        fold=fold.by(np.where),
    ),
    # Along rows.
    "ArgMax": Kind(build=lambda node: rows.reduction(node, "argmax", result="i64")),
    "ArgMin": Kind(build=lambda node: rows.reduction(node, "argmin", result="i64")),
    "ReduceL1": reduction("l1", lambda a, **k: np.abs(a).sum(**k)),
    "ReduceL2": reduction("l2", lambda a, **k: np.sqrt((a * a).sum(**k))),
    "ReduceLogSum": reduction("logsum", lambda a, **k: np.log(a.sum(**k))),
    "ReduceLogSumExp": reduction("logsumexp", lambda a, **k: np.log(np.exp(a).sum(**k))),
    "ReduceMax": reduction("max", lambda a, **k: a.max(initial=fold.lowest(a.dtype), **k)),
    "ReduceMean": reduction("sum", np.mean, mean=True),
    "ReduceMin": reduction("min", lambda a, **k: a.min(initial=fold.highest(a.dtype), **k)),
    "ReduceProd": reduction("prod", np.prod),
    "ReduceSum": reduction("sum", np.sum),
    "ReduceSumSquare": reduction("sqsum", lambda a, **k: (a * a).sum(**k)),
    "LogSoftmax": Kind(build=lambda node: rows.softmax(node, "log_softmax")),
    "Softmax": Kind(build=rows.softmax),
    "Hardmax": Kind(compose=composed.hardmax),
    "LpNormalization": Kind(compose=composed.lp_norm),
    "BatchNormalization": Kind(build=rows.batch_norm, compose=composed.batch_norm),
    "InstanceNormalization": Kind(build=rows.instance_norm),
    "LayerNormalization": Kind(
        build=lambda node: rows.norm(node, "layernorm"), compose=composed.layer_norm
    ),
    "RMSNormalization": Kind(build=lambda node: rows.norm(node, "rmsnorm")),
    "CumSum": Kind(build=lambda node: rows.scan(node, "cumsum"), fold=fold.cumsum),
    "CumProd": Kind(build=lambda node: rows.scan(node, "cumprod")),
    "TopK": Kind(build=rows.top_k),
    # Sizes.
    "Resize": Kind(compose=resizing.resize),
    "Upsample": Kind(compose=resizing.resize),
    # Opaque.
    "Col2Im": Kind(build=opaque.col2im),
    "DeformConv": Kind(build=opaque.deform_conv),
    "Det": Kind(build=opaque.det),
    "GridSample": Kind(build=opaque.grid_sample),
    "MaxUnpool": Kind(build=opaque.max_unpool),
    "Multinomial": Kind(build=opaque.multinomial),
    "RandomNormal": Kind(build=opaque.random),
    "RandomNormalLike": Kind(compose=composed.random_like),
    "RandomUniform": Kind(build=opaque.random),
    "RandomUniformLike": Kind(compose=composed.random_like),
    "ReverseSequence": Kind(build=opaque.reverse_sequence),
    "RoiAlign": Kind(build=opaque.roi_align),
    "TfIdfVectorizer": Kind(build=opaque.tf_idf),
    "ai.onnx.ml.Binarizer": Kind(compose=composed.binarizer),
    "ai.onnx.ml.LabelEncoder": Kind(build=opaque.lookup),
    "ai.onnx.ml.TreeEnsemble": Kind(build=opaque.tree_ensemble),
    # Picked, put together.
    "Concat": Kind(build=move.concat, view=reshaping.append, fold=fold.concat),
    "Gather": Kind(
        build=move.gather,
        view=picking.gather,
        fold=fold.gather,
        compose=conversions.gathered,
    ),
    "GatherElements": Kind(build=move.gather_elements, fold=fold.gather_elements),
    "GatherND": Kind(
        build=move.gather_nd,
        view=picking.gather_nd,
        fold=fold.gather_nd,
        compose=composed.gather_nd,
    ),
    "Pad": Kind(build=move.pad, compose=composed.pad),
    "BitCast": Kind(build=move.bit_cast),
    "OneHot": Kind(compose=composed.one_hot),
    # Views.
    "DepthToSpace": viewed(reshaping.depth_to_space),
    "Dropout": Kind(view=reshaping.dropout, compose=composed.dropout),
    "OptionalGetElement": Kind(compose=composed.optional_element),
    "OptionalHasElement": Kind(compose=composed.optional_has),
    "Expand": viewed(reshaping.expand),
    "Flatten": viewed(reshaping.flatten),
    "Identity": viewed(reshaping.same),
    "Reshape": viewed(reshaping.reshape),
    "Slice": Kind(view=reshaping.slice_, compose=composed.reversed_slice),
    "SpaceToDepth": viewed(reshaping.space_to_depth),
    "Split": viewed(reshaping.split),
    "Squeeze": viewed(reshaping.squeeze),
    "Tile": viewed(reshaping.tile),
    "Transpose": viewed(reshaping.transpose),
    "Unsqueeze": viewed(reshaping.unsqueeze),
    # Numbers.
    "Constant": Kind(fold=fold.constant),
    "ConstantOfShape": Kind(fold=fold.constant_of_shape, view=reshaping.constant_of_shape),
    "NonZero": Kind(fold=fold.nonzero),
    **dict.fromkeys(("Compress", "NonMaxSuppression", "Unique"), Kind()),
    "Range": Kind(fold=fold.arange),
    "Shape": viewed(_shape),
    "Size": viewed(_size),
    "Trilu": Kind(fold=fold.trilu, compose=composed.trilu),
    "EyeLike": Kind(compose=composed.eye_like),
    "Bernoulli": Kind(compose=composed.bernoulli),
    **_of_modules(),
}
