"""What cores are told to do is what the simulator times, at the addresses that the plan gives."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import elk
import pytest
from each_case import each
from elk import _core
from elk.document.listing import CoreInstruction, Listing
from elk.document.program_file import load_program
from elk.errors import InvalidInputError, PlanFileError
from emulated_models import POLICIES, machine, model_of, product


@cache
def plan_of(model: str, chip: str, policy: str = "basic") -> elk.Plan:
    proto, bindings = model_of(model)
    return elk.compile(proto, machine(chip, model), bindings=bindings, policy=policy)


def listings(plan: elk.Plan) -> list[Listing]:
    chips = 1 if plan.pod == "sharded" else plan.chip.chips
    document = plan.to_json()
    core = document["chip"]["core"]
    cores = chips * (core["count"] if "count" in core else core["grid"][0] * core["grid"][1])
    return [plan.listing(core=core) for core in range(cores)]


# An exchange: the execute that it is part of, what kind, which step or round, which operand.
Key = tuple[int, str, int, str]


def exchanges(lists: Iterable[Listing], loaded: set[tuple[int, str]]) -> dict[Key, dict[int, Any]]:
    """For each exchange what every core receives and sends. `loaded`: preloaded operands of ops."""
    found: dict[Key, dict[int, Any]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for listing in lists:
        for one in listing:
            if one.action not in {"distribute_data", "shift", "reduce"}:
                continue
            tensor = one.areas[0].tensor if one.areas else ""
            kind = one.action
            if kind == "distribute_data":  # All operands of a gather move at once.
                kind = "distribute" if (one.op, tensor) in loaded else "gather"
            key = (one.op, kind, one.number, tensor if kind == "shift" else "")
            found[key][listing.core][0] += one.received_bytes
            found[key][listing.core][1] += one.sent_bytes
    return found


def preloads(lists: Iterable[Listing]) -> dict[int, dict[int, int]]:
    """Bytes that every core receives from the HBM, by op."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for listing in lists:
        for one in listing:
            if one.action == "preload_async":
                found[one.op][listing.core] += one.bytes
    return found


def phases(listing: Listing, op: int, loaded: set[tuple[int, str]]) -> list[str]:
    """What an execute does, one kind after another; calls copy what shifts and add up."""
    kinds: list[str] = []
    for one in listing:
        if one.op != op or one.action in {"allocate", "preload_async", "store_async"}:
            continue
        kind = one.action
        if kind == "distribute_data":
            kind = "distribute" if (op, one.areas[0].tensor) in loaded else "gather"
        for part in (kind, "compute") if kind in {"shift", "reduce"} else (kind,):
            if not kinds or kinds[-1] != part:
                kinds.append(part)
    return kinds


CASES = [
    ("vit", "little memory", "basic"),
    ("gpt", "mesh", "basic"),
    ("mixtral", "little memory", "basic"),
    ("llama", "no multicast", "elk-full"),
    ("llama", "pod", "basic"),
    ("encoder", "close pod", "basic"),
    ("resnet", "little memory", "elk-full"),
]
OTHERS = [
    *[(model, chip, "basic") for model in ("llama decode", "vit", "gpt", "mixtral")
      for chip in ("tiny", "little memory", "mesh")],
    *[("llama", "tiny", policy) for policy in POLICIES],
    ("resnet", "tiny", "basic"),
    ("resnet", "mesh", "basic"),
]  # fmt: skip
pytestmark = pytest.mark.xdist_group("listing")  # One process makes the plans.


@pytest.mark.slow
@pytest.mark.timeout(120)
@each(("model", "chip", "policy"), CASES)
def test_lists_move_the_bytes_that_the_simulator_times(model: str, chip: str, policy: str) -> None:
    lists_move_the_bytes(model, chip, policy)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(300)
@each(("model", "chip", "policy"), [case for case in OTHERS if case not in CASES])
def test_more_lists_move_the_bytes_that_the_simulator_times(
    model: str, chip: str, policy: str
) -> None:
    lists_move_the_bytes(model, chip, policy)


def lists_move_the_bytes(model: str, chip: str, policy: str) -> None:
    plan = plan_of(model, chip, policy)
    run = plan._content.source.simulate(None, _core.Fidelity.Core)
    lists = listings(plan)
    loads = preloads(lists)
    loaded = {
        (one.op, one.areas[0].tensor)
        for listing in lists
        for one in listing
        if one.action == "preload_async"
    }
    moved = exchanges(lists, loaded)
    totals = {"received": 0, "loaded": 0}
    for op in range(len(plan.op_names)):
        of_op = {key: cores for key, cores in moved.items() if key[0] == op}
        sums = {"received": 0, "exchange": 0, "distribute": 0}
        for (_, kind, _, _), cores in of_op.items():
            busiest = max(max(both) for both in cores.values())
            totals["received"] += sum(received for received, _ in cores.values())
            if kind == "distribute":
                sums["distribute"] += busiest
            else:
                sums["exchange"] += busiest
                sums["received"] += max(received for received, _ in cores.values())
        got = {name: int(run.ops[f"{name}_bytes"][op]) for name in sums}
        assert got == sums, plan.op_names[op]
        assert int(run.ops["link_bytes"][op]) == max(loads[op].values(), default=0)
        totals["loaded"] += sum(loads[op].values())
    stored = sum(one.bytes for listing in lists for one in listing if one.action == "store_async")
    assert run.totals.loaded_bytes == totals["loaded"] + stored
    assert run.totals.received_bytes == totals["received"] + totals["loaded"] + stored


