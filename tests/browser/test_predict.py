"""Predict widgets in a real JupyterLab: by mouse, by keyboard, kept in the notebook, in both themes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.axe import serious_findings
from tests.browser.bare_page import BarePage
from tests.browser.patience import at_rest
from tests.browser.test_graph_view import BUILD, node, wait_class, wait_drawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

SETUP = BUILD + "\nfrom dataflow_widgets import predict\nsess = tf.Session()"
PRUNED = 'q = predict.pruned(pow_op, session=sess, name="lesson02.q1")\nq'
ORDER = 'q2 = predict.order(sess, pow_op, name="lesson02.q2")\nq2'
SHAPE = """q3 = predict.shape(tf.zeros([5, 3]) + tf.zeros([3]), [(3,), (5, 3, 3)],
                   dtypes=["int32"], shown="tf.zeros([5, 3]) + tf.zeros([3])")
q3"""
VALUE = "q4 = predict.value(sess, pow_op)\nq4"
STALE = """A = predict.Access
q5 = predict.stale_read([
    A("worker 0", "read", "W", 1.0), A("worker 1", "read", "W", 1.0),
    A("worker 0", "write", "W", 2.0), A("worker 1", "write", "W", 3.0)])
q5"""
EVIL = """q6 = predict.choice("<img src=x onerror=window.hacked=1>",
                    ["<script>window.hacked=1</script>", "b"], 0)
