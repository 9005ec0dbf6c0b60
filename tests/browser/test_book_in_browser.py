"""The book of `make book` as files on a disk, without a network: search, pages, accessibility."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import nbformat.v4 as v4
import pytest

from tests.browser.axe import serious_findings
from tests.browser.patience import new_context
from tools import book

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

LESSONS = {
    "01_graphs.ipynb": [
        v4.new_markdown_cell("# 1 · Graphs\n\n## Edges\n\nAn edge is a tensor."),
        v4.new_code_cell("print(6 * 7)"),
        v4.new_markdown_cell("## Names\n\nA **scope** is a prefix."),
    ],
    "02_slopes.ipynb": [
        v4.new_markdown_cell("# 2 · Slopes\n\n## A rule\n\n$$\\beta = X^\\top y$$"),
        v4.new_code_cell("'the ' + 'answer'", metadata={"tags": ["solution"]}),
    ],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    (folder / "lessons").mkdir()
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for name, cells in LESSONS.items():
        nbformat.write(v4.new_notebook(cells=cells, metadata=metadata), folder / "lessons" / name)
    book.build(folder / "lessons", folder / "site")
    return folder / "site"


@pytest.fixture
def page(chromium: Browser) -> Any:
    context = new_context(chromium, offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    outside: list[str] = []
    page.on("request", lambda r: outside.append(r.url) if r.url.startswith("http") else None)
    yield page
    context.close()
    assert errors == []
    assert outside == []


def shown(page: Any) -> list[str]:
    return page.locator("#entries a:visible").all_text_contents()


def test_the_search_narrows_to_lessons_and_sections(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    assert shown(page) == ["1 · Graphs", "Edges", "Names", "2 · Slopes", "A rule"]
    box = page.get_by_label("Search")
    box.fill("Scope prefix")
    assert shown(page) == ["1 · Graphs", "Names"]
    assert page.get_by_role("status").text_content() == "1 found"
    box.fill("nothing of the sort")
    assert shown(page) == []
    assert page.get_by_role("status").text_content() == "0 found"
    box.fill("scope")
    page.get_by_role("link", name="Names").click()
    page.wait_for_url("**/01_graphs.html#Names")
    assert page.title() == "1 · Graphs"
    page.get_by_role("link", name="All lessons").click()
    page.wait_for_url("**/index.html")


def test_formulas_are_drawn_and_solutions_wait(page: Any, site: Path) -> None:
    page.goto((site / "02_slopes.html").as_uri())
    box = page.locator("math").bounding_box()
    assert box and box["height"] > 10 and box["width"] > 30
    answer = page.get_by_text("the answer", exact=False).last
    assert not answer.is_visible()
    page.locator("details.solution > summary").click()
    assert answer.is_visible()


@pytest.mark.parametrize("name", ["index.html", "01_graphs.html", "02_slopes.html"])
def test_axe_finds_nothing_serious(page: Any, site: Path, name: str) -> None:
    page.goto((site / name).as_uri())
    assert serious_findings(page, "body") == []
