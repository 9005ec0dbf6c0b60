"""Library and Graphviz of a page: shared by its widgets, late, broken, hanging, or forbidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.bare_page import BarePage, built
from tests.browser.lesson_page import lesson_marks, node_locator, shown_lesson

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_initialize_waits_for_nothing(bare: BarePage) -> None:
    """anywidget allows it two seconds; it must not wait for library or engine."""
    result = bare.page.evaluate(
        """async ([loader, state]) => {
          const url = URL.createObjectURL(new Blob([loader], { type: 'text/javascript' }));
          const widget = (await import(url)).default;
          return typeof widget.initialize({ model: makeModel(state, {}) });
        }""",
        [built("loader.js"), shown_lesson()],
    )
    assert result == "function", "what ends it, not a promise"


def test_two_widgets_share_library_and_engine(bare: BarePage) -> None:
    for _ in range(3):
        bare.show(shown_lesson())
    bare.page.locator("[data-attempt=graphviz]").nth(2).wait_for()
    kinds = [m["kind"] for m in bare.page.evaluate("sent")]
    assert kinds.count("library") == 1
    assert kinds.count("engine") == 1
    loads = bare.page.evaluate(
        "Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])"
        ".filter((v) => v?.loads).map((v) => v.loads)"
    )
    assert loads == [1, 1]


def test_twenty_widgets_on_a_page(bare: BarePage) -> None:
    for _ in range(20):
        bare.show(shown_lesson())
    bare.page.locator("[data-attempt=graphviz]").nth(19).wait_for()
    assert [m["kind"] for m in bare.page.evaluate("sent")].count("engine") == 1
    assert bare.failures() == []


def test_the_first_widget_brings_library_and_engine(bare: BarePage) -> None:
    """As the kernel's first widget does, so that a busy kernel cannot delay it."""
    bare.page.evaluate(
        """async ([loader, state, library, engine]) => {
          const encode = async (t) => new Uint8Array((await pack(t)).buffer);
          const [a, b] = [await encode(library), await encode(engine)];
          const all = new Uint8Array(4 + a.length + b.length);
          new DataView(all.buffer).setUint32(0, a.length, true);
          all.set(a, 4); all.set(b, 4 + a.length);
          state.bundle = new DataView(all.buffer);
          window.state = state;
          return show(loader, state, {});
        }""",
        [built("loader.js"), shown_lesson(), built("library.js"), built("graphviz.js")],
    )
    bare.wait_drawn(attempt="graphviz")
    assert bare.page.evaluate("state.bundle.byteLength") == 0, "a saved notebook must not hold it"


def test_engine_that_never_comes_gives_plain_layers(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()), engine="")
    bare.wait_drawn(attempt="layered")
    assert bare.page.locator(".df-node").count() == 6
    assert "df-pruned" in node_locator(bare, "useless").get_attribute("class")
    assert "without Graphviz" in bare.page.locator(".df-note").text_content()


def test_late_engine_replaces_the_plain_drawing(bare: BarePage) -> None:
    bare.show(shown_lesson(), delay=3500)
    bare.page.wait_for_timeout(100)
    bare.wait_drawn(attempt="graphviz")


def test_broken_engine_gives_plain_layers(bare: BarePage) -> None:
    broken = "self.addEventListener('message', () => { throw new Error('no wasm'); });"
    bare.show(shown_lesson(), engine=broken)
    bare.wait_drawn(attempt="layered")
    assert bare.page.locator(".df-node").count() == 6


def test_hanging_layout_is_stopped_and_the_page_stays_alive(bare: BarePage) -> None:
    hanging = (
        "self.postMessage({ ready: true });self.addEventListener('message', () => { for (;;) {} });"
    )
    bare.show(shown_lesson(), engine=hanging)
    bare.page.wait_for_timeout(300)
    assert bare.page.evaluate("1 + 1") == 2, "the page must not freeze"
    bare.wait_drawn(attempt="layered")
    assert bare.page.locator(".df-node").count() == 6


def test_without_workers_small_graphs_are_laid_out_in_the_page(chromium: Browser) -> None:
    strict = (
        "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; "
        "worker-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    bare = BarePage(chromium, csp=strict)
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    assert bare.page.locator(".df-node").count() == 6
    bare.close()
