"""Every notebook runs from top to bottom; `make notebooks` calls this."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
CELL_S = 600

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
def test_notebook_runs(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="`make notebooks` installs what runs notebooks")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    assert any(cell.get("outputs") for cell in notebook.cells if cell.cell_type == "code")
