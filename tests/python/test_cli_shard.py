"""`elk shard`: it reads a model as the other commands do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from elk.cli import main
from onnx_graphs import model_of, node

Capture = pytest.CaptureFixture[str]


def sharded(path: Path, capsys: Capture, *words: str) -> dict[str, Any]:
    command = ["shard", str(path), "--chip", "ipu-pod4-hbm", "--json", *words]
    assert main(command) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_inputs_can_be_weights_and_state(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "product.onnx"
    nodes = [node("MatMul", "x w", "p"), node("Add", "p memory", "y")]
    sizes = {"x": [64, 256], "w": [256, 512], "memory": [64, 512]}
    path.write_bytes(model_of(nodes, sizes, ["y"]).SerializeToString())
    nothing = sharded(path, capsys)["hbm_bytes"]
    weight = sharded(path, capsys, "--weights", "w")["hbm_bytes"]
    both = sharded(path, capsys, "--weights", "w", "--state", "memory")["hbm_bytes"]
    assert nothing == 0 < weight < both


def test_a_limit_holds(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "chain.onnx"
    nodes = [node("Exp", "x", "a"), node("Exp", "a", "y")]
    path.write_bytes(model_of(nodes, {"x": [8, 8]}, ["y"]).SerializeToString())
    assert main(["shard", str(path), "--chip", "ipu-pod4-hbm", "--limit", "nodes=1"]) != 0
    assert "limit 'nodes'" in capsys.readouterr().err
