"""`elk sweep`: its cards, tables and exit codes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import elk
import pandas as pd
import pytest
from elk.cli import main
from matplotlib import pyplot as plt
from patience import wait_until

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
HEAD = f'model = "{MODEL}"\nchip = "tiny"\n'
SPACE = "[space]\nrows = [64, 128]\npolicy = ['static', 'ideal']\n[run]\nworkers = 0\n"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nerf.toml"
    path.write_text(HEAD + SPACE)
    return path


def printed(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_sweep_is_done_shown_and_exported(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(spec)]) == 0
    store = spec.with_suffix(".elksweep")
    first = capsys.readouterr()
    assert first.out.rstrip() == elk.sweep.open(store.name).summary()
    assert first.err == ""  # No bar where there is no terminal.
    facts = printed(["sweep", "status", str(store)], capsys)
    assert (facts["points"], facts["done"], facts["open"], facts["failed"]) == (4, 4, 0, 0)
    assert facts["best"]["policy"] == "static"
    finished = [row["finished_at"] for row in elk.sweep.open(store).rows()]
    for words in ([str(spec)], ["run", str(spec)], ["--store", str(store), str(spec)]):
        assert printed(["sweep", *words], capsys)["done"] == 4
    assert printed(["sweep", "resume", str(store), "--workers", "0"], capsys)["done"] == 4
    assert [row["finished_at"] for row in elk.sweep.open(store).rows()] == finished
    latencies = [row["latency_s"] for row in elk.sweep.open(store).rows()]
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        table = spec.with_suffix(suffix)
        words = ["sweep", "export", str(store), "-o", str(table), "--untimed"]
        assert printed(words, capsys) == {"saved": str(table), "points": 4}
        assert list(read(table)["latency_s"]) == latencies
        assert "seconds" not in read(table)


def test_points_that_fail_are_done_again_and_none_that_fits_is_a_no(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(spec.with_suffix(".elksweep"))
    assert main(["sweep", str(spec)]) == 0
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE results SET status = 'failed', code = 'x' WHERE rowid = 1")
    capsys.readouterr()
    assert printed(["sweep", "status", store], capsys, 1)["not_done"] == {"x": 1}
    assert printed(["sweep", "resume", store], capsys, 1)["failed"] == 1
    assert printed(["sweep", "resume", store, "--failed", "--workers", "0"], capsys)["done"] == 4
    spec.write_text(HEAD + "[space]\nrows = [100_000_000]\npolicy = 'static'\n")
    facts = printed(["sweep", str(spec), "--store", "no.elksweep", "--workers", "0"], capsys, 1)
    assert (facts["infeasible"], facts["best"]) == (1, None)


def test_results_of_another_version_want_a_word(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(spec.with_suffix(".elksweep"))
    assert main(["sweep", str(spec)]) == 0
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE results SET elk_version = '0.0.9'")
    assert main(["sweep", "resume", store, "--workers", "0"]) == 2
    assert '--older "keep"' in capsys.readouterr().err.replace("older=", "--older ")
    assert printed(["sweep", "resume", store, "--older", "keep"], capsys)["versions"] == {
        "0.0.9": 4
    }
    words = ["sweep", "resume", store, "--older", "again", "--workers", "0"]
    assert printed(words, capsys)["versions"] == {elk.__version__: 4}


def test_a_users_mistake_is_exit_code_2(
    spec: Path, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    elk.sweep(MODEL, "tiny", {"rows": [64]}, workers=0, store=spec.with_name("s.elksweep"))
    for words, message in [
        (["absent.toml"], "does not exist"),
        (["statsu"], "Did you mean 'status'?"),
        (["nerf.toml", "--workers", "-1"], "workers must be at least 0"),
        (["nerf.toml", "--workers", "many"], "--workers"),
        (["nerf.toml", "--timeout", "5 GB"], "timeout_s must be a time"),
        (["nerf.toml", "--executor", "3"], "executor must be"),
        (["nerf.toml", "--limit", "node=3"], "did you mean 'nodes'?"),
        (["status", "absent.elksweep"], "no such file"),
        (["status", "nerf.toml"], "no store"),
        (["resume"], "STORE"),
        (["resume", "s.elksweep", "--older", "drop"], "older must be one of"),
        (["resume", "s.elksweep", "--workers", "-1"], "workers must be at least 0"),
        (["export", "s.elksweep"], "--output"),
        (["plot", "s.elksweep", "-o", "x.gif"], ".png, .svg, .pdf"),
        (["plot", "s.elksweep", "-o", "x.png", "--x", "row"], "did you mean 'rows'?"),
        (["export", "s.elksweep", "-o", "x.xls"], ".parquet, .nc, .csv"),
        (["export", "s.elksweep", "-o", "no/x.csv"], "make its folder"),
    ]:
        with subtests.test(words=words, message=message):
            assert main(["sweep", *words]) == 2
            assert message in capsys.readouterr().err


def test_a_sweep_is_drawn(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert main(["sweep", str(spec)]) == 0
    capsys.readouterr()
    for panels in ([], ["--col", "policy"]):
        picture = spec.with_suffix(".svg")
        words = ["sweep", "plot", "nerf.elksweep", "--x", "rows", *panels, "-o", str(picture)]
        assert printed(words, capsys) == {"saved": str(picture)}
        assert "<svg" in picture.read_text()
        picture.unlink()
    plt.close("all")


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(spec: Path) -> None:
    spec.write_text(HEAD + "[space]\nrows = { linspace = [1, 2000, 2000] }\n")
    words = [sys.executable, "-m", "elk", "sweep", str(spec), "--workers", "0"]
    store = spec.with_suffix(".elksweep")
    # A shell starts what runs in the background with interrupts ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env={**os.environ, "CI": "1"}
    )
    signal.signal(signal.SIGINT, before)
    with child:
        try:
            wait_until(lambda: _done(store) or child.poll() is not None)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate()  # The whole sweep ends otherwise.
        finally:
            child.kill()
    assert child.returncode == 130
    assert errors == f"interrupted; what is done is kept: elk sweep resume {store.name}\n"
    assert 0 < _done(store) < 2_000


def _done(store: Path) -> int:
    try:
        return elk.sweep.open(store).progress.done
    except elk.SweepStoreError:  # The store is being made.
        return 0
