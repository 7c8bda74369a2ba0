"""The registry of policies, and who reads it."""

from __future__ import annotations

import json
from pathlib import Path

import elk
import pytest
from elk.base.policies import BUILT_UP, POLICIES
from elk.cli import main
from small_chips import bare

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_elk_plans.md").read_text(encoding="utf-8")


def test_the_page_has_what_the_command_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    assert f"```\n{capsys.readouterr().out}```\n" in PAGE
    assert main(["policies", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == list(POLICIES)
    assert all(one["colour"].startswith("#") and one["summary"] for one in listed.values())


def test_every_policy_makes_a_plan_of_its_name() -> None:
    model = elk.load_model(
        Path(__file__).parents[2] / "models" / "nerf.onnx", bindings={"rows": 64}
    )
    plans = {
        name: elk.compile(model, bare("64 KiB") if name == "vgm" else "tiny", policy=name)
        for name in POLICIES
    }
    assert {name: plan.policy for name, plan in plans.items()} == {name: name for name in POLICIES}
    latencies = [plans[name].simulate().total_ps for name in BUILT_UP]
    assert latencies == sorted(latencies, reverse=True)
