"""What a notebook keeps of a widget, opened where no kernel answers."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.browser.bare_page import BarePage, graph_state, unpacked
from tests.browser.lesson_page import lesson_marks, shown_lesson, stepper_state
from tests.browser.patience import width_of_image
from tests.widgets import graphs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_without_a_kernel_the_kept_picture_and_words_show(bare: BarePage) -> None:
    compress = zlib.compressobj(wbits=-15)
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='77' height='33'></svg>"
    picture = base64.b64encode(compress.compress(svg) + compress.flush()).decode()
    words = "Graph with 6 operations."
    bare.show(shown_lesson(payload={}, picture=picture, words=words), library="", engine="")
    image = bare.page.locator(".df-kept img")
    image.wait_for()
    assert image.get_attribute("alt") == words
    assert width_of_image(image) == 77
    assert bare.page.locator(".df-kept pre").text_content() == words
    bare.page.get_by_text("No kernel has answered").wait_for()


def reopened(chromium: Browser, state: dict[str, Any]) -> BarePage:
    """A notebook with this widget, opened where no kernel answers."""
    page = BarePage(chromium)
    page.keep_library()
    page.show(state, library="", engine="")
    return page


def test_what_was_last_seen_is_kept_and_opens_without_a_kernel(
    bare: BarePage, chromium: Browser
) -> None:
    bare.show(graph_state(graphs.layers(2, gradients=False)))
    bare.wait_drawn(attempt="graphviz")
    bare.page.get_by_role("button", name="Close all").click()
    bare.page.locator('.df-widget[data-drawn="5"]').wait_for()
    marks = graphs.marks_of(graphs.layers(2, gradients=False), ["layer0/Relu"], ("x",))
    bare.page.evaluate("(marks) => models[0].update('marks', marks)", marks)
    closed = bare.kept(lambda state: json.loads(unpacked(state["snapshot"]))["layout"]["v"] == 5)
    page = reopened(chromium, closed)
    page.page.locator('.df-widget[data-drawn="5"]').wait_for()
    node = '.df-node[data-id="s:{}"]'
    assert "df-pruned" in str(page.page.locator(node.format("layer1")).get_attribute("class"))
    assert "df-needed" in str(page.page.locator(node.format("layer0")).get_attribute("class"))
    page.page.locator(node.format("layer0")).press("Enter")  # opens
    frame = page.page.locator('.df-cluster[data-scope="layer0"]')
    frame.wait_for()
    page.page.locator(".df-title", has_text="MatMul").wait_for()
    frame.locator(".df-cluster-label").click()
    frame.wait_for(state="detached")
    page.page.get_by_text("this is what the notebook kept").wait_for()
    assert page.failures() == []
    page.close()


def test_the_kept_picture_shows_the_marks(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    bare.kept()
    bare.page.evaluate("(marks) => models[0].update('marks', marks)", lesson_marks())
    kept = bare.kept(lambda state: unpacked(state["picture"]).count(">pruned</text>") == 1)
    text = unpacked(kept["picture"])
    assert len(text) < 20_000
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")


def test_no_picture_is_made_that_would_be_too_large_to_keep(bare: BarePage) -> None:
    """It stopped the page for seconds, after every run that marked something else."""
    bare.page.evaluate(
        """() => { const real = window.getComputedStyle; window.looked = 0;
          window.getComputedStyle = (...all) => { window.looked++; return real(...all); }; }"""
    )
    bare.show(graph_state(graphs.chain(450)))
    bare.wait_drawn()
    assert bare.page.locator(".df-node").count() > 400
    bare.page.wait_for_function("() => models.at(-1).state().snapshot")  # written after the picture
    assert bare.page.evaluate("models.at(-1).state().picture") == ""
    assert bare.page.evaluate("window.looked") < 1000, "styles of the drawing's elements"


@pytest.mark.parametrize("kind", ["graph_view", "stepper", "rewrite_player", "timeline", "predict"])
def test_a_notebook_saved_by_an_older_version_shows_its_picture(
    chromium: Browser, kind: str
) -> None:
    """It kept no snapshot; the picture and the words are what there is."""
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='77' height='33'></svg>"
    compress = zlib.compressobj(wbits=-15)
    picture = base64.b64encode(compress.compress(svg) + compress.flush()).decode()
    state = shown_lesson(payload={}, picture=picture, words="Graph with 6 operations.", kind=kind)
    state |= {
        "question": {"text": "Which?", "form": "nodes", "candidates": []},
        "answers": [],
        "marks": lesson_marks(),
    }
    page = reopened(chromium, state)
    image = page.page.locator("img")
    image.wait_for()
    assert width_of_image(image) == 77
    page.page.get_by_text("Graph with 6 operations.").wait_for()
    page.close()


def test_a_kept_stepper_steps_without_a_kernel(bare: BarePage, chromium: Browser) -> None:
    bare.show(stepper_state())
    bare.wait_drawn()
    page = reopened(chromium, bare.kept())
    page.page.locator(".df-widget[data-step='0']").wait_for()
    for _ in range(5):
        page.page.get_by_role("button", name="One step forward").click()
    assert page.page.locator(".df-now .df-number").text_content() == "15625"
    page.page.get_by_role("button", name="One step back").click()
    assert page.page.locator(".df-now .df-number").text_content() == "6"
    assert page.failures() == []
    page.close()


def test_a_trace_that_comes_late_takes_the_place_of_the_kept_one(
    bare: BarePage, chromium: Browser
) -> None:
    state = stepper_state()
    bare.show(state)
    bare.wait_drawn()
    page = reopened(chromium, bare.kept())
    page.page.locator(".df-widget[data-step='0']").wait_for()
    state["payload"]["trace"]["runs"].append(state["payload"]["trace"]["runs"][0])
    page.page.evaluate("(payload) => models[0].update('payload', payload)", state["payload"])
    page.page.get_by_role("toolbar", name="runs").wait_for()
    assert page.page.locator(".df-widget").count() == 1
    page.close()


def test_the_static_picture_goes_while_the_widget_is_there(bare: BarePage) -> None:
    bare.page.evaluate(
        """() => { document.body.insertAdjacentHTML("beforeend",
            '<div class="df-static-abc1">mine</div><div class="df-static-abc2">another</div>'); }"""
    )
    bare.show(shown_lesson(token="abc1"))
    bare.wait_drawn()
    assert not bare.page.get_by_text("mine").is_visible()
    assert bare.page.get_by_text("another").is_visible()


def test_what_is_being_packed_when_the_view_changes_is_not_kept(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    bare.kept()
    bare.page.evaluate(
        """(marks) => { const real = Response.prototype.arrayBuffer;
            window.held = []; window.hold = true;
            Response.prototype.arrayBuffer = async function () {
              const packed = await real.call(this);
              if (window.hold) await new Promise((go) => held.push(go));
              return packed;
            };
            models[0].set("picture", "");
            models[0].update("marks", marks); }""",
        graphs.marks_of(graphs.lesson(), ["useless"]),
    )
    bare.page.wait_for_function("() => held.length")
    bare.page.evaluate(
        """(marks) => { models[0].update("marks", marks);
            window.hold = false; held.forEach((go) => go()); }""",
        lesson_marks(),
    )
    assert unpacked(bare.kept()["picture"]).count(">pruned</text>") == 1, "of two, before"
