"""Every notebook runs from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
# What the first one shows the README does, too; the others look closer at plans, chips and sweeps.
EVERY_RUN = ("05_emulate.ipynb",)
NAMES = [
    pytest.param(path.name, marks=[] if path.name in EVERY_RUN else pytest.mark.nightly)
    for path in sorted(FOLDER.glob("*.ipynb"))
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_holds_no_output(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(FOLDER / name, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)
    (tmp_path / "models").symlink_to(FOLDER.parent / "models")
    (tmp_path / "notebooks").mkdir()
    resources = {"metadata": {"path": str(tmp_path / "notebooks")}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
