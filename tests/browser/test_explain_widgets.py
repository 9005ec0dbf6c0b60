"""RewritePlayer and Timeline in a page: by mouse, by keyboard alone, in both themes, saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dataflow as tf
from dataflow_widgets import RewritePlayer, Timeline
from tests.browser.axe import CONTRAST, serious_findings
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import at_rest, new_context
from tests.widgets.graphs import EVIL
from tests.widgets.test_timeline import PS, WORKER, made_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

UNGUARDED = """() => [...document.querySelectorAll(
    '.df-widget :is(button, input, select, textarea, summary, [tabindex])')]
    .filter((e) => e.dataset.lmSuppressShortcuts !== 'true').map((e) => e.outerHTML)"""


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    yield page
    assert page.outside == [], "requests that leave the page"
    assert page.failures() == []
    page.close()


def traits(widget: Any) -> dict[str, Any]:
    """The state that a page gets of a widget."""
    keys = ("kind", "title", "height", "marks", "picture", "words", "failure", "payload")
    return json.loads(json.dumps({key: getattr(widget, key) for key in keys}))


def player(title: str = "") -> dict[str, Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 256], name="x")
        tf.square(x, name="unused")
        y = tf.pow(tf.multiply(x, 1.0, name="once"), 2.0, name="squared")
        z = tf.square(tf.tanh(y) * 2.0 + 1.0, name="z")
        return traits(RewritePlayer(session, z, [x], title=title))


def test_the_player_lists_what_the_graph_could_say_instead(bare: BarePage) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.log(1.0 + tf.exp(tf.placeholder(tf.float32, [None], name="x")), name="softened")
        state = traits(RewritePlayer(session, y))
    state["payload"]["offers"][0]["built_at"] = EVIL
    bare.show(state)
    item = bare.page.locator(".df-offers li")
    item.wait_for()
    assert "tf.nn.softplus(x) does not: at softened, " in item.text_content()
    assert EVIL in item.text_content()
    assert bare.page.evaluate("window.hacked") is None


def run_of_two_tasks() -> dict[str, Any]:
    return traits(Timeline(made_up()))


def show_player(bare: BarePage, **more: Any) -> Any:
    bare.show(player() | more)
    bare.page.locator('.df-widget[data-step="1"]').wait_for()
    bare.page.locator(".df-column:not([hidden]) .df-pane[data-attempt] .df-node").last.wait_for()
    return bare.page.locator(".df-rewrite-player")


def show_timeline(bare: BarePage) -> Any:
    bare.show(run_of_two_tasks())
    bare.page.locator('.df-widget[data-drawn="4"]').wait_for()
    return bare.page.locator(".df-timeline")


def tags(bare: BarePage, side: str) -> dict[str, str]:
    return bare.page.evaluate(
        """(side) => Object.fromEntries([...document.querySelectorAll(
             `.df-column[aria-label=${side}] .df-node`)].map((e) =>
             [e.querySelector('title').textContent, e.querySelector('.df-tag').textContent]))""",
        side,
    )


def wait_tag(bare: BarePage, side: str, word: str) -> None:
    bare.page.locator(f".df-column[aria-label={side}] .df-tag", has_text=word).first.wait_for(
        state="attached"
    )


# ---- RewritePlayer ----------------------------------------------------------------------------


def test_pruning_is_shown_first_then_each_rewrite(bare: BarePage) -> None:
    inside = show_player(bare)
    wait_tag(bare, "before", "goes")
    assert tags(bare, "before")["unused"] == "goes"
    assert "unused" not in tags(bare, "after")
    assert "what no fetch needs -> nothing" in inside.locator(".df-status").text_content()
    seen = []
    forward = inside.get_by_role("button", name="One rewrite forward")
    while forward.is_enabled():
        forward.click()
        seen.append(inside.locator(".df-equation").text_content())
    assert "x * 1 -> x" in seen
    assert "x ** 2 -> square(x)" in seen
    assert seen[-1].endswith("one kernel")
    assert "def block(" in inside.locator(".df-kernel pre").text_content()
    wait_tag(bare, "after", "new")
    words = inside.locator(".df-status").text_content()
    assert f"Step {len(seen) + 1} of {len(seen) + 1}, at z:0" in words
    assert "1 node is new" in words
    inside.get_by_role("button", name="To the start").click()
    assert "The graph as it was built" in inside.locator(".df-status").text_content()
    assert inside.locator(".df-column:not([hidden])").count() == 1


@pytest.mark.parametrize(("width", "dark"), [(620, True), (1280, False), (1700, True)])
def test_before_and_after_are_side_by_side_where_both_fit(
    chromium: Browser, width: int, dark: bool
) -> None:
    bare = BarePage(chromium, dark=dark)
    bare.page.set_viewport_size({"width": width, "height": 1000})
    inside = show_player(bare)
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    wait_tag(bare, "after", "new")
    wait_tag(bare, "before", "goes")
    inside.locator(".df-body:is([data-arrange=beside], [data-arrange=below])").wait_for()
    boxes = [column.bounding_box() for column in inside.locator(".df-column").all()]
    assert boxes[0] and boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"], "both can be seen at once"
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 1
    cut = bare.page.evaluate(
        "[...document.querySelectorAll('.df-scroller')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0, "no graph is cut"
    assert inside.locator(".df-saved").text_content()
    bare.page.screenshot(path=str(screenshot_folder() / f"rewrites_{width}_{dark}.png"))
    bare.close()


MOVES = """() => {
    window.moves = [];
    const real = Element.prototype.animate;
    Element.prototype.animate = function (frames, timing) {
        const kind = frames[0].transform ? "moves" : frames[0].opacity ? "fades" : "appears";
        if (!this.matches(".df-edge, .df-cluster, [data-edge]"))
            moves.push([this.querySelector("title")?.textContent, kind, frames[0].transform]);
        return real.call(this, frames, timing);
    };
}"""


def test_before_turns_into_after(bare: BarePage) -> None:
    inside = show_player(bare)
    bare.page.evaluate(MOVES)
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    wait_tag(bare, "after", "new")
    bare.page.wait_for_function("() => moves.length")
    moves = bare.page.evaluate("moves")
    kinds = {name: kind for name, kind, _ in moves}
    after = tags(bare, "after")
    assert kinds["squared/rewritten/Square"] == "appears"
    assert kinds["squared"] == "fades"
    assert {name for name, kind in kinds.items() if kind == "moves"} == {
        name for name, tag in after.items() if tag != "new"
    }
    assert any(where != "translate(0px, 0px)" for _, kind, where in moves if kind == "moves"), (
        "what stays comes from where it was"
    )
    bare.page.wait_for_function("() => !document.querySelector('.df-ghosts')")
    assert tags(bare, "after") == after, "it ends as it was drawn"


def test_swapping_moves_both_ways_and_a_saved_picture_is_at_rest(bare: BarePage) -> None:
    inside = show_player(bare)
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    wait_tag(bare, "after", "new")
    bare.page.wait_for_function("() => !document.querySelector('.df-ghosts')")
    bare.page.evaluate(MOVES)
    swap = inside.get_by_role("button", name="Swap")
    swap.click()  # the graph after it alone
    bare.page.locator(".df-column[aria-label=before]").wait_for(state="hidden")
    for word, gone in (("goes", "squared/rewritten/Square"), ("new", "squared")):
        swap.click()
        side = "after" if word == "new" else "before"
        wait_tag(bare, side, word)
        bare.page.wait_for_function(
            "(name) => moves.some(([n, kind]) => n === name && kind === 'fades')", arg=gone
        )
    with bare.page.expect_download() as saved:
        swap.click()
        inside.get_by_role("button", name="Save").click()
        inside.get_by_role("menuitem", name="Picture (SVG)").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert "opacity" not in text and "transform" not in text


def test_nothing_moves_for_readers_who_want_no_motion(bare: BarePage) -> None:
    bare.page.emulate_media(reduced_motion="reduce")
    inside = show_player(bare)
    bare.page.evaluate(MOVES)
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    wait_tag(bare, "after", "new")
    inside.get_by_role("button", name="Swap").click()
    bare.page.locator(".df-column[aria-label=before]").wait_for(state="hidden")
    assert bare.page.evaluate("moves") == []


def answer_measure(bare: BarePage, **content: Any) -> None:
    """The kernel's answer to the newest question."""
    bare.page.wait_for_function("() => sent.some((m) => m.kind === 'measure' && !m.done)")
    bare.page.evaluate(
        """(content) => {
            const message = sent.findLast((m) => m.kind === 'measure');
            for (const one of sent) one.done = true;
            models[0].custom({ kind: 'answer', id: message.id, content });
        }""",
        content,
    )


