"""What compiles of a model leave for the next: it saves work and changes nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import elk
import pytest
from elk import _core, models
from elk.model.kept import Kept
from small_chips import tiny_pod

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")


def decoder() -> elk.Model:
    config = models.TransformerConfig(
        layers=2, hidden=256, heads=4, kv_heads=2, head_dim=64, ffn=512, vocab=512
    )
    graph = models.transformer(config, phase="decode")
    return elk.load_model(graph, bindings={"batch": 4, "past": 64})


def nerf() -> elk.Model:
    return elk.load_model(NERF, bindings={"rows": 256})


def mesh() -> elk.Chip:
    return elk.chips.get("tiny").replace(topology="mesh2d")


def torus() -> elk.Chip:
    return elk.chips.get("tiny").replace(topology="torus2d")


def mesh_pod() -> elk.Chip:
    return tiny_pod(2, topology="mesh2d")


def without_hbm() -> elk.Chip:
    return elk.chips.get("ipu-mk2").replace(core_count=64)


def at_rate(chip: elk.Chip, times: float) -> elk.Chip:
    """The chip with so many times its HBM bandwidth."""
    assert chip.hbm is not None
    return chip.replace(hbm_bandwidth=chip.hbm.bytes_per_s * chip.chips * times)


def content(plan: elk.Plan) -> str:
    """All of a plan but how long it took to find, and its run where it can run."""
    if plan.policy != "ideal":
        plan.simulate(fidelity="symmetric")
    document = plan.to_json()
    del document["search"]["seconds"]
    return json.dumps(document)


CASES: dict[str, tuple[Callable[[], elk.Model], Callable[[], elk.Chip]]] = {
    "one chip": (nerf, lambda: elk.chips.get("tiny")),
    "mesh": (nerf, mesh),
    "sharded": (decoder, tiny_pod),
    "torus": (nerf, torus),
    "no HBM": (nerf, without_hbm),
    "sharded mesh": (decoder, mesh_pod),
}


def points(chip: elk.Chip, draw: random.Random, count: int) -> Iterator[elk.Chip]:
    """Chips with other rates of links and HBM, each rate now and then the one before."""
    link, times = chip.interconnect.link_bytes_per_s, 1.0
    for _ in range(count):
        if draw.random() < 0.7:
            link = chip.interconnect.link_bytes_per_s * 4 ** draw.uniform(-1, 1)
        if draw.random() < 0.7:
            times = 4 ** draw.uniform(-1, 1)
        other = chip.replace(link_bytes_per_s=link)
        yield other if chip.hbm is None else at_rate(other, times)


def expect_as_afresh(
    load: Callable[[], elk.Model],
    chip: elk.Chip,
    draw: random.Random,
    count: int,
    policies: int = len(POLICIES),
) -> None:
    """Compiles `count` points with one model, policies in any order, and holds each afresh."""
    model = load()
    for other in points(chip, draw, count):
        for policy in draw.sample(POLICIES, policies):
            again = elk.compile(model, other, policy=policy, effort="fast")
            afresh = elk.compile(load(), other, policy=policy, effort="fast")
            assert content(again) == content(afresh), (policy, other.to_dict())


@pytest.mark.slow
def test_policies_in_any_order_are_as_afresh(subtests: pytest.Subtests) -> None:
    for case in ("mesh", "sharded", "no HBM"):
        load, machine = CASES[case]
        with subtests.test(case=case):
            expect_as_afresh(load, machine(), random.Random(case), 2, policies=2)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_points_of_a_sweep_are_as_afresh(case: str) -> None:
    load, machine = CASES[case]
    for seed in range(5):
        expect_as_afresh(load, machine(), random.Random(f"{case} {seed}"), 3)


def llama_layers() -> elk.Model:
    config = models.TransformerConfig(
        layers=2, hidden=5120, heads=40, kv_heads=40, head_dim=128, ffn=13824, vocab=32000
    )
    graph = models.transformer(config, phase="decode")
    return elk.load_model(graph, bindings={"batch": 32, "past": 2048})


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("chip", ["ipu-pod4-hbm", "ipu-pod4-hbm-mesh-wide"])
def test_points_of_two_layers_of_a_llama_are_as_afresh(chip: str) -> None:
    expect_as_afresh(llama_layers, elk.chips.get(chip), random.Random(chip), 2)


def test_a_policy_after_one_above_it_searches_no_more() -> None:
    chip, model = tiny_pod(), decoder()
    found_of_asked(model, chip, "elk-full")
    for policy in POLICIES:
        reuse = found_of_asked(model, chip, policy)
        for kept in ("passes", "fronts", "rates", "executes", "bounds"):
            found, asked = reuse[kept]
            assert found == asked, (policy, kept)


def test_a_second_compile_sees_what_else_changed(subtests: pytest.Subtests) -> None:
    for change in [{"sram_bytes": "48 KiB"}, {"link_bytes_per_s": "2 GB/s"}]:
        with subtests.test(change=change):
            chip, model = elk.chips.get("tiny"), nerf()
            elk.compile(model, chip, policy="static")
            other = chip.replace(**change)
            again = elk.compile(model, other, policy="static", min_core_share=0.5)
            afresh = elk.compile(nerf(), other, policy="static", min_core_share=0.5)
            assert content(again) == content(afresh)


def found_of_asked(model: elk.Model, chip: elk.Chip, policy: str) -> dict[str, tuple[int, int]]:
    """How many entries a compile finds, of how many that it asks for."""
    before = model.kept.reuse()
    elk.compile(model, chip, policy=policy)
    after = model.kept.reuse()
    return {k: (after[k][0] - before[k][0], after[k][1] - before[k][1]) for k in after}


GRIDS = ("gathers", "preloads")  # are counted link by link there


def test_another_bandwidth_leaves_what_does_not_depend_on_it() -> None:
    chip, model = tiny_pod(), decoder()
    first = found_of_asked(model, chip, "elk-dyn")
    assert all(asked > 0 for kept, (_, asked) in first.items() if kept not in GRIDS)
    assert first["bounds"][0] == 0
    second = found_of_asked(model, at_rate(chip, 1.25), "elk-dyn")
    found, asked = second["fronts"]
    assert 0 < found == asked
    assert second["rates"] == (0, 0)  # no front is searched
    found, asked = second["executes"]
    assert 0 < found == asked
    found, asked = second["handovers"]
    assert found > asked / 2
    found, asked = second["executions"]
    assert found > asked / 2
    found, asked = second["bounds"]
    assert 0 < found <= asked
    assert asked - found <= 1  # the fastest sharding is another at this rate


def test_another_policy_finds_every_front() -> None:
    chip, model = tiny_pod(), decoder()
    found_of_asked(model, chip, "basic")
    for policy in ("ideal", "elk-full"):
        second = found_of_asked(model, chip, policy)
        for kept in ("passes", "executes"):
            found, asked = second[kept]
            assert 0 < found == asked
        assert second["fronts"] == second["rates"] == (0, 0)


def test_threads_share_what_is_kept() -> None:
    chip, model = tiny_pod(), decoder()
    chips = [at_rate(chip, times) for times in (0.5, 1.0, 2.0, 4.0)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        plans = list(pool.map(lambda one: elk.compile(model, one, policy="static"), chips))
    for plan, one in zip(plans, chips, strict=True):
        assert content(plan) == content(elk.compile(decoder(), one, policy="static"))


def test_nothing_is_kept_under_a_function() -> None:
    model = nerf()
    elk.compile(model, "tiny", policy="basic", tile_model=lambda *_: 100.0)
    assert all(counts == (0, 0) for counts in model.kept.reuse().values())


def test_few_tile_models_are_kept() -> None:
    kept = Kept()
    tiles = [_core.TileModel.asking([], lambda *_: 1.0) for _ in range(5)]
    first = kept.of(tiles[0])
    assert kept.of(tiles[0]) is first
    for one in tiles[1:]:
        kept.of(one)
    assert kept.of(tiles[0]) is not first


def test_a_run_on_every_core_sees_other_modules_of_the_hbm(subtests: pytest.Subtests) -> None:
    for chip, modules in ((elk.chips.get("tiny"), (1, 4)), (mesh(), (4, 1))):
        with subtests.test(modules=modules):
            first, second = (chip.replace(modules=count) for count in modules)
            model = nerf()
            elk.compile(model, first, policy="static").simulate(fidelity="core")
            again, afresh = (elk.compile(one, second, policy="static") for one in (model, nerf()))
            runs = [plan.simulate(fidelity="core") for plan in (again, afresh)]
            assert runs[0].document() == runs[1].document()
            assert runs[0].utilisation == runs[1].utilisation
