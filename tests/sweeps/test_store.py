"""Stores of sweeps: the same call goes on, another is refused, files can be read by people."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import elk
import pytest
from elk.sweeps import store as stores

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
SPACE = {"rows": [64, 128], "policy": ["static", "ideal"]}


def swept(path: Path, space: object = None, **how: object) -> elk.Sweep:
    return elk.sweep(MODEL, "tiny", space or SPACE, store=path, **{"workers": 0, **how})  # type: ignore[arg-type]


def test_rows_are_those_of_compiles(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "s.elksweep", plans=True)
    for point in sweep:
        plan = elk.compile(
            MODEL, "tiny", bindings={"rows": point.row["rows"]}, policy=point.row["policy"]
        )
        assert point.row["forecast_s"] == plan.latency_s
        assert point.row["lower_bound_s"] == plan.bounds.lower_bound_s
        if plan.policy != "ideal":
            run = plan.simulate()
            assert point.row["latency_s"] == run.latency_s
            parts = ("preload_s", "execute_s", "overlapped_s", "interconnect_s")
            assert sum(point.row[name] for name in parts) == pytest.approx(run.latency_s)
            assert point.plan() == plan
    assert sweep.best().row["policy"] == "static"


def test_the_same_call_does_the_rest_and_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    first = swept(path)
    finished = [row["finished_at"] for row in first.rows()]
    assert [row["finished_at"] for row in swept(path).rows()] == finished
    with pytest.raises(elk.SweepStoreError, match="axis rows: 2 values there, 3 here"):
        swept(path, {**SPACE, "rows": [64, 128, 256]})
    with pytest.raises(elk.SweepStoreError, match="options"):
        swept(path, effort="fast")
    more = elk.sweep.open(path).extend({"rows": [256]}, workers=0)
    assert [row["rows"] for row in more.rows()] == [64, 64, 128, 128, 256, 256]
    assert [row["finished_at"] for row in more.rows()][:4] == finished


def test_results_of_another_version_are_not_mixed_silently(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.elksweep"
    sweep = swept(path)
    sweep.store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE results SET elk_version = '0.0.9'")
    old = elk.sweep.open(path)
    assert "4 of ELK 0.0.9" in old.summary()
    with pytest.raises(elk.SweepStoreError, match="another version"):
        swept(path)
    with pytest.raises(elk.SweepStoreError, match="another version"):
        old.extend({"rows": [256]}, workers=0)
    assert len(elk.sweep.open(path)) == 4
    with pytest.raises(elk.SweepStoreError, match="another version"):
        old.resume(workers=0)
    again = old.resume(older="again", workers=0)
    assert {row["elk_version"] for row in again.rows()} == {elk.__version__}


def test_a_second_coordinator_is_refused_and_readers_are_not(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    sweep = swept(path)
    script = (
        "import sys, elk\n"
        "try:\n    elk.sweep.open(sys.argv[1]).resume(workers=0)\n"
        "except elk.SweepStoreError as error:\n    print(error.code)\n"
        "print(len(elk.sweep.open(sys.argv[1])))"
    )
    with sweep.store.coordinating():
        found = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        )
    assert found.stdout.split() == ["store_busy", "4"]


def test_a_refused_coordinator_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    sweep = swept(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE results SET status = 'failed' WHERE rowid = 1")
    with sweep.store.coordinating(), pytest.raises(elk.SweepStoreError, match="runs this sweep"):
        elk.sweep.open(path).resume(failed=True, workers=0)
    with sweep.store.coordinating(), pytest.raises(elk.SweepStoreError, match="runs this sweep"):
        elk.sweep.open(path).extend({"rows": [256]}, workers=0)
    assert elk.sweep.open(path).progress.failed == 1
    assert len(elk.sweep.open(path)) == 4
    assert elk.sweep.open(path).resume(failed=True, workers=0).progress.done == 4


OPENING = """
import sys, time
from pathlib import Path
from elk.sweeps.connecting import connect
for number in range(100):
    moment = int(time.time() * 100 + 2) / 100  # the same for all that open the file
    while time.time() < moment:
        pass
    for _ in range(6):
        connect(Path(sys.argv[1]) / str(number)).close()
"""


@pytest.mark.slow
def test_a_new_store_is_opened_by_several_at_once(tmp_path: Path) -> None:
    words = [sys.executable, "-c", OPENING, str(tmp_path)]
    opening = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[1] for process in opening] == ["", ""]


def test_a_transaction_that_was_cut_off_is_rolled_back(tmp_path: Path) -> None:
    sweep = swept(tmp_path / "s.elksweep")
    sweep.store._connection.execute("BEGIN IMMEDIATE")
    sweep.store._connection.execute("DELETE FROM results")
    sweep.extend({"rows": [256]}, workers=0)
    assert sweep.progress.done == 6


def test_people_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    swept(path).store.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT rows, policy, status, latency_s FROM rows").fetchall()
    assert [row[:3] for row in rows[:2]] == [(64, "static", "done"), (64, "ideal", "done")]
    assert all(latency_s > 0 for *_, latency_s in rows)


def test_what_is_no_store_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content in [b"", b"no database", b"SQLite format 3\0" + b"x" * 100]:
        with subtests.test(content=content):
            path = tmp_path / "x.elksweep"
            path.write_bytes(content)
            with pytest.raises(elk.SweepStoreError):
                elk.sweep.open(path)
            with pytest.raises(elk.SweepStoreError):
                elk.sweep.open(tmp_path / "missing.elksweep")


def test_a_disk_that_refuses_keeps_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.elksweep"
    record, calls = stores.Store.record, []

    def full(self: stores.Store, answers: object, finished_at: str) -> None:
        calls.append(answers)
        if len(calls) > 2:
            self._connection.execute("PRAGMA max_page_count = 1")
            self._connection.execute("PRAGMA query_only = 1")
        record(self, answers, finished_at)  # type: ignore[arg-type]

    monkeypatch.setattr(stores.Store, "record", full)
    with pytest.raises(elk.SweepStoreError, match="are kept"):
        swept(path)
    monkeypatch.undo()
    sweep = elk.sweep.open(path)
    assert sweep.progress.done == 2
    assert sweep.resume(workers=0).progress.open == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "s.elksweep"
    swept(path).store.close()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert len(elk.sweep.open(path)) == 4
    finally:
        tmp_path.chmod(0o700)
