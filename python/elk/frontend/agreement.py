"""Whether the shapes of a node's inputs agree with its type, its attributes and one another.

ONNX's own inference knows most rules; those that it leaves to whoever runs a node stand here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx
from onnx import checker, helper, numpy_helper, shape_inference

from elk.frontend.node import UnplannableError
from elk.frontend.values import ONNX_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from elk.frontend.node import Node
    from elk.frontend.views import Shape

# Those that ONNX itself writes otherwise than its inference says: bounds of one dimension.
_LENIENT = frozenset({"Range"})
_SHOWN_ELEMENTS = 1024  # Of a known input; larger ones decide no shape.


class Agreement:
    """Checks nodes; equal ones once."""

    def __init__(self) -> None:
        self._sound: set[Hashable] = set()

    def check(
        self, proto: onnx.NodeProto, node: Node, attrs_key: Hashable, opsets: Mapping[str, int]
    ) -> None:
        """Refuses a node of ONNX's own whose inputs do not fit.

        Raises:
            UnplannableError: They do not; the message is the rule.
        """
        key = (node.type, node.opset, attrs_key, tuple([v and v.key for v in node.inputs]))
        if key in self._sound:
            return
        rule = _RULES.get(node.type)
        if rule is not None:
            rule(node)
        _infer(proto, node, opsets)
        self._sound.add(key)


def _infer(proto: onnx.NodeProto, node: Node, opsets: Mapping[str, int]) -> None:
    """Runs ONNX's inference on one node, which refuses shapes that do not fit."""
    if (
        node.type in _LENIENT
        or not onnx.defs.has(node.type, node.opset, "")
        or any(a.HasField("g") for a in proto.attribute)
    ):
        return
    schema = onnx.defs.get_schema(node.type, node.opset, "")
    types, data = {}, {}
    for name, value in zip(proto.input, node.inputs, strict=True):
        if value is not None:
            types[name] = helper.make_tensor_type_proto(ONNX_TYPES[value.dtype], value.shape)
            if value.known is not None and value.size <= _SHOWN_ELEMENTS:
                data[name] = numpy_helper.from_array(value.known, name)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    try:
        shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=imports)
    except checker.ValidationError as error:
        raise UnplannableError(f"its types do not fit: {error}".strip()) from None
    except shape_inference.InferenceError as error:
        reason = str(error).strip().rpartition("Error] ")[2].partition("\n")[0]
        raise UnplannableError(f"its shapes do not fit: {reason.strip()}") from None


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise UnplannableError(rule)


def _shape(node: Node, slot: int, wanted: tuple[int | None, ...], what: str) -> Shape | None:
    """The shape of input `slot`, which must be `wanted` where that is not None; None: left out."""
    value = node.get(slot)
    if value is None:
        return None
    shape = value.shape
    fits = len(shape) == len(wanted) and all(
        n in {None, size} for n, size in zip(wanted, shape, strict=True)
    )
    shown = ", ".join("any" if n is None else str(n) for n in wanted)
    _require(fits, f"input {slot}, its {what}, must have shape [{shown}], got {list(shape)}")
    return shape


def _window(node: Node, weight: Shape) -> None:
    """The kernel of a convolution, which is an attribute, too."""
    given = node.attrs.get("kernel_shape")
    if given is not None:
        _require(
            tuple(given) == weight[2:],
            f"attribute 'kernel_shape' is {list(given)}, its weight is {list(weight)}",
        )


