"""Files of traces: what they hold comes back, and what is broken in any way is refused."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from pathlib import Path

import elk
import numpy as np
import pytest
from elk.analyze.program_trace import ProgramTrace
from traced_runs import BOTH, CASES, differing, planned, ran, unlike

MUTATIONS = Path(__file__).parents[1] / "support" / "trace_mutations.py"


def saved(trace: ProgramTrace, path: Path) -> bytes:
    trace.save(path)
    return path.read_bytes()


def load(path: Path) -> ProgramTrace:
    loaded = elk.load_trace(path)
    assert isinstance(loaded, ProgramTrace)
    return loaded


@pytest.mark.slow
def test_a_file_holds_all_of_its_trace(tmp_path: Path, subtests: pytest.Subtests) -> None:
    rng, path = random.Random(0), tmp_path / "x.elktrace"
    for model, chip in CASES:
        for fidelity in BOTH:
            trace = ran(model, chip, fidelity).trace()
            length = trace.instruction_times.count
            window = trace.window(rng.randrange(length // 2), rng.randrange(1, length // 2))
            for kept in (trace, window):
                with subtests.test(model=model, chip=chip, fidelity=fidelity, name=repr(kept)):
                    data = saved(kept, path)
                    loaded = load(path)
                    assert repr(loaded) == repr(kept)
                    assert loaded.begin_ps == kept.begin_ps
                    assert unlike(loaded, kept) == []
                    assert unlike(loaded.replay(), kept) == []
                    assert unlike(loaded.window(0, 2), kept.window(0, 2)) == []
                    slow = {"hbm": 0.5}
                    assert unlike(loaded.replay(slow=slow), kept.replay(slow=slow)) == []
                    assert saved(loaded, path) == data


def test_a_loaded_trace_names_what_went_before(tmp_path: Path) -> None:
    window = ran("decoder", "mesh", "core").trace().window(40, 20)
    saved(window, tmp_path / "x.elktrace")
    found = load(tmp_path / "x.elktrace").transfers()
    before = found["instruction"] < 0
    assert 0 < int(before.sum()) < found.count
    assert differing(found, window.transfers()) == []
    assert np.char.str_len(found["name"]).min() > 0


def test_equal_traces_are_equal_files(tmp_path: Path) -> None:
    run = ran("state", "pod", "core")
    first = saved(run.trace(), tmp_path / "x.elktrace")
    with zipfile.ZipFile(tmp_path / "x.elktrace") as archive:  # Which says nothing of today.
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    planned("state", "pod").save(tmp_path / "x.elkplan")
    again = elk.load_plan(tmp_path / "x.elkplan").simulate(fidelity="core")
    for same in (run.trace(), run.trace().replay(), again.trace()):
        assert saved(same, tmp_path / "x.elktrace") == first
    slow = run.trace().replay(slow={"hbm": 0.5})
    assert saved(slow, tmp_path / "x.elktrace") != first
    assert unlike(load(tmp_path / "x.elktrace"), slow) == []  # Slowed for good.


def test_a_file_that_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    trace, path = ran("nerf", "mesh", "core").trace(), tmp_path / "x.elktrace"
    with pytest.raises(elk.OutputFileError):
        trace.save(tmp_path / "no folder" / "x.elktrace")
    trace.save(path)
    with pytest.raises(elk.TraceFileError, match="bytes of a trace") as raised:
        elk.load_trace(path, limits=elk.Limits(plan_bytes=10_000))
    assert raised.value.code == "limit"
    cases = {tmp_path / "none": "No such file", tmp_path: "no regular file", Path("\0"): "null"}
    for wrong, message in cases.items():
        with pytest.raises(elk.TraceFileError, match=message) as raised:
            elk.load_trace(wrong)
        assert raised.value.remedy


def came_of(path: Path, kind: str, seed: int, count: int) -> list[tuple[str, str]]:
    """Every broken file, and what came of it, in processes of their own: some would die."""
    found: list[tuple[str, str]] = []
    while True:
        words = [str(path), kind, str(seed), str(count), str(len(found))]
        done = subprocess.run(
            [sys.executable, "-W", "error", str(MUTATIONS), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        found += zip(lines[::2], lines[1::2], strict=False)
        if done.returncode == 0:
            return found
        assert len(lines) % 2 == 1, done.stderr
        found.append((lines[-1], f"FAILED with {done.returncode}: {done.stderr[-1000:]}"))


@pytest.mark.slow
def test_a_broken_file_is_refused_or_plays(tmp_path: Path, subtests: pytest.Subtests) -> None:
    whole = ran("nerf", "refresh", "core").trace()
    window = ran("decoder", "mesh", "symmetric").trace().window(30, 40)
    stores = ran("state", "pod", "core").trace()
    for seed, (trace, kind, count) in enumerate(
        [
            (window, "cuts", 40),
            (window, "flips", 100),
            (whole, "mutations", 70),
            (window, "mutations", 70),
            (stores, "mutations", 70),
            (whole, "hostile", 0),
        ]
    ):
        with subtests.test(seed=seed, kind=kind):
            path = tmp_path / f"{seed}.elktrace"
            trace.save(path)
            found = came_of(path, kind, seed, count)
            assert [pair for pair in found if "FAILED" in pair[1]] == []
            assert len(found) >= count
            assert any("refused" in outcome for _, outcome in found)
