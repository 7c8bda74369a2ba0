"""The table of operator kinds: what each ONNX type folds to, shows, or computes.

A node is tried in this order: `fold`, where all inputs are known; `view`, which says that nothing
has to be computed; `build`, the tensor expression. A type that is not in the table is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elk.frontend import contraction, fold, move, picking, reshaping, rows, windows
from elk.frontend.elementwise import elementwise, scalar
from elk.frontend.values import DTYPES, Value, constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from elk.frontend.fold import Fold
    from elk.frontend.node import Node
    from elk.frontend.space import Pattern


@dataclass(frozen=True, slots=True)
class Kind:
    """What to do with a node of one ONNX type.

    Attributes:
        build: Its tensor expression; None where it never is an op.
        view: The values of its outputs if they are views; None where they never are.
        fold: Its outputs from known inputs; None where it is not folded.
        lazy_inputs: Inputs that need not be known for `fold`: only their shape is used.
    """

    build: Callable[[Node], Pattern] | None = None
    view: Callable[[Node], list[Value] | None] | None = None
    fold: Fold | None = None


def _unary(function: str, array: Callable[..., Any] | None = None, flops: int = 1) -> Kind:
    return Kind(
        build=lambda node: elementwise(node, function, flops=flops),
        fold=fold.by(array) if array else None,
    )


def _binary(function: str, array: Callable[..., Any] | None = None) -> Kind:
    """Also of more inputs than two: Min, Max, Sum."""
    return Kind(
        build=lambda node: elementwise(node, function), fold=fold.by(array) if array else None
    )


def _comparison(function: str, array: Callable[..., Any], unit: float | None = None) -> Kind:
    return Kind(
        build=lambda node: elementwise(node, function, result="bool"),
        view=None if unit is None else reshaping.neutral(unit),
        fold=fold.test(array),
    )


def _reduction(
    function: str, array: Callable[..., Any] | None = None, *, mean: bool = False
) -> Kind:
    return Kind(
        build=lambda node: rows.reduction(node, function, mean=mean),
        fold=fold.reduced(array) if array else None,
    )


def _view(view: Callable[[Node], list[Value] | None]) -> Kind:
    return Kind(view=view)


def _pow(node: Node) -> Pattern:
    """Powers that have a kernel of their own use it."""
    names = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    exponent = scalar(node.input(1))
    if exponent in names and scalar(node.input(0)) is None:
        node.inputs = node.inputs[:1]
        return elementwise(node, names[exponent])
    return elementwise(node, "pow")


def _gelu(node: Node) -> Pattern:
    if node.attrs.get("approximate", "none") == "tanh":
        return elementwise(node, "gelu", flops=8)
    return elementwise(node, "gelu_erf")


def _cast(node: Node) -> Pattern:
    return elementwise(node, "cast", result=DTYPES[int(node.attrs["to"])])


def _shape(node: Node) -> list[Value] | None:
    shape = node.input(0).shape
    part = shape[slice(int(node.attrs.get("start", 0)), node.attrs.get("end"))]
    return [constant(node.outputs[0], np.asarray(part, dtype="i8"))]


def _size(node: Node) -> list[Value] | None:
    return [constant(node.outputs[0], np.asarray(node.input(0).size, dtype="i8"))]


KINDS: dict[str, Kind] = {
    # Products.
    "MatMul": Kind(build=contraction.matmul),
    "Gemm": Kind(build=contraction.gemm),
    "Einsum": Kind(build=contraction.einsum, view=reshaping.transposing_einsum),
    # Windows.
    "Conv": Kind(build=windows.conv),
    "MaxPool": Kind(build=lambda node: windows.pool(node, "maxpool2d")),
    "AveragePool": Kind(build=lambda node: windows.pool(node, "sumpool2d", mean=True)),
    "GlobalAveragePool": Kind(build=lambda node: rows.global_pool(node, "sum", mean=True)),
    "GlobalMaxPool": Kind(build=lambda node: rows.global_pool(node, "max")),
    # Elementwise, one input.
    "Abs": _unary("abs", np.abs),
    "Cos": _unary("cos", np.cos),
    "Erf": _unary("erf"),
    "Exp": _unary("exp", np.exp),
    "Gelu": Kind(build=_gelu),
    "Log": _unary("log", np.log),
    "Neg": _unary("neg", np.negative),
    "Reciprocal": _unary("reciprocal", np.reciprocal),
    "Relu": _unary("relu", lambda a: np.maximum(a, 0)),
    "Sigmoid": _unary("sigmoid"),
    "Sin": _unary("sin", np.sin),
    "Sqrt": _unary("sqrt", np.sqrt),
    "Tanh": _unary("tanh", np.tanh),
    "Cast": Kind(build=_cast, view=reshaping.cast, fold=fold.cast),
    # Elementwise, several inputs.
    "Add": _binary("add", np.add),
    "Div": _binary("div", fold.divide),
    "Max": _binary("max", lambda *a: _each(np.maximum, a)),
    "Min": _binary("min", lambda *a: _each(np.minimum, a)),
    "Mul": _binary("mul", np.multiply),
    "Pow": Kind(build=_pow, fold=fold.by(np.power)),
    "Sub": _binary("sub", np.subtract),
    "Clip": Kind(build=lambda node: elementwise(node, "clip"), fold=fold.clip),
    "And": _comparison("and", np.logical_and, 1.0),
    "Or": _comparison("or", np.logical_or, 0.0),
    "Equal": _comparison("equal", np.equal),
    "Greater": _comparison("greater", np.greater),
    "GreaterOrEqual": _comparison("greater_equal", np.greater_equal),
    "Less": _comparison("less", np.less),
    "LessOrEqual": _comparison("less_equal", np.less_equal),
    "Where": Kind(
        build=lambda node: elementwise(node, "where"),
        view=reshaping.chosen,
        fold=fold.by(np.where),
    ),
    # Along rows.
    "ReduceMax": _reduction("max", np.max),
    "ReduceMean": _reduction("sum", np.mean, mean=True),
    "ReduceMin": _reduction("min", np.min),
    "ReduceProd": _reduction("prod", np.prod),
    "ReduceSum": _reduction("sum", np.sum),
    "Softmax": Kind(build=rows.softmax),
    "LayerNormalization": Kind(build=lambda node: rows.norm(node, "layernorm")),
    "CumSum": Kind(build=lambda node: rows.scan(node, "cumsum"), fold=fold.cumsum),
    # Picked, put together.
    "Concat": Kind(build=move.concat, view=reshaping.append, fold=fold.concat),
    "Gather": Kind(build=move.gather, view=picking.gather, fold=fold.gather),
    "GatherElements": Kind(build=move.gather_elements, fold=fold.gather_elements),
    "GatherND": Kind(view=picking.gather_nd, fold=fold.gather_nd),
    "Pad": Kind(build=move.pad),
    # Views.
    "Dropout": _view(reshaping.dropout),
    "Expand": _view(reshaping.expand),
    "Flatten": _view(reshaping.flatten),
    "Identity": _view(reshaping.same),
    "Reshape": _view(reshaping.reshape),
    "Slice": _view(reshaping.slice_),
    "Split": _view(reshaping.split),
    "Squeeze": _view(reshaping.squeeze),
    "Tile": _view(reshaping.tile),
    "Transpose": _view(reshaping.transpose),
    "Unsqueeze": _view(reshaping.unsqueeze),
    # Numbers.
    "Constant": Kind(fold=fold.constant),
    "ConstantOfShape": Kind(fold=fold.constant_of_shape),
    "Range": Kind(fold=fold.arange),
    "Shape": _view(_shape),
    "Size": _view(_size),
}


def _each(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    result = arrays[0]
    for array in arrays[1:]:
        result = function(result, array)
    return result
