"""The students' copy of the lessons."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from dataflow.cli import main
from tests.lessons.notebooks import LESSONS, by_role, headings, read


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """Two lessons and a file; the first was worked on."""
    folder = tmp_path / "lessons"
    (folder / ".ipynb_checkpoints").mkdir(parents=True)
    (folder / ".ipynb_checkpoints" / "old.ipynb").write_text("{}")
    (folder / "README.md").write_text("read me")
    for path in LESSONS[1:3]:
        notebook = read(path)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.execution_count = 3
                cell.outputs = [nbformat.v4.new_output("stream", text="5\n")]
        notebook.metadata["widgets"] = {"state": {}}
        nbformat.write(notebook, folder / path.name)
    return folder


def test_a_copy_has_no_solutions_and_no_answers(lessons: Path, tmp_path: Path, capsys) -> None:
    before = {path: path.read_bytes() for path in lessons.rglob("*") if path.is_file()}
    to = tmp_path / "students"
    assert main(["course", "strip", str(lessons), str(to)]) == 0
    assert "2 notebooks" in capsys.readouterr().out
    assert {p.name for p in to.iterdir()} == {"README.md", *(p.name for p in LESSONS[1:3])}
    for path in LESSONS[1:3]:
        whole, copy = read(path), read(to / path.name)
        nbformat.validate(copy)
        assert by_role(whole, "solution"), "or this test shows nothing"
        assert by_role(copy, "solution") == {}
        assert "Solutions" not in headings(copy)
        kept = [c.source for c in whole.cells if c.id not in _gone(whole)]
        assert [c.source for c in copy.cells] == kept
        assert all(c.outputs == [] for c in copy.cells if c.cell_type == "code")
        assert "widgets" not in copy.metadata
    assert {path: path.read_bytes() for path in before} == before


def _gone(notebook) -> set[str]:
    titles = {c.id for c in notebook.cells if c.source.startswith("## Solutions")}
    return titles | {c.id for c in by_role(notebook, "solution").values()}


def test_nothing_is_overwritten_and_nothing_half_done_is_left(
    lessons: Path, tmp_path: Path, capsys
):
    (tmp_path / "there").mkdir()
    assert main(["course", "strip", str(lessons), str(tmp_path / "there")]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["course", "strip", str(lessons), str(lessons / "inside")]) == 2
    assert "outside" in capsys.readouterr().err
    assert main(["course", "strip", str(tmp_path / "nowhere"), str(tmp_path / "new")]) == 2
    assert "no folder" in capsys.readouterr().err
    (lessons / "zz.ipynb").write_text(json.dumps([1]))
    assert main(["course", "strip", str(lessons), str(tmp_path / "new")]) == 2
    assert "zz.ipynb" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