q6"""


def open_questions(lab_page: LabPage, server: JupyterServer, *cells: str) -> list[Locator]:
    lab_page.open_notebook(server.write_notebook("predict.ipynb", [SETUP, *cells]))
    lab_page.run_all_cells()
    return [lab_page.output(i + 1) for i in range(len(cells))]


def wait_state(inside: Locator, state: str) -> None:
    inside.locator(f'.df-predict[data-state="{state}"]').wait_for()


def check(inside: Locator) -> None:
    inside.get_by_role("button", name="Check", exact=True).click()


def question_state(form: str, *, answered: bool) -> dict[str, Any]:
    """The traits of a real question, as the page gets them."""
    import dataflow as tf
    from dataflow.course import attempts
    from dataflow_widgets import predict

    attempts.forget()
    with tf.Graph().as_default() as graph:
        scope: dict[str, Any] = {}
        exec(SETUP, scope)
        q = {
            "nodes": lambda: predict.pruned(scope["pow_op"], session=scope["sess"]),
            "order": lambda: predict.order(scope["sess"], scope["pow_op"]),
            "choice": lambda: predict.shape(tf.zeros([2]), [(3,)], dtypes=["int32"]),
            "value": lambda: predict.value(scope["sess"], scope["pow_op"]),
            "rows": lambda: predict.stale_read(
                [predict.Access("a", "read", "w"), predict.Access("a", "write", "w")]
            ),
        }[form]()
        if answered:
            given = {"nodes": ["mul_op"], "value": "7", "rows": [0], "choice": ["(3,)", "int32"]}
            items = [item["id"] for item in q.question.get("items", [])]
            q.answer(given.get(form, items))
            q.reveal()
        names = [n for n in q.keys if not n.startswith("_") and n not in ("layout", "bundle")]
        state: dict[str, Any] = q.get_state(names) | {"payload": q.payload}
    assert graph.get_operations()
    return state


FORMS = ["nodes", "order", "choice", "value", "rows"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("answered", [False, True], ids=["open", "answered"])
def test_axe_finds_nothing_serious(chromium: Browser, dark: bool, answered: bool) -> None:
    bare = BarePage(chromium, dark=dark)
    for form in FORMS:
        bare.show(question_state(form, answered=answered))
    bare.page.locator(
        ".df-pane[data-attempt]"
    ).first.wait_for()  # one of them has a graph, the first
    assert bare.page.locator(".df-predict").count() == len(FORMS)
    assert bare.page.get_by_role("toolbar").count() == 0, "nothing but a title stands there"
    if not answered:
        bare.page.locator(".df-node").last.click()
    at_rest(bare.page)
    assert serious_findings(bare.page, "main") == []
    assert bare.failures() == []
    bare.close()


def test_a_kernel_that_does_not_answer(chromium: Browser) -> None:
    """The page says so; nothing is lost, and a large page zoom does not push anything out."""
    bare = BarePage(chromium)
    bare.page.set_viewport_size({"width": 275, "height": 700})  # 1100 px at 400%
    bare.show(question_state("order", answered=False))
    bare.page.get_by_role("button", name="Check", exact=True).click()
    bare.page.get_by_text("The kernel has not answered").wait_for()
    sent = bare.page.evaluate("window.sent.filter((m) => m.kind === 'answer')")
    assert len(sent) == 1 and len(sent[0]["given"]) == 5
    wide = bare.page.evaluate(
        "[...document.querySelectorAll('.df-predict *')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className)"
    )
    assert wide == []
    bare.close()


def bare_question(question: Any, *given: list[str]) -> dict[str, Any]:
    """The traits of a question after some answers."""
    for each in given:
        question.answer(each)
    names = [n for n in question.keys if not n.startswith("_") and n not in ("layout", "bundle")]
    return question.get_state(names) | {"payload": question.payload}


def five_nodes() -> Any:
    import dataflow as tf
    from dataflow.course import attempts
    from dataflow_widgets import predict

    attempts.forget()
    with tf.Graph().as_default():
        scope: dict[str, Any] = {}
        exec(SETUP, scope)
        return predict.pruned(scope["pow_op"], session=scope["sess"])


RINGS = """() => Object.fromEntries([...document.querySelectorAll('.df-node')]
    .filter((e) => e.querySelector('.df-ring'))
    .map((e) => [e.querySelector(':scope > title').textContent,
                 e.querySelector('.df-ring').classList[1].slice(8)]))"""


@pytest.mark.parametrize("width", [620, 1280, 1700])
def test_the_answer_is_graded_on_the_picture(chromium: Browser, width: int) -> None:
    bare = BarePage(chromium)
    bare.page.set_viewport_size({"width": width, "height": 900})
    bare.page.emulate_media(reduced_motion="reduce")
    q = five_nodes()
    bare.show(bare_question(q, ["mul_op"]))
    bare.wait_drawn(attempt="graphviz")
    assert bare.page.evaluate(RINGS) == {"mul_op": "wrong"}, "a wrong answer names nothing missed"
    mul = bare.page.locator('.df-node:has(> title:text-is("mul_op"))')
    assert mul.locator(".df-tag").text_content() == "✗ wrong"
    assert "wrong" in mul.get_attribute("aria-label")
    mul.click()
    assert bare.page.evaluate(RINGS) == {}, "another answer is not graded yet"
    mul.click()
    q.reveal()
    for key in ("answers", "marks", "explanation"):
        bare.page.evaluate("([k, v]) => models[0].update(k, v)", [key, getattr(q, key)])
    assert bare.page.evaluate(RINGS) == {"mul_op": "wrong", "useless": "missed"}
    assert "df-pruned" in bare.page.locator(".df-node.df-graded-missed").get_attribute("class")
    assert "never reached useless: pruned" in bare.page.locator(".df-status").text_content()
    covered = bare.page.evaluate(
        """() => [...document.querySelectorAll('.df-ring')].filter((ring) => {
            const tag = ring.parentElement.querySelector('.df-tag').getBoundingClientRect();
            return tag.top + 2 < ring.getBoundingClientRect().bottom; }).length"""
    )
    assert covered == 0, "what is said of a node does not cross its ring"
    assert bare.failures() == []
    bare.close()


def test_the_answer_plays_the_wave_back_from_the_fetch(chromium: Browser) -> None:
    bare = BarePage(chromium)
    q = five_nodes()
    bare.show(bare_question(q, ["mul_op"]))
    bare.wait_drawn(attempt="graphviz")
    bare.page.evaluate(
        """() => { window.fronts = []; new MutationObserver(() => {
            const at = [...document.querySelectorAll('.df-wave-front > title')]
                .map((e) => e.textContent).sort().join(' ');
            if (at && at !== fronts.at(-1)) fronts.push(at);
        }).observe(document.body, {subtree: true, attributes: true, attributeFilter: ['class']}) }"""
    )
    q.reveal()
    for key in ("answers", "marks", "explanation"):
        bare.page.evaluate("([k, v]) => models[0].update(k, v)", [key, getattr(q, key)])
    bare.page.locator(".df-node.df-pruned").wait_for()
    assert bare.page.evaluate("fronts") == ["pow_op", "add_op mul_op", "x y"]
    assert bare.page.locator(".df-wave").count() == 0
    bare.page.get_by_role("button", name="The wave again").click()
    bare.page.locator(".df-wave-front").first.wait_for()
    bare.page.locator(".df-node.df-pruned").wait_for()
    assert bare.failures() == []
    bare.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_question_of_placement_shows_its_part_colored_by_device(
    chromium: Browser, dark: bool
) -> None:
    import dataflow as tf
    from dataflow_widgets import predict

    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 64], name="images")
        with tf.device("/job:worker/task:0"):
            hidden = tf.nn.relu(tf.matmul(images, tf.get_variable("w1", [64, 32])), name="hidden")
        with tf.device("/job:worker/task:1"):
            logits = tf.matmul(hidden, tf.get_variable("w2", [32, 10]), name="logits")
        tf.square(logits, name="elsewhere")
        q = predict.nodes("Which?", [hidden], show=logits, color="device")
    bare = BarePage(chromium, dark=dark)
    bare.show(bare_question(q))
    bare.wait_drawn(attempt="graphviz")
    titles = bare.page.locator(".df-node > title").all_text_contents()
    assert "logits" in titles and "elsewhere" not in titles
    assert not [name for name in titles if "Initializer" in name or "Assign" in name]
    keys = bare.page.locator(".df-legend .df-key").all_text_contents()
    assert sorted(keys) == ["/job:worker/task:0 (4)", "/job:worker/task:1 (3)", "not pinned (1)"]
    assert bare.page.locator(".df-node.df-colored").count() == len(titles)
    assert serious_findings(bare.page, "main") == []
    bare.close()


def test_nodes_by_mouse(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    (inside,) = open_questions(lab_page, jupyter_server, PRUNED)
    wait_drawn(inside, 6)
    node(inside, "mul_op").click()
    wait_class(inside, "mul_op", "df-picked")
    assert node(inside, "mul_op").locator(".df-tag").text_content() == "marked"
    assert "1 node marked" in inside.locator(".df-status").text_content()
    check(inside)
    wait_state(inside, "wrong")
    verdict = inside.locator(".df-verdict")
    assert "What you marked is not right" in verdict.text_content()
    assert "walk back" in verdict.text_content()
    node(inside, "mul_op").click()
    node(inside, "useless").click()
    lab_page.screenshot("predict_nodes_hint", inside)
    check(inside)
    wait_state(inside, "right")
    assert "The real run took 5 steps" in verdict.text_content()
    wait_class(inside, "useless", "df-pruned")
    assert "right" in node(inside, "useless").get_attribute("aria-label")
    at_rest(lab_page.page)
    lab_page.screenshot("predict_nodes_right", inside)
    lab_page.run_code("assert [a['given'] for a in q.answers] == [['mul_op'], ['useless']]")
    # The same cell, run again, still shows the answers; "Begin again" forgets them.
    lab_page.run_cell(1)
    wait_state(inside, "right")
    inside.get_by_role("button", name="Begin again").click()
    wait_state(inside, "open")
    wait_drawn(inside, 6)
    assert inside.locator(".df-node.df-pruned").count() == 0
    lab_page.assert_no_cell_failed()


def test_nodes_and_order_by_keyboard(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    inside, ordered = open_questions(lab_page, jupyter_server, PRUNED, ORDER)
    wait_drawn(inside, 6)
    press = lab_page.page.keyboard.press
    inside.locator('.df-node[tabindex="0"]').focus()
    press("End")
    press("Enter")
    assert inside.locator(".df-node.df-picked").count() == 1
    press("Enter")
    assert inside.locator(".df-node.df-picked").count() == 0
    inside.locator(".df-as-list > summary").press("Enter")
    inside.get_by_role("checkbox", name="useless").press("Space")
    wait_class(inside, "useless", "df-picked")
    inside.get_by_role("button", name="Check", exact=True).press("Enter")
    wait_state(inside, "right")

    rows = ordered.locator(".df-order-row")
    wanted = ["y", "x", "mul_op", "add_op", "pow_op"]
    for place, name in enumerate(wanted):
        at = [rows.nth(i).get_attribute("data-name") for i in range(5)].index(name)
        ordered.locator(f'.df-order-row[data-name="{name}"]').focus()
        for _ in range(at - place):
            press("Alt+ArrowUp")
    assert [rows.nth(i).get_attribute("data-name") for i in range(5)] == wanted
    assert "moved to place" in ordered.locator(".df-status").text_content()
    ordered.get_by_role("button", name="Check", exact=True).press("Enter")
    wait_state(ordered, "right")
    assert "no path joins" in ordered.locator(".df-verdict").text_content()
    # d d with the focus in a row must not delete the cell.
    rows.first.focus()
    press("d")
    press("d")
    assert len(lab_page.cells()) == 3


def test_order_by_dragging_and_buttons(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    (inside,) = open_questions(lab_page, jupyter_server, ORDER)
    rows = inside.locator(".df-order-row")
    before = [rows.nth(i).get_attribute("data-name") for i in range(5)]
    inside.scroll_into_view_if_needed()
    first, last = rows.first.bounding_box(), rows.last.bounding_box()
    mouse = lab_page.page.mouse
    mouse.move(first["x"] + 120, first["y"] + 8)
    mouse.down()
    for part in range(1, 9):
        goal = last["y"] + last["height"] - 2
        mouse.move(first["x"] + 120, first["y"] + 8 + (goal - first["y"] - 8) * part / 8)
    mouse.up()
    assert [rows.nth(i).get_attribute("data-name") for i in range(5)] == [*before[1:], before[0]]
    inside.get_by_role("button", name=f"Move {before[0]} up").click()
    assert rows.nth(3).get_attribute("data-name") == before[0]
    check(inside)
    inside.locator(".df-verdict").wait_for()
    assert "dependencies are respected" in inside.locator(".df-verdict").text_content()
    lab_page.screenshot("predict_order", inside)


def test_shape_value_stale_and_hostile_text(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    shape, value, stale, evil = open_questions(lab_page, jupyter_server, SHAPE, VALUE, STALE, EVIL)
    check(shape)
    shape.get_by_text("Choose one first: shape.").wait_for()
    shape.get_by_label("(5, 3)", exact=True).check()
    shape.get_by_label("int32").check()
    check(shape)
    wait_state(shape, "wrong")
    assert "The shape is right and the dtype is not right." in shape.inner_text()
    lab_page.screenshot("predict_shape", shape)
    shape.get_by_label("float32").check()
    check(shape)
    wait_state(shape, "right")

    box = value.get_by_role("textbox")
    box.fill("125")
    box.press("Enter")
    wait_state(value, "wrong")
    value.get_by_role("button", name="Show the answer").click()
    wait_state(value, "shown")
    assert "The run returned 15625" in value.inner_text()
    assert box.is_disabled()
    lab_page.screenshot("predict_value", value)

    assert stale.get_by_role("checkbox").count() == 2, "only reads can be marked"
    stale.get_by_label("worker 1 reads W = 1.0").check()
    check(stale)
    wait_state(stale, "right")
    lab_page.screenshot("predict_stale", stale)

    assert "<img src=x onerror" in evil.inner_text()
    assert lab_page.page.evaluate("window.hacked") is None


def test_dark_theme_and_what_the_notebook_keeps(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    (inside,) = open_questions(lab_page, jupyter_server, PRUNED)
    wait_drawn(inside, 6)
    lab_page.set_theme("JupyterLab Dark")
    node(inside, "useless").click()
    check(inside)
    wait_state(inside, "right")
    lab_page.run_until("len(q.picture) > 300")
    at_rest(lab_page.page)
    lab_page.screenshot("predict_dark", inside)
    background = inside.locator(".df-predict").evaluate(
        "(e) => getComputedStyle(e).backgroundColor"
    )
    assert sum(map(int, background[4:-1].split(","))) < 150
    lab_page.command("docmanager:save")
    saved = json.loads((jupyter_server.folder / "predict.ipynb").read_text())
    from dataflow.course.attempts import of_notebook

    kept = of_notebook(saved)["lesson02.q1"]
    assert [(a["given"], a["right"]) for a in kept] == [(["useless"], True)]
    states = saved["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    (size,) = [len(json.dumps(m)) for m in states.values() if m["state"].get("kind") == "predict"]
    assert size < 60_000
    # A new kernel, run again: the answers of the saved notebook are there.
    lab_page.open_notebook("predict.ipynb")
    lab_page.run_all_cells()
    wait_state(lab_page.output(1), "right")
