"""`Plan.simulate(fidelity="flows")`: runs in which every send is a flow, and what links did."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import elk
import matplotlib as mpl
import numpy as np
import pytest
from elk import cli
from plan_oracle import broken_rules

mpl.use("agg")

MODELS = Path(__file__).parents[2] / "models"
TINY = elk.chips.get("tiny")
MESH = TINY.replace(topology="mesh2d", hop_latency_s="2 ns")
CHIPS = {
    "all_to_all": TINY,
    "mesh": MESH,
    "torus": MESH.replace(topology="torus2d"),
    "ring": TINY.replace(topology="ring", hop_latency_s="2 ns", position="nodes"),
    "one port": MESH.replace(node_ports=1),
    "no multicast": MESH.replace(multicast=False),
    "overlapping": TINY.replace(overlaps_compute=True),
    "not blocking": MESH.replace(remote_access_blocks=False),
    "refreshing": TINY.replace(refresh_interval_s="1 us", refresh_stall_s="50 ns"),
}


@cache
def planned(name: str) -> elk.Plan:
    return elk.compile(MODELS / "nerf.onnx", CHIPS[name], bindings={"rows": 256}, threads=1)


@cache
def ran(name: str) -> elk.Run:
    return planned(name).simulate(fidelity="flows")


def test_the_parts_of_a_run_add_up(subtests: pytest.Subtests) -> None:
    for name in CHIPS:
        with subtests.test(name=name):
            plan, run = planned(name), ran(name)
            assert run.fidelity == "flows"
            assert sum(run.split_ps.values()) == run.total_ps
            calls_ps = run.columns["compute_ps"] - run.columns["sram_contention_ps"]
            assert round(sum(run.stalls().values()) * 1e12) + int(calls_ps.sum()) == run.total_ps
            assert broken_rules(plan) == []


def test_it_moves_the_bytes_of_core(subtests: pytest.Subtests) -> None:
    for name in CHIPS:
        with subtests.test(name=name):
            core, flows = planned(name).simulate(fidelity="core"), ran(name)
            for column in (
                "hbm_bytes",
                "loaded_bytes",
                "exchange_bytes",
                "received_bytes",
                "execution",
            ):
                assert np.array_equal(core.columns[column], flows.columns[column]), column
            assert flows.utilisation["hbm"] * flows.latency_s == pytest.approx(
                core.utilisation["hbm"] * core.latency_s
            )


def test_no_link_carries_more_than_it_can(subtests: pytest.Subtests) -> None:
    for name in CHIPS:
        with subtests.test(name=name):
            links = ran(name).links()
            assert (
                links["bytes"] <= links["bytes_per_s"] * links["busy_s"] * (1 + 1e-9) + 1e-3
            ).all()
            assert (links["busy_s"] <= ran(name).latency_s).all()
            assert links["used"].between(0, 1).all()
            assert (links["bytes"] > 0).any()


def test_links_have_ends() -> None:
    links = ran("mesh").links()
    inner = links[links["kind"] == "link"]
    assert len(inner) == 2 * 2 * 8 * 7
    assert set((inner["destination"] - inner["source"]).abs()) == {1, 8}
    assert links["source"][links["kind"] == "from HBM"].isna().all()
    ports = ran("all_to_all").links()
    assert ports["kind"].value_counts().to_dict() == {"send port": 64, "receive port": 64}
    assert (ran("one port").links()["kind"] == "port in").sum() == 64


def test_links_are_drawn_as_a_heat_map(subtests: pytest.Subtests) -> None:
    for name in ["mesh", "all_to_all"]:
        with subtests.test(name=name):
            axes = ran(name).plot("links")
            cells = axes.images[0].get_array()
            assert cells is not None
            assert cells.shape == (8, 8)
            assert cells.max() == pytest.approx(100 * ran(name).links()["used"].max())


def test_links_are_counted_by_flows_alone() -> None:
    run = planned("mesh").simulate(fidelity="core")
    with pytest.raises(elk.InvalidInputError, match="does not tell sends apart"):
        run.links()
    with pytest.raises(elk.InvalidInputError, match="does not tell sends apart"):
        run.plot("links")


def test_exclusive_links_are_for_flows() -> None:
    plan = planned("mesh")
    turns = plan.simulate(fidelity="flows", links="exclusive")
    assert sum(turns.split_ps.values()) == turns.total_ps
    assert turns.links()["bytes"].equals(ran("mesh").links()["bytes"])
    with pytest.raises(elk.InvalidInputError, match="links='exclusive' is for flows"):
        plan.simulate(links="exclusive")
    with pytest.raises(elk.InvalidInputError, match="links must be one of"):
        plan.simulate(fidelity="flows", links="own")


def test_a_port_for_all_links_holds_nobody_up_less() -> None:
    planned_with_ports = planned("one port")
    assert planned_with_ports.chip.interconnect.node_ports == 1
    assert ran("one port").latency_s > 0.99 * ran("mesh").latency_s


def test_a_plan_from_a_file_runs_the_same(tmp_path: Path) -> None:
    planned("mesh").save(tmp_path / "p.elkplan")
    run = elk.load_plan(tmp_path / "p.elkplan").simulate(fidelity="flows")
    assert run.total_ps == ran("mesh").total_ps
    assert run.links().equals(ran("mesh").links())


def test_a_run_in_a_plan_file_says_its_fidelity(tmp_path: Path, capsys: Any) -> None:
    planned("mesh").save(tmp_path / "p.elkplan")
    assert cli.main(["simulate", str(tmp_path / "p.elkplan"), "--fidelity", "flows", "--json"]) == 0
    assert '"fidelity": "flows"' in capsys.readouterr().out


def test_a_pickled_run_keeps_its_links() -> None:
    run = pickle.loads(pickle.dumps(ran("mesh")))
    assert run.links().equals(ran("mesh").links())


def test_pods_run_too(subtests: pytest.Subtests) -> None:
    for pod in ["sharded", "pooled"]:
        with subtests.test(pod=pod):
            between = {"bytes_per_s": "10 GB/s", "latency_s": 5e-7, "sync_latency_s": 1e-7}
            chip = TINY.replace(chips=2, inter_chip={**between, "topology": "ring"})
            plan = elk.compile(
                MODELS / "nerf.onnx", chip, bindings={"rows": 256}, pod=pod, threads=1
            )
            core, flows = plan.simulate(fidelity="core"), plan.simulate(fidelity="flows")
            assert flows.total_ps == pytest.approx(core.total_ps, rel=0.1)
            assert {"out of chip", "into chip"} <= set(flows.links()["kind"])


def test_on_all_to_all_flows_are_near_core() -> None:
    core = planned("all_to_all").simulate(fidelity="core")
    assert ran("all_to_all").total_ps == pytest.approx(core.total_ps, rel=0.03)


def test_layers_and_groups_are_drawn_side_by_side(subtests: pytest.Subtests) -> None:
    for topology, more, drawn in [("mesh3d", {}, (4, 16)), ("groups", {"group_cores": 4}, (4, 16))]:
        with subtests.test(topology=topology, more=more, drawn=drawn):
            tiny = elk.chips.get("tiny")
            chip = tiny.replace(topology=topology, hop_latency_s="1 ns", hbm=None, **more)
            model = Path(__file__).parents[2] / "models" / "nerf.onnx"
            run = elk.compile(model, chip, bindings={"rows": 64}, policy="basic").simulate(
                fidelity="flows"
            )
            cells = np.asarray(run.plot("links").images[0].get_array())
            table = run.links()
            owner = table["source"].fillna(table["destination"]).astype(int)
            most = 100 * table["used"].groupby(owner).max()
            assert cells.shape == drawn
            for core in (0, 1, 5, 63):  # The innermost place is the layer, or the core of a group.
                place, layer = divmod(core, 4)
                row, column = divmod(place, 4)
                assert cells[row, 4 * layer + column] == pytest.approx(most[core])
