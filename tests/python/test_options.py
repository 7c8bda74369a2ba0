"""Options of `elk.compile` as one record, as keywords, and as both."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import elk
import onnx
import pytest
from each_case import each
from elk.plan.options import Keywords

NERF = Path(__file__).parents[2] / "models" / "nerf.onnx"
SIZES = {"rows": 64}
CHANGED: dict[str, Any] = {
    "policy": "elk-dyn",
    "effort": "fast",
    "pod": "pooled",
    "threads": 1,
    "min_core_share": 0.25,
    "max_padding": 2.0,
}


def compiled(**given: Any) -> elk.Plan:
    return elk.compile(NERF, "tiny", bindings=SIZES, **given)


def test_a_record_plans_what_keywords_plan() -> None:
    assert compiled(options=elk.Options(**CHANGED)) == compiled(**CHANGED)
    assert compiled(options=elk.Options()) == compiled()


def test_a_record_says_how_the_model_is_loaded_too() -> None:
    small = elk.Options(limits=elk.Limits(nodes=1))
    with pytest.raises(elk.LimitError, match="nodes"):
        compiled(options=small)


def test_a_record_names_an_objective_of_the_callers_own() -> None:
    most = elk.Options(objective=lambda latency_s, _energy_j, _hbm_bytes: -latency_s)
    assert compiled(options=most).policy in ("basic", "static", "elk-dyn", "elk-full")


def test_a_keyword_that_says_what_the_record_says_is_taken() -> None:
    options = elk.Options(policy="static", weights=["w*"])
    assert compiled(options=options, policy="static", weights=("w*",)).policy == "static"


@each(
    ("options", "keyword"),
    [
        (elk.Options(policy="static"), {"policy": "basic"}),
        (elk.Options(), {"policy": "basic"}),
        (elk.Options(threads=2), {"threads": None}),
        (elk.Options(max_padding=2.0), {"max_padding": 1.0}),
    ],
)
def test_a_keyword_that_says_otherwise_is_refused(
    options: elk.Options, keyword: dict[str, Any]
) -> None:
    (name,) = keyword
    with pytest.raises(elk.InvalidInputError, match=rf"{name} is .* as a keyword") as caught:
        compiled(options=options, **keyword)
    assert caught.value.place == name
    assert caught.value.remedy is not None


@each(
    ("wrong", "why"),
    [
        ({"policy": "best"}, "policy must be one of"),
        ({"effort": "some"}, "effort must be one of"),
        ({"objective": "speed"}, "objective must be one of"),
        ({"pod": "alone"}, "pod must be one of"),
        ({"threads": 0}, "threads must be an integer above 0"),
        ({"min_core_share": 2.0}, "min_core_share must be"),
        ({"max_padding": 0.5}, "max_padding must be 0 or at least 1"),
    ],
)
def test_a_wrong_value_fails_where_it_is_written(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(elk.InvalidInputError, match=why):
        elk.Options(**wrong)
    with pytest.raises(elk.InvalidInputError, match=why):
        compiled(**wrong)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(elk.InvalidInputError, match=r"options must be an elk\.Options"):
        compiled(options={"policy": "static"})


def test_a_keyword_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="fastness"):
        compiled(fastness=3)
    with pytest.raises(TypeError, match="policies"):
        elk.compare(NERF, "tiny", policy="basic")  # type: ignore[call-arg]


def test_a_record_is_frozen_and_travels() -> None:
    options = elk.Options(**CHANGED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.policy = "basic"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(options)) == options
    assert dataclasses.replace(options, policy="basic").effort == "fast"


def test_every_field_is_a_keyword() -> None:
    fields = {field.name for field in dataclasses.fields(elk.Options)}
    assert fields == Keywords.__optional_keys__


def test_compare_takes_the_record() -> None:
    options = elk.Options(effort="fast", pod="pooled", threads=1)
    policies = ("basic", "static")
    found = elk.compare(NERF, "tiny", bindings=SIZES, policies=policies, options=options)
    assert [row.policy for row in found.rows] == list(policies)
    assert found["basic"].plan == compiled(policy="basic", pod="pooled", effort="fast")


def test_the_onnx_backend_takes_the_record() -> None:
    model = onnx.load(NERF, load_external_data=False)
    prepared = elk.onnx_backend.prepare(model, bindings=SIZES, options=elk.Options(policy="static"))
    assert prepared.plan is not None
    assert prepared.plan.policy == "static"
