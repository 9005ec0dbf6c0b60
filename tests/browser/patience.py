"""Waiting in a browser's page: a busy machine of two cores is four times slower than a quiet one.

An action is followed by a wait for its result. What the page does before the action returns may be read at
once; what comes from a kernel, a server, a worker, a timer or the next frame is waited for. Who waited in vain raises
TimeoutError, Playwright's or Python's: in CI such a test runs once more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

T = TypeVar("T")

#: For each step.
PATIENCE_SECONDS = 60.0

_FRAME = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
# At most ten seconds: a page in which something always moves does not come to rest.
_REST = f"""async () => {{
  const frame = {_FRAME};
  const end = performance.now() + 10000;
  const moving = () => document.getAnimations()
    .filter((one) => one.playState === "running" && one.effect.getComputedTiming().endTime !== Infinity);
  await frame();
  while (moving().length && performance.now() < end) await frame();
}}"""
_DECODED_WIDTH = "(image) => image.decode().then(() => image.naturalWidth)"


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A context of Chromium in whose pages each step has `PATIENCE_SECONDS`; Playwright's own is half of it."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    return context


def eventually(page: Page, read: Callable[[], T], wanted: T) -> None:
    """Waits until ``read()`` is ``wanted``; raises TimeoutError with what it was at last."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := read()) != wanted and time.monotonic() < end:
        page.wait_for_timeout(50)
    if found != wanted:
        raise TimeoutError(f"found {found!r}, wanted {wanted!r}")


def next_frame(page: Page) -> None:
    """Until the page has drawn a frame: what an event asked to be drawn is drawn then."""
    page.evaluate(_FRAME)


def at_rest(page: Page) -> None:
    """Until no color changes and nothing moves any more, by styles."""
    page.evaluate(_REST)


def width_of_image(image: Locator) -> int:
    """The width that an image has by itself, once it has been read: one with words has a box before that."""
    return int(image.evaluate(_DECODED_WIDTH))