def test_the_time_that_a_rewrite_saves_is_asked_for_and_told(bare: BarePage) -> None:
    inside = show_player(bare)
    timed = inside.locator(".df-timed")
    inside.get_by_role("button", name="x * 1 -> x").click()
    answer_measure(bare, before=8e-6, after=6.5e-6, saved=1.5e-6, pairs=40)
    said = "Saves 1.5 µs in each run, measured (8 µs without it, 6.5 µs with it: medians of 40 pairs of runs)."
    bare.page.get_by_text(said).wait_for()
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    assert "Saves" not in timed.text_content(), "what was measured is of another rewrite"
    answer_measure(
        bare, reason="AssignAdd 'n' changes something or is seen outside, so it must not run twice"
    )
    bare.page.get_by_text("Time not measured: AssignAdd 'n' changes something").wait_for()
    inside.get_by_role("button", name="One rewrite forward").click()
    answer_measure(bare, before=2e-3, after=2e-3, saved=None, pairs=9)
    bare.page.get_by_text("No difference in time beyond that between runs (2.00 ms").wait_for()
    inside.get_by_role("button", name="x * 1 -> x").click()
    bare.page.get_by_text(said).wait_for()
    asked = bare.page.evaluate("sent.filter((m) => m.kind === 'measure').length")
    assert asked == 3, "measured once"


