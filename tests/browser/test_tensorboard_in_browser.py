"""TensorBoard's own pages show what the library wrote: scalars, graph, projector."""

from __future__ import annotations

import re

import pytest

from tests.browser.lab_page import screenshot_folder
from tests.browser.patience import new_context
from tests.summary.tensorboard_server import tensorboard, write_logs

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logs")
    write_logs(logdir)
    with tensorboard(logdir) as url:
        yield url


@pytest.fixture
def page(chromium):
    context = new_context(chromium, viewport={"width": 1400, "height": 900})
    context.set_default_timeout(60_000)
    # TensorBoard's page asks for fonts elsewhere; nothing of a test leaves the machine.
    context.route(
        re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort("blockedbyclient")
    )
    yield context.new_page()
    context.close()


def shot(page, name):
    page.screenshot(path=screenshot_folder() / f"tensorboard-{name}.png")


def test_scalars(page, address):
    page.goto(f"{address}/#scalars")
    card = page.locator("scalar-card, tf-scalar-card").first
    card.wait_for()
    page.get_by_text("loss", exact=True).first.wait_for()
    shot(page, "scalars")


def test_graph(page, address):
    page.goto(f"{address}/#graphs&run=.")
    frame = page.locator("tf-graph-scene svg#svg").first
    frame.wait_for(state="attached")
    node = page.locator("tf-graph-scene g.node[data-name='embedding']").first
    node.wait_for(state="attached")
    shot(page, "graph")


def test_projector(page, address):
    from playwright.sync_api import expect

    page.goto(f"{address}/#projector")
    # The projector is a page in a frame of a frame.
    inner = page.frame_locator("iframe").frame_locator("iframe")
    points = inner.locator(".numDataPoints").first
    expect(points).to_have_text("4", timeout=60_000)
    expect(inner.locator(".dim").first).to_have_text("3")
    shot(page, "projector")
