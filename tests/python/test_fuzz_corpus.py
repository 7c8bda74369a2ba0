"""The inputs that fuzzing starts from, and those that it found."""

from __future__ import annotations

from pathlib import Path

from each_case import each
from fuzz_targets import CORPUS, changed_plan, read_chip, read_model, read_plan

_MODELS = sorted((CORPUS / "model").iterdir())
_CHIPS = sorted((CORPUS / "chip").iterdir())
_PLANS = sorted((CORPUS / "plan").iterdir())


def test_there_is_a_corpus() -> None:
    assert len(_MODELS) >= 20
    assert len(_CHIPS) >= 5
    assert len(_PLANS) >= 6


@each("path", _MODELS)
def test_a_model_that_fuzzing_starts_from_or_found_is_answered(path: Path) -> None:
    read_model(path.read_bytes())


@each("path", _CHIPS)
def test_a_chip_file_that_fuzzing_starts_from_or_found_is_answered(path: Path) -> None:
    read_chip(path.read_bytes())


@each("path", _PLANS)
def test_a_plan_file_that_fuzzing_starts_from_or_found_is_answered(path: Path) -> None:
    read_plan(path.read_bytes())


@each("path", _PLANS)
def test_what_becomes_of_a_plan_file_that_fuzzing_changes_is_answered(path: Path) -> None:
    for seed in range(20):
        data = changed_plan(path.read_bytes(), seed)
        if data is not None:
            read_plan(data)
