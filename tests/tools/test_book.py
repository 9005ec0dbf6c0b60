"""`make book` runs notebooks and writes pages that load nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys

import nbformat
import nbformat.v4 as v4
import pytest

WIDGET = """
from IPython.display import display
display({
    "application/vnd.jupyter.widget-view+json": {"model_id": "x", "version_major": 2,
                                                 "version_minor": 0},
    "text/html": '<img alt="the graph" src="data:image/svg+xml,%3Csvg/%3E">',
}, raw=True)
"""


def write_lesson(folder, name, cells):
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=metadata), folder / name)


def build(checkout, tmp_path):
    command = [sys.executable, checkout / "tools" / "book.py"]
    command += ["--lessons", tmp_path / "lessons", "--site", tmp_path / "site"]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


@pytest.fixture
def lessons(tmp_path):
    folder = tmp_path / "lessons"
    folder.mkdir()
    return folder


def test_pages_hold_outputs_and_pictures_and_load_nothing(checkout, tmp_path, lessons):
    cells = [
        v4.new_markdown_cell("# Graphs <and> more\n\nWords.\n\n## Edges"),
        v4.new_code_cell("print(6 * 7)"),
        v4.new_code_cell(WIDGET),
    ]
    write_lesson(lessons, "01_graphs.ipynb", cells)
    result = build(checkout, tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "site" / "01_graphs.html").read_text()
    assert "42" in page
    assert 'alt="the graph"' in page
    assert '<script type="application/vnd.jupyter.widget' not in page
    index = (tmp_path / "site" / "index.html").read_text()
    assert "Graphs &lt;and&gt; more" in index
    assert "Edges" in index
    for text in (page, index):
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"'\s>]*""", text) == []
        assert re.findall(r"""(?:import|url\()\s*["']?https?://""", text) == []
    assert sorted(p.name for p in (tmp_path / "site").iterdir()) == [
        "01_graphs.html",
        "index.html",
    ]
    # The lesson itself is as it was.
    assert nbformat.read(lessons / "01_graphs.ipynb", 4).cells[1].outputs == []


def test_a_lesson_that_fails_fails_the_book(checkout, tmp_path, lessons):
    write_lesson(lessons, "01_graphs.ipynb", [v4.new_code_cell("1 / 0")])
    result = build(checkout, tmp_path)
    assert result.returncode != 0
    assert "ZeroDivisionError" in result.stderr


def test_no_lessons_is_an_error(checkout, tmp_path, lessons):
    result = build(checkout, tmp_path)
    assert result.returncode == 1
    assert "no lessons" in result.stderr
