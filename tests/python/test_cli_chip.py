"""The command line: chips, doctor, exit codes, errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import elk
import pytest
from each_case import each
from elk import cli
from elk.chip.presets import preset_file
from elk.cli import chip as chip_commands

Capture = pytest.CaptureFixture[str]


def run_json(capsys: Capture, *arguments: str, code: int = 0) -> Any:
    assert cli.main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_list_names_every_preset(capsys: Capture) -> None:
    assert cli.main(["chip", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == elk.chips.names()
    assert [row["name"] for row in run_json(capsys, "chip", "list")] == elk.chips.names()


def test_show_gives_every_field(capsys: Capture) -> None:
    assert run_json(capsys, "chip", "show", "tiny") == elk.chips.get("tiny").to_dict()
    assert cli.main(["chip", "show", "ipu-pod4-hbm-mesh"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines][2:4] == [
        ["core.grid", "46 x 32                assumed"],
        ["core.sram_bytes", "624 KiB"],
    ]


def test_check_says_that_the_mesh_is_bound_by_its_edges(capsys: Capture) -> None:
    assert cli.main(["chip", "check", "ipu-pod4-hbm-mesh"]) == 0
    out = capsys.readouterr().out
    assert "bound at its edges, by injection: preloads bring 836 GB/s into a chip" in out
    assert "176 GB/s" in out
    limits = run_json(capsys, "chip", "check", "ipu-pod4-hbm-mesh")["delivery"]
    assert limits["bytes_per_s"] == 836e9
    assert limits["receive_bytes_per_s"] is None
    assert limits["bound_by"] == "injection"
    assert limits["nodes"] == 152
    assert "each of the 152 nodes" in out


def test_check_of_a_chip_without_hbm_has_no_limits(capsys: Capture) -> None:
    report = run_json(capsys, "chip", "check", "ipu-mk2")
    assert (report["name"], report["valid"], report["delivery"]) == ("ipu-mk2", True, None)
    assert report["network"] == {
        "topology": "all_to_all",
        "bisection_bytes_per_s": 736 * 5.5e9,
    }
    assert report["sram_bytes"] == 1472 * 624 * 1024
    assert report["tile_model"]["kind"] == "fitted"
    assert "core.reserved_bytes" in report["confidence"]["assumed"]


def test_diff_answers_no_where_fields_differ(capsys: Capture) -> None:
    assert cli.main(["chip", "diff", "tiny", "tiny"]) == 0
    assert capsys.readouterr().out == "no field differs\n"
    assert cli.main(["chip", "diff", "ipu-pod4-hbm", "ipu-pod4-hbm-refresh"]) == 1
    assert "390 ns" in capsys.readouterr().out
    found = run_json(capsys, "chip", "diff", "ipu-pod4-hbm", "ipu-pod4-hbm-refresh", code=1)
    assert found["differences"]["hbm.refresh_stall_s"] == [0.0, 390e-9]
    assert "hbm.refresh_stall_s" not in found["ratios"]


def test_diff_gives_the_ratio_of_numbers(capsys: Capture) -> None:
    assert cli.main(["chip", "diff", "ipu-mk2", "bow"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["core.sram_bytes_per_s", "21.3", "GB/s", "44.4", "GB/s", "2.085"] in rows
    found = run_json(capsys, "chip", "diff", "ipu-mk2", "bow", code=1)
    assert found["ratios"]["core.sram_bytes_per_s"] == pytest.approx(44.4 / 21.3)
    assert "name" not in found["ratios"]


def test_show_marks_what_is_assumed(capsys: Capture) -> None:
    assert cli.main(["chip", "show", "ipu-pod4-hbm"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["hbm.latency_s"].endswith("assumed")
    assert rows["hbm.capacity_bytes"].endswith("low confidence")
    assert rows["hbm.modules"].split() == ["hbm.modules", "4"]
    marks = run_json(capsys, "chip", "show", "ipu-pod4-hbm")["confidence"]
    assert marks["low"] == ["hbm.capacity_bytes"]


@each("suffix", ["toml", "yaml"])
def test_show_prints_a_chip_file(suffix: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine.json"
    elk.chips.get("ipu-pod4-hbm").replace(name="mine").save(path)
    assert cli.main(["chip", "show", str(path), f"--{suffix}"]) == 0
    copy = tmp_path / f"copy.{suffix}"
    copy.write_text(capsys.readouterr().out, encoding="utf-8")
    assert elk.load_chip(copy) == elk.load_chip(path)
    assert elk.load_chip(copy).confidence == elk.load_chip(path).confidence


def test_show_of_a_preset_keeps_its_sources(capsys: Capture) -> None:
    assert cli.main(["chip", "show", "wse2", "--toml"]) == 0
    assert capsys.readouterr().out == preset_file("wse2").read_text(encoding="utf-8")


def test_a_bad_chip_file_is_a_user_error(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "bad.toml"
    text = preset_file("tiny").read_text(encoding="utf-8").replace('"1 GHz"', '"1 ns"')
    path.write_text(text, encoding="utf-8")
    assert cli.main(["chip", "check", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["code"] == "chip_file"
    assert error["exit_code"] == 2
    assert error["place"].startswith(f"{path}:")
    assert err.startswith("error: core.clock_hz must be a frequency")
    assert "Traceback" not in err


@each(
    "arguments",
    [
        ["bogus"],
        ["chip"],
        ["chip", "show"],
        ["chip", "show", "tinny"],
        ["chip", "list", "--no"],
        ["chip", "show", "tiny", "--toml", "--yaml"],
    ],
)
def test_a_wrong_command_line_is_a_user_error(arguments: list[str], capsys: Capture) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "remedy: " in err


def test_no_command_shows_the_help(capsys: Capture) -> None:
    assert cli.main([]) == 0
    assert "doctor" in capsys.readouterr().out


def test_the_version_is_that_of_the_core(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"{elk.__version__}\n"


@each(
    ("error", "code"),
    [
        (elk.InfeasibleError("does not fit"), 1),
        (elk.InvalidInputError("wrong"), 2),
        (FileNotFoundError(2, "No such file", "gone"), 2),
        (elk.InternalError("bug"), 3),
        (KeyError("bug"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(_name: str) -> elk.Chip:
        raise error

    monkeypatch.setattr(chip_commands, "_find", fail)
    assert cli.main(["chip", "show", "tiny", "--json"]) == code
    out, err = capsys.readouterr()
    if code != 130:
        assert json.loads(out)["error"]["exit_code"] == code
        assert "error: " in err


def test_doctor_reports_on_everything_it_needs(capsys: Capture) -> None:
    code = cli.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] == (code == 0)
    assert {"python", "core", "chips", "tile models", "onnx"} <= {
        check["name"] for check in report["checks"]
    }
    assert all(check["ok"] for check in report["checks"] if check["name"] != "tile models")


def test_doctor_says_what_does_not_load(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail() -> list[str]:
        raise elk.ChipFileError("no presets")

    monkeypatch.setattr("elk.chip.presets.names", fail)
    assert cli.main(["doctor"]) == 1
    assert "BAD  chips" in capsys.readouterr().out


def test_importing_elk_and_asking_for_help_load_nothing_large() -> None:
    script = (
        "import sys, elk, elk.cli\n"
        "elk.cli.main(['--help'])\n"
        "large = {'onnx', 'pydantic', 'numpy', 'yaml', 'elk._core'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(large)) or 0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert ended.returncode == 0