@pytest.mark.slow
@pytest.mark.timeout(120)
@each(("model", "chip"), [("vit", "little memory"), ("gpt", "mesh")])
def test_an_execute_goes_through_the_phases_of_the_simulator(model: str, chip: str) -> None:
    plan = plan_of(model, chip)
    run = plan._content.source.simulate(None, _core.Fidelity.Core)
    names = {kind: kind.name.lower() for kind in _core.PhaseKind}
    lists = listings(plan)
    loaded = {
        (x.op, x.areas[0].tensor) for one in lists for x in one if x.action == "preload_async"
    }
    turned = 0
    for op in range(len(plan.op_names)):
        wanted = [
            names[_core.PhaseKind(kind)]
            for kind, of in zip(run.phases["kind"], run.phases["op"], strict=True)
            if of == op
        ]
        longest = max((phases(listing, op, loaded) for listing in lists), key=len)
        assert longest == wanted, plan.op_names[op]
        turned += "shift" in wanted
    assert chip != "little memory" or turned > 0


@pytest.mark.slow
@each("chip", ["little memory", "pod"])
def test_every_address_lies_in_a_buffer_that_is_allocated(chip: str) -> None:
    plan = plan_of("llama decode", chip, "elk-full")
    core = plan.to_json()["chip"]["core"]
    for number in (0, 7, 15):
        live: dict[int, CoreInstruction] = {}
        for one in plan.listing(core=number):
            if one.action == "allocate":
                ((begin, size),) = one.areas[0].places
                assert core["reserved_bytes"] <= begin
                assert begin + size <= core["sram_bytes"]
                live = {at: x for at, x in live.items() if x.until >= one.at}
                others = [x.areas[0].places[0] for x in live.values()]
                assert all(begin + size <= a or a + b <= begin for a, b in others)
                live[begin] = one
                continue
            for area in one.areas:
                for begin, size in area.places:
                    assert live[begin].bytes == size
                    assert live[begin].until >= one.at


@pytest.mark.slow
@each("chip", ["little memory", "no multicast"])
def test_what_one_core_sends_another_receives(chip: str) -> None:
    plan = plan_of("gpt", chip)
    sent: dict[Any, int] = defaultdict(int)
    received: dict[Any, int] = defaultdict(int)
    for listing in listings(plan):
        for one in listing:
            key = (one.op, one.action, one.number, one.areas[0].tensor if one.areas else "")
            for parcel in one.sent:
                for other in parcel.cores:
                    sent[*key, listing.core, other] += parcel.bytes
            for parcel in one.received:
                for other in parcel.cores:
                    received[*key, other, listing.core] += parcel.bytes
    assert sent
    assert sent == received


def test_a_product_computes_every_product_once() -> None:
    plan = elk.compile(product(), machine("little memory"))
    computed = set()
    for listing in listings(plan):
        for one in listing:
            for m, n, k in (tuple(range(b, e) for b, e in task) for task in one.sub_tasks):
                for point in ((x, y, z) for x in m for y in n for z in k):
                    assert point not in computed
                    computed.add(point)
    assert len(computed) == 12 * 8 * 20


def test_a_listing_reads_as_text() -> None:
    plan = elk.compile(product(), "tiny", policy="basic")
    listing = plan.listing(core=0, op=0)
    text = str(listing)
    assert text.splitlines()[0] == "core 0"
    for word in ("allocate", "preload_async", "distribute_data", "compute"):
        assert f"  {word} " in text
    assert "m[0:" in text
    assert len(text.splitlines()) == len(listing) + 2
    assert plan.listing(core=0, op=plan.op_names[0]) == listing
    assert listing[0].action == "allocate"
    assert listing._repr_html_().startswith("<pre>core 0\n; op 0 ")
    assert repr(listing) == f"<Listing of core 0: {len(listing)} instructions>"


def test_a_core_that_is_not_there_and_a_forecast_have_no_listing() -> None:
    plan = elk.compile(product(), "tiny")
    with pytest.raises(InvalidInputError, match="core must be from 0 to 63, got 64"):
        plan.listing(core=64)
    with pytest.raises(InvalidInputError, match="no operator is called"):
        plan.listing(op="nothing")
    ideal = elk.compile(product(), "tiny", policy="ideal")
    with pytest.raises(InvalidInputError, match="a forecast: it places no buffers"):
        ideal.listing()


def test_a_plan_from_a_file_has_the_same_listing(tmp_path: Path) -> None:
    plan = elk.compile(product(), "tiny")
    plan.save(tmp_path / "p.elkplan")
    assert elk.load_plan(tmp_path / "p.elkplan").listing(core=5) == plan.listing(core=5)


@each("chip", ["little memory", "pod"])
def test_a_program_file_holds_the_lists_of_all_cores(chip: str, tmp_path: Path) -> None:
    plan = elk.compile(product(), machine(chip))
    path = tmp_path / "p.elkprogram"
    plan.export_program(path)
    program = load_program(path)
    assert [program.listing(core) for core in range(program.cores)] == listings(plan)
    assert str(program.listing(3)) == str(plan.listing(core=3))
    first = path.read_bytes()
    plan.export_program(path)
    assert path.read_bytes() == first


def test_a_damaged_program_file_is_refused(tmp_path: Path) -> None:
    plan = elk.compile(product(), "tiny")
    path = tmp_path / "p.elkprogram"
    with pytest.raises(PlanFileError, match="the program cannot be read"):
        load_program(path)
    plan.export_program(path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    header = {**json.loads(lines[0]), "schema": "elk.program/9"}
    path.write_bytes(gzip.compress(json.dumps(header).encode()))
    with pytest.raises(PlanFileError, match="schema is 'elk"):
        load_program(path)
    path.write_bytes(b"nothing")
    with pytest.raises(PlanFileError, match="the file is no program"):
        load_program(path)
