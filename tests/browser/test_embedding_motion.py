"""EmbeddingView in a page without Jupyter: an analogy as its parallelogram, motion that goes on."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dataflow_widgets import EmbeddingView
from dataflow_widgets.base import Delivery
from tests.browser.bare_page import BarePage
from tests.browser.lab_page import screenshot_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def shown(bare: BarePage) -> Any:
    """Four words on the corners of a parallelogram, nearly, among others."""
    Delivery.begun = True
    dice = np.random.default_rng(0)
    corners = np.array([[1.0, 0, 2, 0], [1, 2, 2, 0], [3, 0, 2, 0], [3, 2, 2.1, 0]])
    vectors = np.concatenate([corners, dice.normal(size=(20, 4))])
    labels = ["man", "woman", "king", "queen", *(f"word {i}" for i in range(20))]
    view = EmbeddingView(vectors, labels)
    names = [n for n in view.keys if not n.startswith("_") and n not in ("layout", "bundle")]
    state = view.get_state(names)
    bare.show(state | {"payload": {"nodes": []}})
    bare.page.locator(".df-embedding-view").wait_for()
    sent: list[Any] = []
    view.send = lambda message, buffers=None: sent.append((message, buffers or []))
    view._greet(0, 0)
    for message, buffers in sent:
        packed = [base64.b64encode(bytes(buffer)).decode() for buffer in buffers]
        bare.page.evaluate(
            """([message, packed]) => models[0].custom(JSON.parse(message), packed.map((text) =>
                new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer)))""",
            [json.dumps(message), packed],
        )
    bare.page.locator(".df-scatter[data-drawn='24']").wait_for()
    return bare.page.locator(".df-embedding-view")


@pytest.mark.parametrize(("width", "dark"), [(620, True), (1280, False), (1700, True)])
def test_an_analogy_is_a_parallelogram(chromium: Browser, width: int, dark: bool) -> None:
    bare = BarePage(chromium, dark=dark)
    bare.page.set_viewport_size({"width": width, "height": 800})
    view = shown(bare)
    scatter = view.locator(".df-scatter")
    assert scatter.get_attribute("data-parallelogram") is None
    view.get_by_role("button", name="Analogy").click()
    for word in ("man", "woman", "king"):
        box = view.get_by_role("searchbox", name="search labels")
        box.fill(word)
        box.press("Enter")
    bare.page.locator(".df-scatter[data-parallelogram]").wait_for()
    a, b, d, c = np.array(json.loads(scatter.get_attribute("data-parallelogram") or ""))
    assert np.abs((b - a) - (d - c)).max() <= 2, "what is to c as b is to a, to a pixel"
    x, y = (a + d) / 2
    alpha = bare.page.evaluate(
        """([x, y]) => { const canvas = document.querySelector('canvas.df-points');
            const k = canvas.width / canvas.clientWidth;
            return canvas.getContext('2d').getImageData(x * k, y * k, 1, 1).data[3]; }""",
        [float(x), float(y)],
    )
    assert alpha > 0, "it is filled"
    assert view.locator(".df-status").text_content() == "man is to woman as king is to queen."
    bare.page.screenshot(path=str(screenshot_folder() / f"analogy_{width}_{dark}.png"))
    view.get_by_role("button", name="Clear").click()
    bare.page.locator(".df-scatter:not([data-parallelogram])").wait_for()
    assert bare.failures() == []
    bare.close()
