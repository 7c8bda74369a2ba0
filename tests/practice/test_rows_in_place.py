"""A cache of fixed size that is written in place costs what one costs that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import elk
import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx_graphs import F32, I64, Inputs, model_of, node
from small_chips import tiny_pod

F16 = TensorProto.FLOAT16
RNG = np.random.default_rng(0)
PARTS = ("key", "value")
GROUPED = "GroupQueryAttention"
GROWN = ("Concat", "both scaled", "Attention", GROUPED)
SPELLINGS = (
    *GROWN,
    "TensorScatter",
    "ScatterElements",
    "ScatterND",
    "ScatterND of all",
    "Where",
    "OneHot",
)


def past(part: str) -> str:
    return f"past_key_values.0.{part}"


def present(part: str) -> str:
    return f"present.0.{part}"


def written(spelling: str, part: str) -> list[onnx.NodeProto]:
    """The nodes that put new rows into a cache of batch, heads, rows, width."""
    old, new, out = past(part), f"new_{part}", present(part)
    first = part == "key"
    if spelling in GROWN:
        return [node("Concat", f"{old} {new}", out, axis=2)]
    if spelling == "TensorScatter":
        return [node("TensorScatter", f"{old} {new} at", out, axis=2)]
    spread = [node("Reshape", "at line", "at4"), node("Expand", "at4 new_shape", "at_all")] * first
    if spelling == "ScatterElements":
        return [*spread, node("ScatterElements", f"{old} at_all {new}", out, axis=2)]
    if spelling == "ScatterND":
        turns = [node("Transpose", f"{old}", f"{part}_t", perm=[2, 0, 1, 3]),
                 node("Transpose", new, f"{part}_n", perm=[2, 0, 1, 3])]  # fmt: skip
        return [
            *[node("Unsqueeze", "at one", "at2")] * first, *turns,
            node("ScatterND", f"{part}_t at2 {part}_n", f"{part}_w"),
            node("Transpose", f"{part}_w", out, perm=[1, 2, 0, 3]),
        ]  # fmt: skip
    if spelling in {"Where", "OneHot"}:
        hot = [node("Equal", "positions at", "hot")]
        if spelling == "OneHot":
            hot = [node("OneHot", "at depth zero_one", "hot_numbers"),
                   node("Reshape", "hot_numbers column", "hot_column"),
                   node("Cast", "hot_column", "hot", to=TensorProto.BOOL)]  # fmt: skip
        hot += [node("Not", "hot", "cold")]
        order = f"hot {new} {old}" if first else f"cold {old} {new}"  # One each way round.
        return [*hot * first, node("Where", order, out)]
    grid = [node("Reshape", "at line", "at4"), node("Expand", "at4 grid", "at_all"),
            node("Expand", "batches grid", "b_all"), node("Expand", "heads grid", "h_all"),
            node("Concat", "b_all h_all at_all", "index", axis=-1)]  # fmt: skip
    return [*grid * first, node("ScatterND", f"{old} index {new}", out)]


def decode_step(
    spelling: str,
    sizes: tuple[int, ...] = (2, 2, 16, 8),
    queries: int = 4,
    new: int = 1,
    *,
    dtype: int = F32,
) -> onnx.ModelProto:
    """Attention of `new` tokens of each sequence to a cache of as many rows as `sizes` says."""
    batch, heads, rows, width = sizes
    kind = "f4" if dtype == F32 else "f2"
    if spelling == GROUPED:
        return grouped_step(sizes, queries, new, dtype)
    before = [batch, heads, rows - new if spelling in GROWN else rows, width]
    inputs: Inputs = {"q": (dtype, [batch, queries, new, width])}
    for part in PARTS:
        inputs = {**inputs, past(part): (dtype, before),
                  f"new_{part}": (dtype, [batch, heads, new, width])}  # fmt: skip
    if spelling not in GROWN:
        inputs = {**inputs, "at": (I64, [batch if spelling == "TensorScatter" else new])}
    if spelling == "Attention":
        names = f"q new_key new_value - {past('key')} {past('value')}"
        nodes = [node("Attention", names, f"y {present('key')} {present('value')}")]
    else:
        nodes = [x for part in PARTS for x in written(spelling, part)]
        both = spelling == "both scaled"
        nodes += [
            node("Reshape", "q grouped", "qg"), node("Mul", "qg root" if both else "qg s", "qs"),
            node("Mul", f"{present('key')} root", "ks") if both
            else node("Identity", present("key"), "ks"),
            node("Transpose", "ks", "kt", perm=[0, 1, 3, 2]), node("MatMul", "qs kt", "scores"),
            node("Softmax", "scores", "weights", axis=-1),
            node("MatMul", f"weights {present('value')}", "y"),
        ]  # fmt: skip
    constants: dict[str, Any] = {
        "s": np.array(width**-0.5, kind), "root": np.array(width**-0.25, kind),
        "one": np.array([1]), "line": np.array([1, 1, new, 1]),
        "new_shape": np.array([batch, heads, new, width]),
        "grouped": np.array([batch, heads, queries // heads * new, width]),
        "grid": np.array([batch, heads, new, 1]), "positions": np.arange(rows).reshape(-1, 1),
        "depth": np.array(rows), "zero_one": np.array([0, 1]), "column": np.array([rows, 1]),
        "batches": np.arange(batch).reshape(-1, 1, 1, 1),
        "heads": np.arange(heads).reshape(-1, 1, 1),
    }  # fmt: skip
    used = {name for x in nodes for name in x.input}
    constants = {name: x for name, x in constants.items() if name in used}
    made = model_of(nodes, inputs, ["y", *map(present, PARTS)], constants, opset=24)
    made.ir_version = 11
    return made


def grouped_step(sizes: tuple[int, ...], queries: int, new: int, dtype: int) -> onnx.ModelProto:
    """Attention by an operator of ONNX Runtime, to caches of sequences that are all as long."""
    batch, heads, rows, width = sizes
    before = [batch, heads, rows - new, width]
    inputs: Inputs = {"q": (dtype, [batch, new, queries * width])}
    for part in PARTS:
        inputs = {**inputs, past(part): (dtype, before),
                  f"new_{part}": (dtype, [batch, new, heads * width])}  # fmt: skip
    names = f"q new_key new_value {past('key')} {past('value')} lengths total"
    outputs = ["y", *map(present, PARTS)]
    attention = node(GROUPED, names, " ".join(outputs), num_heads=queries, kv_num_heads=heads)
    attention.domain = "com.microsoft"
    constants = {"lengths": np.full(batch, rows - 1, np.int32), "total": np.array(rows, np.int32)}
    made = model_of([], inputs, [], constants)  # ONNX infers nothing of them.
    made.graph.node.append(attention)
    empty = [onnx.helper.make_tensor_value_info(name, dtype, None) for name in outputs]
    made.graph.output.extend(empty)
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return made


def feeds(made: onnx.ModelProto, places: Any = None) -> dict[str, Any]:
    fed: dict[str, Any] = {}
    for x in made.graph.input:
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        fed[x.name] = RNG.standard_normal(shape, dtype=np.float32)
        if x.name == "at":
            fed[x.name] = RNG.permutation(8)[: shape[0]] if places is None else places
    return fed


def test_every_spelling_computes_what_its_file_says_and_stores_new_rows_alone(
    subtests: pytest.Subtests,
) -> None:
    for spelling in SPELLINGS:
        for new in (1, 3):
            if spelling in {"Where", "OneHot", GROUPED} and new > 1:
                continue
            with subtests.test(spelling=spelling, new=new):
                made = decode_step(spelling, new=new)
                model = elk.load_model(made)
                assert model.facts.appended_bytes == 2 * 2 * 2 * new * 8 * 4
                plan = elk.compile(model, "tiny", effort="fast")
                assert plan.emulate(feeds(made), check=True).passed


def test_every_spelling_takes_the_time_of_the_fastest(subtests: pytest.Subtests) -> None:
    for chip in ("ipu-pod4-hbm", "blackhole-p150"):
        with subtests.test(chip):
            made = (decode_step(x, (16, 8, 4096, 128), 32, dtype=F16) for x in SPELLINGS)
            times = [elk.compile(x, chip, effort="fast").simulate().latency_s for x in made]
            assert max(times) <= 1.15 * min(times)


def test_rows_at_any_place(subtests: pytest.Subtests) -> None:
    """From the end, around a ring, at a place that is bound, and more rows than have masks."""
    ring = decode_step("TensorScatter", new=3)
    for x in ring.graph.node:
        if x.op_type == "TensorScatter":
            x.attribute.append(onnx.helper.make_attribute("mode", "circular"))
    long = decode_step("TensorScatter", new=12)
    for x in long.graph.node:  # No places: from the first row on.
        if x.op_type == "TensorScatter":
            del x.input[2]
    del long.graph.input[-1]
    cases = {
        "from the end": (decode_step("ScatterElements"), np.array([-3]), {}),
        "around a ring": (ring, np.array([15, 4]), {}),
        "bound": (decode_step("ScatterND"), None, {"at": 5}),
        "many rows": (long, None, {}),
    }
    for name, (made, places, bindings) in cases.items():
        with subtests.test(name):
            model = elk.load_model(made, bindings=bindings)
            new = {x.name: x for x in made.graph.input}["new_key"].type.tensor_type.shape.dim[2]
            assert model.facts.appended_bytes == 2 * 2 * 2 * new.dim_value * 8 * 4
            plan = elk.compile(model, "tiny", effort="fast")
            fed = {name: x for name, x in feeds(made, places).items() if name not in bindings}
            assert plan.emulate(fed, check=True).passed
    late = decode_step("TensorScatter", new=12)
    late.graph.input[-1].type.tensor_type.shape.dim[0].dim_value = 2
    late.graph.initializer.append(onnx.numpy_helper.from_array(np.array([6, 6]), "at"))
    with pytest.raises(elk.UnsupportedModelError, match="writes row 17 of 16"):
        elk.load_model(late)


def test_plans_say_what_covers_a_cache_and_pods_share_it(tmp_path: Path) -> None:
    made = decode_step("TensorScatter", (4, 2, 16, 8))
    fed = feeds(made)
    plan = elk.compile(made, tiny_pod(2), effort="fast")
    assert plan.emulate(fed, check=True).passed
    plan.save(tmp_path / "plan.json")
    again = elk.load_plan(tmp_path / "plan.json")
    ops = again.to_json()["ops"]
    rows = [x for op in ops for x in op["operands"] if x.get("covers")]
    assert {x["tensor"] for x in rows} == {"new_key.copy", "new_value.copy"}
    assert again.simulate().total_ps == plan.simulate().total_ps
