"""Figures of Markdown have a light and a dark look, as the notebook around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dataflow as tf

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

pytestmark = pytest.mark.browser
FIGURE = "![The layers](images/seeds/system_layers.svg)"


def brightness(lab_page: LabPage) -> list[float]:
    """Of the figure's corner, which is its page, and of a box in it, 0 to 255."""
    picture = lab_page.page.locator(".jp-RenderedMarkdown img").screenshot()
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = session.run(tf.image.decode_png(tf.constant(picture), channels=3))
    height, width = pixels.shape[:2]
    places = [(height // 100 + 2, width // 100 + 2), (height * 24 // 330, width * 30 // 640)]
    return [float(pixels[place].mean()) for place in places]


def test_a_figure_is_dark_in_the_dark_theme(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    lab_page.open_notebook(jupyter_server.write_notebook("figure.ipynb", ["6 * 7"]))
    lab_page.run_code(
        f"from IPython.display import Markdown, display\ndisplay(Markdown({FIGURE!r}))"
    )
    lab_page.page.wait_for_function(
        "() => document.querySelector('.jp-RenderedMarkdown img')?.naturalWidth > 0"
    )
    assert min(brightness(lab_page)) > 200
    lab_page.set_theme("JupyterLab Dark")
    assert max(brightness(lab_page)) < 80
    lab_page.set_theme("JupyterLab Light")
    assert min(brightness(lab_page)) > 200
