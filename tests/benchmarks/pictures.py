"""Takes the pictures in ``lessons/images/networks``: the networks of the bench, in both themes.

``Stepper`` is that of the Stepper in ``lessons/images/widgets``.
Usage: ``python -m tests.benchmarks.pictures [NAME ...]``. The committed JavaScript draws them in
Chromium; each is a PNG of at most 128 colors. Look at every one before it is committed.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import dataflow as tf
from dataflow.introspect.graph_json import graph_to_dict
from dataflow.introspect.node_roles import assign_roles
from tests.benchmarks.networks import NETWORKS
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.conftest import CHROMIUM_FLAGS

FOLDER = Path(__file__).parents[2] / "lessons" / "images" / "networks"
WITH_VOLUMES = ("CNN", "CNN of 13 layers", "Inception v3")


def take(page: BarePage, path: Path) -> None:
    """Saves the widget as it is."""
    from PIL import Image

    page.page.mouse.move(2, 2)
    page.page.wait_for_timeout(1200)  # until what is new has faded in
    shot = page.page.locator(".df-widget").screenshot()
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(128)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, optimize=True)
    print(path.name, picture.size, path.stat().st_size)


#: What the Stepper's picture steps through, a line of a cell for each node.
STEPPED = """x = tf.constant(2, name="x")
y = tf.constant(3, name="y")
add_op = tf.add(x, y, name="add_op")
mul_op = tf.multiply(x, y, name="mul_op")
useless = tf.multiply(x, add_op, name="useless")
pow_op = tf.pow(add_op, mul_op, name="pow_op")"""


def take_stepper(browser: Any) -> None:
    """The Stepper at step 4 of 5 of the graph of the second lesson."""
    from dataflow_widgets import Stepper

    with tf.Graph().as_default():
        made: dict[str, Any] = {"tf": tf}
        exec(STEPPED, made)
        with tf.Session() as session:
            stepper = Stepper(session, made["pow_op"], height=420)
    payload = stepper._payload()
    for number, (node, text) in enumerate(zip(payload["nodes"], STEPPED.splitlines(), strict=True)):
        node["source"] = {"cell": 4, "line": number + 1, "text": text}
    state = {key: getattr(stepper, key) for key in ("kind", "title", "height", "marks", "failure")}
    for theme in ("light", "dark"):
        page = BarePage(browser, dark=theme == "dark")
        page.page.set_viewport_size({"width": 940, "height": 760})
        page.show(state | {"payload": payload, "picture": "", "words": ""})
        page.wait_drawn(attempt="graphviz")
        for _ in range(4):
            page.page.get_by_role("button", name="One step forward").click()
        page.page.locator(".df-stepper[data-step='4']").wait_for()
        page.page.evaluate("document.activeElement.blur()")
        take(page, FOLDER.parent / "widgets" / f"stepper_{theme}.png")
        page.close()


def main() -> None:
    """Takes the pictures that are named, or all."""
    from playwright.sync_api import sync_playwright

    from dataflow.cli.browser import find_browser

    names = sys.argv[1:] or [*NETWORKS, "Stepper"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_FLAGS)
        for name in names:
            if name == "Stepper":
                take_stepper(browser)
                continue
            with tf.Graph().as_default() as graph:
                NETWORKS[name]()
                nodes = graph_to_dict(graph)["nodes"]
            assign_roles(nodes)
            nodes = json.loads(json.dumps(nodes))
            stem = name.lower().replace(" ", "_")
            for theme in ("light", "dark"):
                page = BarePage(browser, dark=theme == "dark")
                page.page.set_viewport_size({"width": 1120, "height": 900})
                page.show(graph_state(nodes, direction="auto"))
                page.wait_drawn(attempt="graphviz")
                take(page, FOLDER / f"{stem}_{theme}.png")
                if name in WITH_VOLUMES:
                    page.page.get_by_role("button", name="Volumes").click()
                    page.page.locator(".df-top").first.wait_for()
                    take(page, FOLDER / f"{stem}_volumes_{theme}.png")
                assert page.failures() == []
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
