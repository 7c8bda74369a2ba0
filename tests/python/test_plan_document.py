"""Cards, explanations, pictures and files of a plan, on a document written by hand."""

from __future__ import annotations

import copy
import functools
import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import elk
import pytest
from elk.base.choices import one_of
from elk.base.readable import amount, duration, rate, share
from elk.document.compiled import preload_numbers
from elk.document.file import StoredPlan
from elk.plan.content import Content
from elk.plan.plan import Plan

_EVIL = "<script>alert('&')</script>"


def _op(i: int, name: str, *, front: int, choice: int, preload: bool) -> dict[str, Any]:
    operands = [
        ("x", "read", "input" if i == 0 else "activation"),
        ("w", "read", "weight"),
        ("y", "write", "activation" if i == 0 else "output"),
    ]
    return {
        "id": i,
        "name": name,
        "kind": "matmul",
        "onnx_type": "MatMul",
        "function": "matmul",
        "params": [],
        "compute": "f16",
        "flops": 2 * 64**3,
        "scalars": [],
        "constants": [],
        "borrowed": i == 1,
        "axes": [
            {"name": a, "size": 64, "role": "reduction" if a == "k" else "parallel", "tile": a}
            for a in ("m", "n", "k")
        ],
        "operands": [
            {
                "tensor": f"{tensor}{i}",
                "access": access,
                "home": home,
                "dtype": "f16",
                "shape": [64, 64],
                "bytes": 8192,
                "dims": [["m"], ["k"]],
                "input": -1,
            }
            for tensor, access, home in operands
        ],
        "split": None,
        "execute": {
            "factors": {"m": 8, "n": 8, "k": 1},
            "temporal": {},
            "pace": {},
            "cores": 64,
            "steps": 1,
            "order": ["m", "n"],
            "acc": "f16",
            "space_bytes": 2176,
            "space_by_tensor": {f"x{i}": 1024, f"w{i}": 1024, f"y{i}": 128},
            "compute_s": 3e-6,
            "exchange_bytes": 1024,
            "distribute_s": 1e-6,
            "shift_s": 0.0,
            "reduce_s": 0.0,
            "time_s": 4e-6,
            "extrapolated": 0.5,
        },
        "preload": {
            "divisor": {f"w{i}": 2},
            "space_bytes": 512,
            "hbm_bytes": 8192,
            "link_bytes": 512,
            "time_s": 1e-6,
            "distribute_bytes": 512,
            "distribute_s": 1e-6,
        }
        if preload
        else None,
        "front": front,
        "choice": choice,
    }


def _front() -> dict[str, Any]:
    return {
        "axes": ["m", "n", "k"],
        "complete": 216,
        "filtered": 100,
        "pareto": 3,
        "fastest": 0,
        "smallest_bytes": 1024,
        "factors": [[8, 8, 1], [4, 8, 1], [2, 2, 2]],
        "steps": [1, 1, 2],
        "cores": [64, 32, 8],
        "space_bytes": [57000, 2176, 1024],
        "time_s": [2e-6, 4e-6, 9e-6],
        "compute_s": [1e-6, 3e-6, 8e-6],
        "exchange_bytes": [1024, 1024, 2048],
        "hbm_bytes": [8192, 8192, 8192],
    }


def _buffer(op: int, tensor: str, role: str, offset: int, size: int, span: tuple[int, int]) -> Any:
    begin, end = span
    where = {"op": op, "tensor": tensor, "role": role, "offset": offset, "bytes": size}
    return {**where, "from": begin, "to": end}


def _document() -> dict[str, Any]:
    return {
        "schema": "elk.plan/1",
        "elk_version": elk.__version__,
        "policy": "elk-full",
        "origin": "elk-dyn",
        "pod": "pooled",
        "model": {"name": "two", "onnx_sha256": "0" * 64, "bindings": {"b": 1}, "op_count": 2},
        "chip": elk.chips.get("tiny").to_dict(),
        "ops": [
            _op(0, "first", front=0, choice=1, preload=True),
            _op(1, _EVIL, front=0, choice=1, preload=True),
        ],
        "preload_order": [0, 1],
        "preload_number": [1, 0],
        "program": [["preload_async", 0], ["preload_async", 1], ["execute", 0], ["execute", 1]],
        "buffers": [
            _buffer(0, "w0", "preload", 0, 512, (0, 2)),
            _buffer(0, "y0", "activation", 512, 20480, (2, 3)),
            _buffer(1, "w1", "preload", 20992, 512, (1, 3)),
        ],
        "predicted": {
            "total_s": 14e-6,
            "ops": [
                {"id": 0, "preload": [0.0, 2e-6], "execute": [2e-6, 8e-6]},
                {"id": 1, "preload": [2e-6, 4e-6], "execute": [8e-6, 14e-6]},
            ],
            "stores": [],
        },
        "simulated": None,
        "bounds": {
            "ideal_s": 7e-6,
            "lower_bound_s": 3.5e-6,
            "hbm_s": 1e-6,
            "execute_s": 3e-6,
            "link_s": 2e-6,
        },
        "raw_s": 15e-6,
        "host_s": 1e-6,
        "search": {
            "plans_complete": 216,
            "plans_filtered": 100,
            "plans_pareto": 3,
            "orders_tried": 1,
        },
        "stores": [],
        "outputs": ["y1"],
        "repeat": None,
        "fronts": [_front()],
    }


