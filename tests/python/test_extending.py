"""docs/extending.md: every recipe is followed, in a copy of the package, and does what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import elk
import pytest
from copied_core import environment_of
from each_case import each
from elk import _core

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
BLOCK = re.compile(
    r"^(?:`(?P<path>[\w./-]+)`, (?P<verb>new|changed):\n\n)?"
    r"```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NAMED = set(re.findall(r"`((?:python|cpp|tests|docs)/[\w./]+)`", PAGE))
# The copy comes before what hooks of editable installations would import.
BEFORE_HOOKS = "import importlib.machinery as m, sys\nsys.meta_path.insert(0, m.PathFinder)\n"


@dataclass(frozen=True)
class Copy:
    """A copy of the package that recipes change, and a folder in which they run."""

    folder: Path

    def write(self, path: str, text: str) -> None:
        new = self.folder / path
        assert not new.exists(), path
        new.write_text(text, encoding="utf-8")

    def change(self, path: str, lines: list[str]) -> None:
        """Puts a hunk's new lines where its old ones are."""
        old, new = (
            "".join(f"{line[1:]}\n" for line in lines if line[0] in signs) for signs in (" -", " +")
        )
        changed = self.folder / path
        text = changed.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} does not have once:\n{old}"
        changed.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, words: list[str]) -> None:
        environment = {**environment_of(self.folder / "python"), "MPLBACKEND": "agg"}
        done = subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words[-1]}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    package, core = Path(elk.__file__).parent, Path(_core.__file__)
    made = tmp_path / "python" / "elk"
    shutil.copytree(package, made, ignore=shutil.ignore_patterns("_core*.so"))
    (made / core.name).symlink_to(core.resolve())
    (tmp_path / "python" / "sitecustomize.py").write_text(BEFORE_HOOKS)
    for name in ("models", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    return Copy(tmp_path)


def follow(block: re.Match[str], copy: Copy) -> None:
    """Does what a block of the page says."""
    text, language = block["text"], block["language"]
    if block["verb"] == "new":
        copy.write(block["path"], text)
    elif block["verb"] == "changed":
        assert language == "diff"
        copy.change(block["path"], text.splitlines())
    elif language == "python":
        copy.run([sys.executable, "-W", "error", "-c", text])
    else:
        assert language == "console"
        commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
        script = [f'elk() {{ "{sys.executable}" -m elk "$@"; }}', *commands]
        copy.run(["bash", "-euo", "pipefail", "-c", "\n".join(script)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "title",
    ["An operator", "A tile model", "Your own plans", "An analysis of a run", "A figure"],
)
def test_a_recipe_does_what_it_says(title: str, copy: Copy) -> None:
    blocks = list(BLOCK.finditer(SECTIONS[title]))
    assert blocks
    for block in blocks:
        follow(block, copy)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_recipe_of_the_core_builds_and_does_what_it_says(copy: Copy) -> None:
    for name in ("cpp", "bindings", "cmake"):
        shutil.copytree(ROOT / name, copy.folder / name)
    for name in ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml"):
        shutil.copy(ROOT / name, copy.folder / name)
    blocks = list(BLOCK.finditer(SECTIONS["A policy"]))
    for block in blocks:
        if block["verb"]:
            follow(block, copy)
    build = ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug"]
    copy.run([*build, "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=6"])
    copy.run(["cmake", "--build", "build", "--target", "_core"])
    core = copy.folder / "python" / "elk" / Path(_core.__file__).name
    core.unlink()
    core.symlink_to(copy.folder / "build" / "bindings" / core.name)
    for block in blocks:
        if not block["verb"]:
            follow(block, copy)


@each("path", sorted(NAMED))
def test_files_that_the_page_names_exist(path: str) -> None:
    is_new = f"`{path}`, new:" in PAGE
    assert (ROOT / path).exists() != is_new
