"""Lower bounds: no plan undercuts them, and one that is undercut is withheld."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import elk
import numpy as np
import pytest
from bound_cases import MIXTURES, beaten, cases, findings
from elk import _core
from elk.document import withheld
from elk.plan import planning
from onnx_graphs import model_of, node
from plan_oracle import broken_rules
from small_chips import tiny_pod
from small_models import CONFIGS

MODELS = Path(__file__).parents[2] / "models"
NERF = MODELS / "nerf.onnx"


def assert_no_plan_undercuts_a_bound(seed: int, count: int) -> set[str]:
    """Plans of so many random models on random machines; the kinds of machines."""
    wrong, kinds = [], set()
    for case in itertools.islice(cases(seed, small=True), count):
        found = list(findings(case))
        kinds |= {case.machine.kind} if found else set()
        wrong += list(beaten(found))
    assert wrong == []
    return kinds


@pytest.mark.slow
def test_no_plan_of_a_random_model_on_a_random_machine_undercuts_a_bound() -> None:
    assert len(assert_no_plan_undercuts_a_bound(5, 10)) > 3


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", [5, 8])
def test_nor_does_any_of_more_of_them(seed: int) -> None:
    assert len(assert_no_plan_undercuts_a_bound(seed, 25)) > 5


@pytest.mark.slow
def test_the_weights_of_a_layer_that_rest_on_chip_cross_no_links(subtests: pytest.Subtests) -> None:
    for name in ["opt-6.7b", "llama2-7b"]:
        with subtests.test(name=name):
            model = elk.load_model(
                elk.models.get(name, layers=1, body=True), bindings={"batch": 1, "past": 128}
            )
            plan = elk.compile(model, "ipu-mk2", policy="elk-full")
            of_bound = plan.bounds.lower_bound_s / plan.simulate().latency_s
            assert 0.9 < of_bound <= 1.0
            assert plan.bounds.hbm_s == 0.0


def test_weights_that_rest_on_chip_cross_no_links_of_any_kind(subtests: pytest.Subtests) -> None:
    for chips, topology in itertools.product([1, 4], ["all_to_all", "mesh2d", "torus2d", "ring"]):
        with subtests.test(chips=chips, topology=topology):
            changes = (
                {} if topology == "all_to_all" else {"topology": topology, "hop_latency_s": "1 ns"}
            )
            chip = elk.chips.get("tiny") if chips == 1 else tiny_pod(chips)
            chip = chip.replace(hbm=None, sram_bytes="1 MiB", **changes)
            slow = chip.replace(link_bytes_per_s=chip.interconnect.link_bytes_per_s / 5)
            weights = {
                "w0": np.zeros((1000, 1000), np.float32),
                "w1": np.zeros((1000, 1000), np.float32),
            }
            nodes = [node("MatMul", "x0 w0", "x1"), node("MatMul", "x1 w1", "x2")]
            model = elk.load_model(model_of(nodes, {"x0": [1, 1000]}, ["x2"], weights))
            for pod in ("sharded", "pooled"):
                plan = elk.compile(model, slow, policy="basic", pod=pod)
                assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


def test_chips_that_sync_sooner_with_others_than_within_are_bound_by_that() -> None:
    chip = tiny_pod(4, topology="mesh2d", hop_latency_s="1 ns", hbm=None, sram_bytes="1 MiB")
    slow = chip.replace(interconnect_sync_latency_s=20 * chip.interconnect.sync_latency_s)
    sizes = {"w0": (8, 300), "w1": (300, 1000), "w2": (1, 1000), "w4": (1000, 1000)}
    weights = {name: np.zeros(size, np.float32) for name, size in sizes.items()}
    nodes = [
        node("MatMul", "x0 w0", "x1"),
        node("MatMul", "x1 w1", "x2"),
        node("Mul", "x2 w2", "x3"),
        node("Softmax", "x3", "x4"),
        node("MatMul", "x4 w4", "x5"),
    ]
    model = elk.load_model(model_of(nodes, {"x0": [1, 8]}, ["x5"], weights))
    for pod in ("sharded", "pooled"):
        plan = elk.compile(model, slow, policy="basic", pod=pod)
        assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


def test_one_core_that_holds_its_weights_moves_nothing(subtests: pytest.Subtests) -> None:
    for policy in ["basic", "elk-dyn"]:
        with subtests.test(policy=policy):
            model = elk.load_model(
                elk.models.get("gpt2", layers=1), bindings={"batch": 1, "past": 128}
            )
            plan = elk.compile(model, "groq-lpu1", policy=policy)
            assert 0.9 < plan.bounds.lower_bound_s / plan.simulate().latency_s <= 1.0


def test_the_bound_of_chips_that_share_a_model_is_one_of_the_pooled_plan() -> None:
    plans = [
        elk.compile(NERF, "palm-wafer", bindings={"rows": 16}, policy=policy, pod=pod)
        for policy in ("elk-dyn", "elk-full")
        for pod in ("sharded", "pooled")
    ]
    fastest_s = min(plan.simulate().latency_s for plan in plans)
    assert max(plan.bounds.lower_bound_s for plan in plans) <= fastest_s


def read_s(plan: elk.Plan) -> float:
    """What the HBM of all chips takes for the bytes that a plan reads, at its peak rate."""
    chip = plan.chip
    assert chip.hbm is not None
    rows = [row["preload"] for row in plan.to_json()["ops"] if row["preload"]]
    return float(sum(row["hbm_bytes"] for row in rows) / (chip.hbm.bytes_per_s * chip.chips))


def assert_counts_all_bytes(plan: elk.Plan) -> None:
    """Expected bytes of experts count, as all others do, and nothing is undercut."""
    # A byte for the bytes of each operand, which are rounded up, where chips share a model.
    assert plan.bounds.hbm_s == pytest.approx(read_s(plan), rel=1e-3)
    assert plan.bounds.hbm_s <= read_s(plan)
    assert plan.bounds.lower_bound_s <= plan.simulate().latency_s


SMALL_MIXTURES = [name for name, config in CONFIGS.items() if config.experts is not None]


def test_the_expected_bytes_of_experts_count_in_every_small_mixture(
    subtests: pytest.Subtests,
) -> None:
    for phase, name in itertools.product(["decode", "prefill"], SMALL_MIXTURES):
        with subtests.test(phase=phase, name=name):
            proto = elk.models.transformer(CONFIGS[name], phase=phase)
            sizes = {"decode": {"batch": 2, "past": 5}, "prefill": {"batch": 2, "seq": 7}}
            model = elk.load_model(proto, bindings=sizes[phase])
            tiny = elk.chips.get("tiny").replace(sram_bytes="256 KiB")
            assert_counts_all_bytes(elk.compile(model, tiny, policy="basic"))


@pytest.mark.slow
@pytest.mark.nightly
def test_the_expected_bytes_of_experts_count_in_published_mixtures(
    subtests: pytest.Subtests,
) -> None:
    for name in MIXTURES:
        with subtests.test(name=name):
            model = elk.load_model(
                elk.models.get(name, layers=2), bindings={"batch": 8, "past": 128}
            )
            assert_counts_all_bytes(elk.compile(model, "ipu-pod4-hbm", policy="basic"))


@pytest.mark.slow
def test_hbm_binds_a_mixture_that_reads_its_experts_each_step() -> None:
    bindings = {"batch": 32, "past": 2048}
    model = elk.load_model(elk.models.get("mixtral-8x7b", layers=4), bindings=bindings)
    plan = elk.compile(model, "ipu-pod4-hbm", policy="basic")
    # 12.95 GB at 16 TB/s.
    assert plan.bounds.hbm_s == pytest.approx(809e-6, rel=2e-3)
    assert "binds" in plan.summary()
    assert "HBM: HBM 809" in plan.summary()


def claims(plan: elk.Plan, bound_s: float) -> elk.Plan:
    """`plan`, with a bound that is none."""
    plan._document["bounds"]["lower_bound_s"] = bound_s
    return plan


def claimed(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Has every search return a bound that is this share of what it simulated."""
    search = planning._search

    class Claimed:
        def __init__(self, plan: _core.Plan) -> None:
            names = ("ideal_s", "hbm_s", "execute_s", "link_s")
            kept = {name: getattr(plan.bounds, name) for name in names}
            assert plan.simulated_s is not None
            self.plan = plan
            self.bounds = SimpleNamespace(lower_bound_s=share * plan.simulated_s, **kept)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.plan, name)

    def claim(*given: Any, **options: Any) -> tuple[Any, bool]:
        plan, stopped = search(*given, **options)
        return Claimed(plan), stopped

    monkeypatch.setattr(planning, "_search", claim)


