"""docs/analyst.md: it runs from top to bottom, prints what it says, and names what there is."""

from __future__ import annotations

import contextlib
import fnmatch
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import elk
import numpy as np
import pytest
from elk import cli
from elk.analyze.resources import KINDS
from elk.foreign.kineto import KinetoTrace
from numpy.typing import NDArray

pytestmark = pytest.mark.xdist_group("analyst_page")  # One process runs the page.
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "analyst.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^```(?P<language>python|console)\n(?P<text>.*?)^```$(?:\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


def first_cells(heading: str) -> list[str]:
    """What stands in code in the first cells of the table with this heading."""
    (table,) = re.findall(rf"^\| {re.escape(heading)} \|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    cells = (line.split("|")[1] for line in table.splitlines())
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the blocks of the page define, run in a folder that has what they read."""
    folder = tmp_path_factory.mktemp("page")
    for name in ("models", "tests"):
        (folder / name).symlink_to(ROOT / name)
    defined: dict[str, Any] = {"folder": folder}
    with contextlib.chdir(folder):
        for block in BLOCK.finditer(PAGE):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                follow(block, defined)
            if block["printed"] is not None:
                assert printed.getvalue() == block["printed"]
            elif block["language"] == "python":
                assert [line for line in printed.getvalue().splitlines() if line not in PAGE] == []
    return defined


def follow(block: re.Match[str], defined: dict[str, Any]) -> None:
    """Runs a block of the page."""
    if block["language"] == "python":
        exec(block["text"], defined)
        return
    lines = [line for line in block["text"].splitlines() if line.startswith("$ elk ")]
    assert lines
    for line in lines:
        assert cli.main(shlex.split(line, comments=True)[2:]) == 0, line


@pytest.mark.slow
def test_the_page_prints_what_it_says_and_leaves_its_files(names: dict[str, Any]) -> None:
    found = {path.name for path in names["folder"].iterdir() if path.is_file()}
    assert found == {"nerf.elkplan", "nerf.elktrace", "nerf.png"}


@pytest.mark.slow
def test_columns_and_methods_that_the_page_names_exist(names: dict[str, Any]) -> None:
    trace = names["trace"]
    tables = {"transfers": trace.transfers(), "memory": trace.memory()}
    for table, columns in {**tables, "dependences": trace.dependences()}.items():
        said = first_cells(f"column of `{table}`")
        assert said
        assert set(said) <= set(columns), table
    methods = [re.sub(r"\(.*", "", name) for name in first_cells("of a `trace`")]
    assert [name for name in methods if not hasattr(trace, name)] == []
    section = PAGE.partition("## Traces of PyTorch")[2]
    for name in re.findall(r"`(\w+)\(\)`", section.partition("\n## ")[0]):
        assert hasattr(KinetoTrace, name)


@pytest.mark.slow
def test_units_have_the_columns_that_the_page_names(names: dict[str, Any]) -> None:
    kinds = [kind.replace(" ", "_") for kind in KINDS]
    assert all(f"`{kind}`" in PAGE for kind in kinds)
    said = first_cells("columns of `units`")
    meant = {name.replace("KIND", kind) for name in said for kind in kinds}
    for fidelity in ("core", "symmetric", "flows"):
        trace = names["plan"].simulate(fidelity=fidelity).trace()
        columns = set(trace.units(trace.total_ps)) - {"time_ps"}
        assert columns <= meant, fidelity
    assert "sram_mean" in names["trace"].units(names["trace"].total_ps)


@pytest.mark.slow
def test_files_have_what_the_page_names(names: dict[str, Any], tmp_path: Path) -> None:
    names["played"].save(tmp_path / "played.elktrace")
    of_plan, of_machine = map(
        arrays_of, (names["folder"] / "nerf.elktrace", tmp_path / "played.elktrace")
    )
    table = first_cells("arrays")
    both = ("header", "rows", "accesses")
    assert [x for x in both if x not in table] == []
    assert set(of_machine) == set(both)
    patterns = [x for x in table if x not in both]
    unlisted = [x for x in of_plan if not any(fnmatch.fnmatch(x, y) for y in patterns)]
    assert unlisted == ["header"]
    assert [y for y in patterns if not fnmatch.filter(of_plan, y)] == []
    for arrays, row in (of_plan, "| `header` "), (of_machine, "| `rows`, `accesses` "):
        (cell,) = re.findall(rf"^{re.escape(row)}\| (.*) \|$", PAGE, re.MULTILINE)
        said = re.findall(r"`(\w+)`", cell)
        assert set(said) == set(json.loads(arrays["header"].tobytes()))


def arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path) as archive:
        return dict(archive)


@pytest.mark.slow
def test_equal_traces_give_equal_bytes(names: dict[str, Any], tmp_path: Path) -> None:
    saved = (names["folder"] / "nerf.elktrace").read_bytes()
    plan = elk.load_plan(names["folder"] / "nerf.elkplan")
    for number, trace in enumerate([names["again"], plan.simulate(fidelity="core").trace()]):
        trace.save(tmp_path / f"{number}.elktrace")
        assert (tmp_path / f"{number}.elktrace").read_bytes() == saved


def test_folders_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:python|cpp)/[\w/]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).is_dir()] == []
