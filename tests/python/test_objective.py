"""Plans for energy and for the energy-delay product, on chips with coefficients."""

from __future__ import annotations

import itertools
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import elk
import pytest
from elk import models
from elk.cli import main
from plan_oracle import broken_rules
from small_chips import tiny_pod

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
EACH = {"pj_per_flop": 0.5, "pj_per_sram_byte": 2.0, "pj_per_link_byte_hop": 8.0,
        "pj_per_hbm_byte": 30.0, "pj_per_inter_chip_byte": 10.0}  # fmt: skip
IDLE = {"cheap": 0.0, "dear": 20.0}  # watts of a chip that does nothing


def powered(chip: elk.Chip, idle: str) -> elk.Chip:
    return elk.Chip.from_dict({**chip.to_dict(), "energy": {**EACH, "static_w": IDLE[idle]}})


@lru_cache(maxsize=1)
def decoder() -> elk.Model:
    config = models.TransformerConfig(
        layers=2, hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=512, vocab=512
    )
    graph = models.transformer(config, phase="decode")
    return elk.load_model(graph, bindings={"batch": 4, "past": 64})


@lru_cache(maxsize=1)
def nerf() -> elk.Model:
    return elk.load_model(NERF, bindings={"rows": 256})


@lru_cache(maxsize=32)
def planned(case: str, idle: str, objective: str) -> elk.Plan:
    model, chip = {
        "one chip": (nerf, elk.chips.get("tiny")),
        "mesh": (nerf, elk.chips.get("tiny").replace(topology="mesh2d")),
        "sharded": (decoder, tiny_pod()),
    }[case]
    return elk.compile(model(), powered(chip, idle), objective=objective, effort="fast")


def worth(plan: elk.Plan, objective: str) -> tuple[float, float]:
    """What is to be least, by the forecast: of the plan, and of the one for latency."""
    aimed = plan.to_json()["search"]["aimed"]
    delay = {"energy": 0, "edp": 1}[objective]
    return (
        aimed["energy_j"] * plan.latency_s**delay,
        aimed["latency_plan_energy_j"] * aimed["latency_plan_s"] ** delay,
    )


CASES = [(case, idle) for case in ("one chip", "mesh", "sharded") for idle in IDLE]


def test_a_plan_for_an_objective_is_no_worse_than_that_for_latency(
    subtests: pytest.Subtests,
) -> None:
    for objective, (case, idle) in itertools.product(["energy", "edp"], CASES):
        with subtests.test(objective=objective, case=case, idle=idle):
            plan, latency = planned(case, idle, objective), planned(case, idle, "latency")
            assert broken_rules(plan) == []
            assert plan.check() == []
            assert plan.objective == objective
            own, other = worth(plan, objective)
            assert own <= other
            assert plan.to_json()["search"]["aimed"]["latency_plan_s"] == latency.latency_s
            assert plan.latency_s >= plan.bounds.lower_bound_s


def test_it_is_no_worse_when_simulated(subtests: pytest.Subtests) -> None:
    for objective, (case, idle) in itertools.product(
        ["energy", "edp"], [c for c in CASES if c[0] != "mesh"]
    ):
        with subtests.test(objective=objective, case=case, idle=idle):
            delay = {"energy": 0, "edp": 1}[objective]
            found = []
            for aim in (objective, "latency"):
                run = planned(case, idle, aim).simulate(fidelity="symmetric")
                assert run.energy_j is not None
                found.append(run.energy_j * run.latency_s**delay)
            assert found[0] <= found[1] * (1 + 1e-9)


def test_where_idling_is_free_a_plan_takes_its_time_and_less_energy(
    subtests: pytest.Subtests,
) -> None:
    for case in ["one chip", "sharded"]:
        with subtests.test(case=case):
            plan, latency = planned(case, "cheap", "energy"), planned(case, "cheap", "latency")
            own, other = worth(plan, "energy")
            assert own < other
            assert plan.latency_s > latency.latency_s
            assert plan != latency


