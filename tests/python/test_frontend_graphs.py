"""Small models as graphs: what they look like, and that they compute what ONNX Runtime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from each_case import each
from elk.model.model import Model, load_model
from graph_reference import evaluate
from onnx_graphs import I64, assert_computes, ints, model_of, node, random_feeds


def table(model: Model) -> list[tuple[str, str]]:
    return [(op.kind.name, op.function) for op in model.graph.ops]


def homes(model: Model) -> dict[str, str]:
    return {tensor.name: tensor.home.name for tensor in model.graph.tensors}


def dims(model: Model, op: int, operand: int) -> list[str]:
    """The index map of an operand as text."""
    from elk.model.table import dim_text  # noqa: PLC0415 one helper

    row = model.graph.ops[op]
    return [dim_text(dim, [a.name for a in row.axes]) for dim in row.operands[operand].dims]


def axes(model: Model, op: int) -> dict[str, tuple[int, str, str]]:
    return {
        axis.name: (axis.size, axis.role.name, axis.tile_dim.name)
        for axis in model.graph.ops[op].axes
    }


# Attention as exporters write it: heads split off, grouped caches expanded, a mask added.
_GROUPED = [
    node("MatMul", "x wq", "q"),
    node("Reshape", "q heads", "q4"),
    node("Transpose", "q4", "qt", perm=[0, 2, 1, 3]),
    node("MatMul", "x wk", "k"),
    node("Reshape", "k kv_heads", "k4"),
    node("Transpose", "k4", "kt", perm=[0, 2, 1, 3]),
    node("Concat", "past.key kt", "present.key", axis=2),
    node("Unsqueeze", "present.key two", "k5"),
    node("Expand", "k5 groups", "k6"),
    node("Reshape", "k6 grouped", "kg"),
    node("Transpose", "kg", "kgt", perm=[0, 1, 3, 2]),
    node("MatMul", "qt kgt", "scores"),
    node("Add", "scores mask", "masked"),
    node("Softmax", "masked", "p", axis=-1),
    node("MatMul", "p kg", "o"),
    node("Transpose", "o", "ot", perm=[0, 2, 1, 3]),
    node("Reshape", "ot merged", "om"),
    node("MatMul", "om wo", "y"),
]


def grouped_attention() -> onnx.ModelProto:
    batch, past, heads, kv, d = 2, 3, 4, 2, 6
    return model_of(
        _GROUPED,
        {
            "x": [batch, 1, 8],
            "past.key": [batch, kv, past, d],
            "mask": [batch, 1, 1, past + 1],
            "wq": [8, heads * d],
            "wk": [8, kv * d],
            "wo": [heads * d, 5],
        },
        ["y", "present.key"],
        {
            "heads": ints(batch, 1, heads, d),
            "kv_heads": ints(batch, 1, kv, d),
            "two": ints(2),
            "groups": ints(batch, kv, heads // kv, past + 1, d),
            "grouped": ints(batch, heads, past + 1, d),
            "merged": ints(batch, 1, heads * d),
        },
    )


def test_grouped_attention_over_an_appended_cache_copies_nothing() -> None:
    model = assert_computes(grouped_attention())
    assert table(model) == [
        ("MatMul", "matmul"),
        ("MatMul", "matmul"),
        ("MatMul", "matmul"),
        ("Elementwise", "add/col_vector"),
        ("Softmax", "softmax"),
        ("MatMul", "matmul"),
        ("MatMul", "matmul"),
    ]
    assert model.facts.copied == ()
    scores = axes(model, 2)
    assert scores == {
        "b0": (2, "Parallel", "Group"),
        "b1_0": (2, "Parallel", "Group"),
        "b1_1": (2, "Parallel", "M"),
        "n": (4, "Parallel", "N"),
        "k": (6, "Reduction", "K"),
    }
    assert dims(model, 2, 0) == ["b0", "0", "12 * b1_0 + 6 * b1_1 + k"]
    assert dims(model, 2, 1) == ["b0", "b1_0", "n", "k"]  # The cache does not know the groups.
    assert dims(model, 2, 2) == ["b0", "n - 3", "6 * b1_0 + k"]  # The new rows.


def test_an_appended_cache_is_written_back_by_rows() -> None:
    model = load_model(grouped_attention())
    (store,) = model.graph.stores
    assert model.graph.tensors[store.tensor].name == "k"
    assert model.graph.ops[store.op].name == "MatMul_k"
    assert store.run_bytes == 6 * 4
    assert homes(model)["past.key"] == "State"
    assert homes(model)["k"] == "Activation"
    assert [model.graph.tensors[i].name for i in model.graph.outputs] == ["y"]


def test_rows_that_two_outputs_show_are_written_back_once() -> None:
    proto = grouped_attention()
    stores = len(load_model(proto).graph.stores)
    proto.graph.output.extend(list(proto.graph.output))
    assert len(load_model(proto).graph.stores) == stores == 1


def test_parts_of_one_input_share_its_number() -> None:
    model = load_model(grouped_attention())
    assert [x.input for x in model.graph.ops[2].operands] == [0, 1, 1, 0]


def test_a_mask_that_the_caller_gives_is_broadcast_over_heads() -> None:
    model = load_model(grouped_attention())
    assert {name: tile for name, (_, _, tile) in axes(model, 3).items()} == {
        "d0": "Rows",
        "d1": "Rows",
        "d3": "Cols",
    }


@each("length", [1, 5])
def test_rotated_halves_are_put_together_by_one_copy(length: int) -> None:
    nodes = [
        node("Transpose", "x", "t", perm=[0, 2, 1, 3]),
        node("Slice", "t zero three last", "low"),
        node("Slice", "t three end last", "high"),
        node("Neg", "high", "minus"),
        node("Concat", "minus low", "y", axis=-1),
    ]
    constants = {"zero": ints(0), "three": ints(3), "end": ints(2**62), "last": ints(3)}
    model = assert_computes(model_of(nodes, {"x": [2, length, 4, 6]}, ["y"], constants))
    assert table(model)[0] == ("Elementwise", "neg")
    assert {kind for kind, _ in table(model)[1:]} == {"Copy"}
    assert len(model.graph.ops) == (2 if length == 1 else 3)  # Else the low half is copied first.


def test_a_reshape_that_no_view_can_say_is_a_copy() -> None:
    nodes = [node("Transpose", "x", "t", perm=[1, 0]), node("Reshape", "t shape", "y")]
    model = assert_computes(model_of(nodes, {"x": [4, 6]}, ["y"], {"shape": ints(8, 3)}))
    assert table(model) == [("Copy", "slice_copy")]


@each("perm", [[0, 1, 3, 2], [0, 1, 2, 3]])
def test_a_transposed_weight_costs_no_copy(perm: list[int]) -> None:
    nodes = [node("Transpose", "w", "t", perm=perm), node("MatMul", "x t", "y")]
    model = assert_computes(model_of(nodes, {"x": [2, 3, 4, 4], "w": [2, 3, 4, 4]}, ["y"]))
    assert table(model) == [("MatMul", "matmul")]


def test_an_output_that_is_a_view_of_all_of_a_tensor_is_no_copy() -> None:
    nodes = [node("Relu", "x", "r"), node("Transpose", "r", "y", perm=[1, 0])]
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"]))
    assert len(model.graph.ops) == 1
    assert homes(model)["r"] == "Output"


def test_an_output_that_is_a_part_or_an_input_is_copied() -> None:
    nodes = [node("Relu", "x", "r"), node("Split", "r", "a b", axis=1, num_outputs=2)]
    model = assert_computes(model_of(nodes, {"x": [2, 4]}, ["b"]))
    assert table(model) == [("Elementwise", "relu"), ("Copy", "slice_copy")]
    again = assert_computes(model_of([node("Identity", "x", "y")], {"x": [2, 4]}, ["y"]))
    assert table(again) == [("Copy", "slice_copy")]


def test_an_embedding_reads_as_many_rows_as_there_are_tokens() -> None:
    nodes = [node("Gather", "w ids", "y")]
    proto = model_of(nodes, {"w": [50, 6], "ids": (I64, [4, 1])}, ["y"])
    model = load_model(proto, weights="w")
    op = model.graph.ops[0]
    assert (op.function, op.params) == ("gather", [50])
    assert homes(model)["w"] == "Weight"
    pick = op.operands[0].indirect
    assert pick is not None
    assert (pick.dim, pick.axes, pick.expected_picks) == (0, [0], 4.0)
    assert model.graph.tensors[pick.index].name == "ids"
    assert_computes(proto)


def test_expected_picks_are_no_more_than_the_rows() -> None:
    proto = model_of([node("Gather", "w ids", "y")], {"w": [3, 6], "ids": (I64, [4, 2])}, ["y"])
    pick = load_model(proto).graph.ops[0].operands[0].indirect
    assert pick is not None
    assert pick.expected_picks == 3.0


def test_a_gather_by_a_known_affine_index_is_a_view() -> None:
    nodes = [node("Gather", "x index", "g", axis=1), node("Relu", "g", "y")]
    model = assert_computes(model_of(nodes, {"x": [3, 9]}, ["y"], {"index": ints(1, 3, 5)}))
    assert len(model.graph.ops) == 1
    assert dims(model, 0, 0) == ["d0", "2 * d1 + 1"]
    other = assert_computes(model_of(nodes, {"x": [3, 9]}, ["y"], {"index": ints(1, 3, 4)}))
    assert table(other)[0] == ("Gather", "gather")


def test_a_mask_grid_folds_and_its_gather_is_a_view() -> None:
    rows, columns = 32, 2049
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1)
    nodes = [
        node("Range", "zero rows one", "r"),
        node("Range", "zero columns one", "c"),
        node("Unsqueeze", "r one_axis", "r2"),
        node("Unsqueeze", "c zero_axis", "c2"),
        node("Max", "r2 c2", "both"),
        node("Shape", "both", "shape"),
        node("Expand", "r2 shape", "re"),
        node("Expand", "c2 shape", "ce"),
        node("Unsqueeze", "re last", "r3"),
        node("Unsqueeze", "ce last", "c3"),
        node("Concat", "r3 c3", "grid", axis=-1),
        node("GatherND", "mask grid", "picked"),
        node("Neg", "picked", "y"),
    ]
    constants = {
        "zero": np.asarray(0),
        "one": np.asarray(1),
        "rows": np.asarray(rows),
        "columns": np.asarray(columns),
        "one_axis": ints(1),
        "zero_axis": ints(0),
        "last": ints(-1),
    }
    model = load_model(model_of(nodes, {"mask": [rows, columns]}, ["y"], constants))
    assert grid.size == 2 * rows * columns
    assert table(model) == [("Elementwise", "neg")]
    assert dims(model, 0, 0) == ["d0", "d1"]


def test_one_element_constants_are_numbers_of_their_op() -> None:
    nodes = [node("Sub", "one x", "a"), node("Pow", "a two", "b"), node("Mul", "b vector", "y")]
    constants = {
        "one": np.asarray(1.0, np.float32),
        "two": np.asarray([2.0], np.float32),
        "vector": np.arange(3, dtype=np.float32),
    }
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"], constants))
    assert [op.function for op in model.graph.ops] == ["sub/scalar", "square", "mul/col_vector"]
    first = model.graph.ops[0]
    assert (first.params, first.scalars, first.constants) == ([], [1.0], [0])
    assert homes(model)["vector"] == "Weight"
    assert "one" not in homes(model)


def test_dead_nodes_are_dropped() -> None:
    nodes = [node("Exp", "x", "dead"), node("Neg", "x", "y")]
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"]))
    assert [op.name for op in model.graph.ops] == ["Neg_y"]
    assert model.facts.dropped == 1


def test_a_state_that_is_replaced_is_written_back_whole() -> None:
    nodes = [node("Mul", "state decay", "present_state")]
    proto = model_of(nodes, {"state": [2, 3], "decay": [2, 3]}, ["present_state"])
    model = assert_computes(proto)
    assert homes(model)["present_state"] == "State"
    (store,) = model.graph.stores
    assert store.run_bytes == 24
    assert model.graph.outputs == []


def test_homes_of_inputs_follow_names_and_globs() -> None:
    nodes = [
        node("Add", "hidden_states past_key_values.0.key", "a"),
        node("Add", "a kv_1", "b"),
        node("Add", "b weight_1", "y"),
    ]
    names = ["hidden_states", "past_key_values.0.key", "kv_1", "weight_1"]
    proto = model_of(nodes, {name: [2, 3] for name in names}, ["y"])
    found = homes(load_model(proto, weights="w2|weight_*", state=["kv_*"]))
    assert [found[name] for name in names] == ["Input", "State", "State", "Weight"]
    assert homes(load_model(proto))["kv_1"] == "Input"


def test_grouped_convolutions_split_channels_into_groups() -> None:
    nodes = [node("Conv", "x w b", "y", group=2, pads=[1, 1, 1, 1], strides=[2, 2])]
    inputs = {"x": [2, 6, 7, 7], "w": [4, 3, 3, 3], "b": [4]}
    model = assert_computes(model_of(nodes, inputs, ["y"]))
    assert axes(model, 0) == {
        "b": (2, "Parallel", "Batch"),
        "g": (2, "Parallel", "Group"),
        "co": (2, "Parallel", "OutCh"),
        "ci": (3, "Reduction", "InCh"),
        "oh": (4, "Parallel", "OutH"),
        "ow": (4, "Parallel", "OutW"),
        "kh": (3, "Reduction", "KernelH"),
        "kw": (3, "Reduction", "KernelW"),
    }
    assert dims(model, 0, 0) == ["b", "3 * g + ci", "2 * oh + kh - 1", "2 * ow + kw - 1"]
    assert model.graph.ops[0].params == [2, 2]
    assert model.graph.ops[0].flops == 2 * (2 * 4 * 4 * 4) * 3 * 9 + 2 * 4 * 4 * 4


@each(
    ("kind", "inputs", "attrs", "function"),
    [
        ("Conv", {"x": [1, 3, 9], "w": [5, 3, 3]}, {"dilations": [2]}, "conv2d"),
        ("Conv", {"x": [1, 2, 4, 5, 6], "w": [3, 2, 2, 2, 2]}, {}, "conv2d"),
        ("Conv", {"x": [2, 4, 5, 5], "w": [4, 1, 3, 3]}, {"group": 4}, "depthwise_conv2d"),
        ("Conv", {"x": [2, 4, 5, 5], "w": [8, 1, 3, 3]}, {"group": 4}, "depthwise_conv2d"),
        ("Conv", {"x": [2, 4, 1, 1], "w": [8, 4, 1, 1]}, {}, "conv2d"),
        ("Conv", {"x": [2, 4, 1, 1], "w": [8, 4, 3, 3]}, {"pads": [1, 1, 1, 1]}, "conv2d"),
        ("Conv", {"x": [1, 2, 7, 7], "w": [3, 2, 2, 2]}, {"auto_pad": "SAME_UPPER"}, "conv2d"),
        ("MaxPool", {"x": [2, 3, 7, 7]}, {"kernel_shape": [3, 3], "ceil_mode": 1}, "maxpool2d"),
        ("AveragePool", {"x": [2, 3, 6, 6]}, {"kernel_shape": [2, 2]}, "sumpool2d"),
        ("GlobalAveragePool", {"x": [2, 3, 6, 6]}, {}, "sum/inner"),
        ("ReduceMax", {"x": [2, 3, 4]}, {"axes": [1], "keepdims": 0}, "max/outer"),
        ("Softmax", {"x": [2, 3, 4]}, {"axis": 1}, "softmax"),
    ],
)
def test_windows_and_rows_compute_what_they_should(
    kind: str, inputs: dict[str, list[int]], attrs: dict[str, Any], function: str
) -> None:
    opset = 13 if "axes" in attrs else 20
    proto = model_of([node(kind, " ".join(inputs), "y", **attrs)], inputs, ["y"], opset=opset)
    model = assert_computes(proto)
    assert [op.function for op in model.graph.ops] == [function]


def test_a_convolution_of_a_sliced_input_with_padding_copies_it_first() -> None:
    nodes = [
        node("Slice", "x one five axis", "s"),
        node("Conv", "s w", "y", pads=[1, 1, 1, 1]),
    ]
    inputs = {"x": [1, 2, 6, 6], "w": [2, 2, 3, 3]}
    constants = {"one": ints(1), "five": ints(5), "axis": ints(2)}
    model = assert_computes(model_of(nodes, inputs, ["y"], constants))
    assert table(model) == [("Copy", "slice_copy"), ("Conv", "conv2d")]
    assert model.facts.copied == ("s",)


def test_padding_is_a_copy_that_reads_inside_only() -> None:
    nodes = [node("Pad", "x pads value", "y")]
    constants = {"pads": ints(1, 0, 2, 3), "value": np.asarray(7.0, np.float32)}
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"], constants))
    assert dims(model, 0, 0) == ["d0 - 1", "d1"]
    assert model.graph.ops[0].scalars == [7.0]


def test_what_has_no_kernel_of_its_own_but_is_composed_is_planned_by_parts() -> None:
    nodes = [node("GroupNormalization", "x scale bias", "y", num_groups=2)]
    inputs = {"x": [2, 4, 3, 3], "scale": [4], "bias": [4]}
    proto = model_of(nodes, inputs, ["y"], opset=21)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, inputs["x"])
    proto.graph.output[0].CopyFrom(output)
    model = assert_computes(proto)
    assert len(model.graph.ops) > 3


def test_an_if_with_a_known_condition_is_its_branch() -> None:
    branches = {}
    for name, kind in (("then_branch", "Exp"), ("else_branch", "Neg")):
        out = onnx.helper.make_tensor_value_info(f"{kind}_out", onnx.TensorProto.FLOAT, None)
        branches[name] = onnx.helper.make_graph([node(kind, "x", f"{kind}_out")], name, [], [out])
    nodes = [node("Size", "x", "n"), node("Equal", "n six", "c"), node("If", "c", "y", **branches)]
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"], {"six": np.asarray(6)}))
    assert table(model) == [("Elementwise", "exp")]


def test_a_result_is_stored_as_its_only_reader_sees_it() -> None:
    nodes = [
        node("Add", "x x", "a"),
        node("Reshape", "a boxed", "b"),
        node("Neg", "b", "c"),
        node("Exp", "c", "y"),
    ]
    model = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y"], {"boxed": ints(2, 1, 3)}))
    assert [t.shape for t in model.graph.tensors if t.name == "a"] == [[2, 1, 3]]
    shown = assert_computes(model_of(nodes, {"x": [2, 3]}, ["y", "a"], {"boxed": ints(2, 1, 3)}))
    assert [t.shape for t in shown.graph.tensors if t.name == "a"] == [[2, 3]]


def test_what_depends_on_inputs_alone_comes_first() -> None:
    nodes = [node("Mul", "x w", "a"), node("Neg", "m", "b"), node("Add", "a b", "y")]
    proto = model_of(nodes, {"x": [2, 3], "w": [2, 3], "m": [2, 3]}, ["y"])
    model = load_model(proto, weights="w")
    assert [op.name for op in model.graph.ops] == ["Neg_b", "Mul_a", "Add_y"]


def test_equal_nodes_share_one_pattern_and_keep_their_names() -> None:
    nodes = [node("Exp", "x", "a"), node("Exp", "a", "b"), node("Exp", "b", "y")]
    for proto in nodes:
        proto.name = "same"
    model = load_model(model_of(nodes, {"x": [2, 3]}, ["y"]))
    assert [op.name for op in model.graph.ops] == ["same", "same#2", "same#3"]


def test_experts_picked_for_one_product_are_read_where_they_are() -> None:
    tokens, experts, k, n, m = 5, 8, 2, 3, 4
    nodes = [
        node("TopK", "scores two", "best places", axis=-1),
        node("Reshape", "places flat", "picks"),
        node("GatherND", "experts picks", "chosen"),
        node("Unsqueeze", "x last", "columns"),
        node("MatMul", "chosen columns", "product"),
        node("Squeeze", "product last", "y"),
    ]
    inputs: dict[str, list[int]] = {
        "scores": [tokens, experts],
        "experts": [experts, n, m],
        "x": [tokens * k, m],
    }
    constants = {"two": ints(k), "flat": ints(-1, 1), "last": ints(-1)}
    proto = model_of(nodes, inputs, ["y"], constants)
    gathered = assert_computes(proto)  # An input is no weight: its slices are gathered.
    assert [op.kind.name for op in gathered.graph.ops] == ["Opaque", "Gather", "MatMul"]

    model = load_model(proto, weights="experts")
    assert [op.kind.name for op in model.graph.ops] == ["Opaque", "MatMul"]
    table_read, index = model.graph.ops[1].operands[:2]
    pick = table_read.indirect
    assert pick is not None
    assert (pick.dim, pick.axes) == (0, [0, 1])
    assert pick.expected_picks == pytest.approx(experts * (1 - (1 - k / experts) ** tokens))
    assert model.graph.tensors[pick.index].name == "places"
    assert index.input == -1
    assert dims(model, 1, 0) == ["0", "m", "k"]
    assert dims(model, 1, 1) == ["b0_0", "b0_1"]
    assert axes(model, 1)["b0_0"] == (tokens, "Parallel", "N")
    feeds = random_feeds(model)
    (got,) = evaluate(model, feeds)
    order = np.argsort(-feeds["scores"], axis=-1, kind="stable")[:, :k].ravel()
    wanted = (feeds["experts"][order] @ feeds["x"][..., None])[..., 0]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@each("axis", [0, 1, 2])
def test_whatever_index_picks_the_only_position_there_is(axis: int) -> None:
    shape = [3, 5, 4]
    shape[axis] = 1
    nodes = [node("Gather", "x i", "g", axis=axis), node("Exp", "g", "y")]
    proto = model_of(nodes, {"x": shape, "i": (I64, [3])}, ["y"])
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 10
    model = assert_computes(proto, {"x": x, "i": np.asarray([0, -1, 0])})
    assert [op.onnx_type for op in model.graph.ops] == ["Exp"]