def _conv(node: Node, slot: int = 1) -> None:
    """Conv: a weight `[out, in / group, kernel...]`, a bias for each channel."""
    x, weight = node.input(0).shape, node.input(slot).shape
    groups = int(node.attrs.get("group", 1))
    _require(len(x) == len(weight) > 2, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 batch and channels
    _require(
        groups >= 1 and x[1] == weight[1] * groups,
        f"its input has {x[1]} channels, {groups} groups of its weight read {weight[1]} each",
    )
    _require(weight[0] % groups == 0, f"{weight[0]} channels of its weight make no {groups} groups")
    _window(node, weight)


def _float_conv(node: Node) -> None:
    _conv(node)
    _shape(node, 2, (node.input(1).shape[0],), "bias")


def _quantized_conv(node: Node) -> None:
    _conv(node, 3)
    for slot in (4, 5):
        _scales(node, slot, node.input(3).shape[0])
    _shape(node, 8, (node.input(3).shape[0],), "bias")


def _integer_conv(node: Node) -> None:
    _conv(node)


def _scales(node: Node, slot: int, channels: int) -> None:
    """A scale or zero point: one number, or one for each channel."""
    value = node.get(slot)
    if value is not None:
        fits = value.size == 1 or value.shape == (channels,)
        _require(fits, f"input {slot} must be a number or {channels}, got {list(value.shape)}")


def _conv_transpose(node: Node) -> None:
    """ConvTranspose: a weight `[in, out / group, kernel...]`."""
    x, weight = node.input(0).shape, node.input(1).shape
    groups = int(node.attrs.get("group", 1))
    _require(len(x) == len(weight) > 2, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 batch and channels
    _require(x[1] == weight[0], f"its input has {x[1]} channels, its weight is for {weight[0]}")
    _require(groups >= 1 and x[1] % groups == 0, f"{x[1]} channels make no {groups} groups")
    _window(node, weight)
    _shape(node, 2, (weight[1] * groups,), "bias")


def _deform_conv(node: Node) -> None:
    """DeformConv: offsets and a mask for each position of the result."""
    _conv(node)
    x, weight = node.input(0).shape, node.input(1).shape
    offsets, places = int(node.attrs.get("offset_group", 1)), math.prod(weight[2:])
    out = node.input(2).shape[2:]
    _require(offsets >= 1 and x[1] % offsets == 0, f"{x[1]} channels make no {offsets} groups")
    rank = len(x) - 2
    strides = node.attrs.get("strides", (1,) * rank)
    steps = node.attrs.get("dilations", (1,) * rank)
    pads = node.attrs.get("pads", (0,) * (2 * rank))
    sizes = tuple(
        (x[2 + i] + pads[i] + pads[rank + i] - (weight[2 + i] - 1) * steps[i] - 1) // strides[i] + 1
        for i in range(rank)
    )
    _require(
        out == sizes, f"its offsets are for {list(out)} positions, its result has {list(sizes)}"
    )
    _shape(node, 2, (x[0], offsets * places * rank, *sizes), "offsets")
    _shape(node, 3, (weight[0],), "bias")
    _shape(node, 4, (x[0], offsets * places, *sizes), "mask")


def _recurrent(gates: int) -> Callable[[Node], None]:
    """RNN, GRU and LSTM: weights for each direction and gate."""

    def rule(node: Node) -> None:
        x, weight = node.input(0).shape, node.input(1).shape
        directions = 2 if node.attrs.get("direction", "forward") == "bidirectional" else 1
        hidden = int(node.attrs.get("hidden_size", 0)) or node.input(2).shape[-1]
        _require(len(x) == len(weight) == 3, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 steps, batch, size
        batched = bool(node.attrs.get("layout", 0))
        batch = x[0] if batched else x[1]
        _shape(node, 1, (directions, gates * hidden, x[2]), "weight")
        _shape(node, 2, (directions, gates * hidden, hidden), "recurrent weight")
        _shape(node, 3, (directions, 2 * gates * hidden), "bias")
        _shape(node, 4, (batch,), "lengths")
        state = (batch, directions, hidden) if batched else (directions, batch, hidden)
        _shape(node, 5, state, "first state")
        if node.type == "LSTM":
            _shape(node, 6, state, "first cells")
            _shape(node, 7, (directions, 3 * hidden), "peepholes")

    return rule


def _attention(node: Node) -> None:
    """Attention: one batch, and as many keys as values."""
    query, key, value = (node.input(slot).shape for slot in range(3))
    _require(
        len(query) == len(key) == len(value),
        f"its query is {list(query)}, its key {list(key)}, its value {list(value)}",
    )
    _require(
        query[0] == key[0] == value[0],
        f"its query is for a batch of {query[0]}, its key of {key[0]}, its value of {value[0]}",
    )
    _require(key[-2] == value[-2], f"it has {key[-2]} keys and {value[-2]} values")
    heads = (key[1], value[1], query[1])
    if len(query) == 4:  # noqa: PLR2004 batch, heads, positions, size
        _require(heads[0] == heads[1], f"it has {heads[0]} heads of keys, {heads[1]} of values")
        _require(
            heads[2] % heads[0] == 0, f"{heads[2]} heads of queries do not share {heads[0]} of keys"
        )
    for slot in (4, 5):
        past = node.get(slot)
        if past is not None:
            fits = past.shape[0] == query[0]
            _require(fits, f"input {slot} is for a batch of {past.shape[0]}, not of {query[0]}")
    past = node.get(4)
    keys = key[-2] + (past.shape[-2] if past is not None else 0)
    mask = node.get(3)
    if mask is not None:
        fits = mask.shape[-1] <= keys and mask.shape[-2:-1] in {(), (1,), (query[-2],)}
        shown = f"{query[-2]} queries and {keys} keys"
        _require(fits, f"its mask {list(mask.shape)} does not fit {shown}")
    _shape(node, 6, (query[0],), "lengths")


def _loss(node: Node) -> None:
    """A loss over classes: a label for each place of the scores, a weight for each class."""
    scores, labels = node.input(0).shape, node.input(1).shape
    _require(
        labels == (scores[0], *scores[2:]),
        f"its scores are {list(scores)}, its labels {list(labels)}",
    )
    _shape(node, 2, (scores[1],), "weights")


def _gather_nd(node: Node) -> None:
    """GatherND: data and indices of one batch."""
    batch = int(node.attrs.get("batch_dims", 0))
    data, index = node.input(0).shape, node.input(1).shape
    _require(
        data[:batch] == index[:batch], f"its data is {list(data)}, its indices are {list(index)}"
    )


def _col2im(node: Node) -> None:
    """Col2Im: a column for each window of the image."""
    x = node.input(0).shape
    image, block = (node.ints(slot, "") or () for slot in (1, 2))
    rank = len(image)
    strides = node.attrs.get("strides", (1,) * rank)
    steps = node.attrs.get("dilations", (1,) * rank)
    pads = node.attrs.get("pads", (0,) * (2 * rank))
    windows = [
        (image[i] + pads[i] + pads[rank + i] - (block[i] - 1) * steps[i] - 1) // strides[i] + 1
        for i in range(rank)
    ]
    _require(x[1] % math.prod(block) == 0, f"{x[1]} rows hold no blocks of {list(block)}")
    _require(
        x[2] == math.prod(windows), f"it has {x[2]} columns, its image {math.prod(windows)} windows"
    )


def _norm(node: Node) -> None:
    """LayerNormalization, RMSNormalization: vectors that broadcast to the input."""
    x = node.input(0).shape
    for slot in (1, 2):
        vector = node.get(slot)
        if vector is not None:
            _require(
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
    _shape(node, 0, (size[0] if size else None, rank, rank + 1), "matrices")


def _rotary(node: Node) -> None:
    """RotaryEmbedding: a cosine and a sine for each position and pair of the head."""
    x, cosine, sine = (node.input(slot).shape for slot in range(3))
    _require(cosine == sine, f"its cosines are {list(cosine)}, its sines {list(sine)}")
    at = (x[0], x[2] if len(x) == 4 else x[1])  # noqa: PLR2004 batch, heads, positions, size
    if node.get(3) is not None:
        _shape(node, 3, at, "positions")
    else:
        _shape(node, 1, (*at, None), "cosines")


def _scatter_elements(node: Node) -> None:
    """Scatter: indices no larger than the data, but along the axis."""
    data, index = node.input(0).shape, node.input(1).shape
    axis = node.axis(0)
    fits = len(data) == len(index) and all(
        n <= size for d, (n, size) in enumerate(zip(index, data, strict=True)) if d != axis
    )
    _require(fits, f"its indices {list(index)} are more than its data {list(data)}")


def _scatter_nd(node: Node) -> None:
    """ScatterND: each row of indices names a place, updates fill the rest."""
    data, index, updates = (node.input(slot).shape for slot in range(3))
    depth = index[-1] if index else 0
    _require(
        1 <= depth <= len(data), f"its indices name {depth} dimensions, its data has {len(data)}"
    )
    wanted = (*index[:-1], *data[depth:])
    _require(updates == wanted, f"its updates must be {list(wanted)}, got {list(updates)}")


def _quantized_product(node: Node) -> None:
    """QLinearMatMul: scales of the whole, of rows of the first, of columns of the second."""
    first, second = node.input(0).shape, node.input(3).shape
    for slot in (1, 2):
        _rows_of(node, slot, first[-2] if len(first) > 1 else 1)
    for slot in (4, 5):
        _rows_of(node, slot, second[-1])


def _rows_of(node: Node, slot: int, count: int) -> None:
    value = node.input(slot)
    fits = value.size == 1 or count in value.shape
    _require(fits, f"input {slot} must be a number or {count}, got {list(value.shape)}")


_RULES: dict[str, Callable[[Node], None]] = {
    "AffineGrid": _affine_grid,
    "Attention": _attention,
    "Conv": _float_conv,
    "Col2Im": _col2im,
    "ConvInteger": _integer_conv,
    "ConvTranspose": _conv_transpose,
    "DeformConv": _deform_conv,
    "GRU": _recurrent(3),
    "GatherND": _gather_nd,
    "LSTM": _recurrent(4),
    "LayerNormalization": _norm,
    "NegativeLogLikelihoodLoss": _loss,
    "QLinearConv": _quantized_conv,
    "QLinearMatMul": _quantized_product,
    "RMSNormalization": _norm,
    "RNN": _recurrent(1),
    "RotaryEmbedding": _rotary,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "SoftmaxCrossEntropyLoss": _loss,
}