def test_what_goes_comes_and_is_rewired_is_said_in_words(bare: BarePage) -> None:
    inside = show_player(bare)
    inside.get_by_role("button", name="x ** 2 -> square(x)").click()
    wait_tag(bare, "before", "goes")
    wait_tag(bare, "after", "new")
    before, after = tags(bare, "before"), tags(bare, "after")
    assert {name for name, tag in before.items() if tag == "goes"} >= {"squared"}
    assert after["squared/rewritten/Square"] == "new"
    assert after["Tanh"] == before["Tanh"] == "rewired"
    label = bare.page.locator(".df-column[aria-label=after] .df-comes").get_attribute("aria-label")
    assert label.endswith(", new")


def test_closed_scopes_say_how_many_go(bare: BarePage) -> None:
    """Two closed scopes: all of one is pruned, half of the other."""
    nodes = [
        {"name": f"{scope}/op{i}", "op": "Neg", "inputs": [], "outputs": []}
        for scope in ("whole", "half")
        for i in range(150)
    ]
    gone = [n["name"] for n in nodes if n["name"].startswith("whole") or n["name"].endswith("7")]
    step = {"rule": "pruning", "equation": "e", "at": "", "after": "", "put": [], "num_hits": 1}
    state = player()
    state["payload"] |= {"nodes": nodes, "steps": [step | {"removed": gone, "kernel": ""}]}
    bare.show(state)
    wait_tag(bare, "before", "go")
    found = bare.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(
             '.df-column[aria-label=before] .df-node')].map((e) =>
             [e.dataset.id, e.querySelector('.df-tag').textContent]))"""
    )
    assert found == {"s:whole": "all go", "s:half": "15 go"}


def test_jump_by_list_and_by_name(bare: BarePage) -> None:
    inside = show_player(bare)
    rules = inside.locator(".df-rules li").all_text_contents()
    assert rules[0] == "what no fetch needs -> nothing × 1"
    inside.get_by_role("button", name="x * 1 -> x").click()
    assert inside.locator(".df-equation").text_content() == "x * 1 -> x"
    assert inside.locator("[aria-current=step]").text_content() == "x * 1 -> x"
    box = inside.get_by_role("searchbox")
    box.fill("square")
    box.press("Enter")
    assert "square" in inside.locator(".df-equation").text_content()
    box.fill("nothing of the sort")
    box.press("Enter")
    assert "No rewrite matches" in inside.locator(".df-status").text_content()


def test_toggled_instead_of_side_by_side(bare: BarePage) -> None:
    inside = show_player(bare)
    inside.get_by_label("show").select_option("after")
    assert inside.locator(".df-column:not([hidden])").get_attribute("aria-label") == "after"
    inside.get_by_role("button", name="Swap").click()
    assert inside.locator(".df-column:not([hidden])").get_attribute("aria-label") == "before"
    inside.get_by_label("show").select_option("both")
    assert inside.locator(".df-column:not([hidden])").count() == 2
    inside.get_by_label("how much").select_option("near")
    inside.get_by_role("button", name="x * 1 -> x").click()
    bare.page.locator(".df-column[aria-label=before] .df-node").nth(4).wait_for(state="attached")
    bare.page.wait_for_function(
        "() => document.querySelectorAll('.df-column[aria-label=before] .df-node').length === 5"
    )
    wait_tag(bare, "before", "goes")
    assert set(tags(bare, "before")) == {"x", "once", "once/y", "squared", "squared/y"}


def test_playing_ends_at_the_end(bare: BarePage) -> None:
    inside = show_player(bare)
    inside.get_by_label("speed").select_option("50")
    inside.get_by_role("button", name="Play").click()
    bare.page.wait_for_function(
        "() => document.querySelector('.df-counter').textContent.match(/^(\\d+) \\/ \\1$/)"
    )
    assert inside.get_by_role("button", name="Play").is_visible()


def test_the_player_by_keyboard_alone(bare: BarePage) -> None:
    show_player(bare)
    page = bare.page
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.title") == "One rewrite forward":
            break
    page.keyboard.press("Enter")
    page.locator('.df-widget[data-step="2"]').wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('df-node')"):
            break
    page.keyboard.press("n")
    page.locator('.df-widget[data-step="3"]').wait_for()
    assert page.evaluate(UNGUARDED) == []


def test_hostile_names_and_equations_are_text(bare: BarePage) -> None:
    state = player(title=EVIL)
    step = state["payload"]["steps"][1]
    step |= {"equation": EVIL, "rule": EVIL, "at": EVIL, "kernel": EVIL}
    step["put"][0] = step["put"][0] | {"op": "<img src=x onerror=hacked=1>"}
    state["payload"]["plan"] = EVIL
    bare.show(state)
    bare.page.locator('.df-widget[data-step="1"]').wait_for()
    bare.page.get_by_role("button", name="One rewrite forward").click()
    assert bare.page.locator(".df-equation").text_content() == EVIL
    assert bare.page.locator(".df-kernel pre").text_content() == EVIL
    assert bare.page.evaluate("window.hacked") is None
    assert bare.page.locator("main img, main script").count() == 0


# ---- Timeline ---------------------------------------------------------------------------------


def test_lanes_bars_copies_and_waits(bare: BarePage) -> None:
    inside = show_timeline(bare)
    lanes = inside.locator(".df-lane-name").all_text_contents()
    assert lanes == [f"{PS}ps:0", f"{WORKER}worker:0"], "the device is told on hover"
    assert inside.locator(".df-bar").count() == 4
    copies = inside.locator(".df-copy > title").all_text_contents()
    assert copies[0].startswith("Send w from ps:0, Recv on worker:0: 3.9 KB")
    waits = inside.locator(".df-wait > title").all_text_contents()
    assert "waits for w, 40 µs" in waits
    assert "idle, 10 µs" in waits
    assert (
        "3 ops, 45 µs and 2 messages between lanes, 60 µs. 2 copies"
        in inside.locator(".df-status").text_content()
    )


def test_selecting_an_op_tells_all_of_it(bare: BarePage) -> None:
    inside = show_timeline(bare)
    inside.locator('.df-bar[aria-label^="MatMul product"]').click()
    facts = inside.locator(".df-op").inner_text()
    for fact in ("product", "MatMul", "40 µs", "30 µs, 28.6 % of the run", "400 B", "on it"):
        assert fact in facts
    assert "30 µs before it began" in facts
    assert "40 µs before it, for w" in facts
    inside.locator(".df-op").get_by_role("button", name="total").click()
    assert inside.locator(".df-op h4").text_content() == "total"


def test_zoom_and_pan_by_mouse(bare: BarePage) -> None:
    inside = show_timeline(bare)
    page = bare.page
    bar = '.df-bar[aria-label^="MatMul product"] > rect'
    width = float(page.locator(bar).get_attribute("width"))
    box = page.locator(bar).bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(
        "([bar, w]) => Number(document.querySelector(bar).getAttribute('width')) > w * 1.2",
        arg=[bar, width],
    )
    after = page.locator(bar).bounding_box()
    assert abs(after["x"] + after["width"] / 2 - middle[0]) < 4, "what is under the pointer stays"
    page.mouse.down()
    page.mouse.move(middle[0] - 60, middle[1], steps=4)
    page.mouse.up()
    page.wait_for_function(
        "([bar, x]) => document.querySelector(bar).getBoundingClientRect().x < x - 40",
        arg=[bar, after["x"]],
    )
    assert inside.locator(".df-op h4").count() == 0, "a drag selects nothing"
    page.get_by_role("button", name="Fit").click()
    page.wait_for_function(
        "([bar, w]) => Math.abs(document.querySelector(bar).getAttribute('width') - w) < 1",
        arg=[bar, width],
    )


def late_message() -> Any:
    """Ops of some µs, and 41 ms until a value of 8 bytes is there."""
    metadata = made_up()
    for node in metadata.step_stats.dev_stats[1].node_stats:
        node.all_start_micros += 41_000
    metadata.step_stats.dev_stats[0].node_stats[1].all_start_micros += 41_000
    return metadata


@pytest.mark.parametrize(("width", "dark"), [(620, True), (1280, False), (1700, True)])
def test_idle_time_is_cut_short_and_can_be_drawn_to_scale(
    chromium: Browser, width: int, dark: bool
) -> None:
    bare = BarePage(chromium, dark=dark)
    bare.page.set_viewport_size({"width": width, "height": 700})
    bare.show(traits(Timeline(late_message())))
    bare.page.locator('.df-widget[data-drawn="4"]').wait_for()
    product = bare.page.locator('.df-bar[aria-label^="MatMul product"] > rect')
    assert float(product.get_attribute("width")) > 50, "30 of 41,105 µs"
    assert bare.page.locator(".df-cut > title").text_content() == "nothing ran for 41.03 ms"
    texts = [
        b
        for e in bare.page.locator(".df-flame-svg > text, .df-cut > text").all()
        if (b := e.bounding_box())
    ]
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            apart = one["x"] + one["width"] < other["x"] or other["x"] + other["width"] < one["x"]
            assert apart, "ticks do not lie over each other"
    status = bare.page.locator(".df-status").text_content()
    assert "3 ops, 45 µs and 2 messages between lanes, 41.06 ms" in status
    assert serious_findings(bare.page, "main") == []
    bare.page.screenshot(path=str(screenshot_folder() / f"timeline_cut_{width}_{dark}.png"))
    bare.page.get_by_role("button", name="Idle time cut").click()
    bare.page.locator(".df-cut").wait_for(state="detached")
    assert float(product.get_attribute("width")) < 2
    bare.close()


def test_a_click_finds_the_node_in_the_graph(bare: BarePage) -> None:
    """In the view that draws the graph of the run, and in no other."""
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.name_scope("layer"):
            x = tf.constant([1.0, 2.0], name="x")
            y = tf.tanh(x * 2.0, name="y")
        from dataflow.runtime.stepper import record
        from dataflow_widgets import GraphView

        state = traits(Timeline(record(session, y)))
        view = GraphView(session.graph)
        right = graph_state(view.payload["nodes"])
        view.close()
    other = graph_state([{"name": "layer/y", "op": "Tanh", "inputs": [], "outputs": []}])
    bare.show(other)
    bare.wait_drawn()
    bare.show(right)
    bare.wait_drawn()
    bare.show(state)
    bar = bare.page.locator('.df-bar[aria-label^="Tanh layer/y"]')
    bar.click(force=True)
    bare.page.locator(".df-widget:nth-child(1) .df-node.df-selected").wait_for()
    views = bare.page.locator(".df-graph-view")
    assert views.nth(1).locator(".df-node.df-selected > title").text_content() == "layer/y"
    assert views.nth(0).locator(".df-node.df-selected").count() == 0
    timeline = bare.page.locator(".df-timeline")
    assert timeline.locator(".df-status").text_content().endswith("Shown in the graph.")
    bare.page.evaluate("stops[1]()")
    timeline.get_by_role("button", name="Show in the graph").click()
    assert "No GraphView of this graph is open" in timeline.locator(".df-status").text_content()


def test_the_timeline_says_that_first_runs_are_slow(bare: BarePage) -> None:
    bare.show(run_of_two_tasks())
    bare.page.locator(".df-timeline .df-hint", has_text="trace a later run").wait_for()


def test_the_timeline_by_keyboard_alone(bare: BarePage) -> None:
    inside = show_timeline(bare)
    page = bare.page
    page.evaluate("document.activeElement.blur()")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('df-bar')"):
            break
    assert page.locator('.df-bar[tabindex="0"]').count() == 1
    seen = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End", "Home"):
        page.keyboard.press(key)
        seen.append(
            page.evaluate("document.activeElement.getAttribute('aria-label')").split(",")[0]
        )
    assert seen == [
        *("Sum total", "Neg late", "MatMul product", "Identity w", "Sum total", "Identity w")
    ]
    page.keyboard.press("c")
    assert page.locator(".df-bar.df-critical").count() == 3
    assert inside.get_by_role("button", name="Critical path", exact=True).get_attribute(
        "aria-pressed"
    )
    page.keyboard.press("Enter")
    assert inside.locator(".df-op h4").text_content() == "w"
    before = page.locator(".df-tick + text").all_text_contents()
    page.keyboard.press("+")
    page.wait_for_function(
        "(t) => [...document.querySelectorAll('.df-tick + text')].map((e) => e.textContent)"
        ".join() !== t.join()",
        arg=before,
    )
    assert page.evaluate("document.activeElement.classList.contains('df-bar')"), "focus stays"
    page.keyboard.press("0")
    page.keyboard.press("/")
    page.keyboard.type("neg")
    assert "1 match for neg" in inside.locator(".df-status").text_content()
    page.keyboard.press("Enter")
    assert inside.locator(".df-op h4").text_content() == "late"
    assert page.evaluate(UNGUARDED) == []


def test_the_table_says_the_same(bare: BarePage) -> None:
    inside = show_timeline(bare)
    inside.locator(".df-as-table > summary").click()
    rows = inside.locator(".df-as-table tbody tr")
    rows.nth(3).wait_for()
    assert rows.count() == 4
    assert rows.nth(1).locator("th, td").all_text_contents() == [
        *("product", "MatMul", "worker:0"),
        *("40 µs", "30 µs", "400 B", "yes"),
    ]


def test_many_ops_stay_quick(bare: BarePage) -> None:
    state = run_of_two_tasks()
    ops = [[i % 4, i % 2, 0, i * 10, 9, 4, [i - 1] if i else []] for i in range(20_000)]
    state["payload"] |= {
        "ops": ops,
        "duration": 200_000,
        "copies": [],
        "waits": [],
        "critical": [0],
    }
    bare.show(state)
    bare.page.locator('.df-widget[data-drawn="20000"]').wait_for()
    assert bare.page.locator(".df-bar").count() < 3000, "what cannot be told apart is drawn once"
    for _ in range(11):
        bare.page.get_by_role("button", name="Zoom in").click()
    bare.page.wait_for_function("() => document.querySelectorAll('.df-bar-text').length > 5")


def test_hostile_names_in_a_timeline(bare: BarePage) -> None:
    metadata = made_up()
    metadata.step_stats.dev_stats[0].device = EVIL
    for node in metadata.step_stats.dev_stats[1].node_stats:
        node.node_name = f"{EVIL}{node.node_name}"
    bare.show(traits(Timeline(metadata, title=EVIL)))
    bare.page.locator('.df-widget[data-drawn="4"]').wait_for()
    bare.page.locator(".df-bar").last.click()
    bare.page.locator(".df-as-table > summary").click()
    assert f"{EVIL}{EVIL}" in bare.page.locator(".df-lane-name").all_text_contents()
    assert bare.page.evaluate("window.hacked") is None
    assert bare.page.locator("main img, main script").count() == 0


# ---- both -------------------------------------------------------------------------------------

SHOW = {"rewrite_player": show_player, "timeline": show_timeline}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("which", sorted(SHOW))
def test_axe_finds_nothing_serious(chromium: Browser, dark: bool, which: str) -> None:
    bare = BarePage(chromium, dark=dark)
    inside = SHOW[which](bare)
    if which == "timeline":
        inside.get_by_role("button", name="Critical path", exact=True).click()
        inside.locator(".df-bar").nth(1).click()
        inside.locator(".df-as-table > summary").click()
        inside.locator("tbody tr").last.wait_for()
    else:
        inside.get_by_role("button", name="x ** 2 -> square(x)").click()
        wait_tag(bare, "after", "new")
        bare.page.locator(".df-node.df-comes").click()
    at_rest(bare.page)
    assert serious_findings(bare.page, "main") == []
    if which == "rewrite_player":
        assert bare.page.evaluate(CONTRAST) == []
    folder = screenshot_folder()
    folder.mkdir(parents=True, exist_ok=True)
    inside.screenshot(path=folder / f"{which}_{'dark' if dark else 'light'}.png")
    bare.close()


@pytest.mark.parametrize("which", sorted(SHOW))
def test_no_sideways_overflow_at_400_percent(bare: BarePage, which: str) -> None:
    """400% zoom of a 1280 px window leaves 320 px."""
    bare.page.set_viewport_size({"width": 320, "height": 700})
    SHOW[which](bare)
    assert bare.page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("which", sorted(SHOW))
def test_reduced_motion(bare: BarePage, which: str) -> None:
    bare.page.emulate_media(reduced_motion="reduce")
    SHOW[which](bare)
    moving = bare.page.evaluate(
        """() => [...document.querySelectorAll('.df-widget *')].filter((e) => {
             const s = getComputedStyle(e);
             return s.animationName !== 'none' || !['0s', ''].includes(s.transitionDuration);
           }).map((e) => e.className.baseVal ?? e.className)"""
    )
    assert moving == []


@pytest.mark.parametrize("which", sorted(SHOW))
def test_saved_page_works_offline(bare: BarePage, chromium: Browser, which: str) -> None:
    SHOW[which](bare)
    bare.page.get_by_role("button", name="Save").click()
    with bare.page.expect_download() as download:
        bare.page.get_by_role("menuitem", name="HTML").click()
    context = new_context(chromium, offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.set_content(download.value.path().read_text(encoding="utf-8"))
    if which == "timeline":
        page.locator('.df-widget[data-drawn="4"]').wait_for()
        page.locator(".df-bar").first.click()
        assert page.locator(".df-op h4").text_content() == "w"
    else:
        page.locator('.df-widget[data-step="1"]').wait_for()
        page.get_by_role("button", name="To the end").click()
        page.locator(".df-column[aria-label=after] .df-node").first.wait_for()
        assert page.locator(".df-equation").text_content().endswith("one kernel")
    assert errors == []
    context.close()


@pytest.mark.parametrize("which", sorted(SHOW))
def test_without_a_kernel_the_kept_words_show(bare: BarePage, which: str) -> None:
    state = player() if which == "rewrite_player" else run_of_two_tasks()
    bare.show(state | {"payload": {}}, library="", engine="")
    words = bare.page.locator(".df-kept pre").text_content()
    assert words == state["words"]
    assert words.startswith("Run of")
    bare.page.get_by_text("No kernel has answered").wait_for()


@pytest.mark.parametrize("which", sorted(SHOW))
def test_a_busy_kernel_and_an_error_are_said(bare: BarePage, which: str) -> None:
    state = player() if which == "rewrite_player" else run_of_two_tasks()
    bare.show(state | {"payload": {}})
    bare.page.get_by_text("the kernel is busy or gone").first.wait_for()
    bare.page.evaluate("models[0].custom({kind: 'error', text: 'KeyError: <b>x</b>'})")
    assert "KeyError: <b>x</b>" in bare.page.get_by_role("alert").text_content()
    bare.page.evaluate("(p) => models[0].update('payload', p)", state["payload"])
    bare.page.locator(".df-widget[data-drawn]").wait_for()


def test_ten_of_each_on_a_page(bare: BarePage) -> None:
    states = [player(), run_of_two_tasks()]
    for _ in range(10):
        for state in states:
            bare.show(state)
    bare.page.locator(".df-timeline[data-drawn]").nth(9).wait_for()
    bare.page.locator(".df-rewrite-player[data-drawn]").nth(9).wait_for()
    kinds = [m["kind"] for m in bare.page.evaluate("sent")]
    assert kinds.count("library") == 1
    assert kinds.count("engine") == 1
