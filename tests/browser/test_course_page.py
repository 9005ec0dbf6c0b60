"""`dataflow lab` opens on the course page: lessons, what was answered, and the way there and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dataflow.course.attempts import MIME
from tests.browser.axe import serious_findings
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import new_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.jupyter_server import JupyterServer

pytestmark = pytest.mark.browser
LESSON = "02_sessions.ipynb"


@pytest.fixture
def answered(jupyter_server: JupyterServer) -> Iterator[str]:
    """Lesson 2, with a question right, one tried."""
    path = jupyter_server.folder / LESSON
    before = path.read_bytes()
    notebook = json.loads(before)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, (name, right) in zip(cells, [("q1", True), ("q2", False)], strict=False):
        attempts = [{"right": right, "words": "x"}]
        record = {MIME: {"exercise": f"lesson02.{name}", "attempts": attempts}}
        cell["execution_count"] = 1
        cell["outputs"] = [{"output_type": "display_data", "data": record, "metadata": {}}]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    yield LESSON
    path.write_bytes(before)


@pytest.fixture(params=["light", "dark"])
def course(
    request: Any, chromium: Browser, jupyter_server: JupyterServer, answered: str
) -> Iterator[Page]:
    """The page to which the address that `dataflow lab` prints leads."""
    context = new_context(
        chromium, viewport={"width": 1280, "height": 900}, color_scheme=request.param
    )
    page = context.new_page()
    page.goto(f"{jupyter_server.url}?token={jupyter_server.token}")
    page.locator("li.latest").wait_for()
    page.screenshot(path=screenshot_folder() / f"course_{request.param}.png")
    yield page
    context.close()
    jupyter_server.delete_sessions()


def test_cards_tracks_and_the_way_to_a_lesson_and_back(course: Page) -> None:
    card = course.locator("li", has_text="Sessions: run, fetch")
    assert "1 of" in card.inner_text()
    assert card.locator("i.right").count() == card.locator("i.tried").count() == 1
    assert card.locator(".aim").inner_text() == "Run a graph in a session and fetch values"
    assert course.locator("#picture").is_hidden(), "who has begun knows what it looks like"
    assert serious_findings(course, "main") == []
    numbers = course.locator("#lessons .number")
    assert numbers.count() == 27
    course.get_by_role("button", name="Models").click()
    assert numbers.all_inner_texts() == [str(n) for n in [*range(13), 22]]
    course.reload()
    course.locator("li.latest").wait_for()
    assert numbers.count() == 14  # the choice is kept

    assert course.inner_text("#continue") == "Continue where I was"
    course.click("#continue")
    course.locator(".jp-Notebook .jp-Cell").first.wait_for()
    assert course.url.endswith(LESSON)
    course.get_by_text("All lessons").click()
    course.locator("li.latest").wait_for()
    assert course.url.endswith("/dataflow/course")


def test_who_comes_for_the_first_time_sees_what_a_lesson_looks_like(
    chromium: Browser, jupyter_server: JupyterServer
) -> None:
    context = new_context(chromium, viewport={"width": 1280, "height": 720})
    page = context.new_page()
    # Other tests have worked in this server's folder.
    page.route("**/dataflow/course/work", lambda route: route.fulfill(json=[]))
    page.goto(f"{jupyter_server.url}dataflow/course?token={jupyter_server.token}")
    page.locator("#picture img").wait_for()
    assert page.inner_text("#continue") == "Begin"
    assert page.get_by_text("Shift+Enter").is_visible()
    assert page.locator("#lessons li").nth(3).bounding_box()["y"] < 500, (
        "lessons are on the first screen"
    )  # type: ignore[index]
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator("#picture").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_markdown_opens_rendered(course: Page, jupyter_server: JupyterServer) -> None:
    course.goto(f"{jupyter_server.url}lab/tree/README.md")
    course.locator(".jp-MarkdownViewer h1").get_by_text("The lessons").wait_for()


_LEFT_IS_CLOSED = "() => window.jupyterapp.shell.leftCollapsed"


def test_a_lesson_has_the_whole_of_a_narrow_window(
    chromium: Browser, jupyter_server: JupyterServer
) -> None:
    """A phone, or 200 %: JupyterLab opens its file browser beside the lesson, which would have 60 pixels."""
    context = new_context(chromium, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{jupyter_server.url}lab/tree/{LESSON}?token={jupyter_server.token}")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.wait_for_function(_LEFT_IS_CLOSED)
    page.wait_for_function("() => document.querySelector('.jp-Notebook').clientWidth > 250")
    page.get_by_role("tab", name="File Browser").click()
    page.locator(".jp-DirListing-content").wait_for()
    assert not page.evaluate(_LEFT_IS_CLOSED), "who asks for the files sees them"
    page.locator(".jp-DirListing-item", has_text="01_graphs.ipynb").dblclick()
    page.wait_for_function(_LEFT_IS_CLOSED)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("() => !window.jupyterapp.shell.leftCollapsed")
    context.close()
    jupyter_server.delete_sessions()