def test_the_forecast_of_energy_is_near_the_simulated(subtests: pytest.Subtests) -> None:
    for case, objective in itertools.product(["one chip", "sharded"], ["energy", "latency"]):
        with subtests.test(case=case, objective=objective):
            aimed = planned(case, "dear", "energy").to_json()["search"]["aimed"]
            forecast_j = aimed["energy_j" if objective == "energy" else "latency_plan_energy_j"]
            assert forecast_j == pytest.approx(
                planned(case, "dear", objective).simulate().energy_j, rel=0.3
            )


def test_what_crosses_between_pooled_chips_is_forecast(subtests: pytest.Subtests) -> None:
    for objective in ["energy", "latency"]:
        with subtests.test(objective=objective):
            between = {**dict.fromkeys(EACH, 0.0), "pj_per_inter_chip_byte": 10.0, "static_w": 0.0}
            pod = elk.Chip.from_dict({**tiny_pod().to_dict(), "energy": between})
            plan = elk.compile(decoder(), pod, pod="pooled", objective="energy", effort="fast")
            aimed = plan.to_json()["search"]["aimed"]
            forecast_j = aimed["energy_j" if objective == "energy" else "latency_plan_energy_j"]
            if objective == "latency":
                plan = elk.compile(decoder(), pod, pod="pooled", effort="fast")
            simulated_j = plan.simulate().energy_j
            assert simulated_j is not None
            assert (
                0.0 < simulated_j <= forecast_j <= 2.0 * simulated_j
            )  # The busiest chip stands for all.


def test_latency_is_the_default_and_plans_as_ever() -> None:
    chip = powered(elk.chips.get("tiny"), "dear")
    plain = elk.compile(nerf(), chip, effort="fast")
    assert plain == planned("one chip", "dear", "latency")
    document = plain.to_json()
    assert plain.objective == "latency"
    assert "aimed" not in document["search"]
    bare = elk.compile(nerf(), "tiny", effort="fast").to_json()
    for part in ("ops", "program", "buffers", "predicted", "bounds", "fronts"):
        assert document[part] == bare[part]


def test_the_card_tells_the_objective_and_no_gap() -> None:
    card = planned("one chip", "cheap", "energy").summary()
    assert "objective" in card
    assert "of bound" not in card
    assert "of ideal" not in card
    assert " J (forecast; the plan for latency takes " in card
    assert "for energy)" in repr(planned("one chip", "cheap", "energy"))
    assert "of bound" in planned("one chip", "cheap", "latency").summary()


def test_a_plan_for_energy_reads_back_as_it_was(tmp_path: Path) -> None:
    plan = planned("one chip", "cheap", "energy")
    plan.save(tmp_path / "a.elkplan")
    loaded = elk.load_plan(tmp_path / "a.elkplan")
    assert loaded == plan
    assert loaded.objective == "energy"
    assert loaded.summary() == plan.summary()


def test_a_chip_without_coefficients_is_refused(subtests: pytest.Subtests) -> None:
    for objective in ["energy", "edp"]:
        with subtests.test(objective=objective):
            with pytest.raises(
                elk.InvalidInputError, match=r"energy\.pj_per_flop.* \[energy\]"
            ) as caught:
                elk.compile(nerf(), "tiny", objective=objective)
            assert caught.value.code == "no_energy"


def test_baselines_are_for_latency_alone(subtests: pytest.Subtests) -> None:
    for policy in ["basic", "static", "ideal"]:
        with subtests.test(policy=policy):
            chip = powered(elk.chips.get("tiny"), "dear")
            with pytest.raises(elk.InvalidInputError, match=f"elk-dyn or elk-full .* got {policy}"):
                elk.compile(nerf(), chip, objective="energy", policy=policy)


def test_a_wrong_objective_is_refused_with_the_right_ones() -> None:
    with pytest.raises(elk.InvalidInputError, match="'energy', 'edp', 'latency'"):
        elk.compile(nerf(), "tiny", objective="power")


def test_the_command_line_takes_an_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    powered(elk.chips.get("tiny"), "cheap").save(tmp_path / "chip.toml")
    words = ["compile", str(NERF), "--bind", "rows=256", "--effort", "fast", "--json"]
    asked = [*words, "--objective", "energy", "--chip"]
    assert main([*asked, str(tmp_path / "chip.toml")]) == 0
    assert json.loads(capsys.readouterr().out)["search"]["objective"] == "energy"
    assert main([*asked, "tiny"]) == 2