def _plan(document: dict[str, Any]) -> Plan:
    return Plan(Content(StoredPlan(json.dumps(document))))


@pytest.fixture
def plan() -> Plan:
    return _plan(_document())


def test_the_card_says_how_near_to_ideal_and_bound_the_plan_is(plan: Plan) -> None:
    text = plan.summary()
    assert "latency     14.000 µs" in text
    assert "of ideal    50.0 % (ideal 7.000 µs / latency)" in text
    assert "of bound    25.0 % (lower bound, by sampled tile rates, 3.500 µs / latency)" in text
    assert "execution: HBM 1.000 µs, execution 3.000 µs, links 2.000 µs" in text


def test_the_card_says_whose_schedule_it_is(plan: Plan) -> None:
    text = plan.summary()
    assert "elk-dyn's, which is no slower (elk-full alone: 15.000 µs)" in text
    assert "no other order of preloads is valid here" in text


def test_the_card_says_how_far_tile_times_can_be_trusted(plan: Plan) -> None:
    assert "50.0 % extrapolated (2 x first), 50.0 % borrowed" in plan.summary()
    assert any("compute is extrapolated" in reason for reason in plan.explain(0).reasons)


def test_the_card_names_no_op_where_all_tiles_lie_in_the_fitted_range() -> None:
    document = _document()
    for row in document["ops"]:
        row["execute"]["extrapolated"] = 0.0
    plan = _plan(document)
    assert "0.0 % extrapolated, 50.0 % borrowed" in plan.summary()
    assert not any("extrapolated" in reason for reason in plan.explain(0).reasons)


def test_the_card_groups_equal_operators(plan: Plan) -> None:
    assert "2 x  first" in plan.summary()


def test_the_html_card_escapes_names() -> None:
    document = _document()
    document["model"]["name"] = _EVIL
    document["ops"][0]["name"] = _EVIL
    page = _plan(document)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_html_card_stays_small_whatever_names_are_long() -> None:
    document = _document()
    document["model"]["name"] = "m" * 1_000_000
    document["ops"][0]["name"] = "o" * 1_000_000
    document["ops"][0]["preload"]["divisor"] = {"t" * 1_000_000: 2}
    assert len(_plan(document)._repr_html_()) < 20_000
    assert len(_plan(document).explain(0)._repr_html_()) < 20_000


def test_an_explanation_says_what_held_the_fastest_plan_back(plan: Plan) -> None:
    explanation = plan.explain("first")
    assert explanation.chosen.rank == 2
    assert explanation.plans_complete == 216
    assert "Rank 2 of 3" in explanation.text
    assert "SRAM binds, only 35.0 KiB are free" in explanation.text
    assert "w0 1/2" in explanation.text
    assert "Bound by compute" in explanation.text


def test_an_explanation_says_that_what_is_read_lies_there_already() -> None:
    document = _document()
    document["fronts"][0]["pareto"] = 1
    document["fronts"][0]["space_bytes"][0] = 4096
    document["ops"][0]["execute"]["time_s"] = 1e-6
    text = _plan(document).explain(0).text
    assert "added by the search to suit how a neighbour's tensors lie" in text
    assert "lies already where it needs it: 1.000 µs in place" in text


def test_an_explanation_marks_the_chosen_plan_in_its_table(plan: Plan) -> None:
    marked = [line for line in plan.explain(0).text.splitlines() if line.startswith("->")]
    assert len(marked) == 1
    assert "m/4 n/8" in marked[0]


def test_the_html_of_an_explanation_escapes_names(plan: Plan) -> None:
    assert "<script>" not in plan.explain(1)._repr_html_()


