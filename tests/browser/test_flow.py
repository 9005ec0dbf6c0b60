"""Numbers that flow: values on the graph of a Stepper, in a page without Jupyter and in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_widgets import Stepper
from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    page.page.set_viewport_size({"width": 1280, "height": 900})
    yield page
    assert page.failures() == []
    page.close()


def show(bare: BarePage, make: Callable[[], Stepper], **more: Any) -> None:
    """The stepper that ``make`` makes in a graph of its own."""
    with tf.Graph().as_default():
        stepper = make()
    keys = ("kind", "title", "height", "payload", "marks", "failure")
    bare.show({key: getattr(stepper, key) for key in keys} | {"picture": "", "words": ""} | more)
    bare.wait_drawn(attempt="graphviz")
    bare.page.locator(".df-stepper[data-step='0']").last.wait_for()


def node(bare: BarePage, name: str) -> Locator:
    return bare.page.locator(f'.df-node:has(> title:text-is("{name}"))').last


def classes(bare: BarePage, name: str) -> set[str]:
    return set((node(bare, name).get_attribute("class") or "").split())


def value(bare: BarePage, name: str) -> str:
    return node(bare, name).locator(".df-value-at").text_content() or ""


def go(bare: BarePage, name: str) -> None:
    """Steps to where operation ``name`` has just run."""
    node(bare, name).click()
    bare.page.get_by_role("button", name="Run to node").click()
    bare.page.locator(".df-stepper:not([data-step='0'])").last.wait_for()
    assert "df-current" in classes(bare, name)


def backward() -> Stepper:
    d = tf.Variable(2.0, name="d")
    e = tf.constant(3.0, name="e")
    a = tf.multiply(d, e, name="a")
    loss = tf.square(tf.subtract(a, 1.0, name="b"), name="loss")
    gradient = tf.gradients(loss, [d])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return Stepper(session, [loss, gradient])


def test_a_value_is_in_its_node_and_on_the_edge_into_the_next(bare: BarePage) -> None:
    show(bare, backward)
    assert value(bare, "a") == ""
    go(bare, "a")
    assert value(bare, "a") == "6"
    assert sorted(bare.page.locator(".df-token").all_text_contents()) == ["2", "3"]
    assert "value 6, alive" in (node(bare, "a").get_attribute("aria-label") or "")
    bare.page.get_by_role("button", name="One step back").click()
    assert value(bare, "a") == ""


def test_a_value_moves_along_the_edge_unless_motion_is_unwanted(bare: BarePage) -> None:
    show(bare, backward)
    step = """() => { document.querySelector('[aria-label="One step forward"]').click();
      return document.querySelector(".df-token").getAttribute("transform"); }"""
    now = "document.querySelector('.df-token').getAttribute('transform')"
    back = "() => document.querySelector('[aria-label=\"One step back\"]').click()"
    page = bare.page
    page.emulate_media(reduced_motion="reduce")
    go(bare, "a")
    resting = page.evaluate(now)
    page.evaluate(back)
    assert page.evaluate(step) == resting
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(back)
    assert page.evaluate(step) != resting
    page.locator(f'.df-token[transform="{resting}"]').first.wait_for(state="attached")


def test_values_rest_where_they_cover_no_node(bare: BarePage) -> None:
    bare.page.emulate_media(reduced_motion="reduce")
    show(bare, backward)
    bare.page.get_by_role("button", name="To the end").click()
    covered = bare.page.evaluate(
        """() => { const box = (e) => e.getBoundingClientRect();
          const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
          const tokens = [...document.querySelectorAll('.df-token')].map(box);
          const shapes = [...document.querySelectorAll('.df-shape')].map(box);
          return [tokens.length, tokens.filter((t) => shapes.some((s) => over(s, t))).length]; }"""
    )
    assert covered == [2, 0]


def test_alive_and_freed_look_different(bare: BarePage) -> None:
    show(bare, backward)
    bare.page.get_by_role("button", name="To the end").click()
    assert "df-freed" in classes(bare, "a")
    assert "df-alive" in classes(bare, "loss")
    look = """(e) => { const text = getComputedStyle(e.querySelector('.df-glyph text'));
      const shape = getComputedStyle(e.querySelector('.df-shape'));
      return [text.textDecorationLine, shape.fill]; }"""
    freed, alive = (node(bare, name).evaluate(look) for name in ("a", "loss"))
    assert freed[0] == "line-through"
    assert alive[0] == "none"
    assert freed[1] != alive[1]
    side = bare.page.locator(".df-side")
    assert side.locator(".df-finished .df-card").evaluate_all(
        "(all) => all.map((e) => e.dataset.op)"
    ) == ["loss"]
    assert "a" in side.locator(".df-card-freed").evaluate_all(
        "(all) => all.map((e) => e.dataset.op)"
    )


def test_gradient_nodes_show_their_local_rule(bare: BarePage) -> None:
    show(bare, backward)
    bare.page.get_by_role("button", name="To the end").click()
    rules = bare.page.locator(".df-local-rule").all_text_contents()
    assert sorted(rules) == ["∂a/∂d = e = 3", "∂loss/∂b = 2·b = 10"]
    assert value(bare, "gradients/a_grad/Mul") == "30∂a/∂d = e = 3"


def kinds() -> Stepper:
    rng = np.random.default_rng(0)
    images = tf.placeholder(tf.float32, [None, 12, 12, 1], name="images")
    few = tf.constant([1.0, -2.0, 4.0], name="few")
    outs = [
        tf.negative(images, name="image"),
        tf.negative(few, name="vector"),
        tf.negative(tf.constant(rng.normal(size=(9, 12)), tf.float32), name="matrix"),
        tf.tanh(tf.constant(rng.normal(size=(200, 150)), tf.float32), name="many"),
        tf.negative(tf.constant(np.arange(40.0)), name="strip"),
        tf.constant("words"),
    ]
    return Stepper(tf.Session(), outs, {images: rng.random((5, 12, 12, 1))})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_kind_of_value_has_a_picture(chromium: Browser, dark: bool) -> None:
    bare = BarePage(chromium, dark=dark)
    show(bare, kinds, height=900)
    bare.page.get_by_role("button", name="To the end").click()
    assert value(bare, "vector") == "-12-4"
    assert value(bare, "image") == "1 of 5"
    assert " ± " in value(bare, "many")
    for name, drawn in {"image": "image", "matrix": "image", "strip": "image"}.items():
        assert node(bare, name).locator(f".df-glyph {drawn}").count() == 1
    assert node(bare, "many").locator(".df-glyph-bar").count() == 24
    inside = bare.page.evaluate(
        """() => [...document.querySelectorAll('.df-glyph')].every((g) => {
          const a = g.getBoundingClientRect();
          const b = g.closest('.df-node').querySelector('.df-shape').getBoundingClientRect();
          return a.left >= b.left - 1 && a.right <= b.right + 1 && a.bottom <= b.bottom + 1; })"""
    )
    assert inside, "a picture stands out of its node"
    assert serious_findings(bare.page, "main") == []
    assert bare.failures() == []
    bare.close()


def test_keys_step_wherever_the_focus_is(bare: BarePage) -> None:
    show(bare, backward)
    page = bare.page
    at = page.locator(".df-stepper")
    page.get_by_role("button", name="One step forward").focus()
    page.keyboard.press("n")
    assert at.get_attribute("data-step") == "1"
    page.keyboard.press("ArrowRight")
    assert at.get_attribute("data-step") == "2"
    node(bare, "a").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("p")
    assert at.get_attribute("data-step") == "1"
    page.get_by_role("button", name="Save").focus()
    page.keyboard.press("n")
    assert at.get_attribute("data-step") == "2"
    page.locator(".df-break-box > summary").click()
    box = page.get_by_role("textbox", name="new breakpoint")
    box.press("n")
    assert box.input_value() == "n"
    assert at.get_attribute("data-step") == "2"
    page.get_by_role("slider", name="step").focus()
    page.keyboard.press("ArrowRight")
    assert at.get_attribute("data-step") == "3"
    node(bare, "a").focus()
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.querySelector('title').textContent")
    assert focused not in ("a", None)


def not_finite() -> Stepper:
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.reduce_sum(tf.log(x, name="logx") * 2.0, name="y")
    return Stepper(tf.Session(), y, {x: [1, 2, -1, 3]})


def test_the_first_nan_is_red_and_named(bare: BarePage) -> None:
    show(bare, not_finite)
    assert bare.page.locator(".df-origin-note").text_content() == "first NaN: logx, log of -1"
    assert node(bare, "logx").locator(".df-tag").text_content() == "first NaN"
    assert "df-origin" in classes(bare, "logx")
    assert "df-origin" not in classes(bare, "y")
    bare.page.locator(".df-origin-note").get_by_role("button").click()
    assert "df-current" in classes(bare, "logx")


def branches() -> Stepper:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0, lambda: tf.negative(x, name="yes"), lambda: tf.square(x, name="no"))
    return Stepper(tf.Session(), y, {x: 1.0})


def test_the_branch_that_is_not_taken_is_drawn_dead(bare: BarePage) -> None:
    show(bare, branches)
    assert "df-dead" not in classes(bare, "cond/no")
    bare.page.get_by_role("button", name="To the end").click()
    assert "df-dead" in classes(bare, "cond/no")
    assert "dead" in (node(bare, "cond/no").locator(".df-tag").text_content() or "")
    assert "df-dead" not in classes(bare, "cond/yes")
    assert value(bare, "cond/Merge") == "-1"
    dashes = bare.page.locator(".df-dead-edge > title").all_text_contents()
    assert any(text.startswith("cond/no:0") for text in dashes)
    assert not any(text.startswith("cond/yes:0") for text in dashes)


def loop() -> Stepper:
    start = tf.constant(0, name="start")
    return Stepper(tf.Session(), tf.while_loop(lambda i: i < 3, lambda i: i + 1, [start]))


def test_the_frame_of_a_loop_shows_its_iteration(bare: BarePage) -> None:
    show(bare, loop)
    label = bare.page.locator('.df-cluster[data-scope="while"] .df-cluster-label')
    assert label.text_content() == "whilewhile loop", "its name, and what it is"
    seen = []
    forward = bare.page.get_by_role("button", name="One step forward")
    while forward.is_enabled():
        forward.click()
        if "df-current" in classes(bare, "while/Merge"):
            token = bare.page.locator(".df-token").all_text_contents()
            seen.append((label.text_content(), value(bare, "while/Merge"), token))
    assert seen == [
        ("while · iteration 1 of 3", "0", ["0"]),
        ("while · iteration 2 of 3", "1", ["1"]),
        ("while · iteration 3 of 3", "2", ["2"]),
        ("while · ended after 3 iterations", "3", ["3"]),
    ]


def test_the_source_line_is_in_the_widget(bare: BarePage) -> None:
    show(bare, backward)
    go(bare, "a")
    assert "test_flow.py" in (bare.page.locator(".df-source small").text_content() or "")
    code = 'a = tf.multiply(d, e, name="a")'
    assert bare.page.locator(".df-source code").text_content() == code


def test_the_inspector_leads_to_the_line_that_made_a_node(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    build = """import dataflow as tf
from dataflow_widgets import GraphView
x = tf.constant(2.0, name="x")
y = tf.negative(x, name="y")"""
    cells = [build, "GraphView(tf.get_default_graph())"]
    lab_page.open_notebook(jupyter_server.write_notebook("made.ipynb", cells))
    lab_page.run_all_cells()
    inside = lab_page.output(1)
    inside.locator('.df-node:has(> title:text-is("y"))').click()
    inside.get_by_role("button", name="cell 1, line 4").click()
    lit = lab_page.page.locator(".df-source-light")
    lit.wait_for()
    at = lit.bounding_box()
    line = lab_page.page.locator(".jp-CodeCell").first.locator(".cm-line").nth(3).bounding_box()
    assert at and line
    assert abs(at["y"] - line["y"]) < 2
    inside.get_by_role("button", name="Close the inspector").click()
    assert lit.count() == 0
    # The cell is edited: another line stands there, which is not lit for it.
    lab_page.page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource("pass")"""
    )
    inside.locator('.df-node:has(> title:text-is("y"))').click()
    inside.get_by_role("button", name="cell 1, line 4").click()
    inside.get_by_text("not in this page, or changed since").wait_for()
    assert lit.count() == 0