PRESETS = ("a100", "gc200")


@lru_cache(maxsize=16)
def on_preset(name: str, objective: str) -> elk.Plan:
    return elk.compile(nerf(), name, objective=objective, effort="fast")


@pytest.mark.slow
def test_presets_are_planned_for_energy(subtests: pytest.Subtests) -> None:
    for objective, name in itertools.product(["energy", "edp"], PRESETS):
        with subtests.test(objective=objective, name=name):
            own, other = worth(on_preset(name, objective), objective)
            assert own <= other
            assert (
                " J (forecast; the plan for latency takes " in on_preset(name, objective).summary()
            )


# --- objectives of one's own ---


def costs(plan: elk.Plan) -> tuple[float, float, float]:
    run = plan.simulate()
    assert run.energy_j is not None
    hbm = run.columns["hbm_bytes"].sum() + run._run.stores["hbm_bytes"].sum() * run._copies
    return run.latency_s, run.energy_j, float(hbm)


def assert_takes_the_least_finalist(case: str, weights: tuple[int, int, int]) -> None:
    tiny = elk.chips.get("tiny")
    chip = tiny.replace(topology="mesh2d") if case == "mesh" else tiny
    asked: list[tuple[float, float, float]] = []

    def objective(latency_s: float, energy_j: float, hbm_bytes: float) -> float:
        asked.append((latency_s, energy_j, hbm_bytes))
        return latency_s ** weights[0] * energy_j ** weights[1] * (1 + hbm_bytes) ** weights[2]

    plan = elk.compile(nerf(), powered(chip, "cheap"), objective=objective, effort="fast")
    called = asked[:]
    values = [objective(*numbers) for numbers in called]
    assert len(called) == 6
    assert objective(*costs(plan)) == pytest.approx(min(values))
    assert called[:3] == [
        pytest.approx(costs(planned(case, "cheap", aim))) for aim in ("latency", "energy", "edp")
    ]


@pytest.mark.slow
def test_an_objective_of_ones_own_takes_the_least_finalist(subtests: pytest.Subtests) -> None:
    for case, weights in (("one chip", (2, 1, 1)), ("mesh", (1, 1, 0))):
        with subtests.test(case=case):
            assert_takes_the_least_finalist(case, weights)


def test_of_equal_finalists_the_plan_for_latency_is_taken() -> None:
    plan = elk.compile(
        nerf(), powered(elk.chips.get("tiny"), "dear"), objective=lambda *_: 1, effort="fast"
    )
    assert plan == planned("one chip", "dear", "latency")
    assert plan.to_json()["simulated"] is None


def test_an_objective_that_fails_says_how(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str, str]] = [
        (lambda latency_s: latency_s, "basic", "got TypeError: "),
        (lambda *of: of[0] / (of[1] * 0.0), "basic", "got ZeroDivisionError"),
        (lambda *_: "x", "basic", "got ValueError"),
        (lambda *_: math.inf, "basic", "must be finite, got inf"),
        (lambda *of: of[0], "ideal", "got 'ideal'"),
        (lambda *of: of[0], "best", "got 'best'"),
        (3, "basic", "must be one of 'latency', 'energy', 'edp', got 3"),
    ]
    for objective, policy, says in cases:
        with subtests.test(objective=objective, policy=policy, says=says):
            with pytest.raises(elk.InvalidInputError) as caught:
                elk.compile(
                    nerf(),
                    powered(elk.chips.get("tiny"), "dear"),
                    objective=objective,
                    policy=policy,
                )
            assert says in str(caught.value)


def test_energy_is_not_a_number_where_it_is_not_known() -> None:
    plan = elk.compile(nerf(), "tiny", objective=lambda *of: of[2], policy="basic")
    assert plan.policy == "basic"
    with pytest.raises(elk.InvalidInputError, match="must be finite, got nan") as caught:
        elk.compile(nerf(), "tiny", objective=lambda *of: of[0] * of[1], policy="basic")
    assert "[energy]" in str(caught.value.remedy)
