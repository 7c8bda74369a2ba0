"""`elk.play_transfers` against a cycle-level network simulator (data/noc), and its errors."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import elk
import numpy as np
import pytest

DATA = Path(__file__).parents[2] / "data" / "noc"
CYCLE_S = 1e-9
FLIT_BYTES = 16
TINY = elk.chips.get("tiny")


class Case(NamedTuple):
    """A case of `cases.csv`, with its rows of `transfers.csv.gz`."""

    row: dict[str, str]
    transfers: list[dict[str, str]]

    def chip(self, **changes: Any) -> elk.Chip:
        columns, rows = map(int, self.row["dims"].split("x"))
        hop_s = int(self.row["hop_cycles"]) * CYCLE_S
        topology = {"mesh": "mesh2d", "torus": "torus2d", "ring": "ring"}[self.row["topology"]]
        cores: dict[str, Any] = {"grid": [rows, columns]}
        if topology == "ring":
            cores = {"core_count": columns}
        return TINY.replace(
            topology=topology,
            hop_latency_s=hop_s,
            link_bytes_per_s=FLIT_BYTES / CYCLE_S,
            hbm=None,
            **cores,
            **changes,
        )

    def ends_cycles(self, **changes: Any) -> np.ndarray:
        rows = [
            (
                int(row["source"]),
                int(row["destination"]),
                int(row["flits"]) * FLIT_BYTES,
                int(row["start_cycle"]) * CYCLE_S,
            )
            for row in self.transfers
        ]
        ends = np.array(elk.play_transfers(self.chip(**changes), rows)) / CYCLE_S
        return ends + float(self.row["fixed_cycles"])

    @property
    def setting(self) -> str:
        return self.row["setting"]


@cache
def cases() -> list[Case]:
    transfers = defaultdict(list)
    with gzip.open(DATA / "transfers.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            transfers[row["case"]].append(row)
    with (DATA / "cases.csv").open(encoding="utf-8", newline="") as lines:
        return [Case(row, transfers[row["id"]]) for row in csv.DictReader(lines)]


@cache
def ends() -> list[np.ndarray]:
    return [case.ends_cycles() for case in cases()]


def makespan_errors(setting: str) -> Iterator[float]:
    for case, found in zip(cases(), ends(), strict=True):
        if case.setting == setting and not (setting == "deep" and case.row["pattern"] == "bitcomp"):
            measured = float(case.row["makespan_cycles"])
            yield abs(found.max() - measured) / measured


def test_all_cases_of_the_data_are_there() -> None:
    assert len(cases()) == 109
    assert all(case.transfers for case in cases())


def test_every_transfer_ends_where_a_perfect_fluid_has_it() -> None:
    compared = 0
    for case, found in zip(cases(), ends(), strict=True):
        fluid = np.array([float(row["fluid_end_cycle"] or "nan") for row in case.transfers])
        known = ~np.isnan(fluid)
        np.testing.assert_allclose(found[known], fluid[known], rtol=1e-3, err_msg=case.row["id"])
        compared += int(known.sum())
    assert compared > 10_000


def test_makespans_with_deep_buffers_are_those_of_the_cycle_level_simulator() -> None:
    errors = np.array([*makespan_errors("deep")])
    assert len(errors) > 30
    assert errors.mean() <= 0.015
    assert np.mean(errors <= 0.05) >= 0.95
    assert errors.max() <= 0.10


def test_makespans_with_shallow_buffers_are_near_those_of_the_cycle_level_simulator() -> None:
    errors = np.array([*makespan_errors("generous")])
    assert len(errors) > 30
    assert errors.mean() <= 0.04
    assert np.mean(errors <= 0.05) >= 0.78


def test_one_port_a_node_holds_up_a_hotspot() -> None:
    case = next(c for c in cases() if c.row["pattern"] == "hotspot" and c.row["topology"] == "mesh")
    assert case.ends_cycles(node_ports=1).max() >= 1.1 * case.ends_cycles().max()
    assert case.ends_cycles(node_ports=4).max() == pytest.approx(case.ends_cycles().max())


def test_ends_are_in_the_order_of_rows_and_starts_count() -> None:
    rows = [(0, 1, 4_000, 2e-6), (2, 3, 4_000, 0.0), (4, 5, 0, 1e-6), (6, 6, 100, 3e-6)]
    assert elk.play_transfers(TINY, rows) == [3e-6, 1e-6, 1e-6, 3e-6]
    assert elk.play_transfers("tiny", np.array(rows)) == elk.play_transfers(TINY, rows)
    assert elk.play_transfers(TINY, []) == []


def test_exclusive_links_take_turns() -> None:
    rows = [(0, 1, 4_000, 0.0), (2, 1, 4_000, 0.0), (3, 1, 4_000, 0.5e-6)]
    assert elk.play_transfers(TINY, rows, links="exclusive") == [1e-6, 2e-6, 3e-6]


def test_a_wrong_row_is_named(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        ((64, 0, 1, 0.0), "row 1: the source must be a core from 0 to 63, got 64"),
        ((0, -1, 1, 0.0), "row 1: the destination must be a core from 0 to 63, got -1"),
        ((0, 1, -1, 0.0), "row 1: bytes must be from 0 to 1099511627776, got -1"),
        ((0, 1, 2**70, 0.0), "row 1: bytes must be from 0 to"),
        ((0, 1, 1, -1e-9), "row 1: the start must be from 0 to"),
        ((0, 1, 1, float("nan")), "row 1: the start must be from 0 to"),
        ((0, 1, 1, "now"), "row 1: start must be seconds, got 'now'"),
        ((0.5, 1, 1, 0.0), "row 1: source must be a whole number, got 0.5"),
        ((0, float("nan"), 1, 0.0), "row 1: destination must be a whole number, got nan"),
        ((0, 1, True, 0.0), "row 1: bytes must be a whole number, got True"),
        ((0, 1, 1), "row 1 must be source core, destination core, bytes and start"),
        (7, "row 1 must be source core, destination core, bytes and start"),
    ]
    for row, message in cases:
        with (
            subtests.test(row=row, message=message),
            pytest.raises(elk.InvalidInputError, match=message),
        ):
            elk.play_transfers(TINY, [(0, 1, 1, 0.0), row])


def test_links_are_shared_or_exclusive() -> None:
    with pytest.raises(elk.InvalidInputError, match="links must be one of"):
        elk.play_transfers(TINY, [], links="fair")  # type: ignore[arg-type,unused-ignore]


# --- ports of nodes ---


def test_a_chip_that_does_not_say_how_many_ports_has_no_such_key() -> None:
    mesh = TINY.replace(topology="mesh2d", hop_latency_s="1 ns")
    assert "node_ports" not in mesh.to_dict()["interconnect"]
    one = mesh.replace(node_ports=1)
    assert one.to_dict()["interconnect"]["node_ports"] == 1
    assert elk.Chip.from_dict(one.to_dict()) == one != mesh


def test_a_chip_file_keeps_its_ports(tmp_path: Path) -> None:
    ring = TINY.replace(topology="ring", hop_latency_s="1 ns", hbm=None, node_ports=1)
    for suffix in ("toml", "yaml", "json"):
        ring.save(tmp_path / f"ring.{suffix}")
        assert elk.load_chip(tmp_path / f"ring.{suffix}") == ring


def test_a_node_has_from_one_port_to_one_for_each_link(subtests: pytest.Subtests) -> None:
    for topology, ports in [("mesh2d", 0), ("mesh2d", 5), ("ring", 3), ("all_to_all", 2)]:
        with (
            subtests.test(topology=topology, ports=ports),
            pytest.raises(elk.InvalidInputError, match="node_ports"),
        ):
            TINY.replace(topology=topology, hop_latency_s="1 ns", hbm=None, node_ports=ports)
