"""Takes the pictures in ``lessons/images/networks``: the networks of the bench, in both themes.

``Stepper``, ``RewritePlayer``, ``TrainingMonitor`` and ``EmbeddingView`` are those in
``lessons/images/widgets``; all but the first are taken in a JupyterLab, of the cells of
``tests/browser/every_widget.py``.
Usage: ``python -m tests.benchmarks.pictures [NAME ...]``. The committed JavaScript draws them in
Chromium; those of graphs are PNGs of at most 128 colors. Look at every one before it is committed.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import dataflow as tf
from dataflow.introspect.graph_json import graph_to_dict
from dataflow.introspect.node_roles import assign_roles
from tests.benchmarks.networks import NETWORKS
from tests.browser.bare_page import BarePage, graph_state
from tests.browser.conftest import CHROMIUM_FLAGS
from tests.browser.every_widget import SETUP, WIDGETS, pose
from tests.browser.jupyter_server import JupyterServer
from tests.browser.lab_page import LabPage

FOLDER = Path(__file__).parents[2] / "lessons" / "images" / "networks"
WITH_VOLUMES = ("CNN", "CNN of 13 layers", "Inception v3")


def take(page: Any, path: Path, place: str = "body", num_colors: int = 128) -> None:
    """Saves the widget in ``place`` of a page as it is; 0 colors: all that there are."""
    from PIL import Image

    page.mouse.move(2, 2)
    page.wait_for_timeout(1200)  # until what is new has faded in
    shot = page.locator(f"{place} .df-widget").screenshot()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    if num_colors:
        picture = picture.quantize(num_colors)
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
        take(page.page, FOLDER.parent / "widgets" / f"stepper_{theme}.png")
        page.close()


#: What is taken in a JupyterLab, and how wide its window is.
IN_LAB = {"RewritePlayer": 1280, "TrainingMonitor": 1100, "EmbeddingView": 1100}


def take_in_lab(browser: Any, name: str) -> None:
    """A widget of ``tests/browser/every_widget.py``, posed as there."""
    widget = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    shown = WIDGETS[widget]
    with tempfile.TemporaryDirectory() as folder:
        server = JupyterServer(Path(folder))
        server.start()
        context = browser.new_context(viewport={"width": IN_LAB[name], "height": 1100})
        context.set_default_timeout(60_000)
        try:
            lab = LabPage(context.new_page(), server, Path(folder))
            lab.open_notebook(server.write_notebook("picture.ipynb", [SETUP, shown.source]))
            lab.command("application:toggle-left-area")
            lab.run_all_cells()
            lab.output(1).locator(shown.drawn).first.wait_for()
            pose(lab, widget)
            lab.page.evaluate("document.activeElement.blur()")
            for theme in ("light", "dark"):
                lab.set_theme(f"JupyterLab {theme.capitalize()}")
                path = FOLDER.parent / "widgets" / f"{widget}_{theme}.png"
                take(lab.page, path, ".jp-OutputArea", num_colors=0)
            lab.assert_no_cell_failed()
        finally:
            context.close()
            server.stop()


def main() -> None:
    """Takes the pictures that are named, or all."""
    from playwright.sync_api import sync_playwright

    from dataflow.cli.browser import find_browser

    names = sys.argv[1:] or [*NETWORKS, "Stepper", *IN_LAB]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_FLAGS)
        for name in names:
            if name == "Stepper":
                take_stepper(browser)
                continue
            if name in IN_LAB:
                take_in_lab(browser, name)
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
                take(page.page, FOLDER / f"{stem}_{theme}.png")
                if name in WITH_VOLUMES:
                    page.page.get_by_role("button", name="Volumes").click()
                    page.page.locator(".df-top").first.wait_for()
                    take(page.page, FOLDER / f"{stem}_volumes_{theme}.png")
                assert page.failures() == []
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
