"""What the README shows runs as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from elk import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The words of the lines of the console blocks that begin with `$ elk`, in order."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [shlex.split(line, comments=True)[2:] for line in lines if line.startswith("$ elk ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: empty but for the models and data that the README names."""
    (tmp_path / "models").mkdir()
    for path in (*ROOT.glob("models/*.onnx"), ROOT / "data"):
        (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_readmes_python_runs(folder: Path) -> None:
    assert blocks("python")
    script = "import matplotlib\nmatplotlib.use('Agg')\n" + "\n".join(blocks("python"))
    words = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def run(words: list[str]) -> None:
    """Runs a command in this process, and writes what it prints where it says."""
    words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = cli.main(words)
    assert code == 0, f"{words}\n{printed.getvalue()}"
    if target:
        Path(target).write_text(printed.getvalue(), encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_readmes_commands_run() -> None:
    chosen = [words for words in commands() if words[0] != "paper"]
    assert {words[0] for words in chosen} >= {"compile", "simulate", "shard", "fit"}
    for words in chosen:
        run(words)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_readmes_figures_of_the_paper_are_made() -> None:
    (words,) = (words for words in commands() if words[0] == "paper")
    run(words)


def test_files_that_the_readme_names_exist() -> None:
    named = set(re.findall(r"\b(?:docs|scripts|notebooks)/\w+\.\w+", README))
    assert {name for name in named if not (ROOT / name).is_file()} == set()
