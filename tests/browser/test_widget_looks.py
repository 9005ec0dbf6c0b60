"""How widgets look: colors, contrast, accessibility, motion, narrow pages, and beside the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import CONTRAST, serious_findings
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.lesson_page import lesson_marks, node_locator, shown_lesson, stepper_state
from tests.browser.patience import at_rest
from tests.widgets import graphs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_edges_are_as_wide_as_what_they_carry(bare: BarePage) -> None:
    nodes = [
        graphs.node("small", "Const", shape="(2,)"),
        graphs.node("large", "Const", shape="(1000, 1000)"),
        graphs.node("unknown", "Placeholder", shape="(?, 3)"),
        graphs.node("sum", "AddN", ("small:0", "large:0", "unknown:0"), shape="(?, 3)"),
    ]
    bare.show(graph_state(nodes, profile_data={"seconds": {}, "bytes": {"2": 120_000}}))
    bare.wait_drawn()
    bare.page.get_by_label("color by").select_option("memory")
    widths = bare.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.df-edge')].map((e) =>
             [e.querySelector('title').textContent.split(':')[0],
              parseFloat(getComputedStyle(e.querySelector('.df-line')).strokeWidth)]))"""
    )
    assert 1 < widths["small"] < widths["unknown"] < widths["large"] <= 8


def test_color_by_type_and_time(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    select = bare.page.get_by_label("color by")
    select.select_option("type")
    assert "Mul (2)" in bare.page.locator(".df-legend").text_content()
    fills = bare.page.locator(".df-node").evaluate_all(
        "(all) => all.map((e) => e.style.getPropertyValue('--df-own-fill'))"
    )
    assert len(set(fills)) == 4
    select.select_option("time")
    assert "view.profile" in bare.page.locator(".df-legend").text_content()
    profile = {"seconds": {"5": 0.002}, "bytes": {"5": 8}}
    bare.page.evaluate("(p) => models[0].update('profile_data', p)", profile)
    assert "2.00 ms" in bare.page.locator(".df-legend").text_content()


def test_forced_colors(bare: BarePage) -> None:
    bare.page.emulate_media(forced_colors="active")
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    fills = bare.page.evaluate(
        """() => { const of = (e) => getComputedStyle(e).fill;
          const probe = document.createElement('p'); probe.style.color = 'Canvas';
          document.body.append(probe);
          return [of(document.querySelector('.df-shape')), getComputedStyle(probe).color]; }"""
    )
    assert fills[0] == fills[1]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessibility_and_contrast(chromium: Browser, dark: bool) -> None:
    """What axe-core checks for here, without axe-core: names, roles, and 4.5:1 for every text."""
    bare = BarePage(chromium, dark=dark)
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    node_locator(bare, "x").click()
    nameless = bare.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, [role=group], [role=button]')]
             .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim()
               || e.getAttribute('aria-roledescription'))).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    low = bare.page.evaluate(CONTRAST)
    assert low == []
    bare.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("which", ["graph_view", "scopes", "stepper"])
def test_axe_finds_nothing_serious(chromium: Browser, dark: bool, which: str) -> None:
    """axe-core, as packed by axe-playwright-python: no serious or critical finding."""
    states = {
        "graph_view": lambda: shown_lesson(marks=lesson_marks()),
        "scopes": lambda: graph_state(graphs.layers(2)),
        "stepper": stepper_state,
    }
    bare = BarePage(chromium, dark=dark)
    bare.show(states[which]())
    bare.wait_drawn()
    if which == "stepper":
        bare.page.get_by_role("button", name="One step forward").click()
    bare.page.locator(".df-node").last.click()
    at_rest(bare.page)
    assert serious_findings(bare.page, "main") == []
    bare.close()


def test_reduced_motion(chromium: Browser) -> None:
    bare = BarePage(chromium)
    bare.page.emulate_media(reduced_motion="reduce")
    bare.show(shown_lesson())
    bare.wait_drawn()
    style = bare.page.locator(".df-shape").first.evaluate(
        "(e) => [getComputedStyle(e).transitionDuration, getComputedStyle(e).animationName]"
    )
    assert style[0] in ("0s", "")
    assert style[1] == "none"
    bare.close()


def test_narrow_or_zoomed_page_has_no_sideways_overflow(bare: BarePage) -> None:
    """400% zoom of a 1280 px window leaves 320 px."""
    bare.page.set_viewport_size({"width": 320, "height": 700})
    bare.show(graph_state(graphs.layers(1)))
    bare.wait_drawn()
    bare.page.locator(".df-node").first.click()
    assert bare.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert bare.page.locator(".df-inspector").is_visible()


def test_a_widget_is_pinned_beside_the_page_and_put_back(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    page = bare.page
    page.evaluate("document.body.style.minHeight = '4000px'")
    page.get_by_role("button", name="Pin", exact=True).click()
    page.evaluate("scrollTo(0, 3000)")
    widget = page.locator(".df-pinned .df-graph-view")
    box = widget.bounding_box()
    assert box and 0 <= box["y"] < 800 and box["x"] + box["width"] <= 1100
    node = widget.locator(".df-node").first
    node.click()
    widget.locator(".df-node.df-selected").wait_for()
    assert serious_findings(page, ".df-pinned") == []
    page.get_by_role("button", name="Unpin").click()
    assert page.locator(".df-pinned").count() == 0
    assert page.locator("#root .df-graph-view .df-node.df-selected").count() == 1
    # What is closed while it is pinned goes with its cell.
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Put it back here").wait_for()
    page.evaluate("stops.at(-1)()")
    page.locator(".df-pinned").wait_for(state="detached")
    assert bare.failures() == []
