"""What crosses the border of a process, or is copied, is there what it was here."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import multiprocessing
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from each_case import each
from elk import models
from elk.document import withheld
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from onnx_graphs import model_of, node
from other_process import answers, answers_of_run, content, planned
from small_chips import tiny_pod
from small_models import CONFIGS, RETENTION


def _pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda one: pickle.loads(pickle.dumps(one, protocol=protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"protocol {n}": _pickled(n) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")
CHIPS: dict[str, Callable[[], elk.Chip]] = {
    "all to all": lambda: elk.chips.get("tiny"),
    "grid": lambda: elk.chips.get("tiny").replace(topology="mesh2d"),
    "pod": tiny_pod,
    "no HBM": lambda: elk.chips.get("tiny").replace(hbm=None, sram_bytes="1 MiB"),
}

# Each example compiles: to shrink one that fails would take minutes.
compiling = settings(max_examples=5, phases=[Phase.generate])
ways = each("way", WAYS)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """A process that shares nothing with this one."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        yield pool


@st.composite
def small_models(draw: st.DrawFn) -> elk.Model:
    """Decoders of every kind in both phases, retentive, convolutional and fully connected ones."""
    kind = draw(st.sampled_from(("transformer", "retention", "mlp", "resnet")))
    phase = draw(st.sampled_from(("decode", "prefill")))
    if kind == "transformer":
        config = CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))]
        proto = models.transformer(config, phase=phase)
    elif kind == "retention":
        proto = models.retention(RETENTION, phase=phase)
    elif kind == "mlp":
        width, layers, out = (draw(st.integers(1, most)) for most in (48, 6, 9))
        proto = models.mlp(models.MlpConfig(width=width, hidden_layers=layers, out=out))
    else:
        sizes = {"widths": (8, 16), "depths": (1, draw(st.integers(1, 2))), "image": 32}
        folded = draw(st.booleans())
        proto = models.resnet(models.ResNetConfig(**sizes, classes=10, folded=folded))  # type: ignore[arg-type]
    return elk.load_model(
        proto, bindings={name: draw(st.integers(1, 9)) for name in models.symbols(proto)}
    )


def same_graph(one: elk.Model, other: elk.Model) -> bool:
    return one.table() == other.table() and pickle.dumps(one.graph) == pickle.dumps(other.graph)


@settings(max_examples=20)
@given(model=small_models(), way=st.sampled_from(sorted(WAYS)))
def test_a_copy_of_a_model_is_the_model(model: elk.Model, way: str) -> None:
    twin = WAYS[way](model)
    assert same_graph(twin, model)
    assert (twin.name, twin.onnx_sha256, twin.facts) == (model.name, model.onnx_sha256, model.facts)
    assert dict(twin.bindings) == dict(model.bindings)
    assert twin.proto == model.proto
    assert twin.constants.keys() == model.constants.keys()
    for name, array in model.constants.items():
        np.testing.assert_array_equal(twin.constants[name], array)
        assert twin.constants[name].dtype == array.dtype
    assert [x.name for x in twin.outputs] == [x.name for x in model.outputs]
    assert twin.kept is not model.kept


