"""The examples in the docstrings of plans run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import elk
import pytest

ROOT = Path(__file__).parents[2]


MODULES = (
    "elk.analyze.columns",
    "elk.analyze.load",
    "elk.analyze.machine",
    "elk.analyze.program_trace",
    "elk.analyze.trace",
    "elk.onnx_backend",
    "elk.plan.comparison",
    "elk.plan.options",
    "elk.plan.plan",
    "elk.plan.planning",
    "elk.plan.what_if",
    "elk.document.operands",
    "elk.run.measured",
    "elk.run.run",
    "elk.base.readable",
    "elk.base.choices",
    "elk.cli.reading",
)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    plan = elk.compile("models/nerf.onnx", "tiny", bindings={"rows": 64})
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for name in MODULES:
        module = importlib.import_module(name)
        run = plan.simulate()
        names = {**vars(module), "elk": elk, "plan": plan, "run": run, "trace": run.trace()}
        found = doctest.DocTestFinder().find(module, globs=names)
        assert any(example.examples for example in found), name
        for example in found:
            runner.run(example, out=report.append)
    assert not report, "".join(report)
