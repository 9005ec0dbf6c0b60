"""Takes the pictures in ``lessons/images/networks``: the networks of the bench, in both themes.

Usage: ``python -m tests.benchmarks.pictures [NAME ...]``. The committed JavaScript draws them in
Chromium; each is a PNG of at most 128 colors. Look at every one before it is committed.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

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


def main() -> None:
    """Takes the pictures that are named, or all."""
    from playwright.sync_api import sync_playwright

    from dataflow.cli.browser import find_browser

    names = sys.argv[1:] or list(NETWORKS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_FLAGS)
        for name in names:
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
