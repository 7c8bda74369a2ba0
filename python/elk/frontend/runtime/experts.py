"""Mixtures of experts: each token reads the weights of the experts that it picks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from elk.frontend.runtime.elements import swiglu
from elk.frontend.runtime.entry import Entry
from elk.frontend.runtime.texts import attribute, ints, ranked
from elk.frontend.runtime.weights import unpacked
from elk.frontend.views.node import UnplannableError, check_input, require

if TYPE_CHECKING:
    from elk.frontend.views.node import Node

# Of each product: the slots of its weights, scales, bias and zero points.
_PLAIN: Final = {"fc1": (2, -1, 3, -1), "fc2": (4, -1, 5, -1), "fc3": (6, -1, 7, -1)}
_FEW_BITS: Final = {"fc1": (2, 3, 4, 11), "fc2": (5, 6, 7, 12), "fc3": (8, 9, 10, 13)}
_ACTIVATIONS: Final = {
    "relu": "Relu", "gelu": 'Gelu <approximate: string = "tanh">', "silu": "Swish",
    "identity": "Identity",
}  # fmt: skip


def _product(node: Node, name: str, x: str, sizes: tuple[int, int, int, int]) -> str:
    """`name`: product of `x` with the weights of the picked experts, and their bias.

    `sizes` are how many experts there are, the tokens, and the columns and the depth of a product.
    """
    experts, tokens, columns, deep = sizes
    slots = (_FEW_BITS if node.type.endswith("QMoE") else _PLAIN)[name]
    text = f"{name}_turned = Transpose <perm: ints = [0, 2, 1]> ({name}_experts_weights)\n"
    if slots[1] < 0:
        check_input(node, slots[0], (experts, columns, deep), f"weights {name}")
    else:
        text = _dequantized(node, name, slots, (experts, columns, deep))
    text += f"{name}_picked = Gather <axis: int = 0> ({name}_turned, picks)\n"
    text += f"{name}_made = MatMul ({x}, {name}_picked)\n"
    picks = int(node.attrs["k"])
    if node.get(slots[2]) is None:
        return f"{text}{name} = Identity ({name}_made)\n"
    check_input(node, slots[2], (experts, columns), f"bias {name}")
    return f"""
        {text}{ints(**{f"{name}_row": (tokens, picks, 1, columns)})}
        {name}_biases = Gather <axis: int = 0> ({name}_experts_bias, picks)
        {name}_bias = Reshape ({name}_biases, {name}_row)
        {name} = Add ({name}_made, {name}_bias)
    """


def _dequantized(
    node: Node, name: str, slots: tuple[int, int, int, int], sizes: tuple[int, int, int]
) -> str:
    """`turned`: the weights of all experts, of levels with a scale for each block."""
    experts, columns, deep = sizes
    bits = int(node.attrs["expert_weight_bits"])
    require(bits in {4, 8}, f"attribute 'expert_weight_bits' must be 4 or 8, got {bits}")
    block = int(node.attrs["block_size"]) or deep
    blocks = -(-deep // block)
    check_input(node, slots[0], (experts, columns, -(-deep * bits // 8)), f"weights {name}")
    wanted = (experts, columns, blocks)
    scales = node.input(slots[1])
    require(
        scales.size == math.prod(wanted),
        f"input {slots[1]}, its scales, must have shape {list(wanted)}, got {list(scales.shape)}",
    )
    names = (f"{name}_experts_weights", f"{name}_table")
    text, kind = unpacked(node.input(slots[0]), bits, names, sizes)
    text += ints(**{f"{name}_grid": wanted})
    zero = node.get(slots[3])
    if zero is None:
        text += f"{name}_zero = Constant <value: tensor = {kind} {{{1 << (bits - 1)}}}> ()\n"
    else:
        lines = wanted if node.attrs["block_size"] else (experts, columns)
        stored = (*lines[:-1], -(-lines[-1] * bits // 8))
        require(zero.shape == stored, f"input {slots[3]} must be {list(stored)}")
        given = (f"{name}_zero_points", f"{name}_points")
        more, found = unpacked(zero, bits, given, lines)
        require(found == kind, f"input {slots[3]} must be a weight as its levels are")
        text += f"""
            {more}{name}_zero = Reshape ({name}_points, {name}_grid)
        """
    return f"""
        {text}{name}_factors = Reshape ({name}_scales, {name}_grid)
        {name}_wide = DequantizeLinear <axis: int = 2, block_size: int = {block}>
            ({name}_table, {name}_factors, {name}_zero)
        {name}_turned = Transpose <perm: ints = [0, 2, 1]> ({name}_wide)
    """


def _gated(node: Node, width: int) -> tuple[str, str, str]:
    """What gate and what they let through are called, of one product or of two, and their text."""
    fusion = int(node.attrs["swiglu_fusion"])
    if fusion == 0:
        return "", "fc1", "fc3"
    if fusion == 2:  # noqa: PLR2004 one behind the other
        return "gate, up = Split <axis: int = -1, num_outputs: int = 2> (fc1)\n", "gate", "up"
    require(fusion == 1, f"attribute 'swiglu_fusion' must be 0, 1 or 2, got {fusion}")
    tokens = math.prod(node.input(0).shape[:-1])
    picks = int(node.attrs["k"])
    return (
        f"""
        {ints(pairs=(tokens, picks, 1, width, 2), halves=(tokens, picks, 1, width))}
        paired = Reshape (fc1, pairs)
        gates, ups = Split <axis: int = -1, num_outputs: int = 2> (paired)
        gate = Reshape (gates, halves)
        up = Reshape (ups, halves)
        """,
        "gate",
        "up",
    )


def _active(node: Node, width: int) -> str:
    """`active`: what the second product reads."""
    kind = str(node.attrs["activation_type"])
    if kind != "swiglu":
        if kind not in _ACTIVATIONS:
            raise UnplannableError(f"activation '{kind}' is not planned")
        text = f"bent = {_ACTIVATIONS[kind]} (fc1)\n"
        third = node.get((_FEW_BITS if node.type.endswith("QMoE") else _PLAIN)["fc3"][0])
        return text + ("active = Mul (bent, fc3)\n" if third is not None else (
            "active = Identity (bent)\n"
        ))  # fmt: skip
    text, gate, up = _gated(node, width)
    limit = float(node.attrs["swiglu_limit"])
    return text + swiglu(node, gate, up, limit if math.isfinite(limit) else 0.0, "active")


def _picked(node: Node, count: int) -> str:
    """`picks`, the experts of each token, and `shares`, what each counts for."""
    text = ints(many=(count,))
    if node.attrs["normalize_routing_weights"]:
        return (
            text
            + """
            best, picks = TopK <axis: int = -1> (router_probs, many)
            shares = Softmax <axis: int = -1> (best)
        """
        )
    return (
        text
        + """
        odds = Softmax <axis: int = -1> (router_probs)
        shares, picks = TopK <axis: int = -1> (odds, many)
    """
    )


def _mixture(node: Node) -> str:
    few = node.type.endswith("QMoE")
    slots = _FEW_BITS if few else _PLAIN
    x, count = ranked(node, 0, "input", 2, 3), attribute(node, "k")
    tokens, width = math.prod(x[:-1]), x[-1]
    experts = ranked(node, 1, "scores of experts", 2)[1]
    check_input(node, 1, (tokens, None), "scores of experts")
    require(count <= experts, f"{count} of {experts} experts")
    require(not node.attrs["use_sparse_mixer"], "a sparse mixer")
    require(not node.attrs["swiglu_limit_after_activation"], "a limit behind the activation")
    if few:
        for slot in range(14, len(node.inputs)):
            require(node.get(slot) is None, f"input {slot}: scales or weights of another kind")
        require(node.attrs["quant_type"] == "int", "attribute 'quant_type' must be 'int'")
        require(int(node.attrs["weights_prepacked"]) < 1, "weights in the order of one machine")
    columns = ranked(node, slots["fc1"][0], "weights fc1", 3)[1]
    gated = node.attrs["activation_type"] == "swiglu" and int(node.attrs["swiglu_fusion"]) > 0
    require(not gated or columns % 2 == 0, f"{columns} columns are no gates and as many others")
    inner = columns // 2 if gated else columns
    text = _picked(node, count) + ints(
        rows=(tokens, 1, 1, width), each=(tokens, count, 1, 1), over=(1,), shape=x
    )
    text += "x = Reshape (input, rows)\n"
    text += _product(node, "fc1", "x", (experts, tokens, columns, width))
    if node.get(slots["fc3"][0]) is not None:
        text += _product(node, "fc3", "x", (experts, tokens, columns, width))
    text += _active(node, inner)
    text += _product(node, "fc2", "active", (experts, tokens, width, inner))
    return (
        text
        + """
        weighed = Reshape (shares, each)
        parts = Mul (fc2, weighed)
        total = ReduceSum <keepdims: int = 0> (parts, over)
        output = Reshape (total, shape)
    """
    )


_STYLE: Final = (
    'activation_type: string = "relu", activation_alpha: float = 1.0, activation_beta: float = 0.0,'
    " k: int = 1, normalize_routing_weights: int = 0, swiglu_fusion: int = 0,"
    " swiglu_limit: float = inf, swiglu_limit_after_activation: int = 0, use_sparse_mixer: int = 0"
)
ENTRIES: Final = (
    Entry(
        f"MoE <{_STYLE}> (input, router_probs, fc1_experts_weights, fc1_experts_bias,"
        " fc2_experts_weights, fc2_experts_bias, fc3_experts_weights, fc3_experts_bias)"
        " => (output)",
        "T T T T? T T? T? T?",
        "TopK, then products that read the experts that it picks",
        _mixture,
    ),
    Entry(
        f"QMoE <{_STYLE}, expert_weight_bits: int = 4, block_size: int = 0, quant_type: string ="
        ' "int", weights_prepacked: int = -1, accuracy_level: int = 0, fc1_expert_weight_bits: int'
        " = 0, fc2_expert_weight_bits: int = 0, fc3_expert_weight_bits: int = 0>"
        " (input, router_probs, fc1_experts_weights, fc1_scales, fc1_experts_bias,"
        " fc2_experts_weights, fc2_scales, fc2_experts_bias, fc3_experts_weights, fc3_scales,"
        " fc3_experts_bias, fc1_zero_points, fc2_zero_points, fc3_zero_points, router_weights,"
        " fc1_global_scale, fc2_global_scale, fc1_act_scale, fc2_act_scale, fc1_act_block_scale,"
        " fc2_act_block_scale) => (output)",
        "T T u8 V T? u8 V T? u8? V? T? u8? u8? u8? T? f32? f32? f32? f32? V? V?",
        "TopK, then products with levels and scales of the experts that it picks",
        _mixture,
    ),
)