def test_the_source_line_lights_in_its_cell(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    build = """import dataflow as tf
from dataflow_widgets import Stepper
x = tf.constant(2.0, name="x")
y = tf.negative(x, name="y")
z = tf.square(y, name="z")"""
    cells = [build, "stepper = Stepper(tf.Session(), z)\nstepper"]
    lab_page.open_notebook(jupyter_server.write_notebook("light.ipynb", cells))
    lab_page.run_cell(0)
    lab_page.run_cell(1)
    inside = lab_page.output(1)
    inside.locator(".df-stepper[data-step='0']").wait_for()
    lit = lab_page.page.locator(".df-source-light")
    lines = lab_page.page.locator(".jp-CodeCell").first.locator(".cm-line")
    for number in (2, 3, 4):
        inside.get_by_role("button", name="One step forward").click()
        inside.locator(f".df-stepper[data-step='{number - 1}']").wait_for()
        lit.wait_for()
        assert lit.count() == 1
        at, line = lit.bounding_box(), lines.nth(number).bounding_box()
        assert at and line
        assert abs(at["y"] - line["y"]) < 2
    assert inside.locator(".df-source").get_attribute("data-lit") == "true"
    lab_page.screenshot("stepper_source_line")
    inside.get_by_role("button", name="To the start").click()
    inside.locator(".df-stepper[data-step='0']").wait_for()
    assert lit.count() == 0


def trained() -> Stepper:
    w = tf.Variable(2.0, name="w")
    loss = tf.square(tf.subtract(w * 3.0, 1.0), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return Stepper(session, [loss, train])


def test_layers_are_switched_as_in_a_graph_view(bare: BarePage) -> None:
    show(bare, trained)
    layer = bare.page.get_by_label("layer of the graph that is shown")
    assert layer.input_value() == "everything", "each step is in the picture at first"
    gradient = bare.page.locator(".df-node > title", has_text="gradients/")
    num_all = bare.page.locator(".df-node").count()
    assert gradient.count() > 0
    layer.select_option("model")
    bare.page.wait_for_function("() => document.querySelectorAll('.df-roles button').length")
    bare.page.wait_for_function(
        "(n) => document.querySelectorAll('.df-node').length < n", arg=num_all
    )
    assert gradient.count() == 0
    bare.page.get_by_role("button", name="To the end").click()
    bare.page.get_by_text("Not in this picture, put aside: optimizer.").wait_for()
    bare.page.get_by_role("button", name="gradients").click()
    gradient.first.wait_for(state="attached")
    layer.select_option("everything")
    bare.page.locator(".df-aside").wait_for(state="detached")
    assert "null" not in bare.page.locator(".df-now").text_content()
    bare.page.locator(".df-node.df-current").wait_for(state="attached")
    assert bare.page.locator(".df-node").count() == num_all