def test_an_unknown_operator_is_refused_with_the_nearest(plan: Plan) -> None:
    with pytest.raises(elk.InvalidInputError, match="did you mean 'first'"):
        plan.explain("firs")
    with pytest.raises(elk.InvalidInputError, match="from 0 to 1, got 2"):
        plan.explain(2)


def test_pictures_are_drawn(plan: Plan) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the backend comes first

    memory = plan.plot_memory()
    assert memory.get_ylabel() == "SRAM of one core (KiB)"
    front = plan.explain(0).plot()
    assert front.get_title() == "first: 216 plans, 100 filtered, 3 Pareto"
    memory.figure.canvas.draw()
    front.figure.canvas.draw()
    plt.close("all")


def test_a_forecast_without_buffers_has_no_memory_picture() -> None:
    document = _document()
    document.update(policy="ideal", buffers=[])
    with pytest.raises(elk.InvalidInputError, match="places no buffers"):
        _plan(document).plot_memory()


def test_a_saved_plan_reads_back_equal(tmp_path: Path) -> None:
    plan = _compiled()
    plan.save(tmp_path / "a.elkplan")
    loaded = elk.load_plan(tmp_path / "a.elkplan")
    assert loaded == plan
    assert hash(loaded) == hash(plan)
    written = plan.to_json()
    written["search"].pop("seconds")
    assert loaded.to_json() == written
    assert loaded.summary() == plan.summary()


def test_seconds_of_the_search_are_no_content(tmp_path: Path) -> None:
    slow = _document()
    slow["search"]["seconds"] = 12.5
    assert _plan(slow) == _plan(_document())
    _plan(slow).save(tmp_path / "slow.elkplan")
    _plan(_document()).save(tmp_path / "fast.elkplan")
    assert (tmp_path / "slow.elkplan").read_bytes() == (tmp_path / "fast.elkplan").read_bytes()


def test_plans_that_differ_are_not_equal(plan: Plan) -> None:
    other = _document()
    other["buffers"][0]["offset"] = 8
    assert _plan(other) != plan
    assert plan != "plan"


def test_a_document_belongs_to_its_caller(plan: Plan) -> None:
    plan.to_json()["model"]["name"] = "changed"
    assert plan.to_json()["model"]["name"] == "two"


@functools.cache
def _compiled() -> Plan:
    model = Path(__file__).parents[2] / "models" / "nerf.onnx"
    return elk.compile(model, "tiny", bindings={"rows": 8}, policy="basic")


def _broken(change: Any) -> bytes:
    document = copy.deepcopy(_compiled().to_json())
    change(document)
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def test_a_damaged_plan_file_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for data, message in [
        (b"", "damaged"),
        (b"not a plan", "damaged"),
        (_broken(dict.copy)[:-40], "damaged"),
        (_broken(lambda d: d.update(schema="elk.plan/2")), "schema must be 'elk.plan/1'"),
        (gzip.compress(b"{}", mtime=0), "schema must be 'elk.plan/1'"),
        (gzip.compress(b"[]", mtime=0), "damaged"),
        (b'{"schema": "elk.plan/1", "raw_s": 1e999}', "finite numbers only, got 1e999"),
        (b'{"schema": "elk.plan/1", "schema": "elk.plan/1"}', "schema: the key is given twice"),
        (b'{"bounds": {"ideal_s": 1, "ideal_s": 1}}', "ideal_s: the key is given twice"),
        (b'{"new": [' + b"{}," * (1 << 20), "new: a key that schema elk.plan/1 does not know"),
        (b'{"ops": [' + b"{}," * (1 << 20), "ops.0.id: Field required"),
        (_broken(lambda d: d.update(digest="0" * 64)), "digest: the file says '000.*was changed"),
        (_broken(lambda d: d.update(raw_s="1")), "raw_s: Input should be a valid number, got '1'"),
        (gzip.compress(b'{"schema": NaN}', mtime=0), "finite numbers"),
        (gzip.compress(b"[" * 100_000, mtime=0), "damaged"),
        (_broken(lambda d: d.pop("bounds")), "bounds: Field required"),
        (_broken(lambda d: d["ops"][0].update(front=7)), "ops.0.front must be below 4, got 7"),
        (_broken(lambda d: d["ops"][0].update(choice=99)), "ops.0.choice must be below"),
        (_broken(lambda d: d["fronts"][0]["steps"].pop()), "fronts.0.steps must be as long as"),
        (
            _broken(lambda d: d["fronts"][0]["factors"][0].pop()),
            r"fronts\.0\.factors\.0 must be as many as axes, 3, got 2",
        ),
        (
            _broken(lambda d: d["buffers"][0].update(op=3)),
            r"buffers\.0\.tensor must be one of linear_1, relu_1, got 'x'",
        ),
        (
            _broken(lambda d: d["chip"]["core"].update(tile_model="ipu-mk3")),
            r"chip\.core\.tile_model must be one of .* or a function, got 'ipu-mk3'",
        ),
        (_broken(lambda d: d["ops"][1].update(id=5)), "ops.1.id must be 1: ops count from 0"),
        (_broken(lambda d: d["buffers"][0].update(to=99)), "buffer 0 lives from"),
        (_broken(lambda d: d["program"].append(["jump", 0])), "program.20 must be an instr"),
        (_broken(lambda d: d["program"].append(["execute", 99])), "program.20.1 must be one of"),
        (_broken(lambda d: d["chip"]["core"].update(sram_bytes=-1)), "chip"),
        (_broken(lambda d: d["chip"]["core"].update(count=1)), "uses more than the 1 cores"),
        (_broken(lambda d: d["ops"][0]["execute"]["factors"].update(m=2007)), "factor 2007"),
    ]:
        with subtests.test(data=data, message=message):
            path = tmp_path / "bad.elkplan"
            path.write_bytes(data)
            with pytest.raises(elk.PlanFileError, match=message) as raised:
                elk.load_plan(path)
            assert raised.value.place == str(path)


