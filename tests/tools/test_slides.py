"""`make slides`: where slides begin, what is left out, and that a deck loads nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import nbformat.v4 as v4
import pytest

from tests.lessons.notebooks import LESSONS, read
from tools.slides import chosen, cut, main

METADATA = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}


def lesson() -> Any:
    def tagged(source: str, tag: str) -> Any:
        return v4.new_code_cell(source, metadata={"tags": [tag]})

    cells = [
        v4.new_markdown_cell("# 1 · Graphs\n\nWords.\n\n## Edges <and> nodes\n\nMore."),
        v4.new_code_cell("print(6 * 7)"),
        v4.new_markdown_cell("Text that goes on."),
        v4.new_code_cell("print('second' + ' piece')"),
        v4.new_markdown_cell("The last words of the section."),
        v4.new_markdown_cell("## Exercises\n\n**1.** Do."),
        tagged("x = ...", "exercise"),
        tagged("print('checked ' * 2)", "check"),
        v4.new_markdown_cell("## Solutions"),
        tagged("print('the ' + 'answer')", "solution"),
    ]
    return v4.new_notebook(cells=cells, metadata=METADATA)


def test_slides_begin_at_headings_and_after_code() -> None:
    notebook = lesson()
    assert cut(notebook) == 4
    begins = [(c.metadata["slide"], c.source) for c in notebook.cells if "slide" in c.metadata]
    assert [source.partition("\n")[0] for _, source in begins] == [
        "# 1 · Graphs",
        "## Edges <and> nodes",
        "Text that goes on.",
        "## Exercises",
    ]
    # A slide that goes on says of what; the last words of a section stay with its code.
    assert [over for over, _ in begins] == ["", "", "Edges <and> nodes ...", ""]
    sources = [c.source for c in notebook.cells]
    assert not any("..." in s or "checked" in s or "answer" in s for s in sources)
    assert len({c.id for c in notebook.cells}) == len(sources)


def test_a_deck_is_one_file_that_loads_nothing(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    nbformat.write(lesson(), folder / "01_graphs.ipynb")
    assert main(["1", "--lessons", str(folder), "--to", str(tmp_path / "slides")]) == 0
    assert "01_graphs.html: 4 slides" in capsys.readouterr().out
    page = (tmp_path / "slides" / "01_graphs.html").read_text()
    assert page.count('<section class="slide">') == page.count("</section>") == 4
    assert "42" in page and "second piece" in page and "the answer" not in page
    assert '<p class="over">Edges &lt;and&gt; nodes ...</p>' in page
    assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"'\s>]*""", page) == []
    assert re.findall(r"""(?:import|url\()\s*["']?https?://""", page) == []
    # The lesson itself is as it was, and nothing lies beside it.
    assert nbformat.read(folder / "01_graphs.ipynb", 4).cells[1].outputs == []
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_each_lesson_can_be_cut(path: Path) -> None:
    notebook = read(path)
    titles = [c.source for c in notebook.cells if c.source.startswith("## ")]
    assert len(titles) <= cut(notebook) <= 60
    assert notebook.cells[0].metadata["slide"] == ""
    last = max(i for i, c in enumerate(notebook.cells) if "slide" in c.metadata)
    assert last > 0


def test_a_lesson_that_is_not_there_is_named(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(ValueError, match=r"got lessons \[40\], needed some of \[0, 1"):
        chosen(LESSONS[0].parent, [2, 40])
    assert main(["40", "--lessons", str(tmp_path)]) == 1
    assert "slides: got lessons [40]" in capsys.readouterr().err


def test_a_lesson_that_fails_stops_the_deck(tmp_path: Path, capsys: Any) -> None:
    notebook = v4.new_notebook(cells=[v4.new_code_cell("1 / 0")], metadata=METADATA)
    folder = tmp_path / "lessons"
    folder.mkdir()
    nbformat.write(notebook, folder / "01_graphs.ipynb")
    assert main(["--lessons", str(folder), "--to", str(tmp_path / "to")]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
