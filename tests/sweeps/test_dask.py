"""Sweeps on workers of Dask: the answers of this machine's, whatever becomes of a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import elk
import pytest
import sweep_faults
from elk.cli import main
from patience import wait_until

distributed = pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")
pytestmark = pytest.mark.slow

MODEL = Path(__file__).parents[2] / "models" / "nerf.onnx"
SPACE = {"rows": [*range(80, 95)], "policy": ["basic", "static"]}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two worker processes of one thread, whose points may have faults."""
    faults = sweep_faults.install(tmp_path_factory.mktemp("faults"))
    sys.path.insert(0, faults)
    try:
        with sweep_faults.two_dask_workers() as client:
            yield client
    finally:
        sys.path.remove(faults)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Dask warns of what it does about workers that are gone; ELK's own warnings stay errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"distributed|tornado|dask")
        yield


def saved(sweep: elk.Sweep, path: Path) -> bytes:
    sweep.save(path, timed=False)
    return path.read_bytes()


def done(path: Path) -> int:
    """How many points are done; none of a store that is being made."""
    try:
        return elk.sweep.open(path).progress.done
    except elk.SweepStoreError:
        return 0


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of `SPACE` as this process finds it."""
    folder = tmp_path_factory.mktemp("here")
    return saved(elk.sweep(MODEL, "tiny", SPACE, workers=0), folder / "s.parquet")


@pytest.mark.nightly
def test_each_fault_costs_its_own_point(client: Any, tmp_path: Path) -> None:
    sizes = [*range(60, 67), *range(68, 76)]
    sweep = elk.sweep(
        MODEL,
        "tiny",
        {"rows": sizes, "policy": ["static"]},
        executor=client,
        store=tmp_path / "s.elksweep",
        memory_bytes="700 MB",
        retries=1,
    )
    rows = {row["rows"]: row for row in sweep.rows()}
    failed = {size: row["code"] for size, row in rows.items() if row["status"] != "done"}
    assert failed == sweep_faults.EXPECTED | {sweep_faults.PARENT: "worker_died"}
    assert "SIGKILL, 2 times" in rows[sweep_faults.SIGKILL]["message"]
    assert "SIGSEGV" in rows[sweep_faults.SIGSEGV]["message"]
    assert "is gone, 2 times" in rows[sweep_faults.PARENT]["message"]
    endless = {"rows": [sweep_faults.ENDLESS], "policy": ["static"]}
    (row,) = elk.sweep(MODEL, "tiny", endless, executor=client, timeout_s=1, retries=0).rows()
    assert row["code"] == "timeout"


def test_lost_workers_are_made_up_for(client: Any, expected: bytes, tmp_path: Path) -> None:
    client.wait_for_workers(2, timeout=600)
    pids = client.run(os.getpid)
    ended: list[int] = []

    def end_all() -> None:
        """Ends both workers, so that all that held the work are gone, once a point is done."""
        wait_until(lambda: done(tmp_path / "s.elksweep") >= 4)
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
            ended.append(pid)

    thread = threading.Thread(target=end_all)
    thread.start()
    sweep = elk.sweep(MODEL, "tiny", SPACE, executor=client, store=tmp_path / "s.elksweep")
    thread.join()
    assert len(ended) == 2
    assert not set(ended) & set(client.run(os.getpid).values())
    assert saved(sweep, tmp_path / "s.parquet") == expected


def test_an_address_does_as_well_and_takes_no_other_elk(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = client.scheduler.address
    sweep = elk.sweep(MODEL, "tiny", {"rows": [80]}, executor=address)
    assert sweep.progress.done == 1
    assert all(address.rpartition(":")[0] in row["worker"] for row in sweep.rows())
    monkeypatch.setattr("elk._core.__version__", "0.0.9")
    with pytest.raises(elk.ElkError, match=r"the sweep is of 0\.0\.9") as caught:
        elk.sweep(MODEL, "tiny", {"rows": [80]}, executor=client, store=tmp_path / "s.elksweep")
    assert caught.value.code == "worker_version"
    assert any("s.elksweep" in note for note in caught.value.__notes__)


def test_what_is_no_scheduler_is_refused() -> None:
    with (
        config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(elk.InvalidInputError, match="no scheduler of Dask answers"),
    ):
        elk.sweep(MODEL, "tiny", {"rows": [80]}, executor="tcp://127.0.0.1:1")
    with pytest.raises(elk.InvalidInputError, match="executor must be"):
        elk.sweep(MODEL, "tiny", {"rows": [80]}, executor="two")


@pytest.mark.nightly
def test_the_commands_of_the_docs_sweep_on_one_box(
    tmp_path: Path, expected: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    at = tmp_path / "scheduler.json"
    spec = tmp_path / "nerf.toml"
    values = "\n".join(f"{name} = {value}" for name, value in SPACE.items())
    spec.write_text(f'model = "{MODEL}"\nchip = "tiny"\n[space]\n{values}\n')
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(at), "--no-dashboard"]
    with (
        started(*dask, "scheduler", *common, "--host", "127.0.0.1", "--port", "0") as scheduler,
        started(*dask, "worker", *common, "--nthreads", "2"),
    ):
        wait_until(lambda: scheduler.poll() is not None or (at.exists() and at.read_text()))
        address = json.loads(at.read_text())["address"]
        store = tmp_path / "nerf.elksweep"
        assert main(["sweep", str(spec), "--executor", address, "--store", str(store)]) == 0
    assert f"{2 * len(SPACE['rows'])} done, 0 infeasible, 0 failed" in capsys.readouterr().out
    sweep = elk.sweep.open(store)
    assert saved(sweep, tmp_path / "s.parquet") == expected


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs as long as the block."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
