"""Layers of a mesh, and groups of cores: planned, simulated, emulated and checked."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from bound_cases import beaten, cases, findings
from elk.chip.check import ChipError
from emulated_models import MODELS, feeds_of, machine
from onnx_graphs import model_of, node
from plan_oracle import broken_rules

ROOT = Path(__file__).parents[2]
NEW: dict[str, dict[str, Any]] = {
    "mesh3d": {"topology": "mesh3d", "hop_latency_s": "1 ns"},
    "groups": {"topology": "groups", "group_cores": 8, "hop_latency_s": "1 ns"},
}


def tiny(topology: str, **changes: Any) -> elk.Chip:
    return elk.chips.get("tiny").replace(**NEW.get(topology, {"topology": topology}), **changes)


def assert_random_models_are_within_bounds_and_rules(topology: str, count: int) -> list[float]:
    """Plans of so many cases break nothing; how far off their forecasts are."""
    wrong: list[str] = []
    forecasts = []
    for case in itertools.islice(cases(3, topologies=(topology,)), count):
        found = list(findings(case))
        wrong += list(beaten(found))
        for one in found:
            wrong += [f"{one}: {rule}" for rule in broken_rules(one.plan)]
            forecasts.append(abs(one.plan.forecast_error()))
    assert wrong == []
    assert len(forecasts) > count
    return forecasts


def assert_computes_what_onnx_runtime_does(topology: str, name: str, *, little: bool) -> None:
    pytest.importorskip("onnxruntime")
    feeds, bindings = feeds_of(MODELS[name])
    chip = tiny(topology)
    if little:  # Operands rotate through layers, and among the cores of a group.
        changes = NEW[topology] | {"group_cores": 4} if topology == "groups" else NEW[topology]
        chip = machine("little memory", name).replace(**changes)
    plan = elk.compile(MODELS[name], chip, policy="elk-dyn", bindings=bindings)
    steps = [op["execute"]["steps"] for op in plan.to_json()["ops"]]
    assert max(steps) > 1 or not little
    result = plan.emulate(feeds, check=True)
    assert result.checks
    assert result.passed, result.checks


@pytest.mark.slow
def test_random_models_are_planned_within_bounds_and_rules(subtests: pytest.Subtests) -> None:
    for topology in NEW:
        with subtests.test(topology):
            assert_random_models_are_within_bounds_and_rules(topology, 5)


def test_a_plan_computes_what_onnx_runtime_does(subtests: pytest.Subtests) -> None:
    for topology, name, little in (("mesh3d", "gpt", True), ("groups", "llama", True),
                                   ("groups", "resnet", False)):  # fmt: skip
        with subtests.test(topology, name=name):
            assert_computes_what_onnx_runtime_does(topology, name, little=little)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("topology", NEW)
def test_so_it_is_of_more_models(topology: str, subtests: pytest.Subtests) -> None:
    forecasts = assert_random_models_are_within_bounds_and_rules(topology, 25)
    assert np.mean(forecasts) < 0.02
    assert np.quantile(forecasts, 0.9) < 0.05
    for name, little in itertools.product(["llama", "gpt", "resnet"], [False, True]):
        with subtests.test(name, little=little):
            assert_computes_what_onnx_runtime_does(topology, name, little=little)
    chip = elk.chips.get("ipu-pod4-hbm-mesh-wide").replace(**NEW[topology])
    for file, sizes in (("nerf.onnx", {"rows": 65_536}), ("resnet18.onnx", {"batch": 8})):
        for policy in ("basic", "elk-dyn"):
            with subtests.test(file, policy=policy):
                plan = elk.compile(ROOT / "models" / file, chip, bindings=sizes, policy=policy)
                run = plan.simulate(fidelity="symmetric")
                assert abs(plan.forecast_error()) <= 0.03
                assert plan.bounds.lower_bound_s <= run.latency_s


def chain() -> elk.Model:
    weights = {name: np.zeros((96, 96), np.float32) for name in ("w0", "w1")}
    nodes = [
        node("MatMul", "x0 w0", "x1"),
        node("Softmax", "x1", "x2", axis=-1),
        node("MatMul", "x2 w1", "x3"),
    ]
    return elk.load_model(model_of(nodes, {"x0": [64, 96]}, ["x3"], weights))


def answers(chip: elk.Chip, policy: str) -> tuple[Any, ...]:
    plan = elk.compile(chain(), chip, policy=policy)
    run = plan.simulate()
    document = {k: v for k, v in plan.to_json().items() if k not in {"chip", "digest", "search"}}
    return document["ops"], document["bounds"], run.total_ps, run.split_ps


def test_one_of_a_side_is_the_simpler_topology(subtests: pytest.Subtests) -> None:
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"topology": "mesh3d", "grid": [8, 8, 1]}, {"topology": "mesh2d"}),
        ({"topology": "groups", "group_cores": 1}, {"topology": "mesh2d"}),
        ({"topology": "groups", "group_cores": 64, "position": "nodes"}, {}),
    ]
    base = elk.chips.get("tiny").replace(hop_latency_s="2 ns")
    for new, old in pairs:
        with subtests.test(new=new, old=old):
            assert answers(base.replace(**new), "elk-full") == answers(
                base.replace(**old), "elk-full"
            )


def test_more_links_are_no_slower_than_a_mesh(subtests: pytest.Subtests) -> None:
    for topology in NEW:
        with subtests.test(topology=topology):
            # The best of the same plans: neighbours on the mesh have as many links more.
            times = {
                name: elk.compile(chain(), tiny(name, multicast=True), policy="elk-full").simulate()
                for name in ("mesh2d", topology)
            }
            assert times[topology].latency_s <= 1.1 * times["mesh2d"].latency_s


def test_a_chip_takes_the_grid_of_its_topology() -> None:
    wide = elk.chips.get("ipu-pod4-hbm")
    layers = wide.replace(topology="mesh3d")
    assert layers.core.grid == (23, 8, 8)
    groups = wide.replace(topology="groups", group_cores=16)
    assert (groups.core.grid, groups.core.cores) == ((23, 4), 1472)
    assert groups.hbm is not None
    assert groups.hbm.position == "edges_all"
    assert "23 x 4 groups of 16 cores" in repr(groups)
    assert groups.replace(topology="all_to_all").core == wide.core
    assert layers.replace(topology="mesh2d").core == wide.replace(topology="mesh2d").core
    for chip in (layers, groups):
        assert elk.Chip.from_dict(chip.to_dict()) == chip


def test_a_chip_that_does_not_fit_its_topology_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"topology": "groups"}, "group_cores"),
        ({"topology": "mesh2d", "group_cores": 8}, "group_cores"),
        ({"topology": "mesh3d", "grid": [8, 8]}, "core.grid must be"),
        ({"topology": "mesh3d", "grid": [8, 0, 8]}, "core.grid"),
        ({"topology": "mesh2d", "grid": [4, 4, 4]}, "core.grid must be"),
        ({"topology": "groups", "group_cores": 7}, "core.grid"),
        ({"topology": "groups", "group_cores": 2, "grid": [4, 4, 2]}, "core.grid must be"),
        ({"topology": "groups", "group_cores": 64}, "hbm.position must be"),
    ]
    for changes, words in cases:
        with (
            subtests.test(changes=changes, words=words),
            pytest.raises(ChipError, match=re.escape(words)),
        ):
            elk.chips.get("tiny").replace(**changes)
