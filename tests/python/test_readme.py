"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from each_case import each

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The lines of the console blocks that begin with `$ elk`, in order."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ elk")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder beside whose files lie the models and data that the README names."""
    for name in ("models", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}\n{done.stderr}"


def test_the_readme_has_python_and_commands() -> None:
    assert blocks("python")
    assert {line.split()[1] for line in commands()} >= {"compile", "simulate", "shard", "fit"}


@pytest.mark.slow
def test_the_readmes_python_runs(folder: Path) -> None:
    for block in blocks("python"):
        drawn = f"import matplotlib\nmatplotlib.use('Agg')\n{block}"
        run([sys.executable, "-W", "error", "-c", drawn], folder)


@pytest.mark.slow
def test_the_readmes_commands_run(folder: Path) -> None:
    script = f'elk() {{ "{sys.executable}" -m elk "$@"; }}\n' + "\n".join(commands())
    run(["bash", "-euo", "pipefail", "-c", script], folder)


@each("name", sorted(set(re.findall(r"\b(?:docs|scripts|notebooks)/\w+\.\w+", README))))
def test_files_that_the_readme_names_exist(name: str) -> None:
    assert (ROOT / name).is_file()
