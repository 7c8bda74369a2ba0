"""`elk compile`: its output, its files, its exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import elk
import pytest
from each_case import each
from elk.cli import main
from elk.cli.reading import parse_bindings

NERF = str(Path(__file__).parents[2] / "models" / "nerf.onnx")
GOOD = ["compile", NERF, "--chip", "tiny", "--bind", "rows=64"]


def test_the_command_prints_the_card_and_saves_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / "nerf.elkplan", tmp_path / "nerf.json"
    assert main([*GOOD, "-o", str(path), "--plan-json", str(text)]) == 0
    shown = capsys.readouterr().out
    plan = elk.load_plan(path)
    assert plan.summary() in shown
    assert json.loads(gzip.decompress(path.read_bytes()))["schema"] == "elk.plan/1"
    assert elk.load_plan(text) == plan


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GOOD, "--policy", "static", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["policy"] == "static"
    assert facts["latency_s"] > 0
    assert facts["bounds"]["lower_bound_s"] <= facts["latency_s"]


@each(
    ("arguments", "code", "message"),
    [
        ([*GOOD, "--policy", "best"], 2, "policy must be one of"),
        ([*GOOD, "--policy", "vgm"], 2, "without HBM"),
        ([*GOOD, "--pod", "shared"], 2, "pod must be one of"),
        (["compile", NERF, "--chip", "tiny"], 2, "rows"),
        (["compile", NERF, "--chip", "tinny", "--bind", "rows=64"], 2, "tiny"),
        (["compile", "absent.onnx", "--chip", "tiny"], 2, "absent.onnx"),
        (["compile", NERF], 2, "--chip"),
        ([*GOOD[:-1], "rows"], 2, "--bind must be NAME=SIZE"),
        ([*GOOD, "--bind", "rows=32"], 2, "twice"),
        ([*GOOD[:-1], "rows=100000000"], 1, "bytes"),
    ],
)
def test_a_failure_has_its_exit_code_and_says_why(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert message in capsys.readouterr().err


def test_bindings_are_read_from_words() -> None:
    assert parse_bindings(["batch=32", "past=2048"]) == {"batch": 32, "past": 2048}
