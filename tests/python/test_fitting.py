"""Where SRAM is small, ops go in waves and activations to HBM and back: sound, same numbers."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import elk
import pytest
from elk import models
from emulated_models import MODELS, feeds_of, pod
from plan_oracle import broken_rules

SIZES = {"batch": 4, "seq": 16, "past": 16}


def chip(kib: float, **changes: object) -> elk.Chip:
    """Sixteen cores of the tiny chip."""
    little = {"core_count": 16, "sram_bytes": int(kib * 1024), "reserved_bytes": 256}
    return elk.chips.get("tiny").replace(**{**little, **changes})


def planned(name: str, on: elk.Chip, **sizes: int) -> elk.Plan:
    bindings = feeds_of(MODELS[name], {**SIZES, **sizes})[1]
    return elk.compile(MODELS[name], on, bindings=bindings, policy="elk-dyn", effort="fast")


def spilled(plan: elk.Plan) -> Counter[str]:
    """The tensors in HBM that ops read, by how many parts stores fill them with."""
    document = plan.to_json()
    parts = Counter(store["into"] for store in document["stores"] if "into" in store)
    read = {x["tensor"] for op in document["ops"] for x in op["operands"] if x.get("spilled")}
    return Counter({name: parts[name] for name in read})


def assert_sound(plan: elk.Plan) -> None:
    assert broken_rules(plan) == []
    assert plan.check() == []
    assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


def test_activations_that_do_not_fit_are_spilled_and_without_hbm_refused() -> None:
    plan = planned("gpt", chip(4))
    assert spilled(plan)
    assert_sound(plan)
    assert not spilled(planned("gpt", chip(64)))
    with pytest.raises(elk.InfeasibleError):
        planned("gpt", chip(4, hbm=None))


def test_a_preload_of_what_is_spilled_waits_for_all_of_its_stores() -> None:
    plan = planned("gpt", chip(3))
    document, stored = plan.to_json(), {*spilled(plan)}
    at = {tuple(step): i for i, step in enumerate(document["program"])}
    seen = 0
    for op in document["ops"]:
        for operand in op["operands"]:
            if operand["tensor"] in stored and operand["access"] == "read":
                fills = [s for s in document["stores"] if s.get("into") == operand["tensor"]]
                issued = at["preload_async", op["id"]]
                assert all(at["store_async", s["tensor"]] < issued for s in fills)
                seen += len(fills)
    assert seen


def test_what_is_spilled_counts_in_hbm() -> None:
    model = elk.load_model(MODELS["gpt"], bindings=feeds_of(MODELS["gpt"], SIZES)[1])
    read = sum(t.bytes for t in model.graph.tensors if t.home.name in ("Weight", "State"))
    for capacity, spills in ((read, False), (10 * read, True)):
        on = chip(4, hbm_capacity_bytes=capacity)
        plan = elk.compile(model, on, policy="elk-dyn", effort="fast")
        assert bool(spilled(plan)) == spills


def test_a_batch_takes_no_longer_than_its_halves_one_after_another() -> None:
    sliced = 0
    for name, kib in (("gpt", 4), ("gpt", 6), ("llama", 6)):
        half, whole = (planned(name, chip(kib), batch=batch) for batch in (4, 8))
        assert whole.simulate().latency_s <= 1.01 * 2 * half.simulate().latency_s
        sliced += any(op.endswith("#1") for op in whole.op_names)
        assert_sound(whole)
    assert sliced


def test_a_plan_with_spills_is_read_back_and_runs(tmp_path: Path) -> None:
    plan = planned("gpt", chip(3))
    plan.save(tmp_path / "spilled.elkplan")
    again = elk.load_plan(tmp_path / "spilled.elkplan")
    assert again.check() == []
    assert again.to_json()["stores"] == plan.to_json()["stores"]
    assert again.simulate().latency_s == plan.simulate().latency_s


@pytest.mark.slow
def test_fitted_plans_compute_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    """Spilled whole and in parts, results that leave and are stored in parts, inputs in HBM."""
    pytest.importorskip("onnxruntime")
    cases: list[tuple[str, float, str, dict[str, int]]] = [
        ("gpt", 2, "all_to_all", {}),
        ("gpt", 3, "ring", {}),
        ("mixtral", 2, "mesh2d", {}),
        ("mixtral decode", 3, "torus2d", {}),
        ("deepseek decode", 2, "all_to_all", {}),
        ("resnet", 2, "all_to_all", {}),
        ("gpt", 1.1, "mesh2d", {"batch": 1, "seq": 32}),
    ]
    forms = Counter[str]()
    for name, kib, topology, sizes in cases:
        with subtests.test(name, kib=kib):
            plan = planned(name, chip(kib, topology=topology), **sizes)
            assert_sound(plan)
            forms.update(
                "in parts" if n > 1 else "whole" if n else "input" for n in spilled(plan).values()
            )
            document = plan.to_json()
            forms["outputs"] += any("#" in output for output in document["outputs"])
            forms["rows"] += any(
                "#" in store["tensor"] for store in document["stores"] if "into" not in store
            )
            result = plan.emulate(feeds_of(MODELS[name], {**SIZES, **sizes})[0], check=True)
            assert result.checks
            assert result.passed, result.checks
    assert {*forms} >= {"in parts", "whole", "input", "outputs", "rows"}


@pytest.mark.slow
def test_so_they_do_where_chips_share_the_axis_that_is_cut() -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS["llama"], SIZES)
    on = pod(1e12, 1e-10, 4).replace(
        core_count=4, sram_bytes=5 * 1024, reserved_bytes=128, hbm_bytes_per_s=4e9
    )
    plan = elk.compile(MODELS["llama"], on, bindings=bindings, effort="fast", pod="sharded")
    ops = plan.to_json()["ops"]
    assert any("#" in op["name"] and op["split"] is not None for op in ops)
    assert_sound(plan)
    result = plan.emulate(feeds, check=True)
    assert result.checks
    assert result.passed, result.checks


def _random_case(draw: random.Random) -> tuple[elk.Model, elk.Chip]:
    kind = draw.choice(("encoder", "prefill", "decode"))
    sizes = {"batch": draw.choice((1, 2, 4)), "seq": draw.choice((8, 12, 16)), "past": 16}
    if kind == "encoder":
        config = models.EncoderConfig(
            layers=draw.choice((1, 2)), hidden=32, heads=4, ffn=64, vocab=32, positions=16
        )
        proto = models.encoder(config)
    else:
        heads = draw.choice((2, 4))
        proto = models.transformer(
            models.TransformerConfig(
                layers=1, hidden=32, heads=heads, kv_heads=2, head_dim=8, ffn=64, vocab=48
            ),
            phase=kind,
        )
    symbols = {d.dim_param for x in proto.graph.input for d in x.type.tensor_type.shape.dim}
    bindings = {name: n for name, n in sizes.items() if name in symbols}
    topology = draw.choice(("all_to_all", "mesh2d", "torus2d", "ring"))
    return elk.load_model(proto, bindings=bindings), chip(
        draw.choice((0.9, 1, 1.2, 1.5)), topology=topology
    )


def assert_random_cases_are_sound(seed: int, cases: int) -> None:
    draw = random.Random(seed)
    seen = Counter[str]()
    for _ in range(cases):
        model, on = _random_case(draw)
        try:
            basic, plan = (
                elk.compile(model, on, policy=policy, effort="fast")
                for policy in ("basic", "elk-dyn")
            )
        except elk.InfeasibleError:
            continue
        assert_sound(plan)
        symmetric = [one.simulate(fidelity="symmetric").latency_s for one in (plan, basic)]
        assert symmetric[0] <= symmetric[1]  # What the planner plays, too.
        seen["waves"] += any("#" in name for name in plan.op_names)
        seen["spills"] += bool(spilled(plan))
    assert min(seen["waves"], seen["spills"]) > cases // 8, seen


@pytest.mark.slow
def test_random_plans_are_sound_and_no_faster_than_their_bound() -> None:
    assert_random_cases_are_sound(61, 24)


@pytest.mark.nightly
def test_so_are_many_more() -> None:
    assert_random_cases_are_sound(62, 500)
