"""Every operator of ONNX Runtime that is planned, as nodes with numbers."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np
from runtime_cases import (
    RNG,
    Array,
    Case,
    grouped,
    positive,
    product,
    real,
    seven_bits,
    unsigned,
)

BYTE, SIGNED, WORD, INT = 2, 3, 4, 6  # onnx.TensorProto's UINT8, INT8, UINT16 and INT32.
ROWS = (2, 3, 16)


def i32(*values: Any) -> Array:
    return np.array(values, "i4")


def s(value: float) -> Array:
    """A scale."""
    return np.array(value, "f4")


def z(value: int) -> Array:
    """A zero point."""
    return np.array(value, "u1")


def gelu(x: Array) -> Array:
    return np.asarray(x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2)


def fast_gelu(x: Array) -> Array:
    return np.asarray(x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2)


def silu(x: Array, alpha: float = 1.0) -> Array:
    return np.asarray(x / (1 + np.exp(-alpha * x)))


def split_gelu(x: Array, bias: Array) -> Array:
    left, right = np.split(x + bias, 2, axis=-1)
    return left * gelu(right)


def group_norm(x: Array, scale: Array, bias: Array) -> Array:
    apart = x.reshape(1, 4, 4, 2, 4)
    mean, spread = (f(apart, axis=(1, 2, 4), keepdims=True) for f in (np.mean, np.var))
    normed = ((apart - mean) / np.sqrt(spread + 1e-5)).reshape(x.shape) * scale + bias
    return silu(normed)


def heads_of(q: Array, k: Array, v: Array) -> Array:
    """Attention of batch, positions, heads and elements."""
    scores = np.einsum("bsnh,btnh->bnst", q, k) / np.sqrt(q.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = np.einsum("bnst,btnh->bsnh", powers / powers.sum(-1, keepdims=True), v)
    return np.asarray(mixed.reshape(*q.shape[:2], -1))


def clamped(gate: Array, up: Array) -> Array:
    return np.asarray(silu(np.minimum(gate, 0.5), 1.7) * (np.clip(up, -0.5, 0.5) + 1))


def levels(real_: Array, scale: Array, zero: Array) -> Array:
    return np.asarray(np.clip(np.rint(real_ / scale) + zero, 0, 255).astype("u1"))


def norms() -> list[Case]:
    simple, skip = "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"
    x, g, b = real(*ROWS), real(16), real(16)
    both = {"x": x, "skip": real(*ROWS), "g": g, "b": b}
    ids = RNG.integers(0, 9, (2, 3)).astype("i4")
    tables = {"words": real(9, 16), "places": real(5, 16), "kinds": real(2, 16), "g": g, "b": b}
    halves = {name: real(*ROWS, dtype="f2") for name in ("x", "skip")} | {"g": real(16, dtype="f2")}
    bare = {"ids": ids, "segments": None, **tables, "kinds": None, "mask": None, "at": ids % 5}
    return [
        Case(simple, {"x": x, "g": g}, {"epsilon": 1e-5, "axis": -1}, domain=""),
        Case(simple, {"x": x, "g": g}, {"epsilon": 1e-3}, "y inverse", domain="ai.onnx"),
        Case(skip, both, {"epsilon": 1e-5}, "y - - sum"),
        Case(skip, halves, {"epsilon": 1e-5}, "y - - sum"),
        Case(skip, {"x": x, "skip": real(3, 16), "g": g}, {}, "y"),
        Case("SkipLayerNormalization", both | {"c": real(16)}, {"epsilon": 1e-5}, "y - - sum"),
        Case("SkipLayerNormalization", {"x": x, "skip": real(1, 3, 16), "g": g}, {}, "y"),
        Case(
            "EmbedLayerNormalization",
            {"ids": ids, "segments": ids % 2, **tables, "mask": i32([1, 1, 1], [1, 1, 0])},
            outputs="y count", types={"y": 1},
        ),
        Case("EmbedLayerNormalization", bare, outputs="y - sum", types={"y": 1, "sum": 1}),
        Case(
            "GroupNorm", {"x": real(1, 4, 4, 8), "g": real(8), "b": real(8)},
            {"groups": 2, "activation": 1}, right=group_norm,
        ),
        Case("GatedRMSNorm", {"x": x, "s": real(8), "g": real(*ROWS)}),
    ]  # fmt: skip


def elements() -> list[Case]:
    x, b = real(*ROWS), real(16)
    image = {"x": real(1, 4, 6, 6), "w": real(8, 4, 3, 3), "b": real(8)}
    conv = {"activation": "Relu", "pads": [1] * 4, "kernel_shape": [3, 3]}
    clip = {"activation": "Clip", "activation_params": [-1.0, 1.0]}
    swiglu = {"limit": 0.5, "activation_alpha": 1.7, "activation_beta": 1.0}
    every = {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}
    return [
        Case("Gelu", {"x": x}),
        Case("QuickGelu", {"x": x}, {"alpha": 1.5}),
        Case("FastGelu", {"x": x}),
        Case("FastGelu", {"x": x, "b": b}),
        Case("BiasGelu", {"x": x, "b": b}),
        Case("BiasAdd", {"x": x, "b": b, "s": x}, right=lambda x, b, s: x + b + s),
        Case("BiasSplitGelu", {"x": x, "b": b}, right=split_gelu),
        Case("SwiGLU", {"x": x, "u": real(*ROWS)}, swiglu, right=clamped),
        Case("SwiGLU", {"x": x}, right=lambda x: silu(x[..., :8]) * x[..., 8:]),
        Case("FusedMatMul", {"a": real(2, 3, 4), "b": real(2, 5, 4)}, {"transB": 1, "alpha": 0.5}),
        Case("FusedMatMul", {"a": real(4, 2, 3), "b": real(5, 2, 4)}, every),
        Case("TransposeMatMul", {"a": real(2, 4, 3), "b": real(2, 4, 5)}, {"transA": 1}),
        Case(
            "FusedGemm", {"a": real(3, 4), "b": real(5, 4), "c": real(5)},
            {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.2},
        ),
        Case("FusedConv", image | {"z": real(1, 8, 6, 6)}, conv),
        Case("FusedConv", image, clip),
        Case(
            "GemmFastGelu", {"a": real(3, 4), "b": real(4, 5), "c": real(5)},
            right=lambda a, b, c: fast_gelu(a @ b + c),
        ),
        Case("ExpandDims", {"x": x, "axis": np.array(1, "i4")}, constants="*"),
        Case("Trilu", {"x": x}, {"upper": 0}),
        Case(
            "CausalConvWithState",
            {"x": real(2, 8, 5), "w": real(8, 1, 4), "b": real(8), "past": real(2, 8, 3)},
            {"activation": "silu"}, "y present",
        ),
        Case(
            "LinearAttention",
            {
                "q": real(1, 3, 32), "k": real(1, 3, 16), "v": real(1, 3, 16),
                "past": real(1, 2, 8, 8), "decay": -positive(1, 3, 2), "beta": positive(1, 3, 2),
            },
            {"q_num_heads": 4, "kv_num_heads": 2}, "y present",
        ),
    ]  # fmt: skip


def quantized() -> list[Case]:
    pair: dict[str, Array | None] = {
        "a": unsigned(*ROWS), "as": s(0.02), "az": z(120), "b": unsigned(*ROWS),
        "bs": s(0.03), "bz": z(100), "cs": s(0.06), "cz": z(110),
    }  # fmt: skip
    scales = "as az bs bz cs cz"
    lone = {"x": unsigned(1, 4, 6, 6), "s": s(0.05), "z": z(128), "t": s(0.02), "u": z(3)}
    bytes_ = {
        "x": seven_bits(1, 4, 6, 6), "s": s(0.05), "z": np.array(9, "i1"), "t": s(0.01),
        "u": np.array(-99, "i1"),
    }  # fmt: skip
    pool = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2], "count_include_pad": 1}
    product_ = {
        "a": unsigned(2, 3, 8), "b": unsigned(8, 5), "s": s(0.02), "t": positive(5),
        "z": z(120), "w": unsigned(5), "c": real(5),
    }  # fmt: skip
    gemm = {
        "a": unsigned(3, 8), "s": s(0.02), "z": z(120), "b": unsigned(5, 8), "t": s(0.03),
        "w": z(110), "c": RNG.integers(-99, 99, 5).astype("i4"), "ys": s(0.1), "yz": z(100),
    }  # fmt: skip
    joined = {
        "ys": s(0.03), "yz": z(100), "a": unsigned(2, 3), "as": s(0.02), "az": z(90),
        "b": unsigned(2, 5), "bs": s(0.04), "bz": z(80),
    }  # fmt: skip
    chosen = {
        "c": RNG.random((2, 3)) < 0.5, "x": unsigned(2, 3), "xs": s(0.02), "xz": z(90),
        "v": unsigned(2, 3), "vs": s(0.04), "vz": z(80), "ys": s(0.03), "yz": z(100),
    }  # fmt: skip
    f32 = {"y": 1}
    return [
        Case("QLinearAdd", pair, constants=scales),
        Case("QLinearMul", pair, constants=scales),
        Case("QLinearSigmoid", lone, constants="*"),
        Case("QLinearSigmoid", bytes_, constants="*"),
        Case("QLinearLeakyRelu", lone, {"alpha": 0.2}, constants="*"),
        Case("QLinearSoftmax", lone, {"opset": 13, "axis": -1}, constants="*"),
        Case("QLinearSoftmax", lone, {"opset": 11, "axis": 1}, constants="*"),
        Case("QLinearGlobalAveragePool", lone, {"channels_last": 1}, constants="*"),
        Case("QLinearAveragePool", lone, pool, constants="*"),
        Case("QLinearAveragePool", lone, {"kernel_shape": [2, 2], "channels_last": 1}),
        Case(
            "QLinearReduceMean", lone, {"axes": [2, 3], "keepdims": 1}, constants="*",
            right=lambda x: levels((x - 128.0).mean((2, 3), keepdims=True) * 0.05, s(0.02), z(3)),
        ),
        Case("QLinearConcat", joined, {"axis": 1}, types={"y": BYTE}),
        Case("QLinearWhere", chosen, constants="xs xz vs vz ys yz", types={"y": BYTE}),
        Case("MatMulIntegerToFloat", product_, constants="b s t z w c", types=f32),
        Case(
            "MatMulIntegerToFloat",
            {"a": unsigned(2, 3, 8), "b": seven_bits(8, 5), "s": s(0.02), "t": s(0.1)}, types=f32,
        ),
        Case(
            "DynamicQuantizeMatMul",
            {"a": real(2, 3, 8), "b": unsigned(8, 5), "s": positive(5), "z": unsigned(5)},
            constants="*",
        ),
        Case("QGemm", gemm, {"transB": 1}, constants="*"),
        Case(
            "QGemm",
            {
                "a": unsigned(3, 8), "s": s(0.02), "z": z(120), "b": seven_bits(8, 5),
                "t": positive(5), "w": seven_bits(5),
            },
            {"alpha": 0.5}, constants="*", types=f32,
        ),
        Case("QuantizeLinear", {"x": real(2, 3, 8), "s": s(0.1), "z": z(99)}, types={"y": BYTE}),
        Case(
            "QuantizeLinear",
            {
                "x": real(2, 3, 8), "s": positive(8), "z": i32(*range(8)).astype("u2")
            },
            {"axis": 2}, types={"y": WORD}, constants="*",
        ),
        Case(
            "DequantizeLinear", {"x": unsigned(2, 3, 8), "s": positive(3), "z": unsigned(3)},
            {"axis": 1}, types=f32, constants="*",
        ),
        Case(
            "MulInteger", {"a": unsigned(2, 3), "az": z(3), "b": unsigned(2, 3), "bz": z(5)},
            types={"y": INT}, right=lambda a, az, b, bz: (a - i32(az)) * (b - i32(bz)),
        ),
    ]  # fmt: skip


def heads() -> list[Case]:
    q, k, v = real(2, 3, 32), real(2, 5, 32), real(2, 5, 32)
    some = {"num_heads": 4}
    part = {"q": q, "k": k, "v": v}
    pasts = {"m": None, "a": None, "past_key": real(2, 4, 6, 8), "past_value": real(2, 4, 6, 8)}
    raw = i32([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])
    boxes = RNG.integers(0, 2, (2, 3, 5)).astype("i4")
    x = {"x": real(2, 3, 16), "w": real(16, 96), "b": real(96)}
    past = {"m": None, "past": real(2, 2, 4, 5, 8)}
    wide = {"x": x["x"], "w": real(16, 80), "b": real(80), "m": None, "p": None}
    levels_ = {
        "x": unsigned(2, 3, 16), "w": unsigned(16, 96), "b": real(96), "s": s(0.02),
        "t": s(0.01), "m": None, "z": z(128), "u": z(120),
    }  # fmt: skip
    turned, at = real(2, 3, 32), np.array([[0, 1, 2], [3, 4, 5]])
    angles = {"c": real(16, 4), "s": real(16, 4)}
    packed, several = real(2, 3, 4, 3, 8), "MultiHeadAttention"
    return [
        Case(several, part, some),
        Case(several, {**part, "b": real(96), "m": i32(5, 2), "a": real(1, 4, 3, 5)}, some),
        Case(several, {**part, "b": None, "m": raw}, {**some, "scale": 0.3}),
        Case(several, {**part, "b": None, "m": boxes}, {**some, "mask_filter_value": -50.0}),
        Case(
            several, {"q": q, "k": q, "v": q, "b": None, **pasts},
            {**some, "unidirectional": 1}, "y present_key present_value",
        ),
        Case(several, {"q": q, "k": real(2, 4, 5, 8), "v": real(2, 4, 5, 8)}, some),
        Case(several, {"q": q, "k": k, "v": real(2, 5, 48)}, some),
        Case(several, {"q": packed}, some, right=lambda q: heads_of(*np.moveaxis(q, 3, 0))),
        Case(
            several, {"q": q, "k": real(2, 5, 4, 2, 8)}, some,
            right=lambda q, k: heads_of(q.reshape(2, 3, 4, 8), *np.moveaxis(k, 3, 0)),
        ),
        Case("Attention", {**x, "m": i32(3, 2)}, {**some, "unidirectional": 1}),
        Case("Attention", {**x, "m": i32(3, 2, 0, 1)}, some),
        Case("Attention", {**x, "m": raw[:, :3]}, some, "y present"),
        Case("Attention", {**x, **past}, {**some, "unidirectional": 1}, "y present"),
        Case(
            "Attention", {**wide, "a": real(2, 4, 3, 3)}, {**some, "qkv_hidden_sizes": [32, 32, 16]}
        ),
        Case("QAttention", levels_, some, constants="*", types={"y": 1}),
        Case("RotaryEmbedding", {"x": turned, "at": at, **angles}),
        Case(
            "RotaryEmbedding", {"x": real(2, 4, 3, 8), "at": np.array([2]), **angles},
            {"interleaved": 1},
        ),
        Case(
            "RotaryEmbedding", {"x": turned, "at": at, "c": real(16, 2), "s": real(16, 2)},
            {"num_heads": 4, "rotary_embedding_dim": 4},
        ),
    ]  # fmt: skip


def weights() -> list[Case]:
    ids = RNG.integers(0, 20, (2, 3))
    table = {"t": unsigned(20, 16), "ids": ids, "s": positive(20, 2)}
    wide = {"t": unsigned(20, 32), "ids": ids, "s": positive(20, 2)}
    gather, block = "GatherBlockQuantized", {"block_size": 16}
    f32 = {"y": 1}
    return [
        product(4, 32, 64),
        product(4, 16, 80, "packed", bias=True),
        product(4, 128, 256, "packed"),
        product(4, 32, 80, "float"),
        product(4, 32, 64, dtype="f2"),
        product(8, 32, 64),
        product(8, 16, 80, "packed", bias=True),
        product(2, 32, 80, "packed"),
        Case(gather, table, block, constants="t s", types=f32),
        Case(gather, {**table, "z": unsigned(20, 1)}, block, constants="t s z", types=f32),
        Case(gather, wide, {**block, "bits": 8}, constants="t s", types=f32),
        Case(
            gather, {**wide, "z": unsigned(20, 2)}, {**block, "bits": 8}, constants="t s z",
            types=f32,
        ),
        qkv(),
    ]  # fmt: skip


def experts() -> list[Case]:
    plain = {
        "x": real(3, 16), "r": real(3, 8), "w1": real(8, 64, 16), "b1": real(8, 64),
        "w2": real(8, 16, 32), "b2": real(8, 16),
    }  # fmt: skip
    narrow = plain | {"w1": real(8, 32, 16), "b1": real(8, 32)}
    lone = {"b1": None, "b2": None}
    third = {**narrow, **lone, "w3": real(8, 32, 16)}
    few = {
        "x": real(1, 3, 32), "r": real(3, 8), "w1": unsigned(8, 64, 16), "s1": positive(8, 64, 2),
        "b1": real(8, 64), "w2": unsigned(8, 32, 16), "s2": positive(8, 32, 2), "b2": real(8, 32),
    }  # fmt: skip
    zeros = {"w3": None, "s3": None, "b3": None, "z1": unsigned(8, 64, 1), "z2": unsigned(8, 32, 1)}
    whole = {**few, "s1": positive(8, 64), "s2": positive(8, 32)}
    held = "w1 b1 s1 w2 b2 s2 w3 z1 z2"
    gates = {
        "activation_type": "swiglu",
        "swiglu_fusion": 1,
        "normalize_routing_weights": 1,
        "k": 2,
    }
    bent = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 0.7}
    block = {"block_size": 16}

    def gated(x: Array, r: Array, w1: Array, w2: Array, w3: Array) -> Array:
        odds = np.exp(r) / np.exp(r).sum(-1, keepdims=True)
        best = odds.argmax(-1)
        pairs = [w2[e] @ (silu(w1[e] @ t) * (w3[e] @ t)) for t, e in zip(x, best, strict=True)]
        return np.asarray(pairs * odds.max(-1)[:, None])

    return [
        Case("MoE", narrow, {"k": 2, "activation_type": "gelu"}, constants=held),
        Case("MoE", plain, {**gates, **bent}, constants=held),
        Case("MoE", third, {"activation_type": "silu"}, constants=held, right=gated),
        Case("QMoE", whole, {**gates, **bent}, constants=held),
        Case("QMoE", {**few, **zeros}, {**gates, **block}, constants=held),
        Case(
            "QMoE", whole | {"w1": unsigned(8, 64, 32), "w2": unsigned(8, 32, 32)},
            {**gates, "expert_weight_bits": 8}, constants=held,
        ),
    ]  # fmt: skip


def qkv() -> Case:
    """Three projections of one norm."""
    inputs: dict[str, Array | None] = {"x": real(1, 2, 32), "skip": real(1, 2, 32), "g": real(32)}
    columns = {"q": 16, "k": 8, "v": 8}
    for name, count in columns.items():
        inputs |= {
            f"{name}w": unsigned(count, 1, 16),
            f"{name}s": positive(count, 1),
            f"{name}b": None,
        }

    def right(x: Array, skip: Array, g: Array, qw: Array, qs: Array, *_: Array) -> Array:
        total = x + skip
        normed = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-6) * g
        nibbles = np.stack([qw & 15, qw >> 4], axis=-1).reshape(16, 32)
        return np.asarray(normed @ ((nibbles - 8.0) * qs).T)

    attrs = {"K": 32, "Nq": 16, "Nkv": 8, "block_size": 32}
    held = " ".join(name for name in inputs if len(name) > 1 and name != "skip")
    return Case("MatMulNBitsQkv", inputs, attrs, "y k v sum", held, right=right)


def caches() -> list[Case]:
    window: dict[str, Any] = {"local_window_size": 5}
    return [
        grouped(),
        grouped(packed=True, do_rotary=1),
        grouped(batch=2, do_rotary=1, rotary_interleaved=1),
        grouped(new=6, past=0, batch=2, do_rotary=1),
        grouped(new=8, past=0, local_window_size=3),
        grouped(**window),
        grouped(softcap=5.0, scale=0.3, extra="bias"),
        grouped(new=4, do_rotary=1, extra="places"),
        grouped(extra="sink"),
        grouped(smooth_softmax=1),
        grouped(new=6, past=0, causal=0),
        grouped(heads=(2, 2, 16)),
        grouped(shared=True, total=10, do_rotary=1, **window),
        grouped(shared=True, total=10, batch=2, lengths=[10, 5], do_rotary=1),
    ]


CASES = [*norms(), *elements(), *quantized(), *heads(), *weights(), *experts(), *caches()]
