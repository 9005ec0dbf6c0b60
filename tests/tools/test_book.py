"""`make book` runs notebooks and writes pages that load nothing from elsewhere."""

from __future__ import annotations

import html
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
    command = [sys.executable, "-m", "tools.book"]
    command += ["--lessons", tmp_path / "lessons", "--site", tmp_path / "site"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=200)


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


def test_a_picture_that_the_text_names_is_in_the_page(checkout, tmp_path, lessons):
    (lessons / "images").mkdir()
    (lessons / "images" / "line.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    write_lesson(
        lessons, "01_graphs.ipynb", [v4.new_markdown_cell("# 1\n\n![A line](images/line.svg)")]
    )
    result = build(checkout, tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "site" / "01_graphs.html").read_text()
    assert re.search(r'<img alt="A line" src="data:image/svg\+xml;base64,', page)
    assert "images/line.svg" not in page


def test_sections_are_linked_solutions_wait_and_pages_lead_on(checkout, tmp_path, lessons):
    solution = v4.new_code_cell("print('the ' + 'answer')", metadata={"tags": ["solution"]})
    cells = [
        v4.new_markdown_cell('# 1 · Graphs\n\n## Edges and "nodes"\n\nfirst'),
        v4.new_code_cell("print('in sight')"),
        v4.new_markdown_cell("## Next\n\n[on](02_sessions.ipynb#Runs)"),
        solution,
    ]
    write_lesson(lessons, "01_graphs.ipynb", cells)
    write_lesson(lessons, "02_sessions.ipynb", [v4.new_markdown_cell("# 2 · Runs\n\n## Runs")])
    result = build(checkout, tmp_path)
    assert result.returncode == 0, result.stderr
    assert re.search(r"01_graphs.ipynb: [\d.]+ s, \d+ MB", result.stdout)
    page = (tmp_path / "site" / "01_graphs.html").read_text()
    (details,) = re.findall(r'<details class="solution">.*?</details>', page, flags=re.S)
    assert "the answer" in details and "in sight" not in details
    assert 'href="02_sessions.html#Runs"' in page
    assert 'href="index.html"' in page
    index = (tmp_path / "site" / "index.html").read_text()
    for target in re.findall(r'<a href="([^"]+)"', index):
        name, _, anchor = html.unescape(target).partition("#")
        text = (tmp_path / "site" / name).read_text()
        assert not anchor or f'id="{anchor}"' in text


QUESTION = """
_ = 0  # as a loop leaves it
class Question:
    def reveal(self):
        return "Because <it> is."
    def __repr__(self):
        return "What is it?"
Question()  # the hint: not to be shown
"""


def test_formulas_are_drawn_without_a_library(checkout, tmp_path, lessons):
    text = (
        "# 5 · Slopes\n\n$$\\beta = X^\\top y$$\n\nWith $\\lambda$ it costs 3 $ or 4 $; `a $x$ b`.\n\n"
        "    $code$\n"
    )
    write_lesson(lessons, "05_slopes.ipynb", [v4.new_markdown_cell(text)])
    result = build(checkout, tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "site" / "05_slopes.html").read_text()
    assert page.count("<math") == 2
    assert 'display="block"' in page
    assert "3 $ or 4 $" in page
    assert "a $x$ b" in page and "$code$" in page
    assert "<title>5 · Slopes</title>" in page
    # The search looks at what was written.
    assert "x^\\top y" in html.unescape((tmp_path / "site" / "index.html").read_text())


def test_questions_are_followed_by_their_answer_closed(checkout, tmp_path, lessons):
    cells = [
        v4.new_markdown_cell("# 1 · Graphs\n\n## Edges"),
        v4.new_code_cell(QUESTION, metadata={"tags": ["predict"]}),
    ]
    write_lesson(lessons, "01_graphs.ipynb", cells)
    result = build(checkout, tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "site" / "01_graphs.html").read_text()
    assert "What is it?" in page
    assert "<details><summary>Answer</summary><p>Because &lt;it&gt; is.</p></details>" in page
    assert "not to be shown" not in page
    assert "not to be shown" not in (tmp_path / "site" / "index.html").read_text()


def test_a_lesson_that_fails_fails_the_book(checkout, tmp_path, lessons):
    write_lesson(lessons, "01_graphs.ipynb", [v4.new_code_cell("1 / 0")])
    result = build(checkout, tmp_path)
    assert result.returncode != 0
    assert "ZeroDivisionError" in result.stderr


def test_no_lessons_is_an_error(checkout, tmp_path, lessons):
    result = build(checkout, tmp_path)
    assert result.returncode == 1
    assert "no lessons" in result.stderr
