"""Whether the shapes of a node's inputs agree with its type, its attributes and one another.

ONNX's own inference knows most rules; those that it leaves to whoever runs a node stand here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from elk.frontend import agreement_windows as windows
from elk.frontend.inference import Inferred, infer
from elk.frontend.views.node import Node, check_input, require

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import onnx

    from elk.frontend.ops.taker import Scope
    from elk.frontend.views.views import Shape

_BROADCASTS = 7  # From this opset on, inputs broadcast from the last dimension.


class Agreement:
    """Checks nodes; equal ones once."""

    def __init__(self) -> None:
        self._sound: dict[Hashable, Inferred] = {}

    def check(
        self, proto: onnx.NodeProto, node: Node, attrs_key: Hashable, scope: Scope
    ) -> Inferred:
        """What the results of a node that ONNX defines must be. Refuses one that does not fit.

        Raises:
            UnplannableError: Its inputs and attributes do not fit; the message is the rule.
        """
        inputs, outputs = tuple([v and v.key for v in node.inputs]), tuple(map(bool, node.outputs))
        key = (node.type, node.opset, attrs_key, inputs, outputs)
        found = self._sound.get(key)
        if found is None:
            rule = _RULES.get(node.type)
            if rule is not None:
                rule(node)
            found = infer(proto, node, scope)
            errs = _INFERRED_WRONG.get(node.type)
            if errs is not None and errs(node):
                found = ()
            self._sound[key] = found
        return found


def _recurrent(gates: int) -> Callable[[Node], None]:
    """RNN, GRU and LSTM: weights for each direction and gate."""

    def rule(node: Node) -> None:
        x, weight = node.input(0).shape, node.input(1).shape
        directions = 2 if node.attrs.get("direction", "forward") == "bidirectional" else 1
        hidden = int(node.attrs.get("hidden_size", 0)) or node.input(2).shape[-1]
        require(len(x) == len(weight) == 3, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 steps, batch, size
        batched = bool(node.attrs.get("layout", 0))
        batch = x[0] if batched else x[1]
        check_input(node, 1, (directions, gates * hidden, x[2]), "weight")
        check_input(node, 2, (directions, gates * hidden, hidden), "recurrent weight")
        check_input(node, 3, (directions, 2 * gates * hidden), "bias")
        check_input(node, 4, (batch,), "lengths")
        state = (batch, directions, hidden) if batched else (directions, batch, hidden)
        check_input(node, 5, state, "first state")
        if node.type == "LSTM":
            check_input(node, 6, state, "first cells")
            check_input(node, 7, (directions, 3 * hidden), "peepholes")

    return rule


def _attention(node: Node) -> None:
    """Attention: one batch, and as many keys as values."""
    query, key, value = (node.input(slot).shape for slot in range(3))
    require(
        len(query) == len(key) == len(value),
        f"its query is {list(query)}, its key {list(key)}, its value {list(value)}",
    )
    require(
        query[0] == key[0] == value[0],
        f"its query is for a batch of {query[0]}, its key of {key[0]}, its value of {value[0]}",
    )
    require(key[-2] == value[-2], f"it has {key[-2]} keys and {value[-2]} values")
    heads = (key[1], value[1], query[1])
    if len(query) == 4:  # noqa: PLR2004 batch, heads, positions, size
        require(heads[0] == heads[1], f"it has {heads[0]} heads of keys, {heads[1]} of values")
        require(
            heads[2] % heads[0] == 0, f"{heads[2]} heads of queries do not share {heads[0]} of keys"
        )
    for slot in (4, 5):
        past = node.get(slot)
        if past is not None:
            fits = past.shape[0] == query[0]
            require(fits, f"input {slot} is for a batch of {past.shape[0]}, not of {query[0]}")
    past = node.get(4)
    keys = key[-2] + (past.shape[-2] if past is not None else 0)
    mask = node.get(3)
    if mask is not None:
        fits = mask.shape[-1] <= keys and mask.shape[-2:-1] in {(), (1,), (query[-2],)}
        shown = f"{query[-2]} queries and {keys} keys"
        require(fits, f"its mask {list(mask.shape)} does not fit {shown}")
    check_input(node, 6, (query[0],), "lengths")


def _loss(node: Node) -> None:
    """A loss over classes: a label for each place of the scores, a weight for each class."""
    scores, labels = node.input(0).shape, node.input(1).shape
    require(
        labels == (scores[0], *scores[2:]),
        f"its scores are {list(scores)}, its labels {list(labels)}",
    )
    check_input(node, 2, (scores[1],), "weights")


def _gather_nd(node: Node) -> None:
    """GatherND: data and indices of one batch."""
    batch = int(node.attrs.get("batch_dims", 0))
    data, index = node.input(0).shape, node.input(1).shape
    most = min(len(data), len(index))
    require(0 <= batch < most, f"attribute 'batch_dims' must be from 0 to {most - 1}, got {batch}")
    require(
        data[:batch] == index[:batch], f"its data is {list(data)}, its indices are {list(index)}"
    )


def _norm(node: Node) -> None:
    """LayerNormalization, RMSNormalization: vectors that broadcast to the input."""
    x = node.input(0).shape
    node.axis(-1)  # ONNX's inference reads wherever an axis points.
    for slot in (1, 2):
        vector = node.get(slot)
        if vector is not None:
            require(
                _fits_into(vector.shape, x),
                f"input {slot} of shape {list(vector.shape)} does not broadcast to {list(x)}",
            )


def _fits_into(shape: Shape, target: Shape) -> bool:
    """Whether a shape broadcasts to `target` without making it larger."""
    ends = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in {1, size} for n, size in ends)


def _affine_grid(node: Node) -> None:
    """AffineGrid: a matrix for each image."""
    size = node.ints(1, "") or ()
    rank = len(size) - 2
    check_input(node, 0, (size[0] if size else None, rank, rank + 1), "matrices")


def _rotary(node: Node) -> None:
    """RotaryEmbedding: a cosine and a sine for each position and pair of the head."""
    x, cosine, sine = (node.input(slot).shape for slot in range(3))
    require(cosine == sine, f"its cosines are {list(cosine)}, its sines {list(sine)}")
    at = (x[0], x[2] if len(x) == 4 else x[1])  # noqa: PLR2004 batch, heads, positions, size
    if node.get(3) is not None:
        check_input(node, 3, at, "positions")
    else:
        check_input(node, 1, (*at, None), "cosines")


def _scatter_elements(node: Node) -> None:
    """Scatter: indices no larger than the data, but along the axis."""
    data, index = node.input(0).shape, node.input(1).shape
    axis = node.axis(0)
    fits = len(data) == len(index) and all(
        n <= size for d, (n, size) in enumerate(zip(index, data, strict=True)) if d != axis
    )
    require(fits, f"its indices {list(index)} are more than its data {list(data)}")
    check_input(node, 2, index, "updates")


def _tensor_scatter(node: Node) -> None:
    """TensorScatter: rows like those of the cache, and a place for each row of the batch."""
    past, axis = node.input(0).shape, node.axis(-2)
    rows: tuple[int | None, ...] = (*past[:axis], None, *past[axis + 1 :])
    new = check_input(node, 1, rows, "update")
    require(axis != 0, "its axis is that of the batch")
    require(new is not None and new[axis] <= past[axis], f"its rows are more than {past[axis]}")
    check_input(node, 2, (past[0],), "places")


def _scatter_nd(node: Node) -> None:
    """ScatterND: each row of indices names a place, updates fill the rest."""
    data, index, updates = (node.input(slot).shape for slot in range(3))
    depth = index[-1] if index else 0
    require(
        1 <= depth <= len(data), f"its indices name {depth} dimensions, its data has {len(data)}"
    )
    wanted = (*index[:-1], *data[depth:])
    require(updates == wanted, f"its updates must be {list(wanted)}, got {list(updates)}")


def _quantized(node: Node) -> None:
    """QuantizeLinear, DequantizeLinear: a scale of all, of each position of an axis, of blocks."""
    x, scale, zero = node.input(0).shape, node.input(1).shape, node.get(2)
    if zero is not None:
        fits = zero.size == 1 or zero.shape == scale
        require(fits, f"its scales are {list(scale)}, its zero points {list(zero.shape)}")
    if math.prod(scale) != 1 and not node.attrs.get("block_size", 0):
        axis = node.axis(1)
        require(scale == (x[axis],), f"its scales are {list(scale)}, its input {list(x)}")


def _quantized_product(node: Node) -> None:
    """QLinearMatMul: scales of the whole, of rows of the first, of columns of the second."""
    for slot in (1, 2):
        _scales_along(node, slot, node.input(0).shape, -2)
    for slot in (4, 5):
        _scales_along(node, slot, node.input(3).shape, -1)


def _scales_along(node: Node, slot: int, factor: Shape, axis: int) -> None:
    """A scale or zero point of a factor: a number, or as many as it has positions of `axis`."""
    value = node.input(slot)
    count = factor[axis] if len(factor) >= -axis else 1
    fits = value.size == 1 or count in value.shape
    fits = fits and len(value.shape) <= max(len(factor), 1)
    require(fits, f"input {slot} must be a number or {count}, got {list(value.shape)}")


def _clip(node: Node) -> None:
    """Clip: bounds that are numbers."""
    for slot in (1, 2):
        bound = node.get(slot)
        if bound is not None:
            fits = bound.size == 1 and len(bound.shape) <= len(node.input(0).shape)
            require(fits, f"input {slot} must be a number, got {list(bound.shape)}")


def _old_pair(node: Node) -> None:
    """An elementwise type before inputs broadcast both ways: the others fit into the first."""
    if node.opset >= (_BROADCASTS if node.type not in _OF_MANY else _BROADCASTS + 1):
        return
    x, *rest = [value.shape for value in node.inputs if value is not None]
    for shape in rest:
        require(_fits_into(shape, x), f"{list(shape)} does not broadcast to {list(x)}")
        axis = node.attrs.get("axis", len(x) - len(shape))
        require(
            axis in {len(x) - len(shape), -len(shape)},
            f"before opset {_BROADCASTS} attribute 'axis' must align last dimensions, got {axis}",
        )


def _slopes(node: Node) -> None:
    """PRelu: slopes that broadcast to the input; those of channels before opset 7."""
    x, slopes = node.input(0).shape, node.input(1).shape
    fits = _fits_into(slopes, x) or (node.opset < _BROADCASTS and len(slopes) == 1)
    require(fits, f"its slopes {list(slopes)} do not broadcast to {list(x)}")


def _flatten(node: Node) -> None:
    """Flatten: a place between dimensions."""
    rank, axis = len(node.input(0).shape), int(node.attrs.get("axis", 1))
    require(-rank <= axis <= rank, f"axis {axis} of a value with {rank} dimensions")


def _split(node: Node) -> None:
    """Split: as many outputs as it says; ONNX's inference ends the process where it has more."""
    count = node.attrs.get("num_outputs", len(node.outputs))
    require(
        count == len(node.outputs),
        f"attribute 'num_outputs' is {count}, it has {len(node.outputs)} outputs",
    )


