"""docs/sweeps.md: its tables are what the code says, its code and its file run."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import elk
import pytest
from elk.sweeps.spec import RunTable, Sample, Spec, load_sweep

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code of the page that runs without a cluster."""
    here, _, clusters = PAGE.partition("\n## Clusters\n")
    assert clusters
    return re.findall(rf"^```{language}\n(.*?)^```$", here, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").symlink_to(ROOT / "models")
    return tmp_path


@pytest.mark.nightly
def test_tables_are_what_their_command_prints() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "tables" / "sweep_tables.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for table in done.stdout.strip().split("\n\n"):
        assert f"\n\n{table}\n\n" in PAGE


def test_the_file_of_the_page_is_a_sweep(folder: Path) -> None:
    (file,) = blocks("toml")
    path = folder / "bandwidth.toml"
    path.write_text(file)
    call = load_sweep(path).call
    assert call["space"].size() == 12
    assert call["where"][0]({"batch": 32})


def test_every_key_of_a_file_is_on_the_page() -> None:
    keys = [*Spec.model_fields, *RunTable.model_fields, *Sample.model_fields]
    shown = [key for key in keys if re.search(rf"[`\[]{key}\b|^{key} = ", PAGE, re.MULTILINE)]
    assert shown == keys


def test_tables_of_a_store_are_those_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    model = ROOT / "models" / "nerf.onnx"
    elk.sweep(model, "tiny", {"rows": [64]}, keep="latency_s", workers=0, store=path)
    with sqlite3.connect(path) as connection:
        for name in ("rows", "points", "results", "models", "chips", "plans", "sweep"):
            row = next(line for line in PAGE.splitlines() if re.match(rf"\| .*`{name}`.*\|", line))
            listed = re.findall(r"`(\w+)`", row.split("|")[3])
            found = [entry[1] for entry in connection.execute(f"PRAGMA table_info({name})")]
            kept = [column for column in found if column not in ("rows", "latency_s")]
            assert listed == kept[: len(listed)]
            assert listed == kept or name in ("models", "chips")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_python_of_the_page_runs(folder: Path) -> None:
    code = "\n".join(blocks("python")).replace("workers=2", "workers=0")
    drawn = f"import matplotlib\nmatplotlib.use('Agg')\n{code}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", drawn],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
