"""Every notebook runs from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import pytest
from each_case import each

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@each("name", sorted(path.name for path in FOLDER.glob("*.ipynb")))
def test_a_notebook_runs_and_holds_no_output(name: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(FOLDER / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    (tmp_path / "models").symlink_to(FOLDER.parent / "models")
    (tmp_path / "notebooks").mkdir()
    resources = {"metadata": {"path": str(tmp_path / "notebooks")}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
