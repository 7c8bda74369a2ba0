"""Every file that ELK writes is written whole, or is what it was before."""

from __future__ import annotations

import ast
import contextlib
import errno
import io
import os
import re
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import elk
import pytest
from each_case import each
from elk import cli
from elk.base import atomic_file
from elk.tile.tilemodel import find_record, write_record

ROOT = Path(__file__).parents[2]
NERF = str(ROOT / "models" / "nerf.onnx")
COMPILE = ["compile", NERF, "--chip", "tiny", "--bind", "rows=8", "--policy", "basic"]
COMPARE = ["compare", NERF, "--chip", "tiny", "--bind", "rows=8", "--policy", "basic"]
OLD = b"what was there before"
Write = Callable[[Path], object]


@pytest.fixture(scope="module")
def plan() -> elk.Plan:
    return elk.compile(NERF, "tiny", bindings={"rows": 8}, policy="basic")


@pytest.fixture(scope="module")
def saved(plan: elk.Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "plan.elkplan"
    plan.save(path)
    return path


def command(*words: str) -> Write:
    """A command whose last word is the file; it raises what it printed."""

    def write(path: Path) -> None:
        found, printed = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(found), contextlib.redirect_stdout(printed):
            code = cli.main([*words, str(path)])
        if code != 0:
            assert code == 2
            fields = dict(
                re.findall(r"^ *(error|place|remedy): (.*)$", found.getvalue(), re.MULTILINE)
            )
            raise elk.ElkError(fields.pop("error"), **fields)

    return write


@cache
def sweep() -> elk.Sweep:
    return elk.sweep(NERF, "tiny", {"rows": [8, 16]}, policy="basic", workers=0)


def draw_trace(saved: Path) -> Write:
    """Draws what `elk record` makes of a saved plan."""
    trace = saved.with_suffix(".elktrace")
    command("record", str(saved), "-o")(trace)
    return command("analyze", str(trace), "--plot")


# By the module that writes: what to call, and the suffix of the file that it writes.
WRITERS: dict[str, dict[str, tuple[Callable[[elk.Plan, Path], Write], str]]] = {
    "document/file": {
        "a plan": (lambda plan, _: plan.save, "elkplan"),
        "compile -o": (lambda *_: command(*COMPILE, "-o"), "elkplan"),
        "compile --plan-json": (lambda *_: command(*COMPILE, "--plan-json"), "json"),
        "simulate -o": (lambda _, saved: command("simulate", str(saved), "-o"), "elkplan"),
        "simulate --plan-json": (
            lambda _, saved: command("simulate", str(saved), "--plan-json"),
            "json",
        ),
    },
    "document/program_file": {"a program": (lambda plan, _: plan.export_program, "elkprogram")},
    "report/timeline": {
        **{
            f"a trace, {suffix}": (lambda plan, _: plan.timeline().save, suffix)
            for suffix in ("pftrace", "json", "html")
        },
        "a run's trace": (lambda plan, _: plan.simulate().save_trace, "pftrace"),
        "trace -o": (lambda _, saved: command("trace", str(saved), "-o"), "html"),
    },
    "chip/write": {
        f"a chip, {suffix}": (lambda *_: elk.chips.get("ipu-pod4-hbm").save, suffix)
        for suffix in ("toml", "yaml", "json")
    },
    "tile/tilemodel": {
        "a tile model": (
            lambda *_: lambda path: write_record(find_record("ipu-mk2-paper"), path),
            "json",
        )
    },
    "cli/models": {
        "models write": (
            lambda *_: command("models", "write", "--layers=1", "opt-6.7b"),
            "onnx",
        )
    },
    "analyze/writing": {
        "a recorded trace": (lambda plan, _: plan.simulate().trace().save, "elktrace"),
        "record -o": (lambda _, saved: command("record", str(saved), "-o"), "elktrace"),
    },
    "cli/analyze": {"analyze --plot": (lambda _, saved: draw_trace(saved), "png")},
    "cli/compare": {"compare --plot": (lambda *_: command(*COMPARE, "--plot"), "png")},
    "cli/sweep": {
        "sweep plot": (
            lambda *_: command("sweep", "plot", str(sweep().path), "-o"),
            "png",
        )
    },
    "sweeps/tables": {
        f"a sweep, {suffix}": (lambda *_: sweep().save, suffix)
        for suffix in ("parquet", "csv", "nc")
    },
}
CASES = {name: case for of_module in WRITERS.values() for name, case in of_module.items()}
FIRST = [next(iter(of_module)) for of_module in WRITERS.values()]


def writer(name: str, plan: elk.Plan, saved: Path, folder: Path) -> tuple[Write, Path]:
    """What writes a file, and where to: a folder of its own."""
    make, suffix = CASES[name]
    return make(plan, saved), Path(mkdtemp(dir=folder)) / f"file.{suffix}"


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow over `size` bytes: writes beyond fail with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# `elk paper` fills a folder, file by file with the calls that are tested here; a store has a lock.
OF_NO_SINGLE_FILE = {"figures/paper", "sweeps/store"}


def test_each_module_that_writes_is_tested_here() -> None:
    package = ROOT / "python" / "elk"
    names = {
        str(path.relative_to(package).with_suffix(""))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module == "elk.base.atomic_file" or "atomic_file" in {x.name for x in node.names})
    }
    assert names == set(WRITERS) | OF_NO_SINGLE_FILE


