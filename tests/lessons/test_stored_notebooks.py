"""What a committed notebook may hold: no outputs, no counts, no widget state."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Not what Jupyter saves beside them, nor what is installed in an environment, nor a learner's copy.
NOTEBOOKS = sorted(
    path
    for path in ROOT.rglob("*.ipynb")
    if not any(
        part.startswith(".") or part in ("node_modules", "build", "site", "my-lessons")
        for part in path.relative_to(ROOT).parts
    )
)


def problems(text: str) -> list[str]:
    """What a stored notebook has and should not have."""
    notebook = json.loads(text)
    found = []
    for index, cell in enumerate(notebook["cells"]):
        if cell.get("outputs"):
            found.append(f"cell {index} has outputs")
        if cell.get("execution_count") is not None:
            found.append(f"cell {index} has an execution count")
        if "execution" in cell["metadata"]:
            found.append(f"cell {index} has execution times")
    # GitHub refuses to draw a notebook whose widgets have no state; without outputs none is due.
    if "widgets" in notebook["metadata"]:
        found.append("widget state in the metadata")
    if notebook["metadata"].get("kernelspec", {}).get("name") != "python3":
        found.append("its kernel is not python3, which every installation has")
    return found


def test_there_are_lessons():
    assert [path.name for path in NOTEBOOKS if path.parent.name == "lessons"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_stored_without_outputs(path):
    text = path.read_text(encoding="utf-8")
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert problems(text) == []


def test_an_output_is_found():
    notebook = nbformat.v4.new_notebook()
    output = nbformat.v4.new_output("stream", text="x")
    cell = nbformat.v4.new_code_cell("1", outputs=[output], execution_count=1)
    notebook.cells = [cell]
    notebook.metadata["widgets"] = {}
    assert len(problems(nbformat.writes(notebook))) == 4
