"""Plan files of which one value was changed: refused, or as good as unchanged; never a crash."""

from __future__ import annotations

import os
from pathlib import Path

import elk
import pytest
from plan_tampers import make_plans, sweep

_STEP = int(os.environ.get("ELK_TAMPER_STEP", "1201"))  # every how many-th form is read


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans")
    make_plans(path)
    return path


@pytest.mark.slow
def test_a_file_with_one_changed_value_is_refused_or_runs_as_before(folder: Path) -> None:
    counts, wrong = sweep(folder, 0, _STEP)
    assert wrong == []
    assert counts["refused, signed"] > 20
    assert counts["refused, bare"] > 20
    # Of each plan one form with its digest and one without are changed in nothing.
    plans = len(list(folder.glob("*.elkplan")))
    assert counts["same, signed"] >= plans
    assert counts["same, bare"] >= plans


def test_a_plan_of_every_kind_reads_back_equal(folder: Path, tmp_path: Path) -> None:
    for path in sorted(folder.glob("*.elkplan")):
        plan = elk.load_plan(path)
        plan.save(tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        assert elk.load_plan(tmp_path / path.name) == plan
