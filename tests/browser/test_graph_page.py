"""The page that `dataflow run --graph` writes: the GraphView, from a file, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dataflow as tf
from dataflow_widgets.static.page import graph_page
from tests.browser.patience import new_context

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_the_page_draws_the_graph_and_opens_scopes(chromium: Browser, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("layer"):
            tf.nn.relu(tf.matmul(x, tf.ones([2, 3])), name="out")
    from playwright.sync_api import expect

    path = tmp_path / "page.html"
    path.write_text(graph_page(graph, 'A "program" <b>.py'), encoding="utf-8")
    context = new_context(chromium)
    page = context.new_page()
    failures: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda m: failures.append(m.text) if m.type == "error" else None)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".df-widget[data-drawn]")
    expect(page.locator('.df-pane[data-attempt="graphviz"]')).to_have_count(1)
    assert "plain" not in page.locator(".df-widget").inner_text()
    page.get_by_role("button", name="Open all").click()
    expect(page.locator(".df-svg")).to_contain_text("MatMul")  # inside of `layer`
    assert page.title() == 'A "program" <b>.py'
    assert failures == []
    assert [u for u in requests if not u.startswith(("file:", "blob:", "data:"))] == []
    context.close()


def test_the_page_of_a_training_shows_the_model(chromium: Browser, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        hidden = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 1)
        tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(hidden), name="loss"))
    from playwright.sync_api import expect

    path = tmp_path / "page.html"
    path.write_text(graph_page(graph, "training"), encoding="utf-8")
    context = new_context(chromium)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.get_by_role("button", name="gradients")).to_be_visible()  # put aside
    expect(page.locator(".df-svg")).to_contain_text("MatMul")
    assert "beta1_power" not in (page.locator(".df-svg").text_content() or "")
    context.close()
