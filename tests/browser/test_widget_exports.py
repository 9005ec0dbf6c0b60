"""What is saved of a widget as a file, and names that are no markup anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dataflow_widgets.base import words_of
from tests.browser.bare_page import graph_state
from tests.browser.lesson_page import lesson_marks, shown_lesson, stepper_state
from tests.browser.patience import new_context
from tests.widgets import graphs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.bare_page import BarePage

pytestmark = pytest.mark.browser


def test_hostile_names_are_text(bare: BarePage) -> None:
    nodes = graphs.hostile()
    bare.show(graph_state(nodes, title=graphs.EVIL, words=graphs.EVIL))
    bare.wait_drawn(attempt="graphviz")
    titles = bare.page.locator(".df-node > title").all_text_contents()
    assert sorted(titles) == sorted(n["name"] for n in nodes)
    for name in (nodes[0]["name"], nodes[3]["name"]):
        bare.page.locator(".df-node").filter(has_text=name[:10]).first.click()
        assert bare.page.locator(".df-inspector h4").text_content() == name
    bare.page.locator(".df-search").fill("<")
    bare.page.wait_for_timeout(100)
    assert bare.page.evaluate("window.hacked") is None
    assert bare.page.locator("main img, main script").count() == 0
    assert bare.failures() == []


def test_hostile_names_in_exports(bare: BarePage) -> None:
    bare.show(graph_state(graphs.hostile(), title=graphs.EVIL))
    bare.wait_drawn()
    for item, suffix in (("SVG", ".svg"), ("DOT", ".dot"), ("HTML", ".html")):
        bare.page.get_by_role("button", name="Save").click()
        with bare.page.expect_download() as download:
            bare.page.get_by_role("menuitem", name=item).click()
        assert download.value.suggested_filename.endswith(suffix)
        text = download.value.path().read_text(encoding="utf-8")
        if suffix == ".svg":
            from xml.etree import ElementTree

            tree = ElementTree.fromstring(text)
            assert not list(tree.iter("{http://www.w3.org/2000/svg}script"))
            assert not list(tree.iter("{http://www.w3.org/2000/svg}image"))
            assert graphs.EVIL in "".join(tree.itertext())
        elif suffix == ".html":
            assert graphs.EVIL not in text
            assert "<script>window" not in text


def test_png_is_a_picture(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Save").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="PNG").click()
    content = download.value.path().read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(content) > 2000


def test_saved_page_works_alone(bare: BarePage, chromium: Browser) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Save").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="HTML").click()
    path = download.value.path()
    assert path.stat().st_size < 177_000  # nearly all of it the library, ClusterView among it
    context = new_context(chromium, offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.set_content(path.read_text(encoding="utf-8"))
    page.locator(".df-node.df-pruned").wait_for()
    assert page.locator(".df-node").count() == 6
    page.locator(".df-node").first.click()
    assert page.locator(".df-inspector h4").is_visible()
    assert errors == []
    context.close()


def test_saved_stepper_steps_offline(bare: BarePage, chromium: Browser) -> None:
    bare.show(stepper_state())
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Save").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="HTML").click()
    context = new_context(chromium, offline=True)
    page = context.new_page()
    page.set_content(download.value.path().read_text(encoding="utf-8"))
    page.locator(".df-widget[data-step='0']").wait_for()
    for _ in range(5):
        page.get_by_role("button", name="One step forward").click()
    assert page.locator(".df-now .df-number").text_content() == "15625"
    page.get_by_role("button", name="One step back").click()
    assert page.locator(".df-now .df-number").text_content() == "6"
    context.close()


def test_a_page_saved_from_a_german_widget_is_german(bare: BarePage, chromium: Browser) -> None:
    """Its kernel's library was English, and the page learned German afterwards."""
    bare.show(shown_lesson(marks=lesson_marks(), language="de"))
    bare.wait_drawn()
    table = words_of("de")
    bare.page.evaluate(
        "(table) => models[0].custom({ kind: 'language', language: 'de', table })", table
    )
    bare.page.get_by_role("button", name="Sichern").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="HTML").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert '<html lang="de">' in text
    context = new_context(chromium, offline=True)
    page = context.new_page()
    page.set_content(text)
    page.locator(".df-tag", has_text="beschnitten").wait_for()
    page.get_by_role("button", name="Alle öffnen").wait_for()
    context.close()
