"""What convolutions and pools must fit, and where ONNX's inference of them errs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elk.frontend.views.node import Node, check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.views import Shape

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_WINDOWS_DROPPED = 22  # From this opset on, ONNX infers how many windows pools round up to.


def _padding(node: Node) -> None:
    """How a convolution or pool is padded."""
    auto = node.attrs.get("auto_pad", "NOTSET")
    require(auto in _AUTO_PADS, f"attribute 'auto_pad' must be one of {_AUTO_PADS}, got '{auto}'")


def _window(node: Node, weight: Shape) -> None:
    """The kernel of a convolution, which is an attribute, too, and its padding."""
    _padding(node)
    require(not _padded_twice(node), "attributes 'pads' and 'auto_pad' must not both be given")
    given = node.attrs.get("kernel_shape")
    if given is not None:
        require(
            tuple(given) == weight[2:],
            f"attribute 'kernel_shape' is {list(given)}, its weight is {list(weight)}",
        )


def _conv(node: Node, slot: int = 1) -> None:
    """Conv: a weight `[out, in / group, kernel...]`, a bias for each channel."""
    x, weight = node.input(0).shape, node.input(slot).shape
    groups = int(node.attrs.get("group", 1))
    require(len(x) == len(weight) > 2, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 batch and channels
    require(
        groups >= 1 and x[1] == weight[1] * groups,
        f"its input has {x[1]} channels, {groups} groups of its weight read {weight[1]} each",
    )
    require(weight[0] % groups == 0, f"{weight[0]} channels of its weight make no {groups} groups")
    _window(node, weight)


def float_conv(node: Node) -> None:
    """Conv."""
    _conv(node)
    check_input(node, 2, (node.input(1).shape[0],), "bias")


def quantized_conv(node: Node) -> None:
    """QLinearConv."""
    _conv(node, 3)
    for slot in (1, 2, 6, 7):
        _scales(node, slot, 1)
    for slot in (4, 5):
        _scales(node, slot, node.input(3).shape[0])
    check_input(node, 8, (node.input(3).shape[0],), "bias")


def integer_conv(node: Node) -> None:
    """ConvInteger."""
    _conv(node)


def _scales(node: Node, slot: int, channels: int) -> None:
    """A scale or zero point: one number, or one for each channel."""
    value = node.get(slot)
    if value is not None:
        fits = value.size == 1 or value.shape == (channels,)
        require(fits, f"input {slot} must be a number or {channels}, got {list(value.shape)}")


def conv_transpose(node: Node) -> None:
    """ConvTranspose: a weight `[in, out / group, kernel...]`."""
    x, weight = node.input(0).shape, node.input(1).shape
    groups = int(node.attrs.get("group", 1))
    require(len(x) == len(weight) > 2, f"its input is {list(x)}, its weight {list(weight)}")  # noqa: PLR2004 batch and channels
    require(x[1] == weight[0], f"its input has {x[1]} channels, its weight is for {weight[0]}")
    require(groups >= 1 and x[1] % groups == 0, f"{x[1]} channels make no {groups} groups")
    _window(node, weight)
    check_input(node, 2, (weight[1] * groups,), "bias")
    wanted = tuple(node.attrs.get("output_shape", x[2:]))
    fits = len(wanted) == len(x[2:]) and all(n >= m for n, m in zip(wanted, x[2:], strict=True))
    require(fits, f"its output_shape {list(wanted)} is less than its input {list(x[2:])}")


def deform_conv(node: Node) -> None:
    """DeformConv: offsets and a mask for each position of the result."""
    _conv(node)
    x, weight = node.input(0).shape, node.input(1).shape
    offsets, places = int(node.attrs.get("offset_group", 1)), math.prod(weight[2:])
    out = node.input(2).shape[2:]
    require(offsets >= 1 and x[1] % offsets == 0, f"{x[1]} channels make no {offsets} groups")
    rank = len(x) - 2
    strides = node.attrs.get("strides", (1,) * rank)
    steps = node.attrs.get("dilations", (1,) * rank)
    pads = node.attrs.get("pads", (0,) * (2 * rank))
    sizes = tuple(
        (x[2 + i] + pads[i] + pads[rank + i] - (weight[2 + i] - 1) * steps[i] - 1) // strides[i] + 1
        for i in range(rank)
    )
    require(
        out == sizes, f"its offsets are for {list(out)} positions, its result has {list(sizes)}"
    )
    check_input(node, 2, (x[0], offsets * places * rank, *sizes), "offsets")
    check_input(node, 3, (weight[0],), "bias")
    check_input(node, 4, (x[0], offsets * places, *sizes), "mask")


def col2im(node: Node) -> None:
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
    require(x[1] % math.prod(block) == 0, f"{x[1]} rows hold no blocks of {list(block)}")
    require(
        x[2] == math.prod(windows), f"it has {x[2]} columns, its image {math.prod(windows)} windows"
    )


def pool(node: Node) -> None:
    """A pool: how it is padded, and whether it rounds up."""
    _padding(node)
    mode = node.attrs.get("ceil_mode", 0)
    require(mode in {0, 1}, f"attribute 'ceil_mode' must be 0 or 1, got {mode}")


def _padded_twice(node: Node) -> bool:
    """Whether `auto_pad` says that `pads` do not count, which inference takes in any case."""
    return node.attrs.get("auto_pad", "NOTSET") != "NOTSET" and "pads" in node.attrs


def rounded_up(node: Node) -> bool:
    """Whether a pool rounds up by an older version, whose inference counts windows of padding."""
    old = node.opset < _WINDOWS_DROPPED and bool(node.attrs.get("ceil_mode", 0))
    return old or _padded_twice(node)


def padded_behind(node: Node) -> bool:
    """Whether inference adds `output_padding` to what `auto_pad` says is the size of the result."""
    automatic = str(node.attrs.get("auto_pad")).startswith("SAME")
    return automatic and any(node.attrs.get("output_padding", ()))
