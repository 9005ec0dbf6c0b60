"""Widgets whose page becomes wider and narrower: they are drawn anew, and no page error is thrown meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.bare_page import BarePage
from tests.browser.patience import next_frame
from tests.browser.test_embedding_motion import shown as show_words
from tests.browser.test_explain_widgets import run_of_two_tasks, show_player
from tests.browser.test_training_charts import send, trained

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def bare(chromium: Browser) -> Iterator[BarePage]:
    page = BarePage(chromium)
    yield page
    page.close()


def show_timeline(bare: BarePage) -> None:
    bare.show(run_of_two_tasks())
    bare.page.locator(".df-timeline[data-drawn]").wait_for()


def show_monitor(bare: BarePage) -> None:
    monitor = trained()
    names = [n for n in monitor.keys if not n.startswith("_") and n not in ("layout", "bundle")]
    bare.show(monitor.get_state(names))
    bare.page.locator(".df-training-monitor").wait_for()
    send(bare, monitor)


DRAWN = {
    "timeline": (show_timeline, ".df-timeline svg"),
    "words": (show_words, ".df-scatter canvas, .df-scatter svg"),
    "player": (show_player, ".df-rewrite-player .df-pane"),
    "monitor": (show_monitor, ".df-training-monitor .df-grid-wide"),
}


@pytest.mark.parametrize("widget", DRAWN)
def test_another_width_throws_nothing(bare: BarePage, widget: str) -> None:
    show: Callable[[BarePage], object]
    show, drawn = DRAWN[widget]
    show(bare)
    wide = bare.page.locator(drawn).first.bounding_box()
    for width in (600, 900, 1400, 620, 1280, 500):
        bare.page.set_viewport_size({"width": width, "height": 800})
        next_frame(bare.page)
        next_frame(bare.page)
    narrow = bare.page.locator(drawn).first.bounding_box()
    assert wide and narrow and narrow["width"] < wide["width"]
    assert bare.failures() == []