def keeps_old_files(write: Write, path: Path) -> None:
    """Equal content gives equal bytes in a file of the same mode; a write that fails no change."""
    write(path)
    once = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    if path.suffix != ".json":  # `--plan-json` says how long the search took.
        assert path.read_bytes() == once
    for old in (None, OLD):
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        with files_of_at_most(len(once) // 2), pytest.raises(elk.ElkError) as raised:
            write(path)
        assert [(x.name, x.read_bytes()) for x in path.parent.iterdir()] == (
            [] if old is None else [(path.name, old)]
        )
        assert "cannot be written: File too large" in raised.value.message
        assert raised.value.place == str(path)
        assert "make room on the disk" in str(raised.value.remedy)
    path.unlink()
    path.symlink_to("/dev/full")
    with pytest.raises(elk.ElkError, match="cannot be written: No space left"):
        write(path)
    assert path.is_symlink()
    assert list(path.parent.iterdir()) == [path]


@each("name", FIRST)
def test_a_module_that_writes_keeps_old_files(
    name: str, plan: elk.Plan, saved: Path, tmp_path: Path
) -> None:
    keeps_old_files(*writer(name, plan, saved, tmp_path))


@pytest.mark.nightly
@each("name", [name for name in CASES if name not in FIRST])
def test_whatever_writes_keeps_old_files(
    name: str, plan: elk.Plan, saved: Path, tmp_path: Path
) -> None:
    keeps_old_files(*writer(name, plan, saved, tmp_path))


@each("failing", ["fsync", "replace", "write"])
@each(
    "found", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_whatever_fails_the_old_file_stays(
    failing: str, found: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise type(found)(*found.args)

    path = tmp_path / "file"
    path.write_bytes(OLD)
    kind = elk.OutputFileError if isinstance(found, OSError) else type(found)

    def write() -> None:
        with atomic_file.replacing(path) as file:
            file.write(b"half")
            if failing == "write":
                fail()

    with monkeypatch.context() as patch:
        if failing != "write":
            patch.setattr({"fsync": os, "replace": Path}[failing], failing, fail)
        with pytest.raises(kind):
            write()
    assert [(x.name, x.read_bytes()) for x in tmp_path.iterdir()] == [("file", OLD)]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for target in (folder / "there", folder / "new"):
        if target.name == "there":
            target.write_bytes(OLD)
        link = tmp_path / f"link to {target.name}"
        link.symlink_to(target)
        atomic_file.write_text(link, "new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
    assert len(list(folder.iterdir())) == 2


def test_a_pipe_is_written_straight(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    atomic_file.write_bytes(path, b"through")
    reader.join()
    assert found == [b"through"]
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_standard_output_that_is_a_file_keeps_what_is_printed_around(tmp_path: Path) -> None:
    code = (
        "import sys; from elk.base import atomic_file\n"
        "print('before'); atomic_file.write_text('/dev/stdout', 'between\\n'); print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "before\nbetween\nafter\n"
    assert len(list(tmp_path.iterdir())) == 1


@each(
    ("name", "message", "remedy"),
    [
        ("absent/file", "No such file", "make its folder first"),
        ("file/inside", "Not a directory", "check the path"),
        ("folder", "Is a directory", "check the path"),
        ("a\0b", "null", "check the path"),
        ("n" * 300, "too long", "check the path"),
    ],
)
def test_a_path_that_cannot_be_written_says_why(
    name: str, message: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir(exist_ok=True)
    (tmp_path / "file").write_bytes(OLD)
    before = sorted(tmp_path.iterdir())
    path = f"{tmp_path}/{name}"
    with pytest.raises(elk.OutputFileError, match=message) as raised:
        atomic_file.write_text(path, "new")
    assert raised.value.place == path
    assert raised.value.remedy == remedy
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_bytes() == OLD


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write to every file")
def test_a_file_that_may_not_be_changed_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    path.chmod(0o444)
    with pytest.raises(elk.OutputFileError, match="Permission denied"):
        atomic_file.write_text(path, "new")
    assert path.read_bytes() == OLD


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    atomic_file.write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "new"


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
