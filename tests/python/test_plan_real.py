"""Plans of published models at their real sizes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import elk
import pytest
from elk.cli import main
from sampling import few_then

ROOT = Path(__file__).parents[2]
DECODE = {"batch": 32, "past": 2048}
MODELS = {
    "llama2-13b-decode.onnx": DECODE,
    "llama2-70b-decode.onnx": DECODE,
    "gemma2-27b-decode.onnx": DECODE,
    "opt-30b-decode.onnx": DECODE,
    "bert-large.onnx": {"batch": 8, "seq": 512},
    "resnet50.onnx": {"batch": 8},
    "dit-xl-2.onnx": {"batch": 8},
    "mixtral-8x7b-2layers-decode.onnx": DECODE,
    "retnet-1.3b-layer.onnx": {"batch": 8},
    "vit-base-16.onnx": {"batch": 8},
    "whisper-tiny-encoder.onnx": {"batch": 1},
}

FEW = ("mixtral-8x7b-2layers-decode.onnx", "retnet-1.3b-layer.onnx", "whisper-tiny-encoder.onnx")
ALL_POLICIES = ("basic", "static", "elk-dyn", "elk-full", "ideal")

pytestmark = pytest.mark.slow


def checker() -> Any:
    spec = importlib.util.spec_from_file_location("check_plan", ROOT / "tests/oracle/check_plan.py")
    assert spec is not None
    assert spec.loader is not None
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    return oracle


@few_then(FEW, MODELS)
def test_a_plan_of_a_real_model_breaks_no_rule(cases: list[str], subtests: pytest.Subtests) -> None:
    for file in cases:
        with subtests.test(file=file):
            model = elk.load_model(ROOT / "models" / file, bindings=MODELS[file])
            times = []
            # One model shows how policies compare: elk-full considers all schedules anyway.
            for policy in ALL_POLICIES if file == "llama2-13b-decode.onnx" else ALL_POLICIES[-2:]:
                plan = elk.compile(model, "ipu-pod4-hbm", policy=policy)
                document = plan.to_json()
                check = checker().Check(document)
                check.run()
                assert check.bad == [], policy
                assert len(plan._repr_html_()) <= 200_000
                assert len(plan.explain(0)._repr_html_()) <= 200_000
                times.append(plan.latency_s)
            assert times[:-1] == sorted(times[:-1], reverse=True)


def test_the_checker_runs_as_a_program_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    model = str(ROOT / "models" / "nerf.onnx")
    command = ["compile", model, "--chip", "tiny", "--bind", "rows=64", "--plan-json", str(path)]
    assert main(command) == 0
    checker = [sys.executable, str(ROOT / "tests/oracle/check_plan.py"), str(path)]
    done = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