def _label_encoder(node: Node) -> None:
    """LabelEncoder: a value for each key."""
    sizes = {
        what: [np.size(v) for name, v in node.attrs.items() if name.startswith(what)]
        for what in ("keys_", "values_")
    }
    keys, values = sizes["keys_"], sizes["values_"]
    require(
        len(keys) == 1 and keys == values,
        f"it must have one list of keys and one of as many values, got {keys} and {values}",
    )


# Types of which ONNX's inference gives a shape that no runtime gives, and when it does.
_INFERRED_WRONG: dict[str, Callable[[Node], bool]] = {
    "AveragePool": windows.rounded_up,
    "ConvTranspose": windows.padded_behind,
    "LpPool": windows.rounded_up,
    "MaxPool": windows.rounded_up,
    "STFT": lambda node: "onesided" not in node.attrs,  # The reference takes the default for 0.
}
_OF_MANY = ("Max", "Mean", "Min", "Sum")
_PAIRS = (
    "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor", *_OF_MANY,
)  # fmt: skip
_RULES: dict[str, Callable[[Node], None]] = {
    **dict.fromkeys(_PAIRS, _old_pair),
    "AffineGrid": _affine_grid,
    "Attention": _attention,
    "AveragePool": windows.pool,
    "Conv": windows.float_conv,
    "Clip": _clip,
    "Col2Im": windows.col2im,
    "ConvInteger": windows.integer_conv,
    "ConvTranspose": windows.conv_transpose,
    "DeformConv": windows.deform_conv,
    "DequantizeLinear": _quantized,
    "Flatten": _flatten,
    "GRU": _recurrent(3),
    "GatherND": _gather_nd,
    "LSTM": _recurrent(4),
    "LayerNormalization": _norm,
    "LpPool": windows.pool,
    "MaxPool": windows.pool,
    "NegativeLogLikelihoodLoss": _loss,
    "PRelu": _slopes,
    "QLinearConv": windows.quantized_conv,
    "QLinearMatMul": _quantized_product,
    "QuantizeLinear": _quantized,
    "RMSNormalization": _norm,
    "RNN": _recurrent(1),
    "RotaryEmbedding": _rotary,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "SoftmaxCrossEntropyLoss": _loss,
    "Split": _split,
    "ai.onnx.ml.LabelEncoder": _label_encoder,
}