def differing(found: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """The answers that are not alike."""
    return [name for name in {**found, **right} if found.get(name) != right.get(name)]


CHOSEN: dict[str, st.SearchStrategy[Any]] = {
    "model": small_models(),
    "chip": st.sampled_from(sorted(CHIPS)),
    "policy": st.sampled_from(POLICIES),
    "pod": st.sampled_from(("sharded", "pooled")),
    "simulated": st.booleans(),
}


@pytest.mark.slow
@compiling
@given(asked=st.fixed_dictionaries(CHOSEN), way=st.sampled_from(sorted(WAYS)))
def test_plans_and_runs_say_the_same_wherever_they_are_made_or_brought(
    elsewhere: ProcessPoolExecutor, asked: dict[str, Any], way: str
) -> None:
    asked |= {"chip": CHIPS[asked["chip"]]()}
    made = elsewhere.submit(planned, **asked).result()
    plan = planned(**asked)
    assert made == plan
    twin, again = WAYS[way](plan), WAYS[way](WAYS[way](plan))
    right = answers(copy.copy(plan))
    for found in (made, twin):
        assert differing(answers(found), right) == []
    for sent in (plan, again):
        assert differing(elsewhere.submit(answers, sent).result(), right) == []
    if asked["policy"] == "ideal":  # A plan of the ideal cannot run.
        return
    run = plan.simulate()
    right = answers_of_run(run)
    assert differing(answers_of_run(WAYS[way](run)), right) == []
    assert differing(elsewhere.submit(answers_of_run, run).result(), right) == []


def small_plan() -> elk.Plan:
    nerf = Path(__file__).parents[2] / "models" / "nerf.onnx"
    return elk.compile(nerf, "tiny", bindings={"rows": 64}, policy="basic")


@ways
def test_a_plan_from_a_file_is_carried_as_well(way: str, tmp_path: Path) -> None:
    plan = small_plan()
    plan.simulate()
    plan.save(tmp_path / "plan.elkplan")
    stored = elk.load_plan(tmp_path / "plan.elkplan")
    assert answers(WAYS[way](stored)) == answers(stored)


@ways
def test_a_bound_that_is_withheld_stays_so(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan()
    monkeypatch.setattr(withheld, "strict", False)
    with pytest.warns(elk.BoundWarning):
        plan._content.hold_against(plan.bounds.lower_bound_s / 2)
    twin = WAYS[way](plan)
    assert twin.bounds == plan.bounds
    assert twin.bounds.withheld
    assert content(twin) == content(plan)


@ways
def test_a_copy_of_a_comparison_and_of_a_sharding(way: str) -> None:
    model = elk.load_model(
        models.mlp(models.MlpConfig(width=32, hidden_layers=3, out=5)), bindings={"rows": 8}
    )
    table = elk.compare(model, "tiny", policies=("basic", "static"))
    twin = WAYS[way](table)
    assert (twin.to_dict(), twin.text) == (table.to_dict(), table.text)
    assert [answers(row.plan) for row in twin.rows] == [answers(row.plan) for row in table.rows]
    sharding = elk.shard(model, tiny_pod())
    assert WAYS[way](sharding) == sharding


@ways
def test_a_copy_of_limits(way: str) -> None:
    limits = elk.Limits(nodes=20, rank=3)
    assert WAYS[way](limits) == limits


def test_a_plan_that_arrives_is_held_to_the_rules_of_files() -> None:
    plan, (content,) = small_plan().__reduce__()
    again, (data, run, left) = content.__reduce__()

    def arrived(data: bytes, run: Any) -> elk.Plan:
        return plan(again(data, run, left))

    document = json.loads(gzip.decompress(data))
    assert arrived(data, run).latency_s == document["predicted"]["total_s"]
    document["predicted"]["total_s"] /= 2
    with pytest.raises(elk.PlanFileError, match="digest") as caught:
        _ = arrived(gzip.compress(json.dumps(document).encode()), run).latency_s
    assert caught.value.place == "the pickled plan"
    del document["digest"]
    with pytest.raises(elk.PlanFileError, match="total_s"):
        _ = arrived(gzip.compress(json.dumps(document).encode()), run).latency_s
    for broken in (b"", data[:40], b"no plan"):
        with pytest.raises(elk.PlanFileError, match="damaged"):
            _ = arrived(broken, run).latency_s


@each("lost", ["phases", "totals"])
def test_a_run_of_another_version_is_refused(lost: str) -> None:
    arrived, (kind, parts, *more) = small_plan().simulate().__reduce__()
    with pytest.raises(elk.InvalidInputError, match="another version of ELK"):
        arrived(kind, {name: part for name, part in parts.items() if name != lost}, *more)
    with pytest.raises(elk.InvalidInputError, match="another version of ELK"):
        arrived(kind, {**parts, "totals": {}}, *more)


@each("name", elk.chips.names())
@ways
def test_a_copy_of_a_chip_is_the_chip(way: str, name: str) -> None:
    chip = elk.chips.get(name)
    twin = WAYS[way](chip)
    assert (twin, type(twin)) == (chip, elk.Chip)
    assert twin.model_dump() == chip.model_dump()
    for told in ("streaming", "published", "confidence"):  # No part of what is equal.
        assert getattr(twin, told) == getattr(chip, told)


def test_a_chip_that_crosses_is_checked_as_any_other() -> None:
    forged = pickle.dumps(elk.chips.get("tiny"), protocol=2).replace(b"all_to_all", b"all_to_one")
    with pytest.raises(elk.InvalidInputError, match=r"interconnect\.topology"):
        pickle.loads(forged)


def test_ops_that_differ_in_nothing_but_numbers_stay_two() -> None:
    proto = model_of(
        [
            node("LayerNormalization", "x scale", "y", epsilon=1e-3),
            node("LayerNormalization", "y scale", "z", epsilon=1e-5),
            node("LayerNormalization", "z scale", "out", epsilon=1e-3),
        ],
        {"x": (4, 8)},
        ["out"],
        {"scale": np.ones(8, dtype=np.float32)},
    )
    model = elk.load_model(proto)
    found = [list(op.scalars) for op in pickle.loads(pickle.dumps(model)).graph.ops]
    assert found == [list(op.scalars) for op in model.graph.ops]
    assert found[0] != found[1]


def heavy(elements: int) -> elk.Model:
    """A product with a weight that lies in the file."""
    weight = np.random.default_rng(0).standard_normal((8, elements // 8), dtype=np.float32)
    return elk.load_model(
        model_of([node("MatMul", "x w", "y")], {"x": (1, 8)}, ["y"], {"w": weight})
    )


@ways
def test_a_copy_can_be_emulated(way: str) -> None:
    model = heavy(64)
    fed = {"x": np.arange(8, dtype=np.float32).reshape(1, 8)}
    here, there = (
        elk.compile(one, "tiny", policy="basic").emulate(fed) for one in (model, WAYS[way](model))
    )
    np.testing.assert_array_equal(here["y"], there["y"])


def test_large_weights_do_not_cross() -> None:
    model = heavy(3 << 20)
    assert len(pickle.dumps(model)) < 20_000
    assert copy.deepcopy(model).proto == model.proto
    twin = pickle.loads(pickle.dumps(model))
    chip = elk.chips.get("ipu-mk2")
    plan = elk.compile(twin, chip, policy="basic")
    assert content(plan) == content(elk.compile(model, chip, policy="basic"))
    with pytest.raises(elk.InvalidInputError, match="elements of its weights") as caught:
        plan.emulate({"x": np.ones((1, 8), dtype=np.float32)})
    assert caught.value.code == "emulate_input"


def test_a_large_model_is_small_when_it_crosses() -> None:
    model = elk.load_model(
        Path(__file__).parents[2] / "models" / "llama2-13b-decode.onnx",
        bindings={"batch": 32, "past": 2048},
    )
    assert len(pickle.dumps(model)) < 300_000


def kinds_of_errors() -> list[type[Exception]]:
    """Every class of errors and warnings that ELK defines, wherever."""
    for module in pkgutil.walk_packages(elk.__path__, "elk."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: list[type[Exception]] = [elk.ElkError, elk.BoundWarning]
    for kind in found:
        found += [child for child in kind.__subclasses__() if child not in found]
    return found


@each("kind", kinds_of_errors())
@ways
def test_a_copy_of_an_error_says_all_of_it(
    elsewhere: ProcessPoolExecutor, way: str, kind: type[Exception]
) -> None:
    told = {"code": "mine", "place": "a.toml:3", "remedy": "write 1"}
    for given_ in ({}, told) if issubclass(kind, elk.ElkError) else ({},):
        error = kind("count must be 1", **given_)
        error.add_note("point 17")
        for twin in (WAYS[way](error), elsewhere.submit(copy.copy, error).result()):
            assert type(twin) is kind
            assert (str(twin), twin.args) == (str(error), error.args)
            assert vars(twin) == vars(error)
            if isinstance(error, elk.ElkError) and isinstance(twin, elk.ElkError):
                assert twin.to_dict() == error.to_dict()


@ways
def test_a_copy_of_an_error_keeps_what_was_raised(elsewhere: ProcessPoolExecutor, way: str) -> None:
    with pytest.raises(elk.InvalidInputError) as several:
        elk.chips.get("tiny").replace(core_count=0, hop_latency_s=-1, clock_hz="fast")
    model = elk.load_model(
        models.mlp(models.MlpConfig(width=4096, hidden_layers=2, out=1)), bindings={"rows": 8}
    )
    with pytest.raises(elk.InfeasibleError) as infeasible:
        elk.compile(model, elk.chips.get("tiny").replace(hbm=None))
    raised: tuple[elk.ElkError, ...] = (several.value, infeasible.value)
    for error in raised:
        for twin in (WAYS[way](error), elsewhere.submit(copy.copy, error).result()):
            assert (type(twin), str(twin)) == (type(error), str(error))
            assert twin.to_dict() == error.to_dict()
            assert vars(twin) == vars(error)
