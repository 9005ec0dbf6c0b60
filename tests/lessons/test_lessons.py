"""Every lesson runs from its first cell to its last, in a kernel of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
CELL_TIMEOUT_SECONDS = 180


def starts_a_cluster(path: Path) -> bool:
    """Whether a lesson starts Ray: such lessons share a worker, one cluster at a time."""
    text = path.read_text(encoding="utf-8")
    return "cluster.launch" in text or "train.Server" in text


def parameters() -> list:
    return [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.cluster] if starts_a_cluster(path) else []
        )
        for path in LESSONS
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", parameters())
def test_lesson_runs(path, tmp_path, monkeypatch):
    # A copy: what a lesson writes beside itself stays out of the checkout.
    folder = tmp_path / "lessons"
    shutil.copytree(ROOT / "lessons", folder, ignore=shutil.ignore_patterns(".*"))
    python_path = [str(ROOT), str(ROOT / "widgets"), str(ROOT / "datasets")]
    python_path += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(python_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    ran = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    assert all(cell.execution_count for cell in ran)
    assert ran, "a lesson without a code cell"


def test_there_are_lessons():
    assert LESSONS
