"""The first page of the site, in browsers that cannot run lessons or keep answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dataflow.course import translations
from dataflow.course.contents import LessonCard
from dataflow.course.page import course_page, with_warning
from tests.browser.built_site import served
from tests.browser.patience import new_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
FORBIDDEN = "indexedDB.open = () => { throw new DOMException('forbidden', 'SecurityError'); };"
WITHOUT = "delete globalThis.WebAssembly;"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    page = course_page([], "lab/index.html?path=")
    (folder / "index.html").write_text(page, encoding="utf-8")
    (folder / "lab.html").write_text(with_warning("<html><body><p>lab</p></body></html>"))
    with served(folder) as found:
        yield found


def test_the_page_speaks_german(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translations, "_chosen", "de")
    card = LessonCard("01_a.ipynb", 1, "Tensors flow", 25, ["say what"], ["lesson01.q1"])
    (tmp_path / "index.html").write_text(course_page([card], "lab?path="), encoding="utf-8")
    with served(tmp_path) as found:
        context = new_context(chromium)
        page = context.new_page()
        page.goto(found)
        page.locator("#continue", has_text="Beginnen").wait_for()
        assert page.locator("html").get_attribute("lang") == "de"
        said = page.locator("main").inner_text()
        assert "25 Minuten · 0 von 1 beantwortet" in said and "Alle\nModelle\nSysteme" in said
        assert "Eine Lektion ist ein Notebook (auf Englisch): Shift+Enter führt" in said
        # None of its own sentences is left in English; a title and an aim are the lesson's.
        own = translations.read_table("de")["course"]
        assert [text for text in own if re.search(rf"\b{re.escape(text)}(?!\w)", said)] == []
        assert page.locator("#tracks").get_attribute("aria-label") == "Lektionen von"
        assert page.locator(".tasks i[title]").get_attribute("title") == "Frage 1: offen"
        context.close()


LACKS = pytest.mark.parametrize(
    "script, said",
    [
        ("", []),
        (WITHOUT, ["This browser has no WebAssembly"]),
        (FORBIDDEN, ["your answers are lost when you close them"]),
        (WITHOUT + FORBIDDEN, ["This browser has no WebAssembly", "your answers are lost"]),
    ],
    ids=["all there", "no WebAssembly", "no storage", "neither"],
)


@LACKS
def test_a_browser_that_lacks_something_is_told(
    script: str, said: list[str], address: str, chromium: Browser
) -> None:
    context = new_context(chromium)
    page = context.new_page()
    page.add_init_script(script)
    page.goto(address)
    # Set once the page has looked at what is kept.
    page.wait_for_function("() => document.getElementById('continue').textContent === 'Begin'")
    problems = page.locator("#problem p")
    for sentence in said:
        problems.filter(has_text=sentence).wait_for()
    if not said:
        assert problems.count() == 0
    context.close()


@LACKS
def test_who_follows_a_link_to_a_lesson_is_told_too(
    script: str, said: list[str], address: str, chromium: Browser
) -> None:
    context = new_context(chromium)
    page = context.new_page()
    page.add_init_script(script)
    page.goto(f"{address}lab.html")
    note = page.locator("#dataflow-lacking")
    if said:
        assert all(sentence in note.inner_text() for sentence in said)
        note.get_by_role("button", name="Close").click()
    page.wait_for_timeout(300)
    assert note.count() == 0
    context.close()
