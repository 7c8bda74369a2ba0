"""Operators of ONNX Runtime are planned as what they are defined by, and compute the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import elk
import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from elk.frontend.runtime.operators import ENTRIES
from onnx import helper, numpy_helper
from runtime_cases import DOMAIN, Array, Case, grouped, layer, positive, product, real, unsigned
from runtime_tables import CASES


def computed(case: Case, **bindings: int) -> elk.Emulation:
    """What a plan of the node makes of its numbers."""
    model = elk.load_model(case.model(), bindings=bindings)
    return elk.compile(model, "tiny").emulate(case.fed, check=case.right is None)


@pytest.mark.slow
def test_every_operator_computes_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    for number, case in enumerate(CASES):
        with subtests.test(f"{number} {case.kind} {case.attrs}"):
            found = computed(case)
            if case.right is None:
                assert found.passed, found.checks
            else:
                given = [x for name, x in case.inputs.items() if x is not None]
                names = case.right.__code__.co_argcount
                many = case.right.__code__.co_flags & 4
                wanted = case.right(*(given if many else given[:names]))
                np.testing.assert_allclose(found["y"], wanted, rtol=1e-4, atol=1e-5)


def test_every_operator_has_a_case_and_a_row_of_the_page() -> None:
    cases = {case.kind for case in CASES} | {"LayerNormalization"}
    assert {entry.name for entry in ENTRIES} == cases
    page = (Path(__file__).parents[2] / "docs" / "operators.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for entry in ENTRIES:
        found = [row for row in rows if row.startswith(f"| {entry.name} ")]
        assert any(row.endswith(f" | {entry.says} |") for row in found), entry.name


@pytest.mark.slow
def test_a_node_that_is_bent_is_planned_or_refused() -> None:
    refused = 0
    for case in CASES:
        names = [name for name, array in case.inputs.items() if array is not None]
        for name in names:
            array = case.inputs[name]
            assert array is not None
            others = [np.zeros((1, *array.shape), array.dtype)]
            for other in others if name == names[0] else [None, *others]:
                bent = dataclasses.replace(case, inputs={**case.inputs, name: other})
                try:
                    elk.load_model(bent.model())
                except (elk.ModelFileError, elk.UnsupportedModelError):
                    refused += 1
    assert refused > 500


def test_the_length_of_a_cache_may_come_from_the_shape_of_a_mask(
    subtests: pytest.Subtests,
) -> None:
    """So onnxruntime-genai writes it: the caller binds how long the mask is."""
    for name, case, held in (
        ("grows", grouped(do_rotary=1), [17]),
        ("in place", grouped(do_rotary=1, total=10), [10]),
        ("first rows", grouped(do_rotary=1, total=6, new=6), [6]),
        ("a short row", grouped(do_rotary=1, batch=2, total=12, lengths=[12, 7]), [12, 7]),
    ):
        with subtests.test(name):
            total = max(held)
            made = masked(case)
            mask = np.array([[1] * n + [0] * (total - n) for n in held], "i8")
            fed = {x: a for x, a in case.fed.items() if x not in {"lengths", "total"}}
            model = elk.load_model(made, bindings={"batch": len(held), "all": total})
            found = elk.compile(model, "tiny").emulate({**fed, "mask": mask}, check=True)
            assert found.passed, found.checks


def masked(case: Case) -> onnx.ModelProto:
    """The model of a node whose lengths are those of a mask."""
    made = case.model()
    graph = made.graph
    for value in [x for x in graph.input if x.name in {"lengths", "total"}]:
        graph.input.remove(value)
    graph.input.append(
        helper.make_tensor_value_info("mask", onnx.TensorProto.INT64, ["batch", "all"])
    )
    kept = list(graph.node)
    del graph.node[:]
    graph.node.extend(
        [
            helper.make_node("Constant", [], ["last"], value_ints=[1]),
            helper.make_node("ReduceSum", ["mask", "last"], ["held"]),
            helper.make_node("Sub", ["held", "last"], ["less"]),
            helper.make_node("Cast", ["less"], ["lengths"], to=onnx.TensorProto.INT32),
            helper.make_node("Shape", ["mask"], ["sizes"]),
            helper.make_node("Constant", [], ["second"], value_int=1),
            helper.make_node("Gather", ["sizes", "second"], ["all"]),
            helper.make_node("Cast", ["all"], ["total"], to=onnx.TensorProto.INT32),
            *kept,
        ]
    )
    return made


def test_short_rows_of_a_batch_are_masked(subtests: pytest.Subtests) -> None:
    """Caches that grow hold the new rows behind those of the longest row of the batch."""
    for case, valid in (
        (grouped(batch=2, lengths=[17, 10], do_rotary=1), [1, 1]),
        (grouped(batch=2, lengths=[17, 10], local_window_size=4), [1, 1]),
        (grouped(batch=2, new=6, past=0, total=6, lengths=[6, 4], do_rotary=1), [6, 4]),
    ):
        with subtests.test(f"{case.attrs}"):
            plan = elk.compile(case.model(), "tiny")
            got = plan.emulate(case.fed)["y"]
            wanted = onnxruntime.InferenceSession(case.model().SerializeToString())
            right = wanted.run(["y"], case.fed)[0]
            for row, count in enumerate(valid):
                np.testing.assert_allclose(got[row, :count], right[row, :count], atol=1e-5)


def test_a_cache_is_written_in_place_where_its_size_stays(subtests: pytest.Subtests) -> None:
    """The file says so by the shape of its output, or the caller by the value of the length."""
    room = 16 * 2 * 16 * 4  # bytes of a cache
    for name, case, bindings, stored in (
        ("declared", grouped(total=10, shared=True), {}, 2 * 16 * 4),
        ("bound", grouped(total=10), {"total": 10}, 2 * 16 * 4),
        ("prompt", grouped(new=6, total=6, do_rotary=1), {"total": 6}, 6 * 2 * 16 * 4),
        ("appended", grouped(), {}, 2 * 16 * 4),
    ):
        with subtests.test(name):
            model = elk.load_model(case.model(), bindings=bindings)
            graph = model.graph
            sizes = [graph.tensors[store.tensor].bytes for store in graph.stores]
            assert sizes == [stored, stored]
            assert stored < room
            assert computed(case, **bindings).passed


def test_a_layer_of_a_decoder_reads_four_bits_a_weight(subtests: pytest.Subtests) -> None:
    """Also where the weights lie outside of the file, which is not opened."""
    rng = np.random.default_rng(0)
    box = (1, 2, 32, 16)
    fed: dict[str, Array] = {
        "x": rng.standard_normal((1, 1, 64), np.float32),
        "past_key_values.0.key": rng.standard_normal(box, np.float32),
        "past_key_values.0.value": rng.standard_normal(box, np.float32),
        "seqlens": np.array([32], "i4"),
        "total": np.array(33, "i4"),
    }
    for name, made in (
        ("inside", layer()),
        ("outside", layer(external=True)),
        ("spelt out", layer(domain="ai.onnx")),
    ):
        with subtests.test(name):
            model = elk.load_model(made)
            bits = {t.name: t for t in model.graph.tensors if t.name.endswith("_bits")}
            assert {name: (t.dtype.name, t.bytes) for name, t in bits.items()} == {
                "q_bits": ("u4", 64 * 32), "k_bits": ("u4", 32 * 32), "v_bits": ("u4", 32 * 32),
                "o_bits": ("u4", 64 * 32),
            }  # fmt: skip
            homes = {t.name: t.home.name for t in model.graph.tensors}
            assert homes["past_key_values.0.key"] == homes["past_key_values.0.value"] == "State"
            assert elk.compile(model, "tiny").emulate(fed, check=True).passed


def test_a_table_of_tokens_and_the_last_product_share_their_bytes() -> None:
    table, product_ = unsigned(20, 16), product(4, 16, 32).attrs | {"N": 20}
    nodes = [
        helper.make_node("GatherBlockQuantized", ["t", "ids", "s"], ["x"], domain=DOMAIN,
                         block_size=16),
        helper.make_node("Reshape", ["t", "shape"], ["w"]),
        helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain=DOMAIN, **product_),
    ]  # fmt: skip
    held = {"t": table, "s": positive(20, 2), "shape": np.array([20, 2, 8])}
    graph = helper.make_graph(
        nodes, "tied",
        [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    model = elk.load_model(helper.make_model(graph, opset_imports=sets, ir_version=10))
    weights = {t.name: t.bytes for t in model.graph.tensors if t.dtype.name in {"u4", "u8"}}
    assert weights["t"] == table.nbytes
    assert [name for name in weights if name.startswith(("t", "w"))] == ["t"]
    ids = {"ids": np.array([[3, 0, 19]])}
    assert elk.compile(model, "tiny").emulate(ids, check=True).passed


def test_the_caller_gives_packed_weights_as_the_file_holds_them() -> None:
    case = product(4, 32, 64)
    given = dataclasses.replace(case, constants="scales")
    made = given.model()
    inside = elk.compile(case.model(), "tiny").emulate(case.fed)["y"]
    plan = elk.compile(elk.load_model(made, weights=["w"]), "tiny")
    packed = case.inputs["w"]
    assert packed is not None
    np.testing.assert_array_equal(plan.emulate(given.fed)["y"], inside)
    np.testing.assert_array_equal(plan.emulate(case.fed, weights={"w": packed})["y"], inside)


def test_a_norm_that_onnx_did_not_know_yet_is_planned() -> None:
    x: dict[str, Array | None] = {"x": real(2, 16), "g": real(16), "b": real(16)}
    made = Case("LayerNormalization", x, {"axis": -1}, domain="").model(opset=15)
    feeds = {name: array for name, array in x.items() if array is not None}
    assert elk.compile(made, "tiny").emulate(feeds, check=True).passed
    inner = Case("SimplifiedLayerNormalization", {"x": real(2, 16), "g": real(16)}, domain="")
    body = inner.model().graph.node
    made = inner.model()
    function = helper.make_function(
        "own", "f", ["x", "g"], ["y"], body, [helper.make_opsetid("", 21)]
    )
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("own", 1))
    del made.graph.node[:]
    made.graph.node.append(helper.make_node("f", ["x", "g"], ["y"], domain="own"))
    assert elk.compile(made, "tiny").emulate(inner.fed, check=True).passed


def test_what_is_no_operator_or_does_not_fit_is_refused(subtests: pytest.Subtests) -> None:
    wide, narrow = real(2, 16), real(8)
    packed, attention = product(4, 32, 64), grouped()
    order = {**packed.inputs, "order": np.arange(64, dtype="i4")}
    lone = {"c": None, "s": None, "p": None, "bias": real(1, 4, 1, 9)}
    skip = {"x": real(2, 3, 16), "s": real(2), "g": real(16)}
    mask = {**{x: real(1, 2, 8) for x in "qkv"}, "b": None, "m": np.zeros((1, 7), "i4")}
    for reason, case in (
        ("com.microsoft.Nothing 'n'", Case("Nothing", {"x": wide})),
        ("writes a whole text", Case("Sampling", {"x": wide})),
        ("No Op registered", Case("Unpacked", {"x": wide}, domain="")),
        ("No opset import", Case("Gelu", {"x": wide}, domain="elk.lent")),
        ("attribute 'rate' is none", Case("Gelu", {"x": wide}, {"rate": 2})),
        ("'alpha' must be a number", Case("QuickGelu", {"x": wide}, {"alpha": "x"})),
        ("input 1, its bias, is missing", Case("BiasGelu", {"x": wide})),
        ("it has 2 inputs", Case("Gelu", {"x": wide, "b": wide})),
        ("it has 2 outputs", Case("Gelu", {"x": wide}, outputs="y z")),
        ("input 0 is u8", Case("Gelu", {"x": unsigned(2, 4)})),
        ("they must be alike", Case("BiasGelu", {"x": wide, "b": real(16, dtype="f2")})),
        ("must have shape [16], got [8]", Case("BiasGelu", {"x": wide, "b": narrow})),
        ("input 1, its skip", Case("SkipSimplifiedLayerNormalization", skip)),
        ("activation 'No'", Case("FusedGemm", {"a": wide, "b": wide}, {"activation": "No"})),
        ("its mask", Case("MultiHeadAttention", mask, {"num_heads": 2})),
        ("'K' is missing", Case("MatMulNBits", packed.inputs, {"N": 24})),
        ("packed weight", Case("MatMulNBits", packed.inputs, packed.attrs | {"N": 25})),
        ("must be 2, 4 or 8", Case("MatMulNBits", packed.inputs, packed.attrs | {"bits": 3})),
        ("(g_idx)", Case("MatMulNBits", order, packed.attrs)),
        (
            "do not share 2",
            dataclasses.replace(attention, attrs=attention.attrs | {"num_heads": 3}),
        ),
        ("quantized numbers", grouped(k_quant_type="PER_TENSOR")),
        ("a window alone", grouped(sliding_window_cache=1, local_window_size=4)),
        ("10, its bias", dataclasses.replace(attention, inputs={**attention.inputs, **lone})),
    ):
        with subtests.test(reason):
            with pytest.raises(elk.ElkError) as caught:
                elk.load_model(case.model())
            assert reason in str(caught.value)
