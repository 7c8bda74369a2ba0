"""Chip files: what is read, and what is refused with file, line, field and remedy."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import elk
import pytest
from each_case import each
from elk.chip.documents import read_document
from elk.chip.presets import preset_file
from hypothesis import given
from hypothesis import strategies as st

TINY = preset_file("tiny").read_text(encoding="utf-8")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, start: str) -> int:
    return 1 + next(i for i, line in enumerate(text.splitlines()) if line.startswith(start))


def refusal(path: Path) -> elk.ChipFileError:
    with pytest.raises(elk.ChipFileError) as caught:
        elk.load_chip(path)
    assert caught.value.place
    assert caught.value.remedy
    return caught.value


def tables_with_units() -> dict[str, Any]:
    return read_document(preset_file("tiny")).data


def as_yaml(tables: dict[str, Any]) -> str:
    lines = []
    for key, value in tables.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {inner}: {json.dumps(leaf)}" for inner, leaf in value.items()]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def test_toml_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    tables = tables_with_units()
    files = [
        write(tmp_path, "c.toml", TINY),
        write(tmp_path, "c.yaml", as_yaml(tables)),
        write(tmp_path, "c.YML", as_yaml(tables)),
        write(tmp_path, "c.json", json.dumps(tables, indent="\t")),
    ]
    for path in files:
        assert elk.load_chip(path) == elk.chips.get("tiny")
        assert elk.load_chip(str(path)) == elk.chips.get("tiny")


def test_defaults_may_be_left_out(tmp_path: Path) -> None:
    dropped = ("reserved", "overlaps", "native", "port_", "refresh", "chips")
    text = "\n".join(line for line in TINY.splitlines() if not line.startswith(dropped))
    assert elk.load_chip(write(tmp_path, "c.toml", text)) == elk.chips.get("tiny")


def test_dotted_keys_and_inline_tables_are_found(tmp_path: Path) -> None:
    start = TINY.index("[host]")
    text = 'host = { bytes_per_s = "16 GHz" }\n' + TINY[:start]
    error = refusal(write(tmp_path, "inline.toml", text))
    assert error.place == f"{tmp_path / 'inline.toml'}:1"
    assert error.message.startswith("host.bytes_per_s must be a bandwidth")
    text = '# a comment\nhost.bytes_per_s = "16 GHz"\n' + TINY[:start]
    assert refusal(write(tmp_path, "dotted.toml", text)).place == f"{tmp_path / 'dotted.toml'}:2"


# What is changed in tiny.toml, then the line that the error names, its field, and a remedy.
BAD_VALUES = [
    ("sram_bytes =", 'sram_byte = "64 KiB"', "core.sram_byte is not a key", "'sram_bytes'"),
    ("sram_bytes =", 'sram_bytes = "64 GB/s"', "core.sram_bytes must be a size", '"64 GB"'),
    ("sram_bytes =", "sram_bytes = 65536", "core.sram_bytes must have a unit", "KiB"),
    ("sram_bytes =", 'sram_bytes = "0 B"', "core.sram_bytes must be positive", "KiB"),
    ("sram_bytes =", 'sram_bytes = "0.3 KiB"', "whole number of bytes", "KiB"),
    ("clock_hz =", "clock_hz = nan", "core.clock_hz must have a unit", "GHz"),
    ("clock_hz =", 'clock_hz = "nan GHz"', "core.clock_hz must be a frequency", "GHz"),
    ("clock_hz =", 'clock_hz = "-1 GHz"', "core.clock_hz must be positive", "GHz"),
    ("count =", "count = 0", "core.count must be from 1", "count = 1472"),
    ("count =", "count = 64.0", "core.count must be a whole number", "as in 4"),
    ("count =", 'count = "64"', "core.count must be a whole number", "as in 4"),
    ("multicast =", 'multicast = "yes"', "interconnect.multicast must be true", "true"),
    ("topology =", 'topology = "star"', "interconnect.topology must be one of", "known are"),
    ("topology =", 'topology = "ring2d"', "interconnect.topology must be one of", "'ring'"),
    ("position =", 'position = "edges_all"', "hbm.position must be", "nodes"),
    ("channels =", "channels = 0", "hbm.channels must be from 1", "channels = 16"),
    ("latency_s =", 'latency_s = "-1 ns"', "hbm.latency_s must be from 0", "100 ns"),
    ("port_bytes_per_s =", 'port_bytes_per_s = "1 GB/s"', "must be at least", "leave"),
    ("reserved_bytes =", 'reserved_bytes = "64 KiB"', "below core.sram_bytes", "less"),
    ("name =", "name = 3", "name must be a text", "my-chip"),
    ("name =", 'name = ""', "name must be the name", "my-chip"),
    ("chips =", "chips = 2", "", ""),
    ("schema =", 'schema = "elk.chip/2"', "schema must be 'elk.chip/1'", "elk.chip/1"),
]


@each(("start", "bad", "message", "remedy"), BAD_VALUES)
def test_a_bad_line_is_named(
    tmp_path: Path, start: str, bad: str, message: str, remedy: str
) -> None:
    number = line_of(TINY, start)
    lines = TINY.splitlines()
    lines[number - 1] = bad
    error = refusal(write(tmp_path, "bad.toml", "\n".join(lines)))
    if bad == "chips = 2":  # What is missing has no line.
        assert error.message.startswith("inter_chip must be present")
        return
    assert message in error.message
    assert remedy in str(error.remedy)
    assert error.place == f"{tmp_path / 'bad.toml'}:{number}"


@each("name", ["bad.yaml", "bad.json"])
def test_yaml_and_json_lines_are_named_too(tmp_path: Path, name: str) -> None:
    tables = tables_with_units()
    tables["interconnect"]["link_bytes_per_s"] = "4 GB"
    text = as_yaml(tables) if name.endswith("yaml") else json.dumps(tables, indent=2)
    number = 1 + next(i for i, line in enumerate(text.splitlines()) if "link_bytes" in line)
    error = refusal(write(tmp_path, name, text))
    assert error.place == f"{tmp_path / name}:{number}"
    assert error.remedy == 'write "4 GB/s"'


def test_a_missing_key_names_its_table(tmp_path: Path) -> None:
    text = TINY.replace("clock_hz", "# clock_hz")
    error = refusal(write(tmp_path, "c.toml", text))
    assert error.place == f"{tmp_path / 'c.toml'}:{line_of(TINY, '[core]')}"
    assert error.message == "core.clock_hz is missing"
    assert error.remedy == 'write clock_hz = "1.33 GHz", for example'


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    text = TINY[: TINY.index("[host]")]
    error = refusal(write(tmp_path, "c.toml", text))
    assert error.message == "host is missing"
    assert error.remedy == "add a table [host]"


def test_count_and_grid_must_agree(tmp_path: Path) -> None:
    text = TINY.replace("all_to_all", "mesh2d").replace("nodes", "edges_all")
    both = text.replace("count = 64", "count = 64\ngrid = [8, 8]")
    assert elk.load_chip(write(tmp_path, "both.toml", both)).core.grid == (8, 8)
    wrong = text.replace("count = 64", "count = 64\ngrid = [8, 7]")
    error = refusal(write(tmp_path, "wrong.toml", wrong))
    assert error.message == "core.grid must be of core.count = 64 cores, got 8 x 7"
    assert error.place == f"{tmp_path / 'wrong.toml'}:{line_of(wrong, 'grid')}"
    neither = text.replace("count = 64", "")
    assert "how many cores" in refusal(write(tmp_path, "neither.toml", neither)).message


def test_all_faults_are_listed_by_line(tmp_path: Path) -> None:
    text = TINY.replace("channels = 8", "channels = 8.5").replace('"64 KiB"', '"64 Kib"')
    error = refusal(write(tmp_path, "c.toml", text))
    places = [line.split(": ")[0].strip() for line in error.message.splitlines()[1:]]
    assert places == [
        f"{tmp_path / 'c.toml'}:{line_of(TINY, start)}" for start in ("sram_bytes", "channels")
    ]
    assert error.place == places[0]


@each(
    ("name", "text", "line", "message"),
    [
        ("a.toml", 'schema = "elk.chip/1"\nname = "a"\nname = "b"\n', 3, "Cannot overwrite"),
        ("a.toml", "schema = \n", 1, "not TOML"),
        ("a.yaml", "schema: elk.chip/1\ncore:\n  count: 1\n  count: 2\n", 4, "core.count is given"),
        ("a.yaml", "core: &x\n  count: 1\nhost: *x\n", 3, "aliases"),
        ("a.yaml", "<<: {count: 1}\n", 1, "plain text"),
        ("a.yaml", "1: 2\n", 1, "plain text"),
        ("a.yaml", "a: !!python/object/apply:os.getcwd []\n", 1, "not YAML"),
        ("a.yaml", "a: [\n", 2, "not YAML"),
        ("a.yaml", "a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a.yaml", "a: 2026-13-45\n", 1, "not YAML"),
        ("a.yaml", "- 1\n", 1, "table of keys"),
        ("a.yaml", "", 1, "schema is missing"),
        ("a.json", '{"core": {"count": 1,\n "count": 2}}', 2, "core.count is given twice"),
        ("a.json", '{"a": NaN}', 1, "NaN is no number"),
        ("a.json", '{"a": 1,}', 1, "not JSON"),
        ("a.json", "[1]", 1, "table of keys"),
        ("a.json", "[" * 60_000, 1, "too deep"),
        ("a.yaml", "[" * 5_000, 1, "too deep"),
        ("a.toml", "a = " + "[" * 60_000, 1, ""),
    ],
)
def test_a_broken_file_is_refused_where_it_breaks(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    error = refusal(write(tmp_path, name, text))
    assert message in error.message
    assert error.place == f"{tmp_path / name}:{line}"


def test_binary_junk_is_no_chip(tmp_path: Path) -> None:
    path = tmp_path / "junk.toml"
    path.write_bytes(b'schema = "elk.chip/1"\n\x80\x00\xff')
    error = refusal(path)
    assert error.message == "the file is not text: byte 0x80 is no UTF-8"
    assert error.place == f"{path}:2"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    assert "64 KiB" in refusal(write(tmp_path, "c.toml", "#" * (1 << 20) + "\n")).message


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    assert "not a file" in refusal(folder).message
    assert "does not exist" in refusal(tmp_path / "none.toml").message
    assert "ends in .toml" in refusal(write(tmp_path, "c.ini", TINY)).message
    refusal(tmp_path / "zero\0byte.toml")


@given(suffix=st.sampled_from(["toml", "yaml", "json"]), junk=st.binary(max_size=200))
def test_any_bytes_are_a_chip_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"junk.{suffix}"
    path.write_bytes(junk)
    refusal(path)


@given(start=st.integers(0, len(TINY) - 1), length=st.integers(1, 40), put=st.text(max_size=5))
def test_a_damaged_chip_file_is_a_chip_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, put: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_bytes((TINY[:start] + put + TINY[start + length :]).encode("utf-8", "ignore"))
    with contextlib.suppress(elk.ChipFileError):
        assert elk.load_chip(path).core.cores > 0
