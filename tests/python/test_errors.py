"""Errors: what they carry, and how those of the core arrive."""

from __future__ import annotations

import elk
import pytest
from elk import _core, errors


def test_an_error_says_place_message_and_remedy() -> None:
    error = elk.ChipFileError("count must be 1", place="a.toml:3", remedy="write 1")
    assert str(error) == "a.toml:3: count must be 1\n  remedy: write 1"
    assert str(elk.ElkError("no")) == "no"
    assert error.to_dict() == {
        "code": "chip_file",
        "message": "count must be 1",
        "place": "a.toml:3",
        "remedy": "write 1",
    }


def test_what_the_caller_can_fix_is_a_value_error() -> None:
    for kind in (
        elk.ChipFileError,
        elk.ModelFileError,
        elk.PlanFileError,
        elk.UnboundSymbolsError,
        elk.UnsupportedModelError,
    ):
        assert issubclass(kind, elk.InvalidInputError)
        assert issubclass(kind, ValueError)
    assert not issubclass(elk.InfeasibleError, ValueError)
    assert not issubclass(elk.InternalError, ValueError)


def test_every_kind_of_error_has_a_code_of_its_own() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, elk.ElkError)
    ]
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_an_error_of_the_core_is_ours() -> None:
    core = elk.chips.get("ipu-mk2").to_core()
    with pytest.raises(elk.InvalidInputError) as caught:
        _core.delivery(core)
    assert caught.value.code == "invalid_chip"
    assert caught.value.message == "hbm must be present to read from it: chip ipu-mk2 has none"


def test_public_names_are_listed_and_no_others_exist() -> None:
    assert set(elk.__all__) <= set(dir(elk))
    with pytest.raises(AttributeError, match="no attribute 'chip_s'"):
        elk.chip_s  # noqa: B018 reading it is the test
