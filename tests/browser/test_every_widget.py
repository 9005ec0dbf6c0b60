"""Every widget on one page: in Notebook 7, and in JupyterLab for the pictures in lessons/widgets.md."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dataflow_widgets
from tests.browser.every_widget import WIDGETS, cells, pose
from tests.browser.patience import at_rest

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer
    from tests.browser.lab_page import LabPage

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
PICTURES = LESSONS / "images" / "widgets"
MAX_PICTURE_BYTES = 120_000
THEMES = ["light", "dark"]


@pytest.mark.browser
def test_every_widget_draws_in_notebook_7(lab_page: LabPage, jupyter_server: JupyterServer) -> None:
    """That no request left loopback and no error was thrown is what the fixture asserts."""
    name = jupyter_server.write_notebook("every_classic.ipynb", cells())
    notebook = lab_page.run_all_in_notebook_7(name)
    code = notebook.locator(".jp-CodeCell")
    for index, (widget, shown) in enumerate(WIDGETS.items(), start=1):
        # A notebook of this length is drawn as it is scrolled.
        code.nth(index).scroll_into_view_if_needed()
        place = code.nth(index).locator(shown.drawn).first
        place.wait_for()
        box = code.nth(index).locator(".df-widget").bounding_box()
        assert box and box["height"] > 100 and box["width"] > 400, widget
        assert not code.nth(index).locator(".df-failure:visible").count(), widget
    assert notebook.locator(".jp-RenderedText[data-mime-type*=error]").count() == 0
    stepper = notebook.locator(".df-stepper")
    stepper.get_by_role("button", name="One step forward").click()
    notebook.locator('.df-stepper[data-step="1"]').wait_for()
    lab_page.screenshot("every_widget_notebook_7", stepper)


@pytest.mark.browser
@pytest.mark.slow
def test_pictures_of_every_widget_in_both_themes(
    lab_page: LabPage, jupyter_server: JupyterServer
) -> None:
    lab_page.page.set_viewport_size({"width": 1100, "height": 900})
    lab_page.open_notebook(jupyter_server.write_notebook("every.ipynb", cells()))
    lab_page.command("application:toggle-left-area")
    lab_page.run_all_cells()
    for index, (widget, shown) in enumerate(WIDGETS.items(), start=1):
        output = lab_page.output(index)
        output.scroll_into_view_if_needed()
        output.locator(shown.drawn).first.wait_for()
        pose(lab_page, widget)
    for theme in THEMES:
        lab_page.set_theme(f"JupyterLab {theme.capitalize()}")
        at_rest(lab_page.page)
        for index, widget in enumerate(WIDGETS, start=1):
            element = lab_page.output(index).locator(".df-widget")
            path = lab_page.screenshot(f"widget_{widget}_{theme}", element)
            width, height = size_of(path)
            assert width > 500 and height > 150
            background = element.evaluate("(e) => getComputedStyle(e).backgroundColor")
            brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
            assert (brightness < 60) == (theme == "dark"), f"{widget}: {background}"
    lab_page.assert_no_cell_failed()


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of a PNG in pixels."""
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG"), path
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_every_widget_is_here() -> None:
    homes = dict(dataflow_widgets._HOMES)
    # Explorers have a page of their own, lessons/explorers.md; see test_explorers.py.
    named = {home.rpartition(".")[2] for home in homes.values() if ".explorer" not in home}
    # Needs processes of its own; its pictures are taken by its own tests.
    assert named - {"cluster_panel"} == set(WIDGETS)


def test_the_page_on_widgets_shows_each_in_both_themes() -> None:
    text = (LESSONS / "widgets.md").read_text(encoding="utf-8")
    pictures = dict(re.findall(r"!\[([^\]]+)\]\((images/widgets/[^)]+)\)", text))
    shown = {Path(target).name for target in pictures.values()}
    widgets = [*WIDGETS, "cluster_panel"]  # taken by test_cluster_panel.py
    assert shown == {f"{widget}_{theme}.png" for widget in widgets for theme in THEMES}
    assert len(pictures) == len(shown), "each picture has words of its own"
    assert all(len(alt.split()) >= 6 for alt in pictures)
    for name in shown:
        assert (PICTURES / name).stat().st_size <= MAX_PICTURE_BYTES, name
        size_of(PICTURES / name)
