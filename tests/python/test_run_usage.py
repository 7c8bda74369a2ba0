"""What a run used: units over time, the queue of the HBM, energy, and rows of operators."""

from __future__ import annotations

import itertools
from functools import lru_cache
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk import models
from elk.run.usage import queue_over_time
from small_chips import tiny_pod

MODELS = Path(__file__).parents[2] / "models"
COEFFICIENTS = ("pj_per_flop", "pj_per_sram_byte", "pj_per_link_byte_hop", "pj_per_hbm_byte",
                "pj_per_inter_chip_byte", "static_w")  # fmt: skip


@lru_cache(maxsize=8)
def ran(case: str) -> elk.Run:
    nerf, layer = MODELS / "nerf.onnx", MODELS / "retnet-1.3b-layer.onnx"
    tiny = elk.chips.get("tiny")
    plans = {
        "tiny": lambda: elk.compile(nerf, tiny, bindings={"rows": 64}),
        "mesh": lambda: elk.compile(nerf, tiny.replace(topology="mesh2d"), bindings={"rows": 64}),
        "hidden shifts": lambda: elk.compile(
            nerf, tiny.replace(overlaps_compute=True), bindings={"rows": 512}, policy="basic"
        ),
        "sharded": lambda: elk.compile(nerf, tiny_pod(), bindings={"rows": 256}, policy="static"),
        "pooled": lambda: elk.compile(nerf, tiny_pod(), bindings={"rows": 64}, pod="pooled"),
        "stores": lambda: elk.compile(layer, "ipu-pod4-hbm", bindings={"batch": 32}),
    }
    return plans[case]().simulate()


UNITS = ("hbm", "links", "matrix", "vector")
CASES = ("tiny", "mesh", "hidden shifts", "sharded", "pooled", "stores")


def test_utilisation_over_time_has_the_mean_of_the_whole(subtests: pytest.Subtests) -> None:
    for case, bins in itertools.product(CASES, [1, 7, 200]):
        with subtests.test(case=case, bins=bins):
            run = ran(case)
            used = run.utilisation_over_time(bins)
            assert used["time_ps"].shape == (bins + 1,)
            assert used["time_ps"][[0, -1]].tolist() == [0, run.total_ps]
            for unit in UNITS:
                assert used[unit].shape == (bins,)
                assert used[unit].mean() == pytest.approx(run.utilisation[unit], rel=1e-9)
                assert used[unit].min() >= 0
            for unit in ("hbm", "matrix", "vector"):
                assert used[unit].max() <= 1 + 1e-9


def test_a_unit_is_used_when_something_uses_it() -> None:
    run = ran("stores")
    used = run.utilisation_over_time(500)
    found = run.transfers()  # While it waits for its first byte a preload uses nothing.
    reads = list(zip(found["first_ps"].tolist(), found["end_ps"].tolist(), strict=True))
    begins, ends = used["time_ps"][:-1], used["time_ps"][1:]
    busy = [
        any(first < e and end > b for first, end in reads)
        for b, e in zip(begins, ends, strict=True)
    ]
    assert (used["hbm"] > 0).tolist() == busy
    assert 0 < sum(busy) < len(busy)


def test_impossible_parts_are_refused(subtests: pytest.Subtests) -> None:
    for bins in [0, -1, 2_000_000]:
        with (
            subtests.test(bins=bins),
            pytest.raises(elk.InvalidInputError, match=f"bins must be from 1 to .* got {bins}"),
        ):
            ran("tiny").utilisation_over_time(bins)


