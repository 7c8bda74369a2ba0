"""Operands of products that are stored in fewer bits than they compute in are read as stored."""

from __future__ import annotations

from typing import Any

import elk
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx_graphs import F32, I64, Inputs, model_of, node

I8, U8, F16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.FLOAT16
RNG = np.random.default_rng(0)
ROWS, DEEP, WIDE, BLOCK = 4, 64, 48, 16


def whole(low: int, high: int, *shape: int, dtype: Any = np.int8) -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


def scales(*shape: int, dtype: str = "f4") -> Any:
    return RNG.uniform(0.01, 0.1, shape).astype(dtype)


def product(weight: Any, scale: Any, zero: Any = None, *, kind: str = "MatMul",
            dtype: int = F32, **how: Any) -> onnx.ModelProto:  # fmt: skip
    """x times a weight that a DequantizeLinear makes."""
    constants = {"w": weight, "s": scale} | ({} if zero is None else {"z": zero})
    nodes = [node("DequantizeLinear", " ".join(constants), "wide", **how)]
    turned = {"transB": 1} if kind == "Gemm" else {}
    nodes.append(node(kind, "x wide", "y", **turned))
    return model_of(nodes, {"x": (dtype, [ROWS, DEEP])}, ["y"], constants, opset=21)


def cast(home: str) -> onnx.ModelProto:
    """A weight or a cache of half precision, computed with in single precision."""
    nodes = [node("Cast", "w", "wide", to=F32), node("MatMul", "x wide", "y")]
    name = "w" if home == "weight" else "past_key_values.0"
    constants = {"w": scales(DEEP, WIDE, dtype="f2")} if home == "weight" else {}
    inputs: Inputs = {"x": [ROWS, DEEP]}
    if home == "state":
        nodes[0].input[0] = name
        inputs = {**inputs, name: (F16, [DEEP, WIDE])}
    return model_of(nodes, inputs, ["y"], constants)


def cache() -> onnx.ModelProto:
    """Keys of eight bits with a scale for each row, both appended to, for groups of heads."""
    old, new = "past_key_values.key past_key_values.scale", "key scale"
    nodes = [
        *(node("Concat", f"{a} {b}", f"present_{b}", axis=2)
          for a, b in zip(old.split(), new.split(), strict=True)),
        node("Cast", "present_key", "wide", to=F32), node("Mul", "wide present_scale", "real"),
        node("Transpose", "real", "turned", perm=[0, 1, 3, 2]), node("MatMul", "q turned", "y"),
    ]  # fmt: skip
    inputs: Inputs = {
        "q": [2, 2, 4, 16],
        "past_key_values.key": (I8, [2, 2, 31, 16]), "key": (I8, [2, 2, 1, 16]),
        "past_key_values.scale": [2, 2, 31, 1], "scale": [2, 2, 1, 1],
    }  # fmt: skip
    return model_of(nodes, inputs, ["present_key", "present_scale", "y"])


def times(by: Any, kind: str = "MatMul", **how: Any) -> onnx.ModelProto:
    """A cache of single precision that is multiplied by few numbers."""
    nodes = [node("Mul", "past_key_values.key by", "k"), node(kind, "q k", "y", **how)]
    inputs: Inputs = {"q": [2, 4, 16], "past_key_values.key": [2, 16, 32]}
    return model_of(nodes, inputs, ["y"], {"by": by})


def convolution() -> onnx.ModelProto:
    """Both inputs of a convolution in eight bits, the image with a zero point and padding."""
    constants = {
        "w": whole(-99, 99, 6, 3, 3, 3), "ws": scales(6), "xs": scales(),
        "xz": np.array(117, np.uint8), "b": scales(6),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x xs xz", "image"), node("DequantizeLinear", "w ws", "k", axis=0),
        node("Conv", "image k b", "y", pads=[1, 1, 1, 1]),
    ]  # fmt: skip
    return model_of(nodes, {"x": (U8, [2, 3, 8, 8])}, ["y"], constants, opset=21)


