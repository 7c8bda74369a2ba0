"""Plans of small models: sound by a checker of their own, the same every time, and explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import elk
import onnx
import pytest
from onnx import TensorProto, helper
from plan_oracle import broken_rules

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")
SMALL = {
    "nerf": ("nerf.onnx", {"rows": 256}, "tiny"),
    "gpt2": ("gpt2.onnx", {"batch": 1, "seq": 64}, "ipu-pod4-hbm"),
    "resnet18": ("resnet18.onnx", {"batch": 1}, "ipu-pod4-hbm"),
}


def perceptron(layers: int = 2, width: int = 64, rows: int = 32) -> onnx.ModelProto:
    """Products and non-linearities, with a residual from the first layer to the last."""
    nodes, weights = [], []
    for i in range(layers):
        weight = TensorProto(name=f"w{i}", dims=[width, width], data_type=TensorProto.FLOAT16)
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights.bin")
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"a{i}"], name=f"product{i}"))
        nodes.append(helper.make_node("Relu", [f"a{i}"], [f"x{i + 1}"], name=f"relu{i}"))
    nodes.append(helper.make_node("Add", ["x1", f"x{layers}"], ["y"], name="residual"))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, ["rows", width])
        for name in ("x0", "y")
    ]
    graph = helper.make_graph(nodes, "perceptron", ends[:1], ends[1:], initializer=weights)
    graph.doc_string = f"{rows} rows"
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def compile_small(policy: str = "elk-full", **options: Any) -> elk.Plan:
    return elk.compile(perceptron(), "tiny", bindings={"rows": 32}, policy=policy, **options)


@pytest.fixture(scope="module")
def plan() -> elk.Plan:
    return compile_small()


def assert_breaks_no_rule(name: str, policy: str) -> None:
    file, bindings, chip = SMALL[name]
    plan = elk.compile(MODELS / file, chip, bindings=bindings, policy=policy)
    assert broken_rules(plan) == []
    assert plan.check() == []
    assert plan.policy == policy


def test_a_plan_breaks_no_rule(subtests: pytest.Subtests) -> None:
    for policy in POLICIES:
        with subtests.test(policy=policy):
            assert_breaks_no_rule("nerf", policy)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["gpt2", "resnet18"])
def test_so_do_plans_of_larger_models(name: str) -> None:
    for policy in POLICIES:
        assert_breaks_no_rule(name, policy)


def test_a_plan_reads_back_as_it_was(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for policy in POLICIES:
        with subtests.test(policy=policy):
            plan = compile_small(policy)
            plan.save(tmp_path / "a.elkplan")
            loaded = elk.load_plan(tmp_path / "a.elkplan")
            assert loaded == plan
            assert loaded.check() == []
            assert loaded.summary() == plan.summary()
            assert loaded.explain("product1").text == plan.explain("product1").text
            loaded.save(tmp_path / "b.elkplan")
            assert (tmp_path / "a.elkplan").read_bytes() == (tmp_path / "b.elkplan").read_bytes()


def test_a_plan_whose_buffers_overlap_is_not_read(plan: elk.Plan, tmp_path: Path) -> None:
    document = plan.to_json()
    for buffer in document["buffers"]:
        buffer["offset"] = 0
    (tmp_path / "bad.elkplan").write_text(json.dumps(document))
    with pytest.raises(elk.PlanFileError, match="overlap"):
        elk.load_plan(tmp_path / "bad.elkplan")


def test_a_model_may_be_a_path_bytes_a_proto_or_loaded(plan: elk.Plan, tmp_path: Path) -> None:
    proto = perceptron()
    onnx.save(proto, tmp_path / "perceptron.onnx")
    bindings = {"rows": 32}
    ways: list[Callable[[], elk.Plan]] = [
        lambda: elk.compile(tmp_path / "perceptron.onnx", "tiny", bindings=bindings),
        lambda: elk.compile(proto.SerializeToString(), "tiny", bindings=bindings),
        lambda: elk.compile(elk.load_model(proto, bindings=bindings), elk.chips.get("tiny")),
    ]
    assert all(way().to_json()["ops"] == plan.to_json()["ops"] for way in ways)


def test_an_explanation_names_the_front_and_the_choice(plan: elk.Plan) -> None:
    explanation = plan.explain("product1")
    assert explanation.plans_complete >= explanation.plans_filtered >= explanation.plans_pareto >= 1
    assert explanation.chosen in explanation.candidates
    assert "Bound by" in explanation.text
    assert "from HBM" in explanation.text
    assert plan.explain(explanation.op).text == explanation.text


def test_constraints_narrow_the_filtered_space_and_are_reported() -> None:
    free = elk.compile(perceptron(), "tiny", bindings={"rows": 32})
    strict = elk.compile(
        perceptron(), "tiny", bindings={"rows": 32}, min_core_share=0.9, max_padding=1.0
    )
    one, other = free.explain("product1"), strict.explain("product1")
    assert (one.min_core_share, one.max_padding) == (0.0, 0.0)
    assert (other.min_core_share, other.max_padding) == (0.9, 1.0)
    assert one.plans_complete == other.plans_complete
    assert one.plans_filtered > other.plans_filtered > 0
    kept = [candidate for candidate in other.candidates if not candidate.added]
    assert kept
    assert all(candidate.cores >= 0.9 * 64 for candidate in kept)
    assert "(any cores, any padding, fits SRAM)" in one.text
    assert "(at least 90 % of the cores, padding up to x 1, fits SRAM)" in other.text
    assert "at least 90 % of the cores" in strict.summary()
    assert strict.to_json()["search"]["min_core_share"] == 0.9


def test_an_operator_that_no_plan_suits_takes_its_fastest() -> None:
    plan = elk.compile(perceptron(width=50), "tiny", bindings={"rows": 3}, min_core_share=1.0)
    alone = [e for e in map(plan.explain, plan.op_names) if e.plans_filtered == 0]
    assert alone
    assert all("No plan passes the filters" in explanation.text for explanation in alone)
    assert plan.check() == []


def test_the_card_names_what_binds(plan: elk.Plan) -> None:
    text = plan.summary()
    assert "perceptron on tiny: elk-full\n" in text
    assert "product1" in text or "product0" in text
    assert len(repr(plan).splitlines()) == 1


def test_transfers_to_and_from_the_host_are_reported_beside_the_latency(plan: elk.Plan) -> None:
    moved = 2 * 32 * 64 * 2
    assert plan.to_json()["host_s"] == pytest.approx(moved / plan.chip.host.bytes_per_s)


def test_a_mesh_says_what_its_edges_let_through() -> None:
    file, bindings, _ = SMALL["nerf"]
    plan = elk.compile(MODELS / file, "ipu-pod4-hbm-mesh", bindings=bindings)
    assert "HBM delivery into a chip is bound by" in plan.summary()
    assert "of 4.00 TB/s" in plan.summary()
    assert broken_rules(plan) == []


def test_a_wrong_option_is_refused_by_name(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"policy": "elk-ful"}, "policy must be one of 'elk-full'"),
        ({"policy": "vgm"}, "policy vgm is for chips without HBM"),
        ({"pod": "pool"}, "pod must be one of 'pooled', 'sharded'"),
        ({"threads": 0}, "threads must be an integer above 0"),
        ({"min_core_share": 2.0}, "min_core_share must be a number of at least 0 and at most 1"),
        ({"max_padding": -1.0}, "max_padding must be a number of at least 0"),
        ({"max_padding": 0.5}, "max_padding must be 0 or at least 1, got 0.5"),
        ({"max_padding": float("nan")}, "max_padding must be a number of at least 0"),
    ]
    for options, message in cases:
        with subtests.test(options=options, message=message):
            with pytest.raises(elk.InvalidInputError) as raised:
                elk.compile(perceptron(), "tiny", bindings={"rows": 32}, **options)
            assert message in str(raised.value)


def test_a_loaded_model_takes_no_bindings() -> None:
    model = elk.load_model(perceptron(), bindings={"rows": 32})
    with pytest.raises(elk.InvalidInputError, match="the model is loaded already"):
        elk.compile(model, "tiny", bindings={"rows": 32})


def test_a_model_that_does_not_fit_says_by_how_much() -> None:
    chip = elk.chips.get("tiny").replace(sram_bytes="8256 B")
    with pytest.raises(elk.InfeasibleError, match="bytes"):
        elk.compile(perceptron(width=512), chip, bindings={"rows": 512})
