"""A deck in Chromium: keys turn its pages, and nothing is asked of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.patience import new_context
from tests.tools.test_slides import lesson
from tools.slides import main

pytestmark = pytest.mark.browser


def test_keys_turn_pages(chromium: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    nbformat.write(lesson(), folder / "01_graphs.ipynb")
    assert main(["--lessons", str(folder), "--to", str(tmp_path)]) == 0
    page = new_context(chromium, viewport={"width": 1280, "height": 720}).new_page()
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto((tmp_path / "01_graphs.html").as_uri())

    def seen() -> str:
        (shown,) = page.locator("section.slide:visible").all()
        return str(shown.inner_text())

    assert seen().startswith("1 · Graphs") and page.inner_text("#place") == "1 of 4"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert seen().startswith("Edges nodes") and "42" in seen()
    page.keyboard.press(" ")
    assert seen().startswith("Edges <and> nodes ...") and "last words" in seen()
    page.keyboard.press("End")
    assert page.inner_text("#place") == "4 of 4" and "Exercises" in seen()
    page.reload()
    assert page.inner_text("#place") == "4 of 4"
    page.keyboard.press("Home")
    assert seen().startswith("1 · Graphs")
    page.emulate_media(media="print")
    assert page.locator("section.slide:visible").count() == 4
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.context.close()


def test_a_high_picture_stands_beside_its_code(chromium: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    made = lesson()
    code = next(cell for cell in made.cells if cell.cell_type == "code")
    code.source = (
        "from IPython.display import HTML\n" + "six = 6\n" * 6 + "HTML('<img width=120 height=900 "
        'src="data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E" alt="high">\')'
    )
    nbformat.write(made, folder / "01_graphs.ipynb")
    assert main(["--lessons", str(folder), "--to", str(tmp_path)]) == 0
    page = new_context(chromium, viewport={"width": 1280, "height": 720}).new_page()
    page.goto((tmp_path / "01_graphs.html").as_uri())
    for _ in range(4):
        if page.locator("section.slide.now img[alt=high]").count():
            break
        page.keyboard.press("ArrowRight")
    picture = page.locator("section.slide.now.beside img").bounding_box()
    code_box = page.locator(
        "section.slide.now .jp-Cell:has(img) .jp-Cell-inputWrapper"
    ).bounding_box()
    assert picture and code_box and picture["x"] >= code_box["x"] + code_box["width"] - 1
    assert abs(picture["y"] - code_box["y"]) < 60
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.keyboard.press("Home")
    assert page.locator("section.slide.beside.now").count() == 0, "no picture, nothing beside it"
    page.context.close()


def test_a_slide_that_is_too_high_gets_smaller(chromium: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    made = lesson()
    made.cells[0].source = "# 1 · Graphs\n\n" + "\n\n".join(f"Line {i}" for i in range(15))
    nbformat.write(made, folder / "01_graphs.ipynb")
    assert main(["--lessons", str(folder), "--to", str(tmp_path)]) == 0
    page = new_context(chromium, viewport={"width": 1280, "height": 720}).new_page()
    page.goto((tmp_path / "01_graphs.html").as_uri())
    zoom = "getComputedStyle(document.querySelector('section.slide.now')).zoom"
    fits = "document.documentElement.scrollHeight <= innerHeight"
    assert page.evaluate(fits) and 0.7 < float(page.evaluate(zoom)) < 1.6
    page.keyboard.press("ArrowRight")
    assert float(page.evaluate(zoom)) == 1.6