def test_what_a_search_simulated_is_what_the_plan_simulates_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = planning._search
    found: list[float | None] = []

    def keep(*given: Any, **options: Any) -> tuple[Any, bool]:
        plan, stopped = search(*given, **options)
        found.append(plan.simulated_s)
        return plan, stopped

    monkeypatch.setattr(planning, "_search", keep)
    for rows in (16, 64):
        for policy in ("elk-dyn", "elk-full"):
            for chip in ("tiny", tiny_pod(4)):
                plan = elk.compile(NERF, chip, bindings={"rows": rows}, policy=policy)
                runs = [plan.simulate(fidelity=of) for of in ("core", "symmetric")]
                assert found[-1] in {None, *(run.latency_s for run in runs)}
    assert len(found) > 2 * found.count(None)


def test_a_bound_above_what_the_search_simulated_is_an_error_in_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claimed(monkeypatch, 0.999)
    elk.compile(NERF, "tiny", bindings={"rows": 64})
    claimed(monkeypatch, 1.001)
    with pytest.raises(elk.InternalError, match="below the bound of") as caught:
        elk.compile(NERF, "tiny", bindings={"rows": 64})
    assert caught.value.code == "bound_undercut"


def test_users_get_no_bound_above_what_the_search_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(withheld, "strict", False)
    claimed(monkeypatch, 1.001)
    with pytest.warns(elk.BoundWarning, match="please report this") as warned:
        plan = elk.compile(NERF, "tiny", bindings={"rows": 64})
    assert warned[0].filename == __file__
    assert plan.bounds.lower_bound_s == 0.0
    assert plan.bounds.withheld is not None
    plan.simulate()  # Nothing is left to withhold.