def test_phases_and_loads_add_up_to_what_was_moved(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            core = ran(case)._run
            moved = core.phases["received_bytes"].sum() + core.ops["loaded_bytes"].sum()
            assert moved + core.stores["moved_bytes"].sum() == core.totals.received_bytes
            assert (
                core.ops["hbm_bytes"].sum() + core.stores["hbm_bytes"].sum()
                == core.totals.hbm_bytes
            )
            worked = core.totals.matrix_s + core.totals.vector_s
            assert core.phases["core_s"].sum() == pytest.approx(worked, rel=1e-12)


def test_some_shifts_are_hidden_behind_computations() -> None:
    phases = ran("hidden shifts")._run.phases
    hidden = phases["received_bytes"][phases["core_s"] > 0]
    assert hidden.sum() > 0


def test_the_queue_is_as_long_as_executes_found_it(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            run = ran(case)
            queue, columns = run.queue(), run.columns
            order = np.argsort(columns["execute_end_ps"], kind="stable")
            reached = np.concatenate([[0], columns["execute_end_ps"][order][:-1]])
            at = np.searchsorted(queue["time_ps"], reached, "right") - 1
            assert (
                np.where(at < 0, 0, queue["length"][at]).tolist()
                == columns["queued"][order].tolist()
            )
            assert queue["length"].min() >= 0
            assert queue["length"][-1] == 0


def test_a_queue_counts_what_is_issued_and_not_over() -> None:
    assert queue_over_time([], [])["time_ps"].tolist() == []
    queue = queue_over_time([0, 0, 0, 7], [3, 7, 9, 9])
    assert queue["time_ps"].tolist() == [0, 3, 7, 9]
    assert queue["length"].tolist() == [3, 2, 2, 0]


def powered(chip: elk.Chip, **coefficients: float) -> elk.Chip:
    energy = {**dict.fromkeys(COEFFICIENTS, 0.0), **coefficients}
    return elk.Chip.from_dict({**chip.to_dict(), "energy": energy})


@lru_cache(maxsize=2)
def powered_run(pod: str) -> elk.Run:
    """Every coefficient is 1 pJ, and 1 W a chip."""
    chip = powered(tiny_pod(), **dict.fromkeys(COEFFICIENTS, 1.0))
    config = models.TransformerConfig(
        layers=1, hidden=512, heads=8, kv_heads=4, head_dim=64, ffn=1024, vocab=512
    )
    decoder = models.transformer(config, phase="decode")
    sizes = {"batch": 4, "past": 64}
    return elk.compile(decoder, chip, bindings=sizes, policy="basic", pod=pod).simulate()


def test_energy_follows_the_formula(subtests: pytest.Subtests) -> None:
    for pod, copies in [("sharded", 4), ("pooled", 1)]:
        with subtests.test(pod=pod, copies=copies):
            run = powered_run(pod)
            core, parts = run._run, run.energy_parts_j
            exchanged = int(core.phases["received_bytes"].sum())
            loaded = int(core.ops["loaded_bytes"].sum() + core.stores["moved_bytes"].sum())
            memory = int(core.ops["hbm_bytes"].sum() + core.stores["hbm_bytes"].sum())
            picojoules = {name: joules * 1e12 / copies for name, joules in parts.items()}
            assert picojoules["compute"] == pytest.approx(core.totals.flops)
            operands = core.totals.operand_bytes
            assert picojoules["sram"] == pytest.approx(operands + 2 * exchanged + loaded)
            assert picojoules["links"] >= exchanged  # One hop at least.
            assert picojoules["hbm"] == pytest.approx(memory)
            assert picojoules["between chips"] == pytest.approx(core.totals.between_bytes)
            assert core.totals.between_bytes > 0
            assert parts["static"] == pytest.approx(4 * run.latency_s)
            assert run.energy_j == sum(parts.values())


def test_the_card_says_what_energy_went_to() -> None:
    card = powered_run("sharded").summary()
    assert "between chips" in card
    assert "static" in card
    assert ran("tiny").energy_parts_j == {}
    assert ran("tiny").energy_j is None


def test_rows_say_what_bounds_an_operator() -> None:
    run = ran("stores")
    rows = run.rows()
    assert [row["execute_end_ps"] for row in rows] == run.columns["execute_end_ps"].tolist()
    assert isinstance(rows[0]["waited_ps"], int)
    for i, row in enumerate(rows):
        spent = run.stalls(i) | {"compute": (row["compute_ps"] - row["sram_contention_ps"]) / 1e12}
        assert spent[row["bound_by"]] == max(spent.values())
        whole = row["execute_end_ps"] - row["execute_begin_ps"] + row["waited_ps"]
        assert round(sum(spent.values()) * 1e12) == whole
    assert len({row["bound_by"] for row in rows}) > 1


def test_a_table_holds_the_rows() -> None:
    pytest.importorskip("pandas")
    run = ran("tiny")
    assert run.table().to_dict("records") == run.rows()


def test_a_run_is_drawn_over_time(subtests: pytest.Subtests) -> None:
    for kind in ["utilisation", "memory"]:
        with subtests.test(kind=kind):
            pytest.importorskip("matplotlib")
            run = ran("tiny")
            ax: Any = run.plot(kind)
            assert ax.get_xlabel() == "time (ms)"
            assert ax.get_xlim()[1] == pytest.approx(run.latency_s * 1e3)
            with pytest.raises(elk.InvalidInputError, match="utilisation"):
                run.plot("power")


def test_what_traces_say_of_sram_is_what_buffers_hold(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            run = ran(case)
            held, found = run.memory(), run.trace().memory()
            buffers = np.sum([held[name] for name in held if name != "time_ps"], axis=0)
            names = ("used_bytes", "arriving_bytes", "idle_bytes")
            assert (np.sum([found[name] for name in names], axis=0) == buffers).all()
            assert (found["time_ps"] == held["time_ps"]).all()
            assert (found["idle_bytes"] == 0).all()
            limits = run.trace().dependences()
            order = [limits[name] for name in ("relaxed", "conservative", "placed", "instruction")]
            assert all((a <= b).all() for a, b in itertools.pairwise(order))
