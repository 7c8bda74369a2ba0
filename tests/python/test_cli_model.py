"""`elk model`: what it prints, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from each_case import each
from elk.cli import main
from onnx_graphs import model_of, node

MODELS = Path(__file__).parents[2] / "models"
LLAMA = ["model", str(MODELS / "llama2-13b-decode.onnx"), "--bind", "batch=32"]
Capture = pytest.CaptureFixture[str]


def test_the_command_prints_what_a_model_consists_of(capsys: Capture) -> None:
    assert main([*LLAMA, "--bind", "past=2048"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "1,813: 1,250 elementwise, 361 matmul",
        "26,031,728,640 bytes outside the file (13,015,864,320 elements)",
        "53,687,091,200 bytes, 26,214,400 written back",
        "40 x 45 ops from op 3 on",
        "200 Transpose, 160 Reshape",
        "2 Range",
    ):
        assert part in shown


def test_the_command_prints_json(capsys: Capture) -> None:
    path = str(MODELS / "nerf.onnx")
    assert main(["model", path, "--bind", "rows=64", "--ops", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["onnx_sha256"].startswith("ad259ac04bf1")
    assert document["bindings"] == {"rows": 64}
    assert document["ops_by_kind"] == {"matmul": 7, "elementwise": 6}
    assert document["bytes_by_home"]["weight"] == 49_536
    assert document["repeat"] == {"begin": 1, "period": 2, "count": 5}
    assert document["ops"][0].startswith("node_linear = MatMul")


def test_the_command_prints_every_op(capsys: Capture) -> None:
    assert main(["model", str(MODELS / "nerf.onnx"), "--bind", "rows=64", "--ops"]) == 0
    assert "    reads head.weight f16[3, 64] weight at [n, k]" in capsys.readouterr().out


def test_symbols_without_a_number_are_listed(capsys: Capture) -> None:
    assert main(["model", str(MODELS / "llama2-13b-decode.onnx")]) == 2
    error = capsys.readouterr().err
    assert "dimensions without a number: batch, past" in error
    assert "code: unbound_symbols" in error


def test_nodes_that_cannot_be_planned_are_listed(tmp_path: Path, capsys: Capture) -> None:
    nodes = [node("NonZero", "x", "y"), node("Unique", "x", "z")]
    path = tmp_path / "odd.onnx"
    onnx.save(model_of(nodes, {"x": [3, 3]}, ["y", "z"]), path)
    assert main(["model", str(path), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "unsupported_model"
    assert "2 nodes cannot be planned" in error["message"]
    assert "NonZero 'NonZero_y' (f32[3, 3])" in error["message"]
    assert "Unique 'Unique_z' (f32[3, 3])" in error["message"]


def test_a_limit_is_changed_by_its_name(capsys: Capture) -> None:
    nerf = ["model", str(MODELS / "nerf.onnx"), "--bind", "rows=8", "--json"]
    assert main([*nerf, "--limit", "nodes=13"]) == 0
    capsys.readouterr()
    assert main([*nerf, "--limit", "nodes=12"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "limit"
    assert "limit 'nodes'" in error["message"]


@each("word", ["node=3", "nodes", "nodes=x", "nodes=-1", "=1"])
def test_a_wrong_limit_names_the_right_ones(capsys: Capture, word: str) -> None:
    assert main(["model", str(MODELS / "nerf.onnx"), "--limit", word]) == 2
    shown = capsys.readouterr().err
    assert "--limit must be NAME=N" in shown
    assert "nodes" in shown