def test_a_bound_above_a_simulated_time_is_an_error_in_tests() -> None:
    plan = claims(elk.compile(NERF, "tiny", bindings={"rows": 64}, policy="basic"), 1.0)
    with pytest.raises(elk.InternalError, match=r"below the bound of 1\.000 s") as caught:
        plan.simulate()
    assert caught.value.code == "bound_undercut"


def test_users_get_the_plan_without_the_bound_and_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(withheld, "strict", False)
    plan = claims(elk.compile(NERF, "tiny", bindings={"rows": 64}, policy="basic"), 1.0)
    with pytest.warns(elk.BoundWarning, match=r"simulates at .* µs, below the bound of 1\.000 s"):
        run = plan.simulate()
    assert plan.bounds.lower_bound_s == 0.0
    assert plan.bounds.withheld is not None
    assert max(plan.bounds.hbm_s, plan.bounds.execute_s, plan.bounds.link_s) <= run.latency_s
    for text in (plan.summary(), run.summary(), plan._repr_html_()):
        assert "withheld: a plan simulates at" in text
    assert broken_rules(plan) == []
    plan.save(tmp_path / "plan.elkplan")
    stored = elk.load_plan(tmp_path / "plan.elkplan")
    assert stored == plan
    assert stored.bounds == plan.bounds
    plan.simulate()  # Once is enough.


def test_a_comparison_shows_no_bound_that_one_of_its_plans_undercuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(withheld, "strict", False)
    plain = elk.compile

    def wrong(*given: Any, **options: Any) -> elk.Plan:
        plan = plain(*given, **options)
        run_s = plan.simulate().latency_s
        return claims(plan, run_s * (0.999 if options["options"].policy == "basic" else 0.9))

    monkeypatch.setattr("elk.plan.comparison.compile_plan", wrong)
    proto = elk.models.transformer(CONFIGS["multi-head"], phase="decode")
    with pytest.warns(elk.BoundWarning):
        found = elk.compare(
            proto, "tiny", bindings={"batch": 2, "past": 5}, policies=["basic", "elk-dyn"]
        )
    first, second = (row.plan.bounds for row in found.rows)
    assert first.withheld is not None
    assert second.withheld is None
    assert found.lower_bound_s == found.to_dict()["lower_bound_s"] == 0.0
    assert "lower bound withheld" in found.text
    assert "withheld" in found.text.splitlines()[2]
    assert "withheld" not in found.text.splitlines()[3]
