"""EmbeddingView in a real JupyterLab: search, neighbors, analogies, t-SNE, live, keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_findings
from tests.browser.lab_page import kept_states
from tests.browser.patience import at_rest, width_of_image

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser

IMPORT = """import numpy as np
import dataflow as tf
from dataflow_widgets import EmbeddingView
rng = np.random.default_rng(0)
directions = rng.normal(size=(6, 24))
words = ["king", "queen", "man", "woman", "prince", "princess", "boy", "girl"]
royal, female, young = directions[:3]
known = [royal * (w in ("king", "queen", "prince", "princess")) * 2
         + female * (w in ("queen", "woman", "princess", "girl"))
         + young * (w in ("prince", "princess", "boy", "girl")) for w in words]"""

WORDS = """groups = ["people"] * 8 + [["animals", "plants", "<b>tools</b>"][i % 3] for i in range(240)]
centers = directions[3:]
rest = [centers[i % 3] * 1.5 + rng.normal(size=24) * 0.6 for i in range(240)]
labels = words + [f"{groups[8 + i]} {i}" for i in range(239)] + ["<img src=x onerror=hacked=1>"]
vectors = np.array(known + rest) + rng.normal(size=(248, 24)) * 0.01
view = EmbeddingView(vectors, labels, groups=groups, title="Words")
view"""

LIVE = """table = tf.Variable(np.array(known, np.float32), name="table")
shake = tf.assign_add(table, tf.random_normal([8, 24]))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
view = EmbeddingView(table, words, session=sess, every_seconds=0.1)
view"""


def open_view(lab_page: LabPage, jupyter_server: JupyterServer, show: str) -> Locator:
    lab_page.open_notebook(jupyter_server.write_notebook("embedding.ipynb", [IMPORT, show]))
    lab_page.run_all_cells()
    inside = lab_page.output(1)
    inside.locator(".df-scatter[data-drawn]").wait_for()
    return inside.locator(".df-embedding-view")


def find(view: Locator, text: str) -> None:
    box = view.get_by_role("searchbox", name="search labels")
    box.fill(text)
    box.press("Enter")


def near(view: Locator) -> list[str]:
    return view.locator(".df-near-list button").all_text_contents()


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_search_neighbors_and_looks(
    lab_page: LabPage, jupyter_server: JupyterServer, theme: str
) -> None:
    view = open_view(lab_page, jupyter_server, WORDS)
    lab_page.set_theme(f"JupyterLab {theme}")
    assert view.locator(".df-scatter").get_attribute("data-drawn") == "248"
    at_rest(lab_page.page)
    lab_page.screenshot(f"embedding_view_all_{theme.lower()}", view)
    find(view, "king")
    assert view.locator(".df-side h4").text_content() == "king"
    assert near(view)[:2] == ["queen", "prince"]
    assert "king: nearest queen" in view.locator(".df-status").text_content()
    lab_page.run_code("assert [w for w, _ in view.neighbors('king', 2)] == ['queen', 'prince']")
    lab_page.assert_no_cell_failed()
    view.locator(".df-scatter").scroll_into_view_if_needed()
    at_rest(lab_page.page)
    lab_page.screenshot(f"embedding_view_{theme.lower()}", view)
    assert serious_findings(lab_page.page, ".df-embedding-view") == []
    # Names are text.
    find(view, "<img")
    assert view.locator(".df-side h4").text_content() == "<img src=x onerror=hacked=1>"
    assert view.locator(".df-legend").text_content().endswith("<b>tools</b>")
    assert lab_page.page.evaluate("window.hacked") is None
    # The few labels that are drawn leave the picture readable.
    assert 10 < int(view.locator(".df-scatter").get_attribute("data-labels") or 0) <= 60


def test_an_analogy_by_clicking_three_points(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    view = open_view(lab_page, jupyter_server, WORDS)
    view.get_by_role("button", name="Analogy").click()
    scatter = view.locator(".df-scatter")
    scatter.scroll_into_view_if_needed()
    # Where the points are drawn, from what the page itself knows.
    lab_page.run_code("print(view._places[:8].tolist(), view._places.min(0).tolist(),"
                      " view._places.max(0).tolist())")  # fmt: skip
    text = lab_page.output_text(2)
    places, low, high = json.loads("[" + text.replace("]] [", "]], [").replace("] [", "], [") + "]")
    box = scatter.bounding_box()
    assert box is not None
    scale = min((box["width"] - 56) / (high[0] - low[0]), (box["height"] - 56) / (high[1] - low[1]))
    for i in (2, 3, 0):  # man, woman, king
        x = box["width"] / 2 + (places[i][0] - (low[0] + high[0]) / 2) * scale
        y = box["height"] / 2 - (places[i][1] - (low[1] + high[1]) / 2) * scale
        scatter.click(position={"x": x, "y": y})
    assert "man is to woman as king is to queen." in view.locator(".df-status").text_content()
    assert near(view)[0] == "queen"
    at_rest(lab_page.page)
    lab_page.screenshot("embedding_view_analogy", view)
    lab_page.run_code("assert view.analogy('man', 'woman', 'king', 1)[0][0] == 'queen'")
    lab_page.assert_no_cell_failed()
    view.get_by_role("button", name="Clear").click()
    assert view.locator(".df-near-list").count() == 0


def test_keyboard_alone(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    view = open_view(lab_page, jupyter_server, WORDS)
    keyboard = lab_page.page.keyboard
    status = view.locator(".df-status")
    view.locator(".df-scatter").focus()
    keyboard.press("ArrowRight")
    first = status.text_content()
    keyboard.press("ArrowRight")
    assert status.text_content() != first
    keyboard.press("Enter")
    assert "nearest" in status.text_content()
    keyboard.press("+")
    keyboard.press("0")
    keyboard.press("Escape")
    assert status.text_content() == "Nothing is chosen."
    keyboard.press("/")
    keyboard.type("quee")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    assert view.locator(".df-side h4").text_content() == "queen"
    view.locator(".df-near-list button").first.focus()
    keyboard.press("Enter")
    assert view.locator(".df-side h4").text_content() != "queen"
    assert view.locator(".df-side button:focus").count() == 1, "focus stays in the list"
    view.get_by_role("button", name="Table").focus()
    keyboard.press("Enter")
    assert "king" in view.locator(".df-values").text_content()
    assert "first 200 of 248" in view.locator(".df-values-box").text_content()
    view.get_by_role("button", name="Analogy").focus()
    keyboard.press("Enter")
    for word in ("king", "queen", "prince"):
        keyboard.press("Tab")
        view.get_by_role("searchbox").focus()
        keyboard.type(word)
        keyboard.press("Enter")
    assert "king is to queen as prince is to princess." in status.text_content()
    count = len(lab_page.cells())
    keyboard.press("d")
    keyboard.press("d")
    assert len(lab_page.cells()) == count


def test_tsne_in_the_background(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    view = open_view(lab_page, jupyter_server, WORDS)
    view.get_by_label("projection").select_option("tsne")
    lab_page.wait_for(
        "() => document.querySelector('.df-embedding-view').dataset.method === 'tsne'",
        timeout_seconds=120,
    )
    at_rest(lab_page.page)
    lab_page.screenshot("embedding_view_tsne", view)
    assert "t-SNE" in view.locator(".df-note").text_content()
    view.get_by_label("projection").select_option("pca")
    lab_page.wait_for("() => document.querySelector('.df-embedding-view').dataset.method === 'pca'")


def test_live_while_training(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    view = open_view(lab_page, jupyter_server, LIVE)
    assert view.get_attribute("data-version") == "1"
    lab_page.run_code("import time\nfor _ in range(20):\n    sess.run(shake)\n    time.sleep(0.05)")
    lab_page.wait_for(
        "() => Number(document.querySelector('.df-embedding-view').dataset.version) > 3"
    )
    lab_page.run_code(
        "view.refresh(); assert np.allclose(view._vectors, sess.run(table))\n"
        "job = tf.train.background(shake, session=sess, steps=2000); view.follow(job)\n"
        "at = view._version"
    )
    lab_page.run_code("job.result()")
    lab_page.run_until("view._version > at")
    lab_page.assert_no_cell_failed()


def test_a_busy_kernel(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    show = WORDS.removesuffix("view") + "display(view)" + jupyter_server.busy()
    lab_page.open_notebook(jupyter_server.write_notebook("embedding.ipynb", [IMPORT, show]))
    lab_page.run_cell(0)
    lab_page.select_cell(1)
    lab_page.start_command("notebook:run-cell")
    view = lab_page.output(1).locator(".df-embedding-view")
    view.locator(".df-scatter[data-drawn='248']").wait_for()
    find(view, "king")
    assert near(view)[0] == "queen"
    assert lab_page.cells()[1]["prompt"] == "[*]:"
    jupyter_server.go_on()
    lab_page.wait_until_idle()


def test_ten_thousand_points(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    show = """many = rng.normal(size=(10000, 100)).astype(np.float32)
many[5] = many[7] + 0.01
view = EmbeddingView(many, [f"point {i}" for i in range(10000)])
view"""
    view = open_view(lab_page, jupyter_server, show)
    assert view.locator(".df-scatter").get_attribute("data-drawn") == "10000"
    find(view, "point 5")
    view.locator(".df-near-list").wait_for()
    assert near(view)[0] == "point 7", "the kernel answers: so many vectors stay there"
    at_rest(lab_page.page)
    lab_page.screenshot("embedding_view_many", view)


def test_reopened_without_a_kernel(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    view = open_view(lab_page, jupyter_server, WORDS)
    assert view.count() == 1
    lab_page.wait_until_kept(1)
    lab_page.command("docmanager:save")
    saved = json.loads((jupyter_server.folder / "embedding.ipynb").read_text(encoding="utf-8"))
    output = saved["cells"][1]["outputs"][0]["data"]
    kept = json.dumps(output) + json.dumps(kept_states(saved))
    assert len(kept) < 60_000
    lab_page.open_notebook("embedding.ipynb", reload=True)
    image = lab_page.output(1).locator("img:visible").first
    image.wait_for()
    assert width_of_image(image) > 300
    assert "248 points" in image.get_attribute("alt")


def test_four_hundred_percent_and_no_motion(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    lab_page.page.emulate_media(reduced_motion="reduce")
    view = open_view(lab_page, jupyter_server, WORDS)
    # 1280 px at 400 % is 320 CSS px: nothing is cut off at the side.
    view.evaluate("(w) => { w.style.width = '320px'; }")
    find(view, "king")
    wide = view.evaluate(
        "(w) => [...w.querySelectorAll('*')].filter((e) => !e.closest('.df-wide, svg') &&"
        " e.getBoundingClientRect().right > w.getBoundingClientRect().right + 1)"
        ".map((e) => e.className)"
    )
    assert wide == []
    # New places are there at once, instead of gliding: one drawing, two at most.
    paints = (
        "() => { const c = document.querySelector('.df-points').getContext('2d');"
        " const clear = c.clearRect; window.paints = 0;"
        " c.clearRect = function (...a) { window.paints += 1; return clear.apply(this, a); }; }"
    )
    lab_page.page.evaluate(paints)
    assert paints_of_a_move(lab_page) <= 4
    lab_page.page.emulate_media(reduced_motion="no-preference")
    # A page that has no time draws few frames of a motion.
    assert any(paints_of_a_move(lab_page) > 4 for _ in range(20))


def paints_of_a_move(lab_page: LabPage) -> int:
    """How often new places are drawn."""
    lab_page.page.evaluate("window.paints = 0")
    lab_page.run_code("view._places = view._places[:, ::-1].copy(); view._tell_page(False)")
    lab_page.wait_for("() => window.paints > 0")
    lab_page.page.wait_for_timeout(600)
    return int(lab_page.page.evaluate("window.paints"))
