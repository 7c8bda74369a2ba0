"""Plans of operators that are handed in: read as plan files have them, checked, priced, kept to."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk import models
from elk.cli import main
from emulated_models import CHIPS, POLICIES, machine, model_of, pod, product
from plan_oracle import broken_rules
from sampling import few_then

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
SIZES = {"rows": 64}
LINEAR = "node_linear"
CUT = {"factors": {"m": 16, "n": 4}}


def compiled(**options: Any) -> elk.Plan:
    return elk.compile(NERF, "tiny", bindings=SIZES, **{"effort": "fast", **options})


def rows_of(plan: elk.Plan) -> dict[str, Any]:
    return {row["name"]: row for row in plan.to_json()["ops"]}


def all_of(plan: elk.Plan) -> dict[str | int, Any]:
    """The plan of every operator, as a plan file has it."""
    return {name: [row["execute"]] for name, row in rows_of(plan).items()}


def cuts(plan: elk.Plan) -> dict[str, Any]:
    keys = ("factors", "temporal", "pace", "order", "mesh_dims", "cores", "steps", "space_bytes")
    return {
        name: {key: row["execute"].get(key) for key in keys} for name, row in rows_of(plan).items()
    }


def given_fronts(plan: elk.Plan) -> list[bool]:
    """Of each operator, whether its plans were handed in."""
    document = plan.to_json()
    return [document["fronts"][row["front"]].get("given", False) for row in document["ops"]]


def test_the_plans_of_a_plan_make_it_again(subtests: pytest.Subtests) -> None:
    for policy in POLICIES:
        with subtests.test(policy=policy):
            first = compiled(policy=policy)
            again = compiled(policy=policy, plans=all_of(first))
            assert cuts(again) == cuts(first)
            assert again.latency_s == first.latency_s
            assert again.simulate().total_ps == first.simulate().total_ps
            assert all(given_fronts(again))
            assert not any(given_fronts(first))


OTHERS = itertools.product(
    ["vit", "llama decode"],
    ["mesh", "no multicast", "little memory", "pod", "close pod"],
    ["static", "elk-full"],
)


@pytest.mark.slow
@few_then([("vit", "little memory", "elk-full"), ("llama decode", "close pod", "static")], OTHERS)
def test_so_they_do_on_other_chips(
    cases: list[tuple[str, str, str]], subtests: pytest.Subtests
) -> None:
    for name, chip, policy in cases:
        with subtests.test(name, chip=chip, policy=policy):
            proto, sizes = model_of(name)
            model = elk.load_model(proto, bindings=sizes)
            first = elk.compile(model, machine(chip, name), policy=policy)
            again = elk.compile(model, machine(chip, name), policy=policy, plans=all_of(first))
            assert cuts(again) == cuts(first)
            assert again.pod == first.pod
            assert again.latency_s == pytest.approx(first.latency_s, rel=0.01)
            assert broken_rules(again) == []
            assert again.check() == []
            again.simulate()


def test_a_plan_of_ones_own_is_taken_whatever_the_search_would_find() -> None:
    free = compiled()
    assert free.explain(LINEAR).chosen.factors != {"m": 16, "n": 4, "k": 1}
    held = compiled(plans={LINEAR: [CUT]})
    assert held.explain(LINEAR).chosen.factors == {"m": 16, "n": 4, "k": 1}
    assert held.latency_s > free.latency_s
    assert broken_rules(held) == []
    assert [name for name, own in zip(held.op_names, given_fronts(held), strict=True) if own] == [
        LINEAR
    ]


def test_of_several_the_best_for_the_model_is_taken() -> None:
    chosen = rows_of(compiled())[LINEAR]["execute"]
    poor = {"factors": {"m": 1}}
    plan = compiled(plans={LINEAR: [poor, CUT, chosen]})
    assert rows_of(plan)[LINEAR]["execute"]["factors"] == chosen["factors"]
    explanation = plan.explain(LINEAR)
    assert len(explanation.candidates) == 3
    assert explanation.given
    assert not any(candidate.added for candidate in explanation.candidates)
    assert "3 plans, all that were handed in" in explanation.text
    assert "1 operators take plans that were handed in" in plan.summary()
    alone = compiled(plans={LINEAR: [CUT]}).explain(LINEAR)
    assert "It is the only plan that was handed in." in alone.text


def test_every_policy_keeps_to_them(subtests: pytest.Subtests) -> None:
    for policy in [*POLICIES, "ideal", "static-paper"]:
        with subtests.test(policy=policy):
            plan = compiled(policy=policy, plans={LINEAR: [CUT, {"factors": {"m": 4, "n": 16}}]})
            factors = rows_of(plan)[LINEAR]["execute"]["factors"]
            assert factors in ({"m": 16, "n": 4, "k": 1}, {"m": 4, "n": 16, "k": 1})


def test_operators_like_a_named_one_keep_theirs() -> None:
    free = compiled()
    front = rows_of(free)["node_linear_1"]["front"]
    alike = [name for name, row in rows_of(free).items() if row["front"] == front]
    assert len(alike) > 2
    held = compiled(plans={alike[1]: [{"factors": {"m": 2}}]})
    assert rows_of(held)[alike[1]]["execute"]["cores"] == 2
    others = {rows_of(held)[name]["front"] for name in alike if name != alike[1]}
    assert others != {rows_of(held)[alike[1]]["front"]}
    assert all(rows_of(held)[name]["execute"]["cores"] > 2 for name in alike if name != alike[1])


def test_an_operator_goes_by_its_id_too() -> None:
    number = compiled().op_names.index(LINEAR)
    assert compiled(plans={number: [CUT]}) == compiled(plans={LINEAR: [CUT]})


def test_a_saved_plan_says_so_and_is_read_back(tmp_path: Path) -> None:
    plan = compiled(plans={LINEAR: [CUT]})
    plan.save(tmp_path / "own.elkplan")
    loaded = elk.load_plan(tmp_path / "own.elkplan")
    assert loaded == plan
    assert given_fronts(loaded) == given_fronts(plan)
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_another_compile_of_the_model_is_not_held_to_them() -> None:
    model = elk.load_model(NERF, bindings=SIZES)
    free = elk.compile(model, "tiny")
    held = elk.compile(model, "tiny", plans={LINEAR: [CUT]})
    assert elk.compile(model, "tiny") == free
    assert elk.compile(model, "tiny", plans={LINEAR: [CUT]}) == held
    assert held != free


def test_what_if_keeps_to_them() -> None:
    plan = compiled(plans={LINEAR: [CUT]})
    changed = elk.what_if(plan, "hbm_bandwidth", "x2").changed
    assert rows_of(changed)[LINEAR]["execute"]["factors"] == {"m": 16, "n": 4, "k": 1}


def test_a_comparison_and_an_objective_of_ones_own_keep_to_them() -> None:
    plans = {LINEAR: [CUT]}
    rows = elk.compare(NERF, "tiny", bindings=SIZES, policies=("basic", "static"), plans=plans).rows
    last = compiled(policy="static", plans=plans, objective=lambda latency_s, _j, _b: latency_s)
    for plan in (*(row.plan for row in rows), last):
        assert rows_of(plan)[LINEAR]["execute"]["factors"] == {"m": 16, "n": 4, "k": 1}


def test_options_hold_them_as_a_plan_file_would() -> None:
    options = elk.Options(plans={"a": [{"factors": {"m": 2}, "order": ("m",), "cores": 2}]})
    assert options.plans == {"a": ({"factors": {"m": 2}, "order": ["m"]},)}
    assert pickle.loads(pickle.dumps(options)) == options
    with pytest.raises(elk.InvalidInputError, match=r"plans is .* as a keyword"):
        compiled(options=options, plans={"a": [{"factors": {"m": 4}}]}, effort="default")


# --- chips that share a model, and waves ---


def test_names_of_another_way_to_share_a_model_are_refused() -> None:
    proto, sizes = model_of("llama decode")
    with pytest.raises(elk.InvalidInputError, match=r"plans\['absent'\]: no operator") as caught:
        elk.compile(proto, pod(), bindings=sizes, plans={"absent": [CUT]})
    assert caught.value.code == "given_plan"
    assert caught.value.remedy is not None
    assert 'pod="pooled"' in caught.value.remedy
    with pytest.raises(elk.InvalidInputError, match="no ids before chips share") as caught:
        elk.compile(proto, pod(), bindings=sizes, plans={0: [CUT]})
    assert caught.value.remedy is not None
    assert 'pod="pooled"' in caught.value.remedy


def test_a_pooled_pod_has_the_operators_of_the_model() -> None:
    chip = pod()
    first = elk.compile(product(), chip, pod="pooled")
    name = first.op_names[0]
    plan = elk.compile(product(), chip, pod="pooled", plans={0: [{"factors": {"m": 12, "n": 8}}]})
    assert rows_of(plan)[name]["execute"]["factors"] == {"m": 12, "n": 8, "k": 1}
    assert broken_rules(plan) == []


def test_waves_keep_to_those_of_waves() -> None:
    config = models.TransformerConfig(
        layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, ffn=128, vocab=64
    )
    proto = models.transformer(config, phase="decode", dtype="f32")
    model = elk.load_model(proto, bindings={"batch": 32, "past": 256})
    chip = elk.chips.get("tiny").replace(
        core_count=16, sram_bytes=120 * 1024, reserved_bytes=256, hbm_bytes_per_s=16e9
    )
    first = elk.compile(model, chip, policy="static")
    assert any("#" in name for name in first.op_names)
    again = elk.compile(model, chip, policy="static", plans=all_of(first))
    assert again.op_names == first.op_names
    assert cuts(again) == cuts(first)


# --- any plans ---


def random_plan(rng: random.Random, axes: dict[str, int]) -> dict[str, Any]:
    """A plan of `y[m, n] = x[m, k] w[k, n]`, valid more often than not."""
    factors = {name: rng.choice([1, 1, 2, 3, 4, size]) for name, size in axes.items()}
    plan: dict[str, Any] = {"factors": factors}
    if rng.random() < 0.6:
        tensor, place = rng.choice([("x", ["m", "k"]), ("w", ["k", "n"])])
        plan["temporal"] = {tensor: [rng.choice([1, 2, 4]) for _ in place]}
        turns = [axis for axis, t in zip(place, plan["temporal"][tensor], strict=True) if t > 1]
        if rng.random() < 0.5:
            rng.shuffle(turns)
            plan["pace"] = {axis: rng.choice([1, 2, 3, 5]) for axis in turns}
    if rng.random() < 0.5:
        plan["order"] = [axis for axis, factor in factors.items() if factor > 1]
        rng.shuffle(plan["order"])
    return plan


def assert_any_plan_is_refused_or_sound(seed: int, chip: str) -> None:
    pytest.importorskip("onnxruntime")
    rng = random.Random(f"{seed} {chip}")
    model = elk.load_model(product(), bindings={})
    x = np.random.default_rng(seed).integers(-4, 5, (12, 20)).astype(np.float32)
    taken, refusals = 0, []
    for _ in range(40):
        plan = random_plan(rng, {"m": 12, "n": 8, "k": 20})
        try:
            found = elk.compile(
                model, machine(chip), pod="pooled", policy="elk-dyn", plans={0: [plan]}
            )
        except elk.InvalidInputError as error:
            refusals.append(error)
            continue
        taken += 1
        (row,) = rows_of(found).values()
        assert {k: v for k, v in row["execute"]["factors"].items() if v > 1} == {
            k: v for k, v in plan["factors"].items() if v > 1
        }
        assert row["execute"]["pace"] == plan.get("pace", row["execute"]["pace"])
        assert row["execute"]["order"] == plan.get("order", row["execute"]["order"])
        assert broken_rules(found) == []
        assert found.check() == []
        assert found.bounds.lower_bound_s <= found.simulate().latency_s
        assert np.array_equal(found.emulate({"x": x})["y"], x @ np.full((20, 8), 0.5, np.float32))
    assert taken > 5
    assert len(refusals) > 5
    places = {(error.code, error.place) for error in refusals}
    assert places == {("given_plan", f"plans['{model.graph.ops[0].name}'][0]")}
    assert all(error.remedy for error in refusals)


@pytest.mark.slow
@few_then([(0, "mesh")], itertools.product(range(4), [*CHIPS, "pod"]))
def test_any_plan_is_refused_or_sound(
    cases: list[tuple[int, str]], subtests: pytest.Subtests
) -> None:
    for seed, chip in cases:
        with subtests.test(seed=seed, chip=chip):
            assert_any_plan_is_refused_or_sound(seed, chip)


# --- refusals ---


def test_a_wrong_plan_is_refused(subtests: pytest.Subtests) -> None:
    for plans, place, why, remedy in [
        ([CUT], "plans", "must be plans by operator", "section 3"),
        ({2.5: [CUT]}, "plans[2.5]", "must be a name or an id", "section 3"),
        ({LINEAR: CUT}, "plans['node_linear']", "must be a list of plans", "section 3"),
        ({LINEAR: []}, "plans['node_linear']", "at least one plan", "section 3"),
        ({LINEAR: ["m"]}, "plans['node_linear'][0]", "must be a mapping", "section 3"),
        ({LINEAR: [{"factor": {}}]}, "plans['node_linear'][0]", "no key 'factor'", "'factors'"),
        ({LINEAR: [{"q": 1}]}, "plans['node_linear'][0]", "no key 'q'", "a plan has factors"),
        ({LINEAR: [{}]}, "plans['node_linear'][0]", "factors: Field required", "section 3"),
        (
            {LINEAR: [CUT, {"factors": {"m": "2"}}]},
            "plans['node_linear'][1]",
            "factors.m: Input should be a valid integer, got '2'",
            "section 3",
        ),
        ({LINEAR: [{"factors": {"m": 0}}]}, "plans['node_linear'][0]", "factors.m: ", "section 3"),
        ({99: [CUT]}, "plans[99]", "an id must be from 0 to 12", "section 3"),
        ({"node_linea": [CUT]}, "plans['node_linea']", "no operator", "did you mean 'node_linear'"),
        ({"?": [CUT]}, "plans['?']", "no operator", "section 3"),
        (
            {LINEAR: [CUT], 0: [CUT]},
            "plans[0]",
            "operator 'node_linear' is named twice",
            "section 3",
        ),
        (
            {LINEAR: [CUT, {"factors": {"m": 60}}]},
            "plans['node_linear'][1]",
            "factor 60 of axis m of size 64 leaves cores without work; 32 would not",
            "section 3",
        ),
        (
            {LINEAR: [{"factors": {"rows": 2}}]},
            "plans['node_linear'][0]",
            "factors names axis 'rows', the op has m, n, k",
            "section 3",
        ),
        (
            {LINEAR: [{**CUT, "order": ["m"]}]},
            "plans['node_linear'][0]",
            "order does not list exactly the axes it orders",
            "section 3",
        ),
    ]:
        with subtests.test(plans=plans, place=place, why=why, remedy=remedy):
            with pytest.raises(elk.InvalidInputError) as caught:
                compiled(plans=plans)
            error = caught.value
            assert error.code == "given_plan"
            assert error.place == place
            assert why in error.message
            assert error.remedy is not None
            assert remedy in error.remedy


def test_a_plan_that_fits_no_core_is_infeasible() -> None:
    chip = elk.chips.get("tiny").replace(sram_bytes=16 * 1024, reserved_bytes=256)
    with pytest.raises(elk.InfeasibleError, match=r"it needs \d+ bytes a core") as caught:
        elk.compile(NERF, chip, bindings=SIZES, plans={LINEAR: [{"factors": {}}]})
    assert caught.value.code == "sram_overflow"
    assert caught.value.place == "plans['node_linear'][0]"


# --- the command line ---

GOOD = ["compile", str(NERF), "--chip", "tiny", "--bind", "rows=64", "--effort", "fast"]


def test_the_command_takes_a_table_of_plans(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({LINEAR: [CUT]}))
    assert main([*GOOD, "--plans", str(path), "-o", str(tmp_path / "own.elkplan")]) == 0
    assert elk.load_plan(tmp_path / "own.elkplan") == compiled(plans={LINEAR: [CUT]})


def test_the_command_takes_the_plans_of_a_plan_file(tmp_path: Path) -> None:
    first = compiled(policy="basic")
    first.save(tmp_path / "first.elkplan")
    own = ["--policy", "basic", "--plans", str(tmp_path / "first.elkplan")]
    assert main([*GOOD, *own, "-o", str(tmp_path / "again.elkplan")]) == 0
    again = elk.load_plan(tmp_path / "again.elkplan")
    assert cuts(again) == cuts(first)
    assert all(given_fronts(again))


def test_the_command_refuses_what_is_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.json"
    path.write_text("{")
    assert main([*GOOD, "--plans", str(path)]) == 2
    assert "holds no JSON" in capsys.readouterr().err
    path.write_text("[]")
    assert main([*GOOD, "--plans", str(path)]) == 2
    assert "must be plans by operator" in capsys.readouterr().err
    assert main([*GOOD, "--plans", str(tmp_path / "absent.json")]) == 2