def experts() -> onnx.ModelProto:
    """Matrices of four bits that a router picks."""
    nodes = [
        node("DequantizeLinear", "w s", "wide", axis=1, block_size=BLOCK),
        node("Gather", "wide picked", "own"), node("MatMul", "x own", "y"),
    ]  # fmt: skip
    constants = {
        "w": whole(-8, 8, 4, DEEP, WIDE, dtype=ml_dtypes.int4),
        "s": scales(4, DEEP // BLOCK, WIDE),
    }
    inputs: Inputs = {"x": [3, 1, DEEP], "picked": (I64, [3])}
    return model_of(nodes, inputs, ["y"], constants, opset=21)


I4, U4 = ml_dtypes.int4, ml_dtypes.uint4
BLOCKS = (DEEP // BLOCK, WIDE)
CASES = {
    "int4 in blocks": product(whole(-8, 8, DEEP, WIDE, dtype=I4), scales(*BLOCKS), axis=0,
                              block_size=BLOCK),
    "uint4 with zero points": product(whole(0, 16, DEEP, WIDE, dtype=U4), scales(*BLOCKS),
                                      whole(0, 16, *BLOCKS, dtype=U4), axis=0, block_size=BLOCK),
    "int8 by column": product(whole(-99, 99, DEEP, WIDE), scales(WIDE), axis=1),
    "int8 by row of a Gemm": product(whole(-99, 99, WIDE, DEEP), scales(WIDE), kind="Gemm", axis=0),
    "uint8 of one scale": product(whole(0, 255, DEEP, WIDE, dtype=np.uint8), scales(),
                                  np.array(131, np.uint8)),
    "int4 in half precision": product(whole(-8, 8, DEEP, WIDE, dtype=I4),
                                      scales(*BLOCKS, dtype="f2"), dtype=F16, axis=0,
                                      block_size=BLOCK),
    "a weight under a Cast": cast("weight"),
    "a cache under a Cast": cast("state"),
    "a cache of eight bits": cache(),
    "a cache times channels": times(scales(16, 1)),
    "a cache times a number": times(scales(), "Einsum", equation="bmk,bkn->bmn"),
    "a convolution": convolution(),
    "experts": experts(),
}  # fmt: skip


def test_products_read_operands_as_they_are_stored(subtests: pytest.Subtests) -> None:
    for name, made in CASES.items():
        with subtests.test(name):
            model = elk.load_model(made)
            kinds = dict(model.facts.ops_by_kind)
            assert kinds.pop("conv" if name == "a convolution" else "matmul") == 1
            assert set(kinds) <= {"copy", "elementwise"}
            in_hbm = {t.name: t for t in model.graph.tensors if t.home.name in {"Weight", "State"}}
            largest = max(np.prod(t.shape) for t in in_hbm.values())
            made_here = [t for t in model.graph.tensors if t.home.name == "Activation"]
            assert all(np.prod(t.shape) < largest for t in made_here)
            run = elk.compile(model, "tiny", effort="fast").emulate(feeds(made), check=True)
            assert run.passed


def test_rows_of_a_stored_table_are_converted_and_not_the_table() -> None:
    constants = {"w": whole(-8, 8, 256, DEEP, dtype=I4), "s": scales(256, DEEP // BLOCK)}
    nodes = [
        node("DequantizeLinear", "w s", "wide", axis=1, block_size=BLOCK),
        node("Gather", "wide ids", "x"), node("Transpose", "wide", "turned", perm=[1, 0]),
        node("MatMul", "x turned", "y"),
    ]  # fmt: skip
    made = model_of(nodes, {"ids": (I64, [2, 3])}, ["y"], constants, opset=21)
    model = elk.load_model(made)
    rows = [t.shape for t in model.graph.tensors if t.home.name == "Activation"]
    assert all(np.prod(shape) <= 2 * 3 * DEEP for shape in rows)
    assert elk.compile(model, "tiny").emulate(feeds(made), check=True).passed


def feeds(made: onnx.ModelProto) -> dict[str, Any]:
    fed = {}
    for x in made.graph.input:
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(x.type.tensor_type.elem_type)
        whole_numbers = dtype.kind in "iu"
        fed[x.name] = (
            RNG.integers(0, 4, shape) if whole_numbers else RNG.standard_normal(shape)
        ).astype(dtype)
    return fed


def test_fewer_bits_take_less_time_where_hbm_binds() -> None:
    side, rows = 4096, 8
    blocks = {"axis": 0, "block_size": 128}
    weights: dict[int, dict[str, Any]] = {
        16: {"w": np.zeros((side, side), np.float16)},
        8: {"w": np.zeros((side, side), np.int8), "s": np.ones(side, np.float16)},
        4: {"w": np.zeros((side, side), I4), "s": np.ones((side // 128, side), np.float16)},
    }
    times: dict[tuple[str, int], float] = {}
    for bits, constants in weights.items():
        nodes = [node("MatMul", "x wide" if "s" in constants else "x w", "y")]
        if "s" in constants:
            how = blocks if bits == 4 else {"axis": 1}
            nodes.insert(0, node("DequantizeLinear", "w s", "wide", **how))
        made = model_of(nodes, {"x": (F16, [rows, side])}, ["y"], constants, opset=21)
        for chip in ("blackhole-p150", "ipu-pod4-hbm"):
            run = elk.compile(made, chip, effort="fast").simulate()
            times[chip, bits] = run.latency_s
    for chip, most in (("blackhole-p150", 0.65), ("ipu-pod4-hbm", 1.0)):
        assert times[chip, 8] <= most * times[chip, 16]
        assert times[chip, 4] < times[chip, 8]
    assert times["blackhole-p150", 4] <= 0.4 * times["blackhole-p150", 16]


def test_a_function_that_times_kernels_is_asked_for_what_converts() -> None:
    asked: dict[str, list[dict[str, int]]] = {}

    def cycles(kernel: tuple[str, str, str], sizes: dict[str, int], _: tuple[int, int]) -> float:
        asked.setdefault("/".join(kernel), []).append(sizes)
        return 1.0 + 0.01 * float(np.prod(list(sizes.values()) or [1]))

    elk.compile(CASES["uint4 with zero points"], "tiny", effort="fast", tile_model=cycles)
    assert {"cast/u4/f32", "sub/f32/f32", "mul/f32/f32", "matmul/f32/f32"} <= set(asked)
    elk.compile(CASES["a weight under a Cast"], "tiny", effort="fast", tile_model=cycles)
    assert {"elements": DEEP * WIDE} in asked["cast/f16/f32"]


def test_published_models_come_with_weights_of_fewer_bits(subtests: pytest.Subtests) -> None:
    bindings = {"batch": 2, "past": 8}
    for name in ("llama3.1-8b", "mixtral-8x7b"):
        with subtests.test(name):
            f16, int8, int4 = (
                elk.load_model(elk.models.get(name, layers=1, weights=x), bindings=bindings)
                for x in (None, "int8", "int4")
            )
            assert int8.facts.ops_by_kind == int4.facts.ops_by_kind == f16.facts.ops_by_kind
            table = next(t for t in f16.graph.tensors if t.name == "model.embed_tokens.weight")
            rest = [x.facts.weight_bytes - 2 * np.prod(table.shape) for x in (f16, int8, int4)]
            assert rest[1] == pytest.approx(rest[0] / 2, rel=0.01)
            assert rest[2] == pytest.approx(rest[0] * (4 + 16 / 128) / 16, rel=0.01)
    with pytest.raises(elk.InvalidInputError, match="weights"):
        elk.models.get("llama3.1-8b", weights="int3")


def test_a_small_decoder_of_fewer_bits_computes_what_its_file_says() -> None:
    config = elk.models.TransformerConfig(
        layers=1, hidden=64, heads=4, kv_heads=2, vocab=96, ffn=128,
        experts=elk.models.Experts(experts=4, topk=2, ffn=128),
    )  # fmt: skip
    made = elk.models.store_weights(elk.models.transformer(config, dtype="f32"), "int4")
    plan = elk.compile(made, "tiny", bindings={"batch": 2, "past": 8}, effort="fast")
    fed = {"input_ids": whole(0, 90, 2, 1, dtype=np.int64)}
    fed["attention_mask"] = np.ones((2, 9), np.int64)
    for part in ("key", "value"):
        fed[f"past_key_values.0.{part}"] = RNG.standard_normal((2, 2, 8, 16), np.float32)
    assert plan.emulate(fed, check=True).passed
