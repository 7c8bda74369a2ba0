"""Activations, sums and products, some of them with a bias of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.texts import ints, number, ranked, wants
from elk.frontend.views.node import UnplannableError, check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node


def _gelu(node: Node, approximate: str) -> str:
    """Gelu of an input and the bias of its last dimension."""
    kind = f'Gelu <approximate: string = "{approximate}">'
    if node.get(1) is None:
        return f"Y = {kind} (X)"
    check_input(node, 1, node.input(0).shape[-1:], "bias")
    return f"moved = Add (X, bias)\nY = {kind} (moved)"


def _split_gelu(node: Node) -> str:
    x = ranked(node, 0, "input", 3)
    require(x[-1] % 2 == 0, f"its last dimension must be even, got {x[-1]}")
    check_input(node, 1, x[-1:], "bias")
    return """
        moved = Add (X, bias)
        left, right = Split <axis: int = -1, num_outputs: int = 2> (moved)
        gate = Gelu (right)
        Y = Mul (left, gate)
    """


def _bias_add(node: Node) -> str:
    x = node.input(0).shape
    check_input(node, 1, x[-1:], "bias")
    check_input(node, 2, x, "skip")
    return "moved = Add (X, bias)\nY = Add (moved, skip)"


# What an activation is called, and its attributes in their order with their defaults.
_ACTIVATIONS: Final = {
    "Relu": "", "Tanh": "", "Sigmoid": "", "Softplus": "", "Softsign": "",
    "LeakyRelu": "alpha", "Elu": "alpha", "ThresholdedRelu": "alpha", "HardSigmoid": "alpha beta",
}  # fmt: skip


def activated(kind: str, numbers: tuple[float, ...], x: str, y: str) -> str:
    """An activation that another operator ends with."""
    if not kind:
        return f"{y} = Identity ({x})\n"
    if kind == "Clip" and len(numbers) >= 2:  # noqa: PLR2004 its bounds
        low, high = number("low", numbers[0], x), number("high", numbers[1], x)
        return f"{low}{high}{y} = Clip ({x}, low, high)\n"
    if kind not in _ACTIVATIONS:
        raise UnplannableError(f"activation '{kind}' is not planned")
    names = _ACTIVATIONS[kind].split()
    attrs = ", ".join(
        f"{name}: float = {value!r}" for name, value in zip(names, numbers, strict=False)
    )
    return f"{y} = {kind} <{attrs}> ({x})\n" if attrs else f"{y} = {kind} ({x})\n"


def _fused_conv(node: Node) -> str:
    node.input(1)
    names = ("dilations", "kernel_shape", "pads", "strides")
    attrs = [f"{x}: ints = {list(node.attrs[x])}" for x in names if node.attrs[x]]
    attrs.append(f"group: int = {int(node.attrs['group'])}")
    attrs.append("auto_pad: string = @auto_pad")
    bias = "" if node.get(2) is None else ", B"
    text = f"made = Conv <{', '.join(attrs)}> (X, W{bias})\n"
    text += "total = Add (made, Z)\n" if node.get(3) is not None else "total = Identity (made)\n"
    numbers = tuple(float(x) for x in node.attrs["activation_params"])
    return text + activated(str(node.attrs["activation"]), numbers, "total", "Y")


def _fused_gemm(node: Node) -> str:
    attrs = [f"{x}: float = {float(node.attrs[x])!r}" for x in ("alpha", "beta")]
    attrs += [f"{x}: int = {int(node.attrs[x])}" for x in ("transA", "transB")]
    third = "" if node.get(2) is None else ", C"
    numbers = tuple(float(node.attrs[f"activation_{x}"]) for x in ("alpha", "beta"))
    return f"made = Gemm <{', '.join(attrs)}> (A, B{third})\n" + activated(
        str(node.attrs["activation"]), numbers, "made", "Y"
    )


def _turned(name: str, rank: int, *, last: bool, batch: bool) -> tuple[str, str]:
    """A factor with its dimensions in the order in which it is multiplied, and its name."""
    perm = list(range(rank))
    if batch:
        require(rank > 2, f"a factor with {rank} dimensions has no batch")  # noqa: PLR2004 a matrix
        perm = [*perm[1:-1], 0, perm[-1]]
    if last and rank > 1:
        perm[-2:] = perm[:-3:-1]
    if perm == sorted(perm):
        return "", name
    return f"{name}_turned = Transpose <perm: ints = {perm}> ({name})\n", f"{name}_turned"


def _fused_matmul(node: Node) -> str:
    text, names = "", []
    for slot, letter in enumerate("AB"):
        batch = bool(node.attrs.get(f"transBatch{letter}", 0))
        last = bool(node.attrs[f"trans{letter}"])
        rank = len(node.input(slot).shape)
        more, name = _turned(letter, rank, last=last, batch=batch)
        text += more
        names.append(name)
    alpha = float(node.attrs["alpha"])
    if math.isclose(alpha, 1.0):
        return f"{text}Y = MatMul ({', '.join(names)})\n"
    return f"{text}{number('alpha', alpha, 'A')}made = MatMul ({', '.join(names)})\n" + (
        "Y = Mul (made, alpha)\n"
    )


def _gemm_fast_gelu(node: Node) -> str:
    given = "X" if node.get(2) is None else "X, bias"
    return f"X = MatMul (A, B)\nY = com.microsoft.FastGelu ({given})"


def swiglu(node: Node, gate: str, up: str, limit: float, result: str) -> str:
    """`up` with a number added, let through by Swish of `gate`; both cut at a limit above zero."""
    text = ""
    if limit > 0.0:
        text += number("high", limit, gate) + number("low", -limit, gate)
        text += f'clipped = Clip ({gate}, "", high)\nbounded = Clip ({up}, low, high)\n'
        gate, up = "clipped", "bounded"
    alpha = float(node.attrs["activation_alpha"])
    text += f"open = Swish <alpha: float = {alpha!r}> ({gate})\n"
    text += number("more", float(node.attrs["activation_beta"]), gate)
    return f"{text}moved = Add ({up}, more)\n{result} = Mul (open, moved)\n"


def _swiglu(node: Node) -> str:
    limit = float(node.attrs["limit"])
    if node.get(1) is not None:
        check_input(node, 1, node.input(0).shape, "other half")
        return swiglu(node, "gate", "up", limit, "output")
    require(node.input(0).shape[-1] % 2 == 0, "its last dimension must be even")
    text = "left, right = Split <axis: int = -1, num_outputs: int = 2> (gate)\n"
    return text + swiglu(node, "left", "right", limit, "output")


def _gated_norm(node: Node) -> str:
    x, (width,) = node.input(0).shape, ranked(node, 1, "scale", 1)
    check_input(node, 2, x, "gate")
    require(bool(x) and x[-1] % width == 0, f"{list(x)} does not end with groups of {width}")
    kinds = {"silu": "Swish", "swish": "Swish", "sigmoid": "Sigmoid"}
    kind = kinds.get(str(node.attrs["activation"]), "")
    require(bool(kind), f"activation '{node.attrs['activation']}' is not planned")
    epsilon = float(node.attrs["epsilon"])
    return f"""
        {ints(groups=(*x[:-1], -1, width), shape=x)}
        grouped = Reshape (X, groups)
        normed = RMSNormalization <axis: int = -1, epsilon: float = {epsilon!r}> (grouped, scale)
        flat = Reshape (normed, shape)
        opened = {kind} (gate)
        Y = Mul (flat, opened)
    """


def _causal_conv(node: Node) -> str:
    plain = {"ndim": 1, "dilation": 1, "state_window": 0, "channels_last": 0, "state_length": 0}
    plain |= {"state_channels_last": -1, "input_channels": 0, "input_channel_offset": 0}
    for name, value in plain.items():
        require(node.attrs[name] == value, f"attribute '{name}' must be {value}")
    require(not wants(node, 2), "updates of its state are an output")
    given = ["input", "weight"]
    given += [x if node.get(i) is not None else '""' for i, x in ((2, "bias"), (3, "past_state"))]
    return f"""
        output, present_state = CausalConvWithState
            <activation: string = @activation> ({", ".join(given)})
    """


def _linear_attention(node: Node) -> str:
    require(not node.attrs["state_window"], "attribute 'state_window' must be 0")
    attrs = [f"{x}: int = {int(node.attrs[x])}"
             for x in ("q_num_heads", "kv_num_heads", "chunk_size")]  # fmt: skip
    attrs.append(f"scale: float = {float(node.attrs['scale'])!r}")
    attrs.append("update_rule: string = @update_rule")
    given = ["query", "key", "value"]
    given += [x if node.get(3 + i) is not None else '""'
              for i, x in enumerate(("past_state", "decay", "beta"))]  # fmt: skip
    return f"""
        output, present_state = LinearAttention <{", ".join(attrs)}> ({", ".join(given)})
    """


def _expand_dims(node: Node) -> str:
    axis = int(node.known(1, "axis").item())
    return ints(at=(axis,)) + "Y = Unsqueeze (X, at)\n"


_TRANS: Final = "alpha: float = 1.0, transA: int = 0, transB: int = 0"
_BATCHES: Final = "transBatchA: int = 0, transBatchB: int = 0"
_END: Final = (
    'activation: string = "", activation_alpha: float = 0.01, activation_beta: float = 0.5'
)
ENTRIES: Final = (
    Entry("Gelu (X) => (Y)", "T", "Gelu", "Y = Gelu (X)"),
    Entry(
        "FastGelu (X, bias) => (Y)", "T T?", "Add, Gelu by tanh",
        lambda node: _gelu(node, "tanh"),
    ),
    Entry(
        "BiasGelu (X, bias) => (Y)", "T T", "Add, Gelu", lambda node: _gelu(node, "none")
    ),
    Entry(
        "QuickGelu <alpha: float = 1.702> (X) => (Y)", "T", "Swish",
        "Y = Swish <alpha: float = @alpha> (X)",
    ),
    Entry("BiasAdd (X, bias, skip) => (Y)", "T T T", "Add, Add", _bias_add),
    Entry("BiasSplitGelu (X, bias) => (Y)", "T T", "Add, Split, Gelu, Mul", _split_gelu),
    Entry(
        f"FusedMatMul <{_TRANS}, {_BATCHES}> (A, B) => (Y)", "T T",
        "Transpose, MatMul, Mul", _fused_matmul,
    ),
    Entry(
        f"TransposeMatMul <{_TRANS}> (A, B) => (Y)", "T T",
        "Transpose, MatMul, Mul", _fused_matmul,
    ),
    Entry(
        f"FusedGemm <{_TRANS}, beta: float = 1.0, {_END}>"
        " (A, B, C) => (Y)",
        "T T T?", "Gemm and its activation", _fused_gemm,
    ),
    Entry(
        'FusedConv <auto_pad: string = "NOTSET", dilations: ints = [], group: int = 1,'
        " kernel_shape: ints = [], pads: ints = [], strides: ints = [],"
        ' activation: string = "", activation_params: floats = []> (X, W, B, Z) => (Y)',
        "T T T? T?", "Conv, Add and its activation", _fused_conv,
    ),
    Entry(
        "GemmFastGelu (A, B, bias) => (Y)", "T T T?", "MatMul, Add, Gelu by tanh", _gemm_fast_gelu
    ),
    Entry("ExpandDims (X, axis) => (Y)", "T|i32|i64|bool|u8|i8 i32", "Unsqueeze", _expand_dims),
    Entry(
        "Trilu <upper: int = 1> (X, k) => (Y)", "T|i32|i64|bool i64?", "Trilu",
        "Y = Trilu <upper: int = @upper> (X, k)",
    ),
    Entry(
        "SwiGLU <activation_alpha: float = 1.0, activation_beta: float = 0.0, limit: float = 0.0,"
        " round_activation: int = 0> (gate, up) => (output)",
        "T T?", "Split, Clip, Swish, Add, Mul", _swiglu,
    ),
    Entry(
        'GatedRMSNorm <activation: string = "silu", epsilon: float = 1e-05> (X, scale, gate)'
        " => (Y)",
        "T T T", "RMSNormalization, Swish, Mul", _gated_norm,
    ),
    Entry(
        'CausalConvWithState <activation: string = "none", ndim: int = 1, dilation: int = 1,'
        " state_window: int = 0, channels_last: int = 0, state_length: int = 0,"
        " state_channels_last: int = -1, input_channels: int = 0, input_channel_offset: int = 0,"
        " state_update_capacity: int = 0> (input, weight, bias, past_state)"
        " => (output, present_state, state_update)",
        "T T T? T?", "ONNX's CausalConvWithState", _causal_conv, opset=27,
    ),
    Entry(
        "LinearAttention <q_num_heads, kv_num_heads, chunk_size: int = 64, scale: float = 0.0,"
        ' state_window: int = 0, update_rule: string = "gated_delta"> (query, key, value,'
        " past_state, decay, beta) => (output, present_state)",
        "T T T V? T? T?", "ONNX's LinearAttention", _linear_attention, opset=27,
    ),
)  # fmt: skip