def test_a_missing_plan_file_is_a_plan_file_error(tmp_path: Path) -> None:
    with pytest.raises(elk.PlanFileError, match="cannot be read"):
        elk.load_plan(tmp_path / "absent.elkplan")


def test_a_plan_that_cannot_be_written_says_so(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(elk.PlanFileError, match="cannot be written"):
        plan.save(tmp_path / "absent" / "a.elkplan")


def test_preload_numbers_count_preloads_of_later_ops() -> None:
    program = [["preload_async", 0], ["preload_async", 2], ["execute", 0], ["execute", 1]]
    program += [["preload_async", 4], ["execute", 2], ["execute", 3], ["execute", 4]]
    assert preload_numbers(program, 5) == [1, 1, 1, 1, 0]


def test_a_wrong_word_lists_the_right_ones_nearest_first() -> None:
    with pytest.raises(elk.InvalidInputError, match="one of 'static', 'basic', got 'sttic'"):
        one_of("policy", "sttic", ("basic", "static"))


def test_a_word_that_comes_later_says_what_to_use_instead() -> None:
    with pytest.raises(elk.InvalidInputError, match="not there yet") as raised:
        one_of("pod", "sharded", ("pooled",), later={"sharded": "soon"})
    assert raised.value.remedy == "use pooled"


def test_numbers_read_well() -> None:
    assert duration(0.0) == "0 s"
    assert duration(1.63e-3) == "1.630 ms"
    assert amount(612 * 1024) == "612.0 KiB"
    assert amount(12) == "12 B"
    assert rate(16e12) == "16.00 TB/s"
    assert share(1, 0) == "-"


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(elk.PlanFileError, match="it is no regular file"):
            elk.load_plan(path)
    bomb = tmp_path / "bomb.elkplan"
    bomb.write_bytes(gzip.compress(bytes(1 << 24)))
    tracemalloc.start()
    with pytest.raises(
        elk.PlanFileError, match=r"at most 1,048,576 \(limit 'plan_bytes'\)"
    ) as raised:
        elk.load_plan(bomb, limits=elk.Limits(plan_bytes=1 << 20))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 23
    assert raised.value.code == "limit"
    assert "plan_bytes" in str(raised.value.remedy)


def test_a_plan_file_may_be_written_anew_by_another_tool(tmp_path: Path) -> None:
    plan, path = _compiled(), tmp_path / "pretty.json"
    plan.save(tmp_path / "p.elkplan")
    document = json.loads(gzip.decompress((tmp_path / "p.elkplan").read_bytes()))
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    assert elk.load_plan(path) == plan
    del document["digest"]
    document["key_of_a_later_version"] = {"a": [1, 2.5, {"b": None}]}
    path.write_text(json.dumps(document), encoding="utf-8")
    loaded = elk.load_plan(path)
    assert loaded.latency_s == plan.latency_s
    assert loaded.to_json()["key_of_a_later_version"] == {"a": [1, 2.5, {"b": None}]}
