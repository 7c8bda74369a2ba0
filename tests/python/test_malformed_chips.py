"""Chip files that are wrong: each is read, or refused with file, line, field, rule and remedy."""

from __future__ import annotations

from pathlib import Path

import malformed_worker
import pytest
from each_case import each
from malformed_chips import cases
from malformed_worker import Outcome, outcomes, problem

_TIMES_UNDER_LOAD = 4  # CPU time on a busy machine with two threads a core.

pytestmark = pytest.mark.xdist_group("malformed_chips")  # One process makes the corpus.


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What became of each malformed chip file, by its name."""
    scratch = tmp_path_factory.mktemp("chips")
    names, files = [], []
    for number, (name, file_name, data) in enumerate(cases()):
        names.append(name)
        files.append(scratch / str(number) / file_name)
        files[-1].parent.mkdir()
        files[-1].write_bytes(data)
    assert len(set(names)) == len(names)
    cpu_s = malformed_worker.CPU_SECONDS * _TIMES_UNDER_LOAD
    found = outcomes("chip", files, scratch, cpu_s=cpu_s)
    return dict(zip(names, found, strict=True))


@pytest.mark.slow
def test_every_malformed_chip_file_is_read_or_refused_with_code_place_rule_and_remedy(
    corpus: dict[str, Outcome],
) -> None:
    problems = {name: found for name, o in corpus.items() if (found := problem(o))}
    assert not problems, "\n".join(f"{name}: {text}" for name, text in problems.items())
    assert len(corpus) >= 500


@pytest.mark.slow
def test_every_refusal_names_the_file(corpus: dict[str, Outcome]) -> None:
    refused = [outcome.error for outcome in corpus.values() if outcome.kind == "refused"]
    assert all(Path(error["place"].partition(":")[0]).name.startswith("c") for error in refused)


_SAID = {
    "missing_core_sram_bytes": "core.sram_bytes is missing",
    "misspelt_hbm_channels": "did you mean 'channels'?",
    "upper_hbm_modules": "did you mean 'modules'?",
    "twice__name": "this is not TOML",
    "value_hbm_bytes_per_s_3": "must be a bandwidth in",
    "cores_1000000000": "core.count must be from 1 to 16777216, got 1000000000",
    "disconnected_2": "inter_chip must be present",
    "yaml_alias": "YAML aliases are not read",
    "yaml_twice": "name is given twice",
    "yaml_tag_python": "could not determine a constructor",
    "encoding_utf-16_c.toml": "is no UTF-8",
    "toml_schema_2": "schema must be 'elk.chip/1'",
}


@pytest.mark.slow
@each("name", list(_SAID))
def test_a_refusal_says_what_is_wrong(corpus: dict[str, Outcome], name: str) -> None:
    error = corpus[name].error
    assert _SAID[name] in f"{error.get('message')} {error.get('remedy')}", corpus[name]
