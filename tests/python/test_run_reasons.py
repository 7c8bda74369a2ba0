"""What every picosecond of a run was spent on: waits and parts add up, and none is negative."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk import models
from elk.base.readable import duration
from elk.models import TransformerConfig
from emulated_models import machine, model_of, pod
from sampling import few_then

EXCHANGES = ("distribute_ps", "gather_ps", "shift_ps", "reduce_ps")
POLICIES = ("basic", "static", "elk-dyn", "elk-full")
CHEAP = ("basic", "static", "elk-dyn")
MANY_CORES = 100_000
NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
TINY = elk.chips.get("tiny")


def without_hbm(chip: elk.Chip) -> elk.Chip:
    return elk.Chip.from_dict({key: x for key, x in chip.to_dict().items() if key != "hbm"})


def chips() -> dict[str, elk.Chip]:
    """Every kind of chip: ports and grids, one chip and several, with HBM and without."""
    small: dict[str, Any] = {"core_count": 16, "sram_bytes": "96 KiB"}
    return {
        "ports": TINY,
        "grid": TINY.replace(topology="mesh2d"),
        "torus": TINY.replace(topology="torus2d"),
        "pod": pod(bytes_per_s=1e12, latency_s=1e-10).replace(hbm_bytes_per_s=1e9),
        "one port": pod(bytes_per_s=1e12, latency_s=1e-10, port_cores=1).replace(
            hbm_bytes_per_s=1e9
        ),
        "pod of grids": pod().replace(topology="mesh2d"),
        "ports without HBM": without_hbm(TINY.replace(sram_bytes="512 KiB")),
        "grid without HBM": without_hbm(TINY.replace(sram_bytes="512 KiB", topology="mesh2d")),
        "hidden shifts": TINY.replace(**small, overlaps_compute=True),
        "hidden shifts, slow links": TINY.replace(
            **small, overlaps_compute=True, link_bytes_per_s=2e8, topology="mesh2d"
        ),
        "refresh": TINY.replace(refresh_interval_s="3.9 us", refresh_stall_s="350 ns"),
        "little memory": TINY.replace(**small),
    }


def assert_every_picosecond_has_a_reason(run: elk.Run) -> None:
    """In integers, of every operator and of the run."""
    columns = run.columns
    calls = columns["compute_ps"] - columns["sram_contention_ps"]
    exchange = sum(columns[name] for name in EXCHANGES) - columns["link_contention_ps"]
    parts = {
        "preload": columns["waited_ps"],
        "exchange": exchange,
        "link contention": columns["link_contention_ps"],
        "SRAM port": columns["sram_contention_ps"],
    }
    for reason, spent in {**parts, "calls": calls}.items():
        assert spent.min() >= 0, reason
    whole = columns["execute_end_ps"] - columns["execute_begin_ps"] + columns["waited_ps"]
    np.testing.assert_array_equal(calls + sum(parts.values()), whole)
    stalls = run.stalls()
    in_ps = {reason: round(seconds * 1e12) for reason, seconds in stalls.items()}
    assert min(in_ps.values()) >= 0
    assert sum(in_ps.values()) + int(calls.sum()) == run.total_ps
    assert {reason: in_ps[reason] for reason in parts} == {
        reason: int(spent.sum()) for reason, spent in parts.items()
    }
    for op in range(len(calls)):
        assert run.stalls(op)["store"] == 0
    assert {row["bound_by"] for row in run.rows()} <= {"compute", *parts}


def drawn(rng: random.Random) -> tuple[Any, dict[str, int]]:
    """A small model of a random kind and size."""
    kind = rng.choice(["decode", "vit", "mixtral decode", "resnet", "mlp"])
    if kind == "decode":
        config = TransformerConfig(
            layers=1, hidden=64 * rng.randint(1, 3), heads=4, kv_heads=rng.choice([1, 2, 4]),
            ffn=32 * rng.randint(1, 6), vocab=rng.randint(30, 90),
        )  # fmt: skip
        proto = models.transformer(config, phase="decode", dtype=rng.choice(["f16", "f32"]))
        return proto, {"batch": rng.randint(1, 5), "past": rng.randint(3, 40)}
    return model_of(kind)


def assert_so_it_is_of_random_models(name: str, count: int) -> None:
    rng, chip, ran = random.Random(name), chips()[name], 0
    for _ in range(4):
        proto, bindings = drawn(rng)
        policy, shared = rng.choice(CHEAP), rng.choice(["sharded", "pooled"])
        try:
            plan = elk.compile(proto, chip, bindings=bindings, policy=policy, pod=shared)
        except elk.InfeasibleError:
            continue
        for fidelity in ("core", "symmetric"):
            assert_every_picosecond_has_a_reason(plan.simulate(fidelity=fidelity))
        ran += 1
        if ran == count:
            break
    assert ran > 0


@pytest.mark.slow
@few_then([(name, 1) for name in chips()], [(name, 4) for name in chips()])
def test_every_picosecond_of_a_run_has_a_reason(
    cases: list[tuple[str, int]], subtests: pytest.Subtests
) -> None:
    for name, count in cases:
        with subtests.test(name):
            assert_so_it_is_of_random_models(name, count)


def presets(*, many: bool) -> list[tuple[str, str]]:
    """Presets of very many cores or not, each with a policy."""
    cases = zip(elk.chips.names(), itertools.cycle(POLICIES), strict=False)
    return [one for one in cases if (elk.chips.get(one[0]).total_cores > MANY_CORES) == many]


@pytest.mark.slow
@few_then(presets(many=False), presets(many=True))
def test_every_picosecond_on_every_preset_has_a_reason(
    cases: list[tuple[str, str]], subtests: pytest.Subtests
) -> None:
    for preset, policy in cases:
        with subtests.test(preset):
            run = elk.compile(NERF, preset, bindings={"rows": 48}, policy=policy).simulate()
            assert_every_picosecond_has_a_reason(run)


def test_a_run_waits_for_stores_after_its_last_execute() -> None:
    config = TransformerConfig(layers=1, hidden=64, heads=4, ffn=64, vocab=50)
    chip = TINY.replace(hbm_bytes_per_s=1e8)
    proto = models.transformer(config, phase="decode")
    run = elk.compile(proto, chip, bindings={"batch": 32, "past": 8}, policy="static").simulate()
    late_ps = run.total_ps - int(run.columns["execute_end_ps"].max())
    assert late_ps > 0
    assert run.stalls()["store"] == late_ps / 1e12
    assert run.stalls(0)["store"] == 0.0
    assert f"store {duration(late_ps / 1e12)}" in run.summary()
    assert_every_picosecond_has_a_reason(run)


def test_calls_that_add_up_are_computation() -> None:
    """Sharded weights leave partial sums on every chip, which an all-reduce adds up."""
    proto, bindings = model_of("llama")
    run = elk.compile(proto, chips()["pod"], bindings=bindings, policy="elk-dyn").simulate()
    sums = np.array([row["name"].startswith("all_reduce") for row in run.rows()])
    assert sums.any()
    assert (run.columns["compute_ps"][sums] > 0).all()
    busy = {x.op for x in run.intervals() if x.resource == "cores"}
    assert set(np.flatnonzero(sums).tolist()) <= busy
    assert_every_picosecond_has_a_reason(run)


def test_a_hidden_shift_counts_where_it_outlasts_the_calls() -> None:
    proto, bindings = model_of("vit")
    chip = machine("little memory", "vit").replace(overlaps_compute=True, link_bytes_per_s=2e8)
    run = elk.compile(proto, chip, bindings=bindings, policy="basic").simulate()
    shifts = run.columns["shift_ps"]
    assert (shifts > 0).any()
    exposed = {x.op for x in run.intervals() if x.resource == "links" and x.kind == "shift"}
    assert exposed == set(np.flatnonzero(shifts).tolist())
    assert_every_picosecond_has_a_reason(run)
