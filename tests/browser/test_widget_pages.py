"""Widgets in a page without Jupyter: drawing, keyboard, hostile names, and every way to fail."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage, built, graph_state
from tests.widgets import graphs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    yield page
    assert page.outside == [], "requests that leave the page"
    page.close()


def shown_lesson(**more: Any) -> dict[str, Any]:
    return graph_state(graphs.lesson(), **more)


def lesson_marks() -> dict[str, Any]:
    nodes = graphs.lesson()
    words = "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    return graphs.marks_of(nodes, ["pow_op"]) | {"words": words}


def node_locator(bare: BarePage, name: str) -> Any:
    return bare.page.locator(f'.df-node:has(> title:text-is("{name}"))').last


def test_graph_is_drawn_by_graphviz_in_a_worker(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    assert bare.page.locator(".df-node").count() == 6
    assert bare.page.locator(".df-edge").count() == 8
    assert bare.page.locator(".df-edge > title").first.text_content() == "x:0  int32 ()"
    mode = bare.page.evaluate(
        "Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])"
        ".find((v) => v?.queue)?.mode"
    )
    assert mode == "worker"
    assert bare.failures() == []


def test_marks_are_classes_words_and_labels(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    assert "df-pruned" in node_locator(bare, "useless").get_attribute("class")
    assert "df-fetched" in node_locator(bare, "pow_op").get_attribute("class")
    assert "df-needed" in node_locator(bare, "x").get_attribute("class")
    assert node_locator(bare, "useless").locator(".df-tag").text_content() == "pruned"
    assert "pruned" in node_locator(bare, "useless").get_attribute("aria-label")
    status = bare.page.locator(".df-status")
    assert status.get_attribute("aria-live") == "polite"
    assert status.text_content() == lesson_marks()["words"]


def test_a_highlight_does_not_lay_out_again(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate("document.querySelector('.df-svg').dataset.same = 'yes'")
    bare.page.evaluate("(m) => models[0].update('marks', m)", lesson_marks())
    assert "df-pruned" in node_locator(bare, "useless").get_attribute("class")
    assert bare.page.locator(".df-svg").get_attribute("data-same") == "yes"
    bare.page.evaluate("models[0].update('marks', {})")
    assert "df-pruned" not in node_locator(bare, "useless").get_attribute("class")


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
    assert path.stat().st_size < 175_000  # nearly all of it the library, ClusterView among it
    context = chromium.new_context(offline=True)
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


def test_scopes_close_and_open(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(2)))
    bare.wait_drawn()
    before = bare.page.locator(".df-node").count()
    bare.page.locator('.df-cluster[data-scope="layer0"] > .df-cluster-label').click()
    closed = bare.page.locator('.df-node[data-id="s:layer0"]')
    closed.wait_for()
    assert closed.get_attribute("aria-expanded") == "false"
    assert bare.page.locator(".df-node").count() < before
    closed.locator(".df-toggle").click()
    bare.page.locator('.df-cluster[data-scope="layer0"]').wait_for()
    assert bare.page.locator(".df-node").count() == before


def test_large_graph_starts_closed(bare: BarePage) -> None:
    nodes = graphs.layers(60)
    assert len(nodes) > 1000
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert 1 < bare.page.locator(".df-node").count() <= 200
    # No transitions above 300 drawn nodes; here there are fewer.
    assert "df-still" not in bare.page.locator(".df-pane").get_attribute("class")


def test_no_transitions_on_a_large_drawing(bare: BarePage) -> None:
    nodes = graphs.layers(20)
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Open all").click()
    bare.page.locator(".df-pane.df-still").wait_for(timeout=30_000)
    duration = bare.page.locator(".df-shape").first.evaluate(
        "(e) => getComputedStyle(e).transitionDuration"
    )
    assert duration in ("0s", "")


def test_five_thousand_operations_stay_explorable(bare: BarePage) -> None:
    nodes = graphs.layers(300)
    assert len(nodes) > 5000
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert bare.page.locator(".df-node").count() < 400
    bare.page.locator(".df-search").fill("layer123/MatMul")
    bare.page.locator(".df-search").press("Enter")
    bare.page.locator(".df-node.df-selected").wait_for(timeout=30_000)
    assert bare.page.locator(".df-inspector h4").text_content() == "layer123/MatMul"


def test_flat_series_is_folded(bare: BarePage) -> None:
    nodes = [graphs.node("Add", "Add")]
    nodes += [graphs.node(f"Add_{i}", "Add", (nodes[-1]["name"] + ":0",)) for i in range(1, 1)]
    for i in range(1, 400):
        nodes.append(graphs.node(f"Add_{i}", "Add", (f"{nodes[-1]['name']}:0",)))
    bare.show(graph_state(nodes))
    bare.wait_drawn()
    assert bare.page.locator(".df-node").count() == 1
    assert "400" in bare.page.locator(".df-title").text_content()


def test_keyboard_alone(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    page = bare.page
    assert page.locator('.df-node[tabindex="0"]').count() == 1
    page.locator('.df-node[tabindex="0"]').focus()
    seen = {page.evaluate("document.activeElement.dataset.id")}
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "End", "Home"):
        page.keyboard.press(key)
        seen.add(page.evaluate("document.activeElement.dataset.id"))
        assert page.locator('.df-node[tabindex="0"]').count() == 1
    assert len(seen) >= 3
    page.keyboard.press("Enter")
    assert page.locator(".df-inspector").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".df-inspector").is_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "df-search"


def test_every_focusable_element_guards_jupyter_shortcuts(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(2), marks={}))
    bare.wait_drawn()
    bare.page.locator(".df-node").first.click()
    unguarded = bare.page.evaluate(
        """() => [...document.querySelectorAll('.df-widget :is(button, input, select, [tabindex])')]
             .filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"""
    )
    assert unguarded == []


def test_keys_do_not_reach_the_page(bare: BarePage) -> None:
    """Pressing d twice with focus in a widget deletes the cell unless the keys stop there."""
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate(
        "window.leaked = []; document.addEventListener('keydown', (e) => leaked.push(e.key))"
    )
    bare.page.locator('.df-node[tabindex="0"]').focus()
    bare.page.keyboard.press("d")
    bare.page.keyboard.press("d")
    bare.page.locator(".df-search").press("x")
    bare.page.get_by_role("button", name="Open all").press("b")
    assert bare.page.evaluate("leaked") == []


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
    bare.page.locator("[data-attempt=graphviz]").nth(19).wait_for(timeout=30_000)
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


def test_without_a_kernel_the_kept_picture_and_words_show(bare: BarePage) -> None:
    compress = zlib.compressobj(wbits=-15)
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='77' height='33'></svg>"
    picture = base64.b64encode(compress.compress(svg) + compress.flush()).decode()
    words = "Graph with 6 operations."
    bare.show(shown_lesson(payload={}, picture=picture, words=words), library="", engine="")
    image = bare.page.locator(".df-kept img")
    image.wait_for()
    assert image.get_attribute("alt") == words
    assert image.evaluate("(e) => e.naturalWidth") == 77
    assert bare.page.locator(".df-kept pre").text_content() == words
    bare.page.get_by_text("No kernel has answered").wait_for(timeout=10_000)


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
    bare.page.evaluate("models[0].set('picture', ''), models[0].set('snapshot', '')")
    page = reopened(chromium, bare.kept())
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
    page.page.get_by_text("this is what the notebook kept").wait_for(timeout=10_000)
    assert page.failures() == []
    page.close()


def test_the_kept_picture_shows_the_marks(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn(attempt="graphviz")
    bare.kept()
    bare.page.evaluate("(marks) => models[0].update('marks', marks)", lesson_marks())
    bare.page.evaluate("models[0].set('picture', '')")
    text = zlib.decompress(base64.b64decode(bare.kept()["picture"]), wbits=-15).decode()
    assert text.count(">pruned</text>") == 1
    assert len(text) < 20_000
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")


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
    assert image.evaluate("(e) => e.naturalWidth") == 77
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


def test_operations_that_arrive_later_are_added(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    late = graphs.node("late", "Neg", ("pow_op:0",), dtype="int32")
    bare.page.evaluate("(n) => models[0].custom({kind: 'ops', nodes: [n], fresh: [6]})", late)
    node_locator(bare, "late").wait_for(state="attached")
    assert bare.page.locator(".df-node").count() == 7
    assert "df-new" in node_locator(bare, "late").get_attribute("class")
    assert "df-new" not in node_locator(bare, "x").get_attribute("class")


def test_python_error_is_shown_in_the_widget(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    bare.page.evaluate("models[0].custom({kind: 'error', text: 'KeyError: <b>x</b>'})")
    assert "KeyError: <b>x</b>" in bare.page.get_by_role("alert").text_content()


def test_why_did_this_run(bare: BarePage) -> None:
    bare.show(shown_lesson(marks=lesson_marks()))
    bare.wait_drawn()
    node_locator(bare, "x").click()
    bare.page.get_by_role("button", name="Why").click()
    assert "because 'pow_op' was fetched" in bare.page.locator(".df-answer").text_content()
    assert bare.page.locator(".df-node.df-path").count() == 3
    node_locator(bare, "useless").click()
    bare.page.get_by_role("button", name="Why").click()
    assert "Fetching 'useless' itself" in bare.page.locator(".df-answer").text_content()


def test_hover_pairs_forward_and_gradient(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(1)))
    bare.wait_drawn()
    node_locator(bare, "layer0/MatMul").hover()
    paired = bare.page.locator(".df-node.df-pair > title").all_text_contents()
    assert set(paired) == {
        "layer0/MatMul",
        "gradients/layer0/MatMul_grad/MatMul",
        "gradients/layer0/MatMul_grad/MatMul_1",
    }
    assert "dA = dC·Bᵀ" in bare.page.locator(".df-note").text_content()


def test_focus_shows_what_hovering_shows(bare: BarePage) -> None:
    bare.show(graph_state(graphs.layers(1)))
    bare.wait_drawn()
    node_locator(bare, "layer0/MatMul").focus()
    assert bare.page.locator(".df-node.df-pair").count() == 3
    assert "dA = dC·Bᵀ" in bare.page.locator(".df-note").text_content()


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


def test_comparison_of_two_fetches(bare: BarePage) -> None:
    marks = {
        "fetched": [4, 5],
        "fed": [],
        "needed": [0, 1, 2, 3, 4, 5],
        "first": [0, 1, 2, 3, 5],
        "second": [0, 1, 2, 4],
        "words": "A needs 5, B needs 4",
    }
    bare.show(shown_lesson(marks=marks))
    bare.wait_drawn()
    tags = {
        name: node_locator(bare, name).locator(".df-tag").text_content()
        for name in ("x", "mul_op", "useless")
    }
    assert tags == {"x": "A and B", "mul_op": "only A", "useless": "only B"}
    assert "only B" in node_locator(bare, "useless").get_attribute("aria-label")


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


def stepper_state() -> dict[str, Any]:
    """A stepper on the run of pow_op in lesson 02."""
    values = {0: 2, 1: 3, 2: 5, 3: 6, 5: 15625}
    summary = {"kind": "scalar", "dtype": "int32", "shape": [], "shape_text": "()", "size": 1}
    steps = [
        {"i": i, "type": "Op", "s": 1e-6, "in": reads, "out": [summary | {"bytes": 4, "data": [v]}]}
        for (i, v), reads in zip(values.items(), ([], [], [0, 1], [0, 1], [2, 3]), strict=True)
    ]
    run = {"label": "run 1", "steps": steps, "fetched": [5], "fed": [], "feed_values": {}}
    state = shown_lesson(kind="stepper", marks=lesson_marks())
    state["payload"]["trace"] = {"runs": [run | {"marks": lesson_marks()}], "only": []}
    return state


def test_saved_stepper_steps_offline(bare: BarePage, chromium: Browser) -> None:
    bare.show(stepper_state())
    bare.wait_drawn()
    bare.page.get_by_role("button", name="Save").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="HTML").click()
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.set_content(download.value.path().read_text(encoding="utf-8"))
    page.locator(".df-widget[data-step='0']").wait_for()
    for _ in range(5):
        page.get_by_role("button", name="One step forward").click()
    assert page.locator(".df-now .df-number").text_content() == "15625"
    page.get_by_role("button", name="One step back").click()
    assert page.locator(".df-now .df-number").text_content() == "6"
    context.close()


def test_a_step_on_another_task_says_who_waited_for_whom(bare: BarePage) -> None:
    state = stepper_state()
    steps = state["payload"]["trace"]["runs"][0]["steps"]
    for step in steps:
        step["on"] = "ps 0"
    steps[2] |= {"on": "worker 0", "recv": [[0, "ps 0", 4, 1e-4]], "wait": [2e-4, 0]}
    bare.show(state)
    bare.wait_drawn()
    for _ in range(3):
        bare.page.get_by_role("button", name="One step forward").click()
    assert "'add_op' on worker 0" in bare.page.locator(".df-status").text_content()
    told = bare.page.locator(".df-travel").all_text_contents()
    assert told == [
        "Recv x from ps 0: 4 B, under way for at most 100 µs.",
        "worker 0 waited 200 µs for x.",
    ]
    assert node_locator(bare, "add_op").locator(".df-tag").text_content() == "worker 0"
    assert node_locator(bare, "add_op").get_attribute("aria-label").count(", worker 0") == 1
    assert bare.page.evaluate(CONTRAST) == []


def test_the_branch_taken_and_the_iteration_are_said(bare: BarePage) -> None:
    state = stepper_state()
    state["payload"]["nodes"][2] |= {"op": "Merge"}
    steps = state["payload"]["trace"]["runs"][0]["steps"]
    taken = steps[2]["out"][0] | {"data": [1]}
    steps[2] |= {"type": "Merge", "out": [steps[2]["out"][0], taken]}
    steps.insert(3, dict(steps[1]))
    bare.show(state)
    bare.wait_drawn()
    for words in (
        "",
        "iteration 1 of 2",
        "Branch taken: the value comes from y:0",
        "iteration 2 of 2",
    ):
        bare.page.get_by_role("button", name="One step forward").click()
        assert words in bare.page.locator(".df-status").text_content()


def test_every_focusable_element_of_the_stepper_is_guarded(bare: BarePage) -> None:
    bare.show(stepper_state())
    bare.wait_drawn()
    bare.page.get_by_role("button", name="One step forward").click()
    bare.page.locator(".df-node").first.click()
    unguarded = bare.page.evaluate(
        """() => [...document.querySelectorAll(
                 '.df-widget :is(button, input, select, textarea, summary, [tabindex])')]
             .filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"""
    )
    assert unguarded == []
    assert bare.page.evaluate(CONTRAST) == []


def test_a_run_that_failed_shows_where(bare: BarePage) -> None:
    state = stepper_state()
    run = state["payload"]["trace"]["runs"][0]
    run |= {"steps": run["steps"][:4], "error": "<b>overflow</b>", "failed": 5}
    bare.show(state)
    bare.wait_drawn()
    bare.page.get_by_role("button", name="To the end").click()
    assert "df-failed" in node_locator(bare, "pow_op").get_attribute("class")
    assert "Then it failed: <b>overflow</b>" in bare.page.locator(".df-status").text_content()


def test_isolate_and_back(bare: BarePage) -> None:
    bare.show(shown_lesson())
    bare.wait_drawn()
    node_locator(bare, "add_op").click()
    bare.page.get_by_role("button", name="Isolate").click()
    bare.page.locator('.df-widget[data-drawn="5"]').wait_for()
    bare.page.get_by_role("button", name="Whole graph").click()
    bare.page.locator('.df-widget[data-drawn="6"]').wait_for()


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
    bare.page.wait_for_timeout(400)  # until colors have settled
    assert serious_findings(bare.page, "main") == []
    bare.close()


# Text whose contrast with what is behind it is below 4.5:1: HTML text against its background, node
# text against the node's fill.
CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (color, under = [255, 255, 255]) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const opaque = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c && c !== 'rgba(0, 0, 0, 0)' && c !== 'transparent') return rgb(c);
    }
    return [255, 255, 255];
  };
  const low = [];
  const root = document.querySelector('.df-widget');
  const paper = rgb(getComputedStyle(root).backgroundColor);
  for (const e of root.querySelectorAll('*')) {
    if (!e.textContent.trim() || e.children.length && !e.matches('summary, p, dd, dt, button')) continue;
    const style = getComputedStyle(e);
    if (!e.getClientRects().length || style.visibility === 'hidden' || e.closest(':disabled')) continue;
    if (e.tagName === 'title' || e.tagName === 'OPTION') continue;
    const svg = e instanceof SVGElement;
    const shape = svg && e.closest('.df-node') && !e.matches('.df-tag') && e.closest('.df-node').querySelector('.df-shape');
    const behind = shape ? rgb(getComputedStyle(shape).fill, paper) : svg ? paper : opaque(e);
    const value = ratio(rgb(svg ? style.fill : style.color, behind), behind);
    if (value < 4.5) low.push(`${e.className.baseVal ?? e.className} '${e.textContent.slice(0, 30)}': ${value.toFixed(2)}`);
  }
  return low;
}"""


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
